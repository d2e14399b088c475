//! Nodes and leaders that are dropped where they stand, as those of a process are that dies.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::several::{Seat, agree, store};
use firstcome_core::Outcome;
use firstcome_journal::Journal;
use firstcome_journal::memory::Memory;
use firstcome_node::CommandError;
use firstcome_node::Metrics;
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const MINUTE: Duration = Duration::from_secs(60);

async fn length(store: &Memory) -> u64 {
    Journal::Memory(store.clone()).head().await.unwrap().position
}

/// Claims beside the test, and keeps nothing of the node but where commands enter.
fn claiming(
    seat: &Seat,
    subject: &'static str,
) -> tokio::task::JoinHandle<Result<firstcome_node::Answer, CommandError>> {
    let intake = Arc::clone(&seat.node.intake);
    tokio::spawn(async move { intake.claim("spring", None, subject, None).await })
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_dropped_appends_nothing_more_and_leaves_nothing_behind() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 10).await;
    let before = length(&store).await;
    one.journal.hold();
    let asked = one.journal.appends();
    let sent = claiming(&one, "ann");
    one.journal.asked(asked + 1).await;
    // This one waits behind the batch that was sent.
    let queued = claiming(&one, "bob");
    tokio::task::yield_now().await;
    assert_eq!(one.node.waiting(), 1);
    let (replica, journal) = (Arc::downgrade(&one.node.replica), one.journal.clone());
    drop(one);
    let heard = timeout(MINUTE, sent).await.expect("nobody tells the caller").unwrap();
    assert!(matches!(heard, Err(CommandError::Unknown)), "{heard:?}");
    let heard = timeout(MINUTE, queued).await.expect("nobody tells the caller").unwrap();
    assert!(matches!(heard, Err(CommandError::Unavailable(_))), "{heard:?}");
    journal.let_go();
    sleep(MINUTE).await;
    assert!(Weak::upgrade(&replica).is_none(), "somebody still has its state");
    assert_eq!(length(&store).await, before, "a node that is gone appends");
}

#[tokio::test(start_paused = true)]
async fn whoever_comes_after_a_node_was_dropped_hears_it() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 10).await;
    let intake = Arc::clone(&one.node.intake);
    drop(one);
    tokio::task::yield_now().await;
    let heard = timeout(MINUTE, intake.claim("spring", None, "ann", None)).await.unwrap();
    assert!(matches!(heard, Err(CommandError::Unavailable(_))), "{heard:?}");
}

#[tokio::test(start_paused = true)]
async fn answers_that_wait_for_durability_are_unknown_when_their_node_is_dropped() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 10).await;
    drop(one);
    store.confirm_later();
    let one = Seat::at(&store).await;
    let before = length(&store).await;
    let parked = claiming(&one, "ann");
    one.node.replica.reach(before + 1).await;
    let replica = Arc::downgrade(&one.node.replica);
    drop(one);
    let heard = timeout(MINUTE, parked).await.expect("nobody tells the caller").unwrap();
    assert!(matches!(heard, Err(CommandError::Unknown)), "{heard:?}");
    tokio::task::yield_now().await;
    assert!(Weak::upgrade(&replica).is_none(), "somebody still has its state");
}

#[tokio::test(start_paused = true)]
async fn the_others_go_on_without_a_node_that_was_dropped() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.opens("spring", 10).await;
    one.journal.hold();
    let asked = one.journal.appends();
    let sent = claiming(&one, "ann");
    one.journal.asked(asked + 1).await;
    drop(one);
    assert!(sent.await.unwrap().is_err());
    let again = two.tries("ann", None).await.unwrap();
    assert!(matches!(again.outcome, Outcome::Won { rank: 1, .. }), "{again:?}");
    let three = Seat::at(&store).await;
    agree(&[&two, &three]).await;
}

#[tokio::test(start_paused = true)]
async fn a_leader_that_is_dropped_does_nothing_more() {
    let store = store();
    let one = Seat::at(&store).await;
    one.opens("spring", 10).await;
    let pace = LeaderPace {
        settle_interval: Duration::from_millis(200),
        settle_delay: SettleDelay::default(),
        keep_for: Some(Duration::from_secs(1)),
        snapshot_bytes: 1,
        snapshot_every: Duration::from_secs(1),
    };
    let metrics = Arc::new(Metrics::default());
    let leader = Leadership::start(&one.node, None, pace, Election::Alone, &metrics);
    let newest = async || Journal::Memory(store.clone()).newest_snapshot().await.unwrap();
    sleep(MINUTE).await;
    let before = newest().await;
    assert!(before.is_some() && leader.leads());
    drop(leader);
    one.tries("ann", None).await.unwrap();
    sleep(MINUTE).await;
    assert_eq!(newest().await, before, "a leader that is gone writes a snapshot");
    let replica = Arc::downgrade(&one.node.replica);
    drop(one);
    sleep(MINUTE).await;
    assert!(Weak::upgrade(&replica).is_none(), "its tasks have not ended");
}

/// A leader of several, which lets go of its place when it is dropped.
#[tokio::test(start_paused = true)]
async fn another_leads_after_a_leader_was_dropped() {
    use firstcome_lock::{Locks, Memory as Locked, MemoryLink};
    let (store, locked, way) = (store(), Locked::starting_at(1_000), MemoryLink::new());
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    let pace = LeaderPace {
        settle_interval: Duration::from_millis(200),
        settle_delay: SettleDelay::default(),
        keep_for: None,
        snapshot_bytes: u64::MAX,
        snapshot_every: Duration::MAX,
    };
    let metrics = Arc::new(Metrics::default());
    let stand = async |seat: &Seat, locks: Locks| {
        let election = firstcome_lock::Election::new(&locks, "leader").unwrap();
        let candidate = election.node(seat.node.id.to_string());
        let watch = candidate.watch().await.unwrap();
        Leadership::start(&seat.node, None, pace, Election::Among { candidate, watch }, &metrics)
    };
    let first = stand(&one, Locks::with_memory(&locked.through(&way))).await;
    sleep(Duration::from_secs(1)).await;
    let second = stand(&two, Locks::with_memory(&locked)).await;
    sleep(MINUTE).await;
    assert!(first.leads() && !second.leads());
    // Its process dies: nothing is said, and its lease runs out.
    way.cut();
    let replica = Arc::downgrade(&one.node.replica);
    drop((first, one));
    sleep(Duration::from_secs(1)).await;
    assert!(Weak::upgrade(&replica).is_none(), "somebody still has its state");
    assert!(!second.leads(), "the lease has not ended");
    sleep(MINUTE).await;
    assert!(second.leads());
    // Dropped while the store can be reached, it gives its place back at once.
    let third = stand(&two, Locks::with_memory(&locked)).await;
    drop(second);
    sleep(Duration::from_millis(100)).await;
    assert!(third.leads());
}
