//! What becomes of a journal when a MariaDB or a connection to it fails.

use crate::mariadb_opening::{Own, open};
use crate::redis_failing::until;
use crate::sharing::seed;
use crate::world::{Player, all, name_of, name_of_database, patiently, subject_of};
use firstcome_inject::Mistake;
use firstcome_journal::cluster::Seed;
use firstcome_journal::mysql::{DatabaseOptions, Durability};
use firstcome_journal::{Append, AppendAnswer, Entry, Journal, JournalError};
use firstcome_store::mysql::{MySqlOptions, MySqlPool};
use firstcome_testbed::{MariaDb as Server, Proxy, ProxyFault};
use std::time::{Duration, Instant};
use tokio::task::block_in_place;

/// A connection of an operator, which holds something up.
fn operator(own: &Own) -> MySqlPool {
    let store = MySqlOptions::new(&*own.url).connections(1);
    MySqlPool::new(store).unwrap()
}

/// The connections of the journal whose statement waits, for a lock of a row or of a table.
fn waiting(own: &Own) -> Vec<String> {
    let sql = format!(
        "SELECT id FROM information_schema.processlist WHERE db = '{}' AND command = 'Query' \
         AND time_ms > 100 AND id <> CONNECTION_ID()",
        name_of_database(&own.url)
    );
    own.sql(&sql).lines().map(str::to_owned).collect()
}

async fn one_waiting(own: &Own) -> String {
    let seen = std::cell::RefCell::new(Vec::new());
    until(|| {
        *seen.borrow_mut() = waiting(own);
        seen.borrow().len() == 1
    })
    .await;
    seen.into_inner().remove(0)
}

/// Begins an append.
fn begin(
    journal: &Journal,
    append: &Append,
) -> tokio::task::JoinHandle<Result<AppendAnswer, JournalError>> {
    let (journal, append) = (journal.clone(), append.clone());
    tokio::spawn(async move { journal.append(append).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_connection_that_is_killed_at_any_step_is_told_apart_and_the_same_body_comes_again() {
    let Some(own) = Own::start().await else { return };
    let mut ann = Player::new(b'a');
    ann.claims(&own.journal, "first").await.unwrap();
    let mut count = 1;
    let table = crate::mariadb_opening::PREFIX;
    // While it waits for its turn, nothing was sent that counts; while it stores the entry, nobody knows.
    for (held, unknown) in [("head", false), ("entries", true)] {
        let holder = operator(&own);
        holder.step(&format!("LOCK TABLES {table}{held} READ")).await.unwrap();
        let append = ann.next(held);
        let appending = begin(&own.journal, &append);
        let id = one_waiting(&own).await;
        own.sql(&format!("KILL {id}"));
        let failure = appending.await.unwrap().unwrap_err();
        assert_eq!(matches!(failure, JournalError::Unknown(_)), unknown, "{held}: {failure}");
        assert!(unknown || matches!(failure, JournalError::Unavailable(_)), "{held}: {failure}");
        holder.step("UNLOCK TABLES").await.unwrap();
        assert_eq!(all(&own.journal, 0).await.len(), count, "{held}");
        let exchange = patiently(async || own.journal.append(append.clone()).await).await.unwrap();
        ann.apply(&exchange.entries);
        count += 1;
    }
    // Behind another one that holds the row of the head.
    let holder = operator(&own);
    let (work, _) = holder.begin(&format!("SELECT one FROM {table}head FOR UPDATE")).await.unwrap();
    let append = ann.next("behind");
    let appending = begin(&own.journal, &append);
    let id = one_waiting(&own).await;
    own.sql(&format!("KILL {id}"));
    let failure = appending.await.unwrap().unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    // One that holds it for ever is waited for 2 s.
    let failure = own.journal.append(append.clone()).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    work.roll_back().await;
    // In a step of several statements, before its commit: it certainly did not happen.
    let holder = operator(&own);
    holder.step(&format!("LOCK TABLES {table}head READ")).await.unwrap();
    let minting = tokio::spawn({
        let journal = own.journal.clone();
        async move { journal.mint_term().await }
    });
    let id = one_waiting(&own).await;
    own.sql(&format!("KILL {id}"));
    let failure = minting.await.unwrap().unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    holder.step("UNLOCK TABLES").await.unwrap();
    assert_eq!(patiently(async || own.journal.mint_term().await).await.unwrap(), 1);
    ann.apply(&own.journal.append(append).await.unwrap().entries);
    assert_eq!(all(&own.journal, 0).await.len(), count + 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_two_that_put_an_emptied_store_back_at_once_only_one_does() {
    let Some(own) = Own::start().await else { return };
    let second = Journal::MySql(open(&own.url, |_| {}).await.unwrap());
    Player::new(b'a').claims(&own.journal, "first").await.unwrap();
    own.sql("DELETE FROM ~entries; DELETE FROM ~head");
    // Both have seen that nothing is there before either writes.
    let holder = operator(&own);
    let table = crate::mariadb_opening::PREFIX;
    holder.step(&format!("LOCK TABLES {table}entries READ")).await.unwrap();
    let seeds = [(own.journal.clone(), 10), (second, 20)].map(|(journal, position)| {
        let seed = Seed { position, ..seed(Vec::new()) };
        tokio::spawn(async move { (position, journal.reseed(None, seed).await) })
    });
    until(|| waiting(&own).len() == 2).await;
    holder.step("UNLOCK TABLES").await.unwrap();
    let mut done = Vec::new();
    for seed in seeds {
        match seed.await.unwrap() {
            (position, Ok(())) => done.push(position),
            (_, Err(failure)) => {
                assert!(matches!(failure, JournalError::Moved { .. }), "{failure}");
            }
        }
    }
    assert_eq!(done, [own.journal.head().await.unwrap().position], "the others stored nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_node_that_stops_in_the_middle_of_a_step_holds_the_others_up_for_a_second() {
    let Some(own) = Own::start().await else { return };
    let mut ann = Player::new(b'a');
    ann.claims(&own.journal, "first").await.unwrap();
    let store = MySqlOptions::new(&*own.url).connections(1).idle_within(Duration::from_secs(1));
    let stopped = MySqlPool::new(store).unwrap();
    let sql = format!("SELECT one FROM {}head FOR UPDATE", crate::mariadb_opening::PREFIX);
    let (work, _) = stopped.begin(&sql).await.unwrap();
    let begun = Instant::now();
    let second = ann.next("second");
    patiently(async || own.journal.append(second.clone()).await).await.unwrap();
    // Without the limit of a second it would be for ever.
    assert!(begun.elapsed() < Duration::from_secs(15), "{:?}", begun.elapsed());
    let failure = work.commit("SELECT 1").await.unwrap_err();
    assert!(!matches!(failure, firstcome_store::StoreError::Statement { .. }), "{failure}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_append_whose_answer_is_lost_is_unknown_and_stored() {
    let Some(own) = Own::start().await else { return };
    let way = Proxy::start(own.server.port()).await;
    let url = own.server.url_through(way.port(), &name_of_database(&own.url));
    let journal = Journal::MySql(open(&url, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "first").await.unwrap();
    // The second of its two round trips is the one that stores it.
    way.set(ProxyFault::CutAtReplyToNumber(way.requests() + 2));
    let append = ann.next("lost");
    let failure = journal.append(append.clone()).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    way.set(ProxyFault::None);
    until(|| own.sql("SELECT count(*) FROM `~entries`") == "2").await;
    let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
    assert_eq!(exchange.entries.len(), 2, "both copies are there");
    ann.apply(&exchange.entries);
    // What never reached the server is not there, and nobody knows on this side.
    way.set(ProxyFault::CutAtRequestNumber(way.requests() + 2));
    let append = ann.next("never");
    let failure = journal.append(append.clone()).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    // No connection at all: nothing was sent.
    way.set(ProxyFault::Refuse);
    let failure = journal.append(append).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    way.set(ProxyFault::None);
    assert_eq!(patiently(async || journal.read(0).await).await.unwrap().entries.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_trigger_that_refuses_and_a_table_without_room_change_nothing() {
    let Some(own) = Own::start().await else { return };
    let mut ann = Player::new(b'a');
    ann.claims(&own.journal, "ann").await.unwrap();
    for (code, full) in [("1114", true), ("1644", false)] {
        own.sql(&format!(
            "CREATE TRIGGER `~refuse` BEFORE INSERT ON `~entries` FOR EACH ROW \
             SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = {code}, MESSAGE_TEXT = 'no'"
        ));
        let append = ann.next("bob");
        let failure = own.journal.append(append.clone()).await.unwrap_err();
        assert_eq!(matches!(failure, JournalError::Full(_)), full, "{code}: {failure:?}");
        assert!(!matches!(failure, JournalError::Unknown(_)), "{code}: {failure:?}");
        own.sql("DROP TRIGGER `~refuse`");
        assert_eq!(all(&own.journal, 0).await.len() as u64, ann.applied, "nothing was stored");
        ann.apply(&own.journal.append(append).await.unwrap().entries);
    }
}

fn fsync(options: &mut DatabaseOptions) {
    options.durability = Durability::Fsync;
}

fn durable() -> Option<Server> {
    Server::with(&["--innodb-flush-log-at-trx-commit=1"])
}

/// Appends until the answer is that another run of the server is there.
async fn until_changed(journal: &Journal, append: &Append) {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match journal.append(append.clone()).await {
            Err(JournalError::Changed) => return,
            Err(JournalError::Unavailable(_) | JournalError::Unknown(_))
                if Instant::now() < end => {}
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_crashes_and_comes_back_has_everything_and_is_noticed() {
    let Some(mut server) = durable() else { return };
    let url = server.new_database();
    let journal = Journal::MySql(open(&url, fsync).await.unwrap());
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
    until_changed(&journal, &append).await;
    let there = patiently(async || journal.read(0).await).await.unwrap();
    assert_eq!(there.entries, before);
    assert!(incarnations.has_changed().unwrap());
    ann.apply(&journal.append(append).await.unwrap().entries);
    assert_eq!(all(&journal, 0).await.len(), 6);
    // Another node that comes later finds the same run, and is not in the way of the first.
    let other = Journal::MySql(open(&url, fsync).await.unwrap());
    Player::new(b'b').claims(&other, "bob").await.unwrap();
    ann.claims(&journal, "ann").await.unwrap();
}

/// A server that went back to its third entry, where others stored as many as are said, and a journal that saw five.
async fn after_a_loss(
    without_names: bool,
    others: u64,
) -> Option<(Server, Journal, Player, Vec<Entry>)> {
    let mut server = durable()?;
    let url = server.new_database();
    firstcome_inject::set(without_names.then_some(Mistake::PredecessorIgnored));
    let opened = open(&url, fsync).await;
    firstcome_inject::set(None);
    let journal = Journal::MySql(opened.unwrap());
    let mut ann = Player::new(b'a');
    for number in 1..=3 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    block_in_place(|| server.keep_copy());
    for number in 4..=5 {
        let append = ann.next(&format!("ann{number}"));
        let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
        ann.apply(&exchange.entries);
    }
    let entries = all(&journal, 0).await;
    block_in_place(|| server.go_back_to_copy());
    // What others wrote there before this node came.
    let direct = Journal::MySql(open(&url, fsync).await.unwrap());
    let mut eve = Player::new(b'e');
    for number in 0..others {
        eve.claims(&direct, &format!("eve{number}")).await.unwrap();
    }
    Some((server, journal, ann, entries))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_lacks_the_last_entries_is_noticed_and_they_are_put_back() {
    let Some((_server, journal, mut ann, entries)) = after_a_loss(false, 0).await else { return };
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
async fn a_server_that_went_another_way_is_noticed_by_name() {
    let Some((_server, journal, mut ann, _)) = after_a_loss(false, 3).await else { return };
    let append = ann.next("late");
    let failure = patiently(async || journal.append(append.clone()).await).await.unwrap_err();
    assert!(matches!(failure, JournalError::Forked { position: 5, .. }), "{failure}");
    assert_eq!(all(&journal, 0).await.len(), 6, "nothing was stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn without_names_a_server_that_went_another_way_is_taken_for_the_same() {
    let Some((_server, journal, mut ann, _)) = after_a_loss(true, 3).await else { return };
    let append = ann.next("late");
    let exchange = patiently(async || journal.append(append.clone()).await).await;
    assert!(exchange.is_ok(), "the height alone does not tell: {exchange:?}");
}
