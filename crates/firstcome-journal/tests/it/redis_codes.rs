//! A Redis that refuses for a while: each refusal is known by its code, nothing of it is stored, and it passes.

use crate::redis_opening::open;
use crate::world::{Player, all};
use firstcome_journal::{Journal, JournalError};
use firstcome_testbed::RedisServer as Server;

/// Has a server refuse, looks what an append and a read give, and says that it goes on once the server takes writes.
async fn refused(
    refuse: impl Fn(&Server),
    mend: impl Fn(&Server),
    is: impl Fn(&JournalError) -> bool,
    reads: bool,
) {
    let Some(server) = Server::start() else { return };
    let journal = Journal::Redis(open(&server, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "ann").await.unwrap();
    refuse(&server);
    let append = ann.next("bob");
    let failure = journal.append(append.clone()).await.unwrap_err();
    assert!(is(&failure), "{failure:?}");
    let read = journal.read(0).await;
    assert_eq!(read.is_ok(), reads, "{read:?}");
    mend(&server);
    assert_eq!(all(&journal, 0).await.len(), 1, "nothing of it was stored");
    assert_eq!(journal.append(append).await.unwrap().entries.len(), 1);
}

fn ask(server: &Server, words: &str) {
    assert_eq!(server.ask(words), "+OK", "{words}");
}

#[tokio::test]
async fn a_redis_that_cannot_save_is_unavailable() {
    let is = |failure: &JournalError| matches!(failure, JournalError::Unavailable(why) if why.contains("MISCONF"));
    refused(Server::fail_saving, Server::mend_saving, is, true).await;
}

#[tokio::test]
async fn a_redis_without_memory_is_full() {
    let is =
        |failure: &JournalError| matches!(failure, JournalError::Full(why) if why.contains("OOM"));
    let set = |to| move |server: &Server| ask(server, &format!("CONFIG SET maxmemory {to}"));
    refused(set(1), set(0), is, true).await;
}

#[tokio::test]
async fn a_redis_with_too_few_replicas_is_unavailable() {
    let is = |failure: &JournalError| matches!(failure, JournalError::Unavailable(why) if why.contains("NOREPLICAS"));
    let set =
        |to| move |server: &Server| ask(server, &format!("CONFIG SET min-replicas-to-write {to}"));
    refused(set(1), set(0), is, true).await;
}

#[tokio::test]
async fn a_right_that_is_taken_away_is_named_with_what_gives_it_back() {
    let is = |failure: &JournalError| matches!(failure, JournalError::Unfit { why, fix } if why.contains("denies access") && fix.contains("ACL SETUSER"));
    let take = |server: &Server| ask(server, "ACL SETUSER default -xadd");
    refused(take, |server| ask(server, "ACL SETUSER default +xadd"), is, true).await;
}
