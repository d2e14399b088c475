//! A ledger restored from yesterday, and who leads then.

use crate::mistakes::leader;
use crate::several::{Seat, store};
use firstcome_core::{SpaceId, State};
use firstcome_node::ledger::{Ledger, MemoryLedger as Tables};
use std::time::Duration;
use tokio::time::sleep;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn a_leader_that_lagged_when_it_was_elected_leaves_no_gap_in_an_older_ledger() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    let tables = Tables::new(SpaceId([7; 16]));
    let yesterday = tables.kept();
    one.opens("spring", 9).await;
    two.reaches(1).await;
    // From here on it hears nothing: neither of the claim nor that it was settled.
    two.journal.hold();
    let first = leader(&one, Ledger::Memory(tables.clone()));
    one.claims("ann").await;
    sleep(SECOND).await;
    assert_eq!(one.node.replica.look(State::settled), 1);
    first.stop().await;
    tables.restore(&yesterday);
    let second = leader(&two, Ledger::Memory(tables.clone()));
    sleep(SECOND).await;
    assert_eq!(second.standing().trouble, None, "to it the ledger is as empty as the journal");
    two.journal.let_go();
    one.claims("bob").await;
    sleep(5 * SECOND).await;
    let numbers: Vec<u64> = tables.kept().results().map(|row| row.number).collect();
    let trouble = second.standing().trouble.unwrap_or_default();
    assert!(numbers.is_empty(), "it has {numbers:?}: {trouble}");
    assert!(trouble.starts_with("ledger_behind: "), "{trouble}");
}
