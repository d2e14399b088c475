//! The rights of a journal's user: those that opening it has not used are tried, so that nothing is missing later.

use super::view::Streams;
use firstcome_store::StoreError;
use firstcome_store::nats::Info;

/// Fails where the user has not a right that a node needs; what else is in the way is told when it is.
pub(super) async fn check(streams: &Streams, log: &Info) -> Result<(), StoreError> {
    let Streams { table, log: stored, subjects } = streams;
    let (head, entries) = (subjects.head(), subjects.entries());
    let tried = tokio::join!(
        async { table.next(&head, 1, 1, 1).await.map(drop) },
        async { stored.stream.next(&entries, log.last.max(1), 1, 1).await.map(drop) },
        table.probe(head.clone()),
        stored.stream.probe(entries.clone()),
        async { stored.stream.deliver(log.last + 1).await.map(drop) },
    );
    for tried in [tried.0, tried.1, tried.2, tried.3, tried.4] {
        if let Err(denied @ StoreError::Denied { .. }) = tried {
            return Err(denied);
        }
    }
    Ok(())
}
