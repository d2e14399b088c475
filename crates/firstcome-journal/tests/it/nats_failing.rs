//! What becomes of a journal when a NATS server or a connection to it fails.

use crate::nats_opening::open;
use crate::world::{Player, all, name_of, patiently, subject_of};
use firstcome_inject::Mistake;
use firstcome_journal::{Entry, Journal, JournalError};
use firstcome_testbed::{Nats as Server, NatsCluster, Proxy, ProxyFault};
use std::time::Duration;
use tokio::task::block_in_place;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_append_whose_answer_is_lost_is_unknown_and_stored() {
    let Some(server) = Server::shared() else { return };
    let (way, name) = (Proxy::start(server.port()).await, Server::new_space());
    let url = format!("nats://127.0.0.1:{}", way.port());
    let journal = Journal::Nats(open(&url, &name, |_| {}).await.unwrap());
    let direct = Journal::Nats(open(&server.url(), &name, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "first").await.unwrap();
    // Once there was a look, an append begins with the message of the entry.
    way.set(ProxyFault::StallReplies);
    let append = ann.next("lost");
    let appending = tokio::spawn({
        let (journal, append) = (journal.clone(), append.clone());
        async move { journal.append(append).await }
    });
    while all(&direct, 0).await.len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    way.cut();
    let failure = timeout(Duration::from_secs(30), appending).await.unwrap().unwrap().unwrap_err();
    assert!(matches!(failure, JournalError::Unknown(_)), "{failure}");
    way.set(ProxyFault::None);
    let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
    assert_eq!(exchange.entries.len(), 2, "both copies are there");
    ann.apply(&exchange.entries);
    // No connection at all: nothing was sent.
    way.set(ProxyFault::Refuse);
    let append = ann.next("never");
    let failure = loop {
        match journal.append(append.clone()).await {
            // The connection may not know yet.
            Err(JournalError::Unknown(_)) => {}
            other => break other.unwrap_err(),
        }
    };
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    // What was unknown may have been stored.
    let stored = all(&direct, 0).await.len();
    let failure = journal.append(append).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    assert_eq!(all(&direct, 0).await.len(), stored, "nothing was stored");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_was_killed_has_all_and_whoever_comes_back_is_told_once() {
    let Some(mut server) = Server::start() else { return };
    let journal = Journal::Nats(open(&server.url(), "main", |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    for number in 1..=5 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let before = all(&journal, 0).await;
    let incarnations = journal.incarnations();
    block_in_place(|| server.kill());
    let append = ann.next("after");
    let failure = journal.append(append.clone()).await.unwrap_err();
    let out = matches!(failure, JournalError::Unavailable(_) | JournalError::Unknown(_));
    assert!(out, "{failure}");
    block_in_place(|| server.restart());
    // The first that comes through is told before anything is stored.
    until_changed(&journal, &append).await;
    assert!(incarnations.has_changed().unwrap());
    let kept = patiently(async || journal.read(0).await).await.unwrap().entries;
    assert_eq!(kept[..before.len()], before);
    // What was unknown may have reached the server once it was there again.
    let once = usize::from(kept.len() > before.len());
    assert!(once == 0 || matches!(failure, JournalError::Unknown(_)), "{failure}");
    ann.apply(&journal.append(append).await.unwrap().entries);
    assert_eq!(all(&journal, 0).await.len(), 6 + once);
}

async fn until_changed(journal: &Journal, append: &firstcome_journal::Append) {
    for _ in 0..2_000 {
        match journal.append(append.clone()).await {
            Err(JournalError::Changed) => return,
            Err(JournalError::Unavailable(_) | JournalError::Unknown(_)) => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            other => panic!("{other:?}"),
        }
    }
    panic!("it is never told");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_server_that_is_paused_answers_nothing_and_loses_nothing() {
    let Some(server) = Server::start() else { return };
    let journal = Journal::Nats(open(&server.url(), "main", |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "first").await.unwrap();
    server.pause();
    // It may take a moment until it stands still.
    let (append, failure) = loop {
        let append = ann.next("paused");
        match journal.append(append.clone()).await {
            Ok(exchange) => ann.apply(&exchange.entries),
            Err(failure) => break (append, failure),
        }
    };
    assert!(
        matches!(failure, JournalError::Unknown(_) | JournalError::Unavailable(_)),
        "{failure}"
    );
    server.resume();
    let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
    ann.apply(&exchange.entries);
    let there = all(&journal, 0).await;
    let number = usize::try_from(ann.number).unwrap();
    assert!([number, number + 1].contains(&there.len()), "{number}: {}", there.len());
    assert!(there[1..].iter().all(|entry| subject_of(entry) == "paused"));
}

/// A server that went back to its third entry, where others stored as many as are said, and a journal that saw five.
async fn after_a_loss(
    without_names: bool,
    others: u64,
) -> Option<(Server, Journal, Player, Vec<Entry>)> {
    let mut server = Server::syncing()?;
    let url = server.url();
    firstcome_inject::set(without_names.then_some(Mistake::PredecessorIgnored));
    let opened = open(&url, "main", |_| {}).await;
    firstcome_inject::set(None);
    let journal = Journal::Nats(opened.unwrap());
    let mut ann = Player::new(b'a');
    for number in 1..=3 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let copy = block_in_place(|| {
        server.kill();
        let copy = server.copy_of_data();
        server.restart();
        copy
    });
    for number in 4..=5 {
        let append = ann.next(&format!("ann{number}"));
        let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
        ann.apply(&exchange.entries);
    }
    let entries = all(&journal, 0).await;
    block_in_place(|| {
        server.kill();
        server.replace_data(&copy);
        server.restart();
    });
    // What others wrote there before this node came.
    let direct = Journal::Nats(open(&url, "main", |_| {}).await.unwrap());
    let mut eve = Player::new(b'e');
    eve.apply(&direct.read(0).await.unwrap().entries);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn three_servers_lose_nothing_with_one_of_them_and_take_nothing_with_two_of_them_gone() {
    let Some(mut cluster) = NatsCluster::start() else { return };
    let journal = Journal::Nats(open(&cluster.url(), "main", |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    for number in 0..3 {
        // Each of them in turn, the one that leads the stream among them.
        block_in_place(|| cluster.servers[number].kill());
        let append = ann.next(&format!("ann{number}"));
        let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
        ann.apply(&exchange.entries);
        block_in_place(|| cluster.servers[number].restart());
    }
    let before = patiently(async || journal.read(0).await).await.unwrap().entries;
    assert!(before.len() >= 3, "{}", before.len());
    block_in_place(|| cluster.servers[..2].iter_mut().for_each(Server::kill));
    let append = ann.next("nobody");
    for _ in 0..3 {
        let failure = journal.append(append.clone()).await.unwrap_err();
        let out = matches!(
            failure,
            JournalError::Unavailable(_) | JournalError::Unknown(_) | JournalError::Changed
        );
        assert!(out, "{failure}");
    }
    block_in_place(|| cluster.restart());
    let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
    ann.apply(&exchange.entries);
    let there = patiently(async || journal.read(0).await).await.unwrap();
    assert_eq!(there.entries[..before.len()], before);
}
