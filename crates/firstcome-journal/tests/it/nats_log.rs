//! The log of a journal in NATS, which takes every message, and the table beside it: what becomes of a journal when one of
//! them is lost, or does not know yet what the other one has.

use crate::nats_opening::open;
use crate::sharing::seed;
use crate::world::{Player, SPACE, all, delete_stream, patiently, subject_of};
use firstcome_core::names::PieceName;
use firstcome_journal::{Journal, JournalError};
use firstcome_store::nats::{Keeps, NatsConnection, NatsOptions, Put, Stored, Stream};
use firstcome_testbed::{Nats as Server, NatsCluster};
use serde_json::Value;
use std::time::{Duration, Instant};

/// More than how far an ancestor may lie behind an entry.
const MANY: u64 = 1_100;

/// A space in a server, and its streams as an operator sees them.
struct Scene {
    url: String,
    name: String,
    log: Stream,
    table: Stream,
}

impl Scene {
    async fn set() -> Option<Self> {
        let server = Server::shared()?;
        let (url, name) = (server.url(), Server::new_space());
        let operator = NatsConnection::connect(NatsOptions::new(&*url)).await.unwrap();
        let log = Stream::new(operator.clone(), format!("fc_log_{name}"));
        let table = Stream::new(operator, format!("fc_journal_{name}"));
        Some(Self { url, name, log, table })
    }

    async fn open(&self) -> Journal {
        Journal::Nats(open(&self.url, &self.name, |_| {}).await.unwrap())
    }

    fn entries(&self) -> String {
        format!("fc-log.{}.entry", self.name)
    }

    /// The last message of a subject of the table.
    async fn last(&self, subject: &str) -> Stored {
        let subject = format!("fc.{}.{subject}", self.name);
        self.table.last(&subject).await.unwrap().unwrap()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_entry_that_was_on_its_way_for_long_is_ignored_and_sent_again() {
    let Some(scene) = Scene::set().await else { return };
    let (of_ann, of_bob) = (scene.open().await, scene.open().await);
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    ann.claims(&of_ann, "first").await.unwrap();
    for number in 0..MANY {
        bob.claims(&of_bob, &format!("bob{number}")).await.unwrap();
    }
    // Ann's node was paused meanwhile: it knows nothing of all that.
    let exchange = ann.claims(&of_ann, "late").await.unwrap();
    assert_eq!(exchange.entries.len(), 64, "the others come with later reads");
    let there = all(&of_bob, 0).await;
    assert_eq!(there.len() as u64, MANY + 2, "it counts once");
    assert_eq!(subject_of(there.last().unwrap()), "late");
    let ends = scene.log.info().await.unwrap().last;
    assert!(ends > MANY + 2, "there is a message that was ignored: {ends}");
    // Readers that begin anywhere agree.
    let fresh = scene.open().await;
    assert_eq!(fresh.head().await.unwrap().position, MANY + 2);
    for after in [0, 1, MANY / 2, MANY, MANY + 1] {
        let from = usize::try_from(after).unwrap();
        assert_eq!(all(&scene.open().await, after).await, there[from..], "behind {after}");
    }
    ann.apply(&all(&of_ann, ann.applied).await);
    ann.claims(&of_ann, "last").await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nodes_that_append_at_the_same_time_do_not_stop_each_other() {
    let Some(scene) = Scene::set().await else { return };
    let mut nodes = tokio::task::JoinSet::new();
    for letter in b'a'..=b'd' {
        let (journal, mut player) = (scene.open().await, Player::new(letter));
        nodes.spawn(async move {
            for number in 0..100 {
                player.claims(&journal, &format!("{letter}-{number}")).await.unwrap();
            }
        });
    }
    nodes.join_all().await;
    assert_eq!(all(&scene.open().await, 0).await.len(), 400);
    assert_eq!(scene.log.info().await.unwrap().last, 400, "each entry was sent once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_log_ends_the_journal_where_it_was_trimmed_and_is_written_again() {
    let Some(scene) = Scene::set().await else { return };
    let (journal, mut ann) = (scene.open().await, Player::new(b'a'));
    for number in 1..=3 {
        ann.claims(&journal, &format!("ann{number}")).await.unwrap();
    }
    let entries = all(&journal, 0).await;
    delete_stream(&scene.url, &format!("fc_log_{}", scene.name), scene.entries()).await;
    let append = ann.next("late");
    let failure = patiently(async || journal.append(append.clone()).await).await.unwrap_err();
    assert!(matches!(failure, JournalError::Behind { head: 0, applied: 3 }), "{failure}");
    journal.put_back(0, firstcome_journal::Name::default(), entries.clone()).await.unwrap();
    let other = scene.open().await;
    ann.apply(&journal.append(append).await.unwrap().entries);
    let there = all(&other, 0).await;
    assert_eq!((&there[..3], subject_of(&there[3])), (&entries[..], "late".to_owned()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_table_is_a_lost_space_and_what_the_log_has_does_not_count_after_it_is_made_again() {
    let Some(scene) = Scene::set().await else { return };
    let (journal, mut ann) = (scene.open().await, Player::new(b'a'));
    ann.claims(&journal, "ann").await.unwrap();
    let probed = format!("fc.{}.probe", scene.name);
    delete_stream(&scene.url, &format!("fc_journal_{}", scene.name), probed).await;
    let failure = journal.head().await.unwrap_err();
    assert!(matches!(failure, JournalError::Gone(SPACE)), "{failure}");
    journal.reseed(None, seed(Vec::new())).await.unwrap();
    assert_eq!(journal.head().await.unwrap().position, 10);
    // A node that had applied what was in the log before.
    let failure = ann.claims(&journal, "late").await.unwrap_err();
    assert!(matches!(failure, JournalError::Trimmed { first: 11, .. }), "{failure}");
    assert_eq!(scene.open().await.read(10).await.unwrap().entries, []);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_state_that_the_log_goes_on_after_counts_before_the_table_knows_of_it() {
    let Some(scene) = Scene::set().await else { return };
    let (journal, mut ann) = (scene.open().await, Player::new(b'a'));
    for _ in 0..3 {
        ann.claims(&journal, "ann").await.unwrap();
    }
    let bytes = b"a piece".to_vec();
    let name = PieceName::of(&bytes);
    journal.put_piece(name, bytes).await.unwrap();
    let before = [scene.last("head").await, scene.last("index").await];
    let seen = journal.head().await.unwrap();
    journal.reseed(Some(seen), seed(vec![name])).await.unwrap();
    let after = scene.last("head").await.bytes;
    // As if the node had been killed between its two messages.
    for old in before {
        scene.table.put(vec![Put::new(old.subject, old.bytes)]).await.unwrap();
    }
    let fresh = scene.open().await;
    let head = fresh.head().await.unwrap();
    assert_eq!((head.position, head.epoch, head.first), (10, 3, 11));
    assert_eq!(fresh.newest_snapshot().await.unwrap().unwrap(), b"a manifest");
    let mut bob = Player { applied: 10, applied_name: head.name, ..Player::new(b'b') };
    bob.claims(&fresh, "bob").await.unwrap();
    // Whoever writes into the table next writes it there.
    fresh.mint_term().await.unwrap();
    let mended = scene.last("head").await.bytes;
    assert_eq!(mended.len(), after.len());
    assert_eq!(mended[..25], after[..25], "the floor is the one that was written first");
    assert_eq!(all(&scene.open().await, 10).await.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_is_no_longer_delivered_to_reads_by_itself_and_is_delivered_to_again() {
    let Some(scene) = Scene::set().await else { return };
    let (of_ann, of_bob) = (scene.open().await, scene.open().await);
    let (mut ann, mut bob) = (Player::new(b'a'), Player::new(b'b'));
    let shared = &of_bob;
    for round in 0..4 {
        for number in 0..5 {
            ann.claims(&of_ann, &format!("ann-{round}-{number}")).await.unwrap();
            let begun = Instant::now();
            while bob.applied < ann.applied {
                let news = shared.follow(bob.applied, Duration::from_secs(5)).await.unwrap();
                bob.apply(&news.read.entries);
            }
            assert!(begun.elapsed() < Duration::from_secs(5), "it is not waited for to the end");
        }
        // Each node has its own; they go, and nobody says so.
        let nats = scene.log.nats();
        let names = format!("CONSUMER.NAMES.fc_log_{}", scene.name);
        let names = nats.ask(&names, &Value::Null).await.unwrap();
        let names = names["consumers"].as_array().unwrap().clone();
        assert!(!names.is_empty(), "round {round}: entries are delivered");
        for name in names {
            let delete =
                format!("CONSUMER.DELETE.fc_log_{}.{}", scene.name, name.as_str().unwrap());
            nats.ask(&delete, &Value::Null).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(600)).await;
    }
    assert_eq!(bob.applied, 20);
    // One that went before it had begun, or that nobody missed, ended unseen.
    let ended = [of_ann.ended_deliveries(), shared.ended_deliveries()];
    let seen = ended.iter().filter(|ended| ended.count > 0);
    assert!(seen.clone().count() > 0, "{ended:?}");
    assert!(seen.clone().all(|ended| ended.why.contains("not delivered")), "{ended:?}");
}

/// The others know of a message one step later. By chance each of three would deliver a third.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_are_delivered_by_the_server_that_leads_the_stream() {
    let Some(cluster) = NatsCluster::shared() else { return };
    let operator = NatsConnection::connect(NatsOptions::new(cluster.url())).await.unwrap();
    let name = format!("draws_{}", Server::new_space());
    let stream = Stream::new(operator.clone(), name.clone());
    stream.create(&format!("{name}.>"), 3, Keeps::All { first: 1 }).await.unwrap();
    let leader = stream.info().await.unwrap().leader;
    let mut deliveries = Vec::new();
    for _ in 0..10 {
        deliveries.push(stream.deliver(1).await.unwrap());
    }
    // Those that are not used are there for 5 s, and nobody listens to them.
    let bound = async || {
        let list =
            operator.ask(&format!("CONSUMER.LIST.{name}"), &Value::Null).await.unwrap_or_default();
        let consumers = list["consumers"].as_array().cloned().unwrap_or_default();
        consumers.into_iter().filter(|one| one["push_bound"] == true).collect::<Vec<_>>()
    };
    let end = Instant::now() + Duration::from_secs(10);
    let mut used = bound().await;
    while used.len() != deliveries.len() && Instant::now() < end {
        tokio::time::sleep(Duration::from_millis(50)).await;
        used = bound().await;
    }
    let led = used.iter().filter(|one| one["cluster"]["leader"] == *leader).count();
    assert!(used.len() == 10 && led >= 8, "{led} of {}, by {leader}: {used:#?}", used.len());
    stream.remove().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_of_somebody_else_stops_readers_with_the_position() {
    let Some(scene) = Scene::set().await else { return };
    let (journal, mut ann) = (scene.open().await, Player::new(b'a'));
    ann.claims(&journal, "ann").await.unwrap();
    scene.log.put(vec![Put::new(scene.entries(), b"what is that".to_vec())]).await.unwrap();
    let append = ann.next("next");
    let failure = journal.append(append).await.unwrap_err();
    assert!(
        matches!(failure, JournalError::Unknown(_) | JournalError::Damaged { .. }),
        "{failure}"
    );
    for failure in [
        journal.read(1).await.unwrap_err(),
        open(&scene.url, &scene.name, |_| {}).await.unwrap_err(),
    ] {
        assert!(matches!(failure, JournalError::Damaged { position: 2, .. }), "{failure}");
    }
}
