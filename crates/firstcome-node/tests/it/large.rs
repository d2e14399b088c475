//! A command that fits no batch.

use crate::several::{Seat, store};
use firstcome_core::Command;
use firstcome_core::command::{Order, Pick};
use firstcome_inject::{Mistake, set};
use firstcome_node::CommandError;
use std::time::Duration;
use tokio::time::timeout;

#[tokio::test(start_paused = true)]
async fn a_command_that_was_taken_in_unmeasured_is_refused_alone() {
    let one = Seat::at(&store()).await;
    one.opens("spring", 10).await;
    let name = "n".repeat(64);
    let units = (0..40).map(|_| Pick::units("main", vec![&*name; 500])).collect();
    let (reason, order) = ("", Order { id: None, who: "ops" });
    let block = Command::Block { campaign: "spring", units, blocked: true, reason, order };
    set(Some(Mistake::CommandNotMeasured));
    let claim = async { one.claims("ann").await };
    let (said, rank) = tokio::join!(one.node.intake.decide(&block), claim);
    set(None);
    assert!(matches!(said, Err(CommandError::TooLarge(1_048_576..))), "{said:?}");
    assert_eq!((rank, one.claims("bob").await), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn a_command_that_fits_no_batch_is_refused_and_the_others_go_on() {
    let one = Seat::at(&store()).await;
    one.opens("spring", 10).await;
    let name = "n".repeat(64);
    let picks = |many: usize| (0..many).map(|_| Pick::units("main", vec![&*name; 500])).collect();
    let (blocked, reason, order) = (true, "", Order { id: None, who: "ops" });
    let block =
        |many| Command::Block { campaign: "spring", units: picks(many), blocked, reason, order };
    let said = timeout(Duration::from_secs(1), one.node.intake.decide(&block(40))).await;
    assert!(matches!(said, Ok(Err(CommandError::TooLarge(1_048_576..)))), "{said:?}");
    // The largest that is taken in is appended, and answered.
    let said = one.node.intake.decide(&block(31)).await.unwrap();
    assert_eq!(said.outcome.as_str(), "not_seated");
    assert_eq!(one.claims("ann").await, 1);
}
