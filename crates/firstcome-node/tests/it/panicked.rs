//! A node with a bug in one of its tasks: it is named, and nobody is left waiting.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::several::{BEGIN, Seat, store};
use firstcome_core::SpaceId;
use firstcome_journal::Clock;
use firstcome_journal::memory::Memory;
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use firstcome_node::ledger::Ledger;
use firstcome_node::ledger::memory::MemoryLedger as Tables;
use firstcome_node::{CommandError, Condition, Metrics};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::{sleep, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// What breaks as soon as it is told to.
#[derive(Clone, Default)]
struct Bug(Arc<AtomicBool>);

impl Bug {
    fn begins(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    fn shows(&self) {
        assert!(!self.0.load(Ordering::SeqCst), "a bug");
    }
}

#[tokio::test(start_paused = true)]
async fn a_ticker_that_panicked_is_named_and_the_node_goes_on_without_it() {
    let (bug, drawn) = (Bug::default(), AtomicU64::new(1));
    let in_ticker = bug.clone();
    let one = Seat::drawing(&store(), move || {
        in_ticker.shows();
        drawn.fetch_add(1, Ordering::SeqCst)
    })
    .await;
    one.opens("spring", 9).await;
    assert!(one.node.panics.names().is_empty());
    bug.begins();
    one.node.panics.of("ticker").await;
    assert_eq!(one.node.panics.names(), ["ticker"]);
    let said = one.said();
    assert!(said.iter().any(|line| line.contains("the task \"ticker\" panicked")), "{said:?}");
    assert_eq!(one.claims("ann").await, 1);
    one.node.stop().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_appender_that_panicked_leaves_nobody_waiting() {
    let bug = Bug::default();
    let in_append = bug.clone();
    let clock = Clock::of(move || {
        in_append.shows();
        BEGIN
    });
    let one = Seat::at(&Memory::new(SpaceId([7; 16]), clock)).await;
    let pace = LeaderPace {
        settle_interval: SECOND / 5,
        settle_delay: SettleDelay::default(),
        keep_for: None,
        snapshot_bytes: u64::MAX,
        snapshot_every: Duration::MAX,
    };
    let ledger = Some(Ledger::Memory(Tables::new(SpaceId([7; 16]))));
    let metrics = Arc::new(Metrics::default());
    let leader = Leadership::start(&one.node, ledger, pace, Election::Alone, &metrics);
    one.opens("spring", 9).await;
    one.claims("cid").await;
    // Its result is in the ledger: nothing else is appended now.
    sleep(SECOND).await;
    bug.begins();
    // It was in the batch that was being sent.
    assert!(matches!(one.tries("ann", None).await, Err(CommandError::Unknown)));
    one.node.panics.of("appender").await;
    for subject in ["ann", "bob"] {
        let refused = one.tries(subject, None).await;
        assert!(
            matches!(&refused, Err(CommandError::Unavailable(why)) if why.contains("panicked")),
            "{refused:?}"
        );
    }
    assert!(matches!(one.node.intake.condition(), Condition::Lost(..)));
    assert_eq!(one.node.panics.names(), ["appender"]);
    assert!(one.node.has_stopped());
    // The server stops then: its leader hands over though it can mark nothing as settled.
    timeout(60 * SECOND, leader.stop()).await.unwrap();
    timeout(60 * SECOND, one.node.stop()).await.unwrap().unwrap();
}
