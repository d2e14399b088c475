//! A disk that stands still keeps an append, and nobody else.

use crate::world::{Hands, Scratch, node, open};
use firstcome_core::Command;
use firstcome_core::command::BodyWriter;
use firstcome_journal::{Append, Journal, Name};
use rusqlite::Connection;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

fn append(number: u64) -> Append {
    let name = |number| Name { node: node(b'a'), number };
    let mut body = BodyWriter::new(node(b'a'), number, 0);
    assert!(body.push(&Command::claim("spring", None, "ann")));
    let applied_name = if number == 1 { Name::default() } else { name(number - 1) };
    let body = body.finish().into();
    Append { body, name: name(number), applied: number - 1, applied_name }
}

/// On a fast disk the thread that asks waits for the append. Where it takes longer, the thread goes on with other work.
#[tokio::test]
async fn the_thread_that_asks_for_an_append_does_not_wait_for_a_disk_that_stands_still() {
    let (scratch, hands) = (Scratch::new(), Hands::new());
    let sqlite = open(&scratch.data(), &hands);
    let journal = Journal::Sqlite(sqlite.clone());
    journal.append(append(1)).await.unwrap();
    // To who writes, a lock of somebody else's is what a disk is that does not answer.
    let other = Connection::open(scratch.data().join("journal.sqlite")).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut second = pin!(journal.append(append(2)));
    let asked = poll_fn(|cx| Poll::Ready(second.as_mut().poll(cx))).await;
    assert!(asked.is_pending(), "it waited for the append: {asked:?}");
    // Only now, and on this thread.
    other.execute_batch("ROLLBACK").unwrap();
    second.await.unwrap();
    assert_eq!(journal.head().await.unwrap().position, 2);
    sqlite.close().await;
}
