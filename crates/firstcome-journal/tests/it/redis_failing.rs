//! What becomes of a journal when the server, the network or a replica fails.

use crate::redis_opening::open;
use crate::world::{Player, SPACE, all, name_of, subject_of};
use firstcome_core::names::PieceName;
use firstcome_inject::Mistake;
use firstcome_journal::redis::{Durability, Options, Redis};
use firstcome_journal::{Append, AppendAnswer, Confirm, Entry, Journal, JournalError};
use firstcome_store::{Command, RedisOptions, Wire};
use firstcome_testbed::{Proxy, ProxyFault, RedisServer as Server, RedisSettings, Sentinels};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Waits for something that nobody signals.
pub(crate) async fn until(done: impl Fn() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !done() {
        assert!(Instant::now() < end, "not within 20 s");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Asks until there is another answer than that the server is out of reach or another one.
async fn patiently<T>(ask: impl AsyncFn() -> Result<T, JournalError>) -> Result<T, JournalError> {
    let end = Instant::now() + Duration::from_secs(20);
    loop {
        match ask().await {
            Err(
                JournalError::Unavailable(_) | JournalError::Unknown(_) | JournalError::Changed,
            ) if Instant::now() < end => {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            answer => return answer,
        }
    }
}

/// A server with one replica that keeps up.
async fn pair() -> Option<(Server, Server)> {
    let master = Server::start()?;
    let settings = RedisSettings { replica_of: Some(master.port()), ..RedisSettings::default() };
    let replica = Server::with(settings)?;
    until(|| master.ask("INFO replication").contains("state=online")).await;
    Some((master, replica))
}

async fn with_copies(server: &Server) -> Journal {
    let redis = open(server, |options| options.durability = Durability::Copies(1));
    Journal::Redis(redis.await.unwrap())
}

fn later(exchange: AppendAnswer) -> tokio::sync::oneshot::Receiver<()> {
    match exchange.confirm {
        Confirm::Later(receiver) => receiver,
        Confirm::AtOnce => panic!("a copy takes its time"),
    }
}

#[tokio::test]
async fn scripts_that_were_forgotten_are_given_again() {
    let Some((server, _replica)) = pair().await else { return };
    let journal = with_copies(&server).await;
    let mut ann = Player::new(b'a');
    for round in 1..=4 {
        assert_eq!(server.ask("SCRIPT FLUSH"), "+OK");
        let exchange = ann.claims(&journal, "ann").await.unwrap();
        assert_eq!(exchange.entries.len(), 1);
        later(exchange).await.unwrap();
        assert_eq!(server.ask("SCRIPT FLUSH"), "+OK");
        assert_eq!(journal.mint_term().await.unwrap(), round);
    }
    assert_eq!(all(&journal, 0).await.len(), 4, "each of them once");
}

/// Appends with a player, saves, appends two more, and has the server forget those.
async fn after_a_restart_from_an_older_file(
    server: &mut Server,
    journal: &Journal,
    ann: &mut Player,
) -> Vec<Entry> {
    for number in 1..=3 {
        ann.claims(journal, &format!("ann{number}")).await.unwrap();
    }
    assert_eq!(server.ask("SAVE"), "+OK");
    for number in 4..=5 {
        ann.claims(journal, &format!("ann{number}")).await.unwrap();
    }
    let entries = all(journal, 0).await;
    server.restart();
    let head = patiently(async || journal.head().await).await.unwrap();
    assert_eq!((head.position, head.name), (3, name_of(&entries[2])));
    entries
}

#[tokio::test]
async fn a_lost_tail_is_noticed_and_put_back() {
    let Some(mut server) = Server::start() else { return };
    let journal = Journal::Redis(open(&server, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    let entries = after_a_restart_from_an_older_file(&mut server, &journal, &mut ann).await;
    let append = ann.next("late");
    let failure = patiently(async || journal.append(append.clone()).await).await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 3, applied: 5 }), "{failure}");
    journal.put_back(3, name_of(&entries[2]), entries[3..].to_vec()).await.unwrap();
    ann.apply(&journal.append(append).await.unwrap().entries);
    let there = all(&journal, 0).await;
    assert_eq!(there[..5], entries);
    assert_eq!(subject_of(&there[5]), "late");
}

/// What an append says that rests on entry 5, where the store lost it and has others at 4 and 5.
async fn on_a_fork(without_names: bool, others: u64) -> Option<Result<AppendAnswer, JournalError>> {
    let mut server = Server::start()?;
    // The scripts are chosen when the journal is opened.
    firstcome_inject::set(without_names.then_some(Mistake::PredecessorIgnored));
    let opened = open(&server, |_| {}).await;
    firstcome_inject::set(None);
    let journal = Journal::Redis(opened.unwrap());
    let mut ann = Player::new(b'a');
    after_a_restart_from_an_older_file(&mut server, &journal, &mut ann).await;
    let mut bob = Player { applied: 3, applied_name: ann.applied_name, ..Player::new(b'b') };
    bob.applied_name.number = 3;
    let append = bob.next("bob1");
    let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
    bob.apply(&exchange.entries);
    for number in 2..=others {
        bob.claims(&journal, &format!("bob{number}")).await.unwrap();
    }
    Some(journal.append(ann.next("late")).await)
}

#[tokio::test]
async fn a_fork_is_noticed_by_name() {
    // The same height, and higher.
    for others in [2, 4] {
        let Some(answer) = on_a_fork(false, others).await else { return };
        let failure = answer.unwrap_err();
        let JournalError::Forked { position: 5, found, applied } = failure else {
            panic!("{failure}")
        };
        assert_eq!((found.node.0[0], applied.node.0[0]), (b'b', b'a'));
    }
}

#[tokio::test]
async fn without_the_name_a_fork_would_go_unnoticed() {
    for others in [2, 4] {
        let Some(answer) = on_a_fork(true, others).await else { return };
        let exchange = answer.expect("the height alone fits");
        assert!(!exchange.entries.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_that_was_cut_off_is_promoted_and_what_it_lacks_is_put_back() {
    let Some(mut sentinels) = Sentinels::start() else { return };
    let options = Options::new(SPACE, Durability::Copies(1));
    let store = RedisOptions::new(sentinels.url()).heartbeat(Duration::from_secs(1));
    let journal = Journal::Redis(Redis::open(store, options).await.unwrap());
    let mut ann = Player::new(b'a');
    for number in 1..=3 {
        later(ann.claims(&journal, &format!("ann{number}")).await.unwrap()).await.unwrap();
    }
    sentinels.sever_replica();
    let mut unconfirmed = Vec::new();
    for number in 4..=5 {
        let exchange = ann.claims(&journal, &format!("ann{number}")).await.unwrap();
        unconfirmed.push(later(exchange));
    }
    let entries = all(&journal, 0).await;
    sentinels.fail_over();
    let append = ann.next("late");
    let failure = patiently(async || journal.append(append.clone()).await).await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 3, applied: 5 }), "{failure}");
    for lost in unconfirmed {
        lost.await.expect_err("nobody has a copy of these");
    }
    let again = async || journal.put_back(3, name_of(&entries[2]), entries[3..].to_vec()).await;
    match patiently(again).await {
        // Its answer may have been lost the first time.
        Ok(()) | Err(JournalError::Moved { head: 5, .. }) => {}
        Err(failure) => panic!("{failure}"),
    }
    let there = patiently(async || journal.read(0).await).await.unwrap();
    assert_eq!(there.entries, entries);
}

#[tokio::test]
async fn a_full_server_says_so_and_recovers() {
    let Some(server) = Server::start() else { return };
    let journal = Journal::Redis(open(&server, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "ann").await.unwrap();
    assert_eq!(server.ask("CONFIG SET maxmemory 1"), "+OK");
    let append = ann.next("bob");
    for _ in 0..2 {
        let failure = journal.append(append.clone()).await.unwrap_err();
        assert!(matches!(failure, JournalError::Full(_)), "{failure}");
    }
    let piece = journal.put_piece(PieceName::of(b"x"), b"x".to_vec()).await.unwrap_err();
    assert!(matches!(piece, JournalError::Full(_)), "{piece}");
    assert_eq!(journal.read(0).await.unwrap().entries.len(), 1);
    assert_eq!(server.ask("CONFIG SET maxmemory 0"), "+OK");
    ann.apply(&journal.append(append).await.unwrap().entries);
    assert_eq!(journal.head().await.unwrap().position, 2);
}

#[tokio::test]
async fn at_85_percent_appends_are_refused_and_snapshots_are_not() {
    let Some(server) = Server::start() else { return };
    let wire = Wire::connect(RedisOptions::new(server.url())).await.unwrap();
    // So that what is left below is room for what follows, and for what the server takes for connections.
    wire.send(&Command::new("SET").arg("ballast").arg(vec![0_u8; 30 << 20])).await.unwrap();
    let redis = open(&server, |_| {}).await.unwrap();
    let used = redis.memory_use().await.unwrap().used;
    assert_eq!(server.ask(&format!("CONFIG SET maxmemory {}", used * 100 / 92)), "+OK");
    assert!(redis.memory_use().await.unwrap().is_short());
    let journal = Journal::Redis(redis.clone());
    let append = Player::new(b'a').next("ann");
    let failure = journal.append(append.clone()).await.unwrap_err();
    assert!(matches!(failure, JournalError::Full(_)), "{failure}");
    let term = journal.mint_term().await.unwrap();
    let name = PieceName::of(b"piece");
    journal.put_piece(name, b"piece".to_vec()).await.unwrap();
    let head = journal.head().await.unwrap();
    journal.install(head.position, head.name, b"m".to_vec(), vec![name], term).await.unwrap();
    assert_eq!(server.ask(&format!("CONFIG SET maxmemory {}", used * 3)), "+OK");
    assert!(!redis.memory_use().await.unwrap().is_short());
    journal.append(append).await.unwrap();
}

#[tokio::test]
async fn a_server_that_was_demoted_is_waited_for() {
    let Some((server, replica)) = pair().await else { return };
    let journal = Journal::Redis(open(&server, |_| {}).await.unwrap());
    let mut ann = Player::new(b'a');
    ann.claims(&journal, "ann").await.unwrap();
    until(|| replica.ask("HGET fc:{main}:head position").ends_with('1')).await;
    assert_eq!(replica.ask("REPLICAOF NO ONE"), "+OK");
    assert_eq!(server.ask(&format!("REPLICAOF 127.0.0.1 {}", replica.port())), "+OK");
    let append = ann.next("bob");
    let failure = journal.append(append.clone()).await.unwrap_err();
    assert!(matches!(failure, JournalError::Unavailable(_)), "{failure}");
    assert_eq!(server.ask("REPLICAOF NO ONE"), "+OK");
    ann.apply(&patiently(async || journal.append(append.clone()).await).await.unwrap().entries);
}

#[tokio::test]
async fn an_entry_is_confirmed_when_a_replica_has_it() {
    let Some((server, replica)) = pair().await else { return };
    let journal = with_copies(&server).await;
    let mut ann = Player::new(b'a');
    later(ann.claims(&journal, "ann").await.unwrap()).await.unwrap();
    replica.pause();
    let mut waiting = Vec::new();
    for _ in 0..5 {
        waiting.push(later(ann.claims(&journal, "ann").await.unwrap()));
    }
    // The server has given up on the first WAITs meanwhile: nobody was told that all is well.
    until(|| server.calls_of("wait") > 30).await;
    for confirmed in &mut waiting {
        assert_eq!(confirmed.try_recv(), Err(tokio::sync::oneshot::error::TryRecvError::Empty));
    }
    replica.resume();
    for confirmed in waiting {
        confirmed.await.unwrap();
    }
}

#[tokio::test]
async fn appends_do_not_queue_behind_one_wait() {
    let Some((server, replica)) = pair().await else { return };
    let journal = with_copies(&server).await;
    let mut ann = Player::new(b'a');
    replica.pause();
    let waiting = [
        later(ann.claims(&journal, "ann").await.unwrap()),
        later(ann.claims(&journal, "ann").await.unwrap()),
    ];
    // With one connection the second would have been stored after the first one's WAIT, and never two at once.
    until(|| server.ask("INFO clients").contains("blocked_clients:2")).await;
    replica.resume();
    for confirmed in waiting {
        confirmed.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_takes_its_confirmations_with_it() {
    let Some((server, replica)) = pair().await else { return };
    let proxy = Proxy::start(server.port()).await;
    let options = Options::new(SPACE, Durability::Copies(1));
    let store = RedisOptions::new(server.url_through(proxy.port()));
    let journal = Journal::Redis(Redis::open(store, options).await.unwrap());
    let mut ann = Player::new(b'a');
    replica.pause();
    let lost = later(ann.claims(&journal, "ann").await.unwrap());
    proxy.cut();
    lost.await.expect_err("what became of it cannot be known any more");
    // The twin: a WAIT on a fresh connection counts copies of nothing, and has them at once.
    assert_eq!(server.ask("WAIT 1 100"), ":1");
    let behind_a_write = server.ask("SET x 1\r\nWAIT 1 100");
    assert!(behind_a_write.ends_with(":0"), "here it speaks of a write: {behind_a_write}");
    // An entry on the new connection confirms the old one, too, once the replica has it.
    let append = ann.next("tick");
    let exchange = patiently(async || journal.append(append.clone()).await).await.unwrap();
    replica.resume();
    later(exchange).await.unwrap();
    let there = replica.ask("HGET fc:{main}:head position");
    assert!(there.ends_with('2'), "{there}");
}

/// Appends a body until it comes back, as a node does that has no answer.
async fn until_it_comes_back(journal: &Journal, append: &Append) -> (Vec<Entry>, u32) {
    let mut unknown = 0;
    loop {
        match journal.append(append.clone()).await {
            Ok(exchange) => return (exchange.entries, unknown),
            Err(JournalError::Unknown(_)) => unknown += 1,
            Err(JournalError::Unavailable(_)) => {}
            Err(failure) => panic!("{failure}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// Subjects as every replica applies them: copies of a batch count once.
fn applied(entries: &[Entry]) -> Vec<String> {
    let mut last = BTreeMap::new();
    let mut subjects = Vec::new();
    for entry in entries {
        let name = name_of(entry);
        let known = last.entry(name.node).or_insert(0);
        if name.number > *known {
            *known = name.number;
            subjects.push(subject_of(entry));
        }
    }
    subjects
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_is_lost_is_unknown_and_the_same_body_counts_once() {
    let Some(server) = Server::start() else { return };
    for (fault, stored) in [
        (ProxyFault::CutAtReply, true),
        (ProxyFault::CutAtRequest, false),
        (ProxyFault::StallReplies, true),
    ] {
        let proxy = Proxy::start(server.port()).await;
        let options = Options::new(SPACE, Durability::Memory);
        let store = RedisOptions::new(server.url_through(proxy.port()));
        let store = store.answer_within(Duration::from_secs(3));
        let journal = Journal::Redis(Redis::open(store, options).await.unwrap());
        let mut ann = Player::new(b'a');
        ann.claims(&journal, "before").await.unwrap();
        let append = ann.next("ann");
        proxy.set(fault);
        let failure = journal.append(append.clone()).await.unwrap_err();
        assert!(matches!(failure, JournalError::Unknown(_)), "{fault:?}: {failure}");
        proxy.set(ProxyFault::None);
        let (entries, _) = until_it_comes_back(&journal, &append).await;
        let there = all(&journal, 0).await;
        if stored {
            assert!(there.len() > 2, "{fault:?}: stored the first time, too");
            assert_eq!(subject_of(&entries[0]), "ann", "{fault:?}: the first copy comes back");
        }
        assert_eq!(applied(&there), ["before", "ann"], "{fault:?}");
        assert_eq!(server.ask("FLUSHALL"), "+OK");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_append_through_cuts_and_every_claim_counts_once() {
    let Some(server) = Server::start() else { return };
    let proxy = Proxy::start(server.port()).await;
    let store = RedisOptions::new(server.url_through(proxy.port()));
    let store = store.answer_within(Duration::from_secs(3));
    let options = Options::new(SPACE, Durability::Memory);
    let journal = Journal::Redis(Redis::open(store, options).await.unwrap());
    let mut writers = tokio::task::JoinSet::new();
    for letter in b'a'..b'e' {
        let journal = journal.clone();
        writers.spawn(async move {
            let mut player = Player::new(letter);
            for number in 0..40 {
                let append = player.next(&format!("{letter}-{number}"));
                let (entries, _) = until_it_comes_back(&journal, &append).await;
                player.apply(&entries);
            }
        });
    }
    for cut in 0..20_u64 {
        proxy.set(if cut % 2 == 0 { ProxyFault::CutAtReply } else { ProxyFault::CutAtRequest });
        let seen = proxy.connections();
        // The next cut comes when this one has had its effect.
        while proxy.connections() == seen && !writers.is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
            while let Some(ended) = writers.try_join_next() {
                ended.unwrap();
            }
        }
        proxy.set(ProxyFault::None);
        let head = journal.head().await.map_or(0, |head| head.position);
        let more = async || {
            let now = journal.head().await?;
            if now.position > head { Ok(()) } else { Err(JournalError::Unavailable("wait".into())) }
        };
        if !writers.is_empty() {
            drop(tokio::time::timeout(Duration::from_millis(200), patiently(more)).await);
        }
    }
    writers.join_all().await;
    let there = all(&journal, 0).await;
    Player::new(b'z').apply(&there);
    let mut subjects = applied(&there);
    subjects.sort();
    let before = subjects.len();
    subjects.dedup();
    assert_eq!((before, subjects.len()), (160, 160));
}
