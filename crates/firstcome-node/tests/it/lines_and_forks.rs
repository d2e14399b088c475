//! A request that waits for a seat, and a fork after its command was refused.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::holding::{holds, opens, units};
use crate::lines::{gives_back, had};
use crate::mistakes::shows;
use crate::several::{Seat, store};
use firstcome_core::command::BodyWriter;
use firstcome_core::{Command, NodeId};
use firstcome_inject::Mistake;
use firstcome_journal::Name;
use firstcome_node::CommandError;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// Bob waits for a seat. Cem has it when bob's command reaches the journal, so bob waits on, and his node is told to stop.
/// When cem gives the seat back bob's command cannot be sent again. Then a copy takes over in which cem holds the other seat:
/// bob's command is brought there, and holds his. Says whether he heard that nothing changed.
async fn a_hold_that_could_not_be_sent_twice_changed_nothing() -> bool {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens(&one, 10 * SECOND).await;
    let held = Instant::now();
    holds(&one, "of-ann", "ann", &["A1"]).await;
    two.reaches(one.position().position).await;
    let intake = Arc::clone(&two.node.intake);
    let bob = tokio::spawn(async move {
        let (campaign, id, subject, picks) = ("hall", "of-bob", "bob", units(&["A1"]));
        let hold = Command::Hold { campaign, id, subject, picks, limit: None };
        intake.hold_in_line(&hold, 60 * SECOND).await
    });
    sleep_until(held + Duration::from_millis(9_900)).await;
    // His command waits behind an append of his node while the hold ends and cem comes.
    two.journal.hold();
    let intake = Arc::clone(&two.node.intake);
    let tick = tokio::spawn(async move { intake.tick().await });
    sleep(Duration::from_millis(200)).await;
    let kept = one.position().position;
    assert_eq!(holds(&one, "of-cem", "cem", &["A1"]).await.outcome.as_str(), "held");
    while two.node.waiting() < 1 {
        tokio::task::yield_now().await;
    }
    two.journal.let_go();
    tick.await.unwrap().unwrap();
    sleep(SECOND).await;
    assert_eq!(two.node.intake.in_line(), 1, "he was refused, and waits on");
    let stops = tokio::spawn(two.node.stop());
    gives_back(&one, "cem").await;
    let heard = timeout(60 * SECOND, bob).await.unwrap().unwrap();
    stops.await.unwrap().unwrap();
    assert_eq!(had(&one), ["ann", "cem"]);

    let mut body = BodyWriter::new(NodeId([9; 16]), 1, 0);
    let (campaign, id, subject, picks) = ("hall", "of-cem", "cem", units(&["B1"]));
    assert!(body.push(&Command::Hold { campaign, id, subject, picks, limit: None }));
    store.fork(kept, [(Name { node: NodeId([9; 16]), number: 1 }, body.finish())]);
    sleep(20 * SECOND).await;
    assert_eq!(had(&one), ["ann", "cem", "bob"], "it was granted");
    !matches!(heard, Err(CommandError::Unknown))
}

#[tokio::test(start_paused = true)]
async fn a_hold_that_was_sent_once_is_unknown_where_it_cannot_be_sent_twice() {
    shows(Mistake::FirstTryForgotten, a_hold_that_could_not_be_sent_twice_changed_nothing).await;
}
