//! What becomes of a journal when the server, a connection or a standby of it fails.

use crate::postgres_opening::{Own, SCHEMA, open};
use crate::redis_failing::until;
use crate::world::{Player, all, name_of, name_of_database, patiently, subject_of};
use firstcome_inject::Mistake;
use firstcome_journal::postgres::{DatabaseOptions, Durability};
use firstcome_journal::{Append, AppendAnswer, Entry, Journal, JournalError};
use firstcome_store::postgres::{Access, PostgresOptions, PostgresPool, Session};
use firstcome_testbed::{Postgres as Server, PostgresSettings, Proxy, ProxyFault};
use std::time::{Duration, Instant};
use tokio::task::block_in_place;

pub(crate) fn durable(more: &[&str]) -> PostgresSettings {
    let more = more.iter().map(|setting| (*setting).to_owned()).collect();
    PostgresSettings { fsync: true, more, ..PostgresSettings::default() }
}

pub(crate) fn fsync(options: &mut DatabaseOptions) {
    options.durability = Durability::Fsync;
}

/// A connection of an operator, with statements of which one holds something up.
async fn operator(own: &Own) -> Session {
    let store = PostgresOptions::new(&*own.url).schema(SCHEMA).idle_within(Duration::from_secs(30));
    PostgresPool::new(store).unwrap().session().await.unwrap()
}

/// The sessions of the journal that wait for this kind of thing, by their process.
fn waiting(own: &Own, event: &str) -> Vec<String> {
    let sql = format!(
        "SELECT pid FROM pg_stat_activity WHERE datname = current_database() \
         AND wait_event = '{event}' AND application_name = 'firstcome'"
    );
    own.sql(&sql).lines().map(str::to_owned).collect()
}

pub(crate) async fn one_waiting(own: &Own, event: &str) -> String {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        if let [process] = &waiting(own, event)[..] {
            return process.clone();
        }
        assert!(Instant::now() < end, "not within 20 s");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Begins an append.
pub(crate) fn begin(
    journal: &Journal,
    append: &Append,
) -> tokio::task::JoinHandle<Result<AppendAnswer, JournalError>> {
    let (journal, append) = (journal.clone(), append.clone());
    tokio::spawn(async move { journal.append(append).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_connection_that_is_killed_at_any_step_leaves_it_unknown_and_the_same_body_comes_again() {
    let Some(own) = Own::start().await else { return };
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    ann.claims(&own.journal, "first").await.unwrap();
    let other = own.again().await;
    let mut count = 1;
    // While it looks at the head, and while it stores the entry: nothing of it is there.
    for held in ["head IN ACCESS EXCLUSIVE MODE", "entries IN SHARE MODE"] {
        let mut session = operator(&own).await;
        let work = session.begin(Access::Usual).await.unwrap();
        work.batch(&format!("LOCK TABLE {held}")).await.unwrap();
        let append = ann.next(held);
        let appending = begin(&own.journal, &append);
        let process = one_waiting(&own, "relation").await;
        own.sql(&format!("SELECT pg_terminate_backend({process})"));
        let failure = appending.await.unwrap().unwrap_err();
        assert!(matches!(failure, JournalError::Unknown(_)), "{held}: {failure}");
        work.roll_back().await;
        assert_eq!(all(&own.journal, 0).await.len(), count, "{held}");
        let exchange = patiently(async || own.journal.append(append.clone()).await).await.unwrap();
        ann.apply(&exchange.entries);
        count += 1;
    }
    // While it waits for its turn behind another one.
    let mut session = operator(&own).await;
    let work = session.begin(Access::Usual).await.unwrap();
    work.batch("LOCK TABLE entries IN SHARE MODE").await.unwrap();
    let first = ann.next("held");
    let appending = begin(&own.journal, &first);
    one_waiting(&own, "relation").await;
    let second = bob.next("behind");
    let behind = begin(&other, &second);
    let process = one_waiting(&own, "advisory").await;
    own.sql(&format!("SELECT pg_terminate_backend({process})"));
    let failure = behind.await.unwrap().unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    work.roll_back().await;
    appending.await.unwrap().unwrap();
    count += 1;
    let stored = all(&own.journal, 0).await;
    assert_eq!((stored.len(), subject_of(&stored[count - 1]).as_str()), (count, "held"));
    // In a step of several statements, before its commit: it certainly did not happen.
    let mut session = operator(&own).await;
    let work = session.begin(Access::Usual).await.unwrap();
    work.batch("LOCK TABLE head IN SHARE MODE").await.unwrap();
    let minting = tokio::spawn({
        let journal = own.journal.clone();
        async move { journal.mint_term().await }
    });
    let process = one_waiting(&own, "relation").await;
    own.sql(&format!("SELECT pg_terminate_backend({process})"));
    let failure = minting.await.unwrap().unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    work.roll_back().await;
    assert_eq!(patiently(async || own.journal.mint_term().await).await.unwrap(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_append_whose_answer_is_lost_is_unknown_and_stored() {
    let Some(own) = Own::start().await else { return };
    let way = Proxy::start(own.server.port()).await;
    let name = name_of_database(&own.url);
    let url = own.server.url_through(way.port()).replace("/ledger?", &format!("/{name}?"));
    let journal = Journal::Postgres(open(&url, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "first").await.unwrap();
    way.set(ProxyFault::CutAtReply);
    let append = ann.next("lost");
    let failure = journal.append(append.clone()).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    way.set(ProxyFault::None);
    until(|| own.sql(&format!("SELECT count(*) FROM {SCHEMA}.entries")) == "2").await;
    let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
    assert_eq!(exchange.entries.len(), 2, "both copies are there");
    // No connection at all: nothing was sent.
    way.set(ProxyFault::Refuse);
    let failure = patiently_unavailable(&journal, &ann.next("never")).await;
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    way.set(ProxyFault::None);
    assert_eq!(patiently(async || journal.read(0).await).await.unwrap().entries.len(), 3);
}

/// Appends until the cut connection is known to be gone; what a new one would send is not sent.
async fn patiently_unavailable(journal: &Journal, append: &Append) -> JournalError {
    loop {
        let failure = journal.append(append.clone()).await.unwrap_err();
        if !matches!(failure, JournalError::Unknown(_)) {
            return failure;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_crashes_and_comes_back_has_everything_and_is_noticed() {
    let Some(mut server) = Server::with(durable(&[])) else { return };
    let journal = Journal::Postgres(open(&server.url(), fsync).await.unwrap());
    let mut incarnations = journal.incarnations();
    incarnations.borrow_and_update();
    let mut ann = Player::new(b'a');
    for number in 0..5 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let before = all(&journal, 0).await;
    block_in_place(|| server.restart());
    let append = ann.next("after");
    // The first that comes through is told before anything is stored.
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match journal.append(append.clone()).await {
            Err(JournalError::Changed) => break,
            Err(JournalError::Unavailable(_) | JournalError::Unknown(_))
                if Instant::now() < end => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(incarnations.has_changed().unwrap());
    assert_eq!(all(&journal, 0).await, before);
    ann.apply(&journal.append(append).await.unwrap().entries);
    assert_eq!(all(&journal, 0).await.len(), 6);
}

/// A primary, a standby of it that stopped hearing after three entries, and a journal that saw five.
async fn after_a_failover(
    without_names: bool,
    others: u64,
) -> Option<(Server, Proxy, Journal, Player, Vec<Entry>)> {
    let mut primary = Server::with(durable(&[]))?;
    let (link, way) = (Proxy::start(primary.port()).await, Proxy::start(primary.port()).await);
    firstcome_inject::set(without_names.then_some(Mistake::PredecessorIgnored));
    let opened = open(&primary.url_through(way.port()), fsync).await;
    firstcome_inject::set(None);
    let journal = Journal::Postgres(opened.unwrap());
    let standby = block_in_place(|| primary.standby(link.port()));
    let mut ann = Player::new(b'a');
    for number in 1..=3 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let count = format!("SELECT count(*) FROM {SCHEMA}.entries");
    until(|| standby.try_sql("ledger", &count) == Ok("3".to_owned())).await;
    link.set(ProxyFault::StallReplies);
    for number in 4..=5 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let entries = all(&journal, 0).await;
    block_in_place(|| primary.kill());
    link.cut();
    block_in_place(|| standby.promote());
    // What others wrote there before this node came.
    let direct = Journal::Postgres(open(&standby.url(), fsync).await.unwrap());
    let mut eve = Player::new(b'e');
    for number in 0..others {
        eve.claims(&direct, &format!("eve{number}")).await.unwrap();
    }
    way.lead_to(standby.port());
    Some((standby, way, journal, ann, entries))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_standby_that_lacks_the_last_entries_is_noticed_and_they_are_put_back() {
    let scene = after_a_failover(false, 0).await;
    let Some((_server, _way, journal, mut ann, entries)) = scene else { return };
    let append = ann.next("late");
    let failure = patiently(async || journal.append(append.clone()).await).await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 3, applied: 5 }), "{failure}");
    journal.put_back(3, name_of(&entries[2]), entries[3..].to_vec()).await.unwrap();
    ann.apply(&journal.append(append).await.unwrap().entries);
    let there = all(&journal, 0).await;
    assert_eq!(there[..5], entries);
    assert_eq!(subject_of(&there[5]), "late");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_standby_that_went_another_way_is_noticed_by_name() {
    let Some((_server, _way, journal, mut ann, _)) = after_a_failover(false, 3).await else {
        return;
    };
    let append = ann.next("late");
    let failure = patiently(async || journal.append(append.clone()).await).await.unwrap_err();
    assert!(matches!(failure, JournalError::Forked { position: 5, .. }), "{failure}");
    assert_eq!(all(&journal, 0).await.len(), 6, "nothing was stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_names_a_standby_that_went_another_way_is_taken_for_the_same() {
    let Some((_server, _way, journal, mut ann, _)) = after_a_failover(true, 3).await else {
        return;
    };
    let append = ann.next("late");
    let exchange = patiently(async || journal.append(append.clone()).await).await;
    assert!(exchange.is_ok(), "the height alone does not tell: {exchange:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_commit_whose_wait_for_a_standby_was_ended_is_unknown() {
    let Some(server) = Server::with(durable(&[])) else { return };
    let server = &*Box::leak(Box::new(server));
    let journal = Journal::Postgres(open(&server.url(), fsync).await.unwrap());
    let own = Own { server, url: server.url(), journal: journal.clone() };
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "first").await.unwrap();
    let wait_for = |names: &str| {
        own.sql(&format!("ALTER SYSTEM SET synchronous_standby_names = '{names}'"));
        own.sql("SELECT pg_reload_conf()");
    };
    wait_for("nobody");
    until(|| own.sql("SHOW synchronous_standby_names") == "nobody").await;
    // Commits wait only once the checkpointer has read it, too, which answers this afterwards.
    own.sql("CHECKPOINT");
    for (number, end) in ["pg_cancel_backend", "pg_terminate_backend"].into_iter().enumerate() {
        let append = ann.again("waits");
        let appending = begin(&journal, &append);
        let process = one_waiting(&own, "SyncRep").await;
        own.sql(&format!("SELECT {end}({process})"));
        let failure = appending.await.unwrap().unwrap_err();
        assert!(matches!(failure, JournalError::Unknown(_)), "{end}: {failure}");
        let stored = own.sql(&format!("SELECT count(*) FROM {SCHEMA}.entries"));
        assert_eq!(stored, (number + 2).to_string(), "on this server it is there");
    }
    let minting = tokio::spawn({
        let journal = journal.clone();
        async move { journal.mint_term().await }
    });
    let process = one_waiting(&own, "SyncRep").await;
    own.sql(&format!("SELECT pg_cancel_backend({process})"));
    let failure = minting.await.unwrap().unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    wait_for("");
    until(|| own.sql("SHOW synchronous_standby_names").is_empty()).await;
    assert_eq!(journal.mint_term().await.unwrap(), 2);
    let append = ann.next("goes on");
    patiently(async || journal.append(append.clone()).await).await.unwrap();
}
