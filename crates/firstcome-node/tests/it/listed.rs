//! Whom the list of a fork names, beside those whom the lost commands were about.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::forks::{cancels, decides, opens_with_codes};
use crate::several::{Seat, agree, places, store};
use firstcome_core::Settings;
use firstcome_core::codes::CodeKey;
use firstcome_core::command::{
    BodyWriter, CodeCommand, CodeStep, Command, Order, Pick, Steer, Wanted, Wish,
};
use firstcome_core::names::NodeId;
use firstcome_core::settings::PoolSettings;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Journal, Name};
use std::time::Duration;
use tokio::time::sleep;

/// Has a store keep its first entries only, and go on with a command from elsewhere; gives what the nodes list then.
async fn lists(store: &Memory, keep: u64, command: &Command<'_>, nodes: [&Seat; 2]) -> String {
    let stranger = NodeId([9; 16]);
    let mut body = BodyWriter::new(stranger, 1, 0);
    assert!(body.push(command));
    store.fork(keep, [(Name { node: stranger, number: 1 }, body.finish())]);
    sleep(Duration::from_secs(20)).await;
    agree(&nodes).await;
    let reports = Journal::Memory(store.clone()).reports().await.unwrap();
    reports.iter().map(|(_, _, text)| text.as_str()).collect()
}

/// Opens a campaign of one unit with a waitlist.
pub(crate) async fn opens_with_waitlist(seat: &Seat) {
    let pool = PoolSettings { waitlist: Some(9), ..PoolSettings::counted("main", 1) };
    seat.puts("spring", Settings { pools: vec![pool], ..places(1) }).await;
}

pub(crate) async fn joins(seat: &Seat, subject: &str, quantity: u32) {
    let (campaign, pool, wish) = ("spring", None, Wish::units(quantity));
    decides(seat, &Command::Join { campaign, pool, subject, wish, limit: None }).await;
}

#[tokio::test(start_paused = true)]
async fn who_waited_and_does_not_in_the_other_branch_is_on_the_list() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens_with_waitlist(&one).await;
    one.claims("ann").await;
    let kept = one.position().position;
    joins(&one, "bob", 1).await;
    two.reaches(kept + 1).await;
    let order = Order { id: None, who: "desk" };
    let close = Command::Steer { campaign: "spring", steer: Steer::Close, order };
    let text = lists(&store, kept, &close, [&one, &two]).await;
    let line = "spring/main \"bob\" is not on the waitlist any more, it waited for 1\n";
    assert!(text.contains(line), "{text}");
}

#[tokio::test(start_paused = true)]
async fn who_had_an_offer_that_a_fork_took_or_changed_is_on_the_list() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens_with_waitlist(&one).await;
    one.claims("ann").await;
    joins(&one, "bob", 1).await;
    joins(&one, "cid", 1).await;
    let kept = one.position().position;
    // What ann gives back is offered to bob.
    cancels(&one, "ann", 1).await;
    two.reaches(kept + 1).await;
    // A copy that had both in line let bob go: what ann gives back there is offered to cid, under the same id.
    let leave = Command::Leave { campaign: "spring", pool: None, subject: "bob" };
    let text = lists(&store, kept, &leave, [&one, &two]).await;
    let line = "spring hold \"offer-1\" of \"bob\" is gone, it had main\n";
    assert!(text.contains(line), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_hold_of_a_campaign_that_left_memory_is_on_the_list() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    one.puts("spring", places(3)).await;
    let kept = one.position().position;
    let (campaign, order) = ("spring", Order { id: None, who: "desk" });
    let wanted = Wanted::Quantity { count: 1, area: None };
    let picks = vec![Pick { pool: None, wanted, channel: None }];
    let (id, subject) = ("h1", "ann");
    decides(&one, &Command::Hold { campaign, id, subject, picks, limit: None }).await;
    for steer in [Steer::Close, Steer::Archive { drop_unsettled: true }] {
        decides(&one, &Command::Steer { campaign, steer, order }).await;
    }
    two.reaches(kept + 3).await;
    let text = lists(&store, kept, &Command::claim("spring", None, "bob"), [&one, &two]).await;
    let line = "spring hold \"h1\" may be gone: the campaign had left memory\n";
    assert!(text.contains(line), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_reservation_since_does_not_hide_what_a_reference_did_before_it() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens_with_codes(&one, 1).await;
    one.claims("ann").await;
    let kept = one.position().position;
    let (code, subject) = (CodeKey::Imported { hash: [1; 16] }, None);
    let step = CodeStep { campaign: "spring", pool: None, code, reference: "order-1" };
    decides(&one, &Command::Code(CodeCommand::Redeem { step, subject })).await;
    decides(&one, &Command::Code(CodeCommand::RollBack { step })).await;
    // The order is opened again.
    let ttl_us = 1_000_000;
    decides(&one, &Command::Code(CodeCommand::Reserve { step, subject, ttl_us })).await;
    two.reaches(kept + 3).await;
    // On a copy that had the claim only another order used the code.
    let step = CodeStep { reference: "order-2", ..step };
    let redeem = Command::Code(CodeCommand::Redeem { step, subject });
    let text = lists(&store, kept, &redeem, [&one, &two]).await;
    let line =
        "reference \"order-1\" has nothing now, it had rolled back the code of rank 1 of \"ann\"\n";
    assert!(text.contains(line), "{text}");
    assert!(!text.contains("order-2"), "{text}");
}
