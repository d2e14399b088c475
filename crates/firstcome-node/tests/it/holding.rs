//! Holds on a node, whose time is the runtime's own, paused: units come free though nobody asks for anything.

use crate::several::{Seat, at, places, store};
use firstcome_core::command::{Late, Order, Pick, Steer, Step};
use firstcome_core::hall::{Chunk, SeatSettings};
use firstcome_core::settings::{HoldSettings, PoolSettings};
use firstcome_core::{Command, Outcome, Settings, State};
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use firstcome_node::{Answer, Decided, Metrics};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};

pub(crate) fn units<'a>(names: &[&'a str]) -> Vec<Pick<'a>> {
    vec![Pick::units("main", names.to_vec())]
}

/// Opens a hall of two seats that are held for so long.
pub(crate) async fn opens(seat: &Seat, ttl: Duration) {
    let ttl_us = ttl.as_micros() as i64;
    let holding = HoldSettings { ttl_us, ..HoldSettings::default() };
    let pools = vec![PoolSettings::seated("main")];
    seat.puts("hall", Settings { holding, pools, ..places(1) }).await;
    let seats = vec![SeatSettings::named("A1"), SeatSettings::named("B1")];
    let chunk = Chunk { seats, areas: Vec::new() };
    let order = Order { id: None, who: "ops" };
    let import = Command::Seats { campaign: "hall", pool: "main", chunk, order };
    let added = seat.node.intake.hold(&import, None).await.unwrap().outcome;
    assert_eq!(added, Outcome::Imported { seats: 2, areas: 0 });
}

pub(crate) async fn holds(seat: &Seat, id: &str, subject: &str, names: &[&str]) -> Answer {
    let picks = units(names);
    let hold = Command::Hold { campaign: "hall", id, subject, picks, limit: None };
    seat.node.intake.hold(&hold, None).await.unwrap()
}

async fn confirms(seat: &Seat, id: &str, subject: &str) -> Outcome {
    let step = Step { campaign: "hall", hold: id, subject, id: None };
    let confirm = Command::Confirm { step, units: Vec::new(), late: Late::Refuse };
    seat.node.intake.hold(&confirm, None).await.unwrap().outcome
}

/// Waits until nothing is held, and says how long that took.
async fn until_nothing_is_held(seat: &Seat) -> Duration {
    let begun = Instant::now();
    let waits = async {
        while seat.node.replica.look(State::live_holds) > 0 {
            seat.reaches(seat.position().position + 1).await;
        }
    };
    timeout(Duration::from_secs(3_600), waits).await.expect("it expires by itself");
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn a_seat_comes_free_on_time_though_nobody_asks() {
    let store = store();
    let one = Seat::at(&store).await;
    opens(&one, Duration::from_secs(480)).await;
    assert_eq!(holds(&one, "h1", "ann", &["A1"]).await.outcome.as_str(), "held");
    let took = until_nothing_is_held(&one).await;
    // A deadline is looked for 50 ms after it, and up to 100 ms later.
    let (least, most) = (Duration::from_secs(480), Duration::from_millis(481_300));
    assert!((least..most).contains(&took), "{took:?}");
    // Eight minutes without anybody, and no step between entries was longer than counts.
    let (service, last) = one.node.replica.look(|state| (state.service(), state.at()));
    assert!(last.micros_since(at(0)) - service < 1_000_000);
    assert_eq!(confirms(&one, "h1", "ann").await.as_str(), "hold_expired");
    assert_eq!(holds(&one, "h2", "bob", &["A1"]).await.outcome.as_str(), "held");
}

#[tokio::test(start_paused = true)]
async fn what_is_taken_for_long_and_what_is_held_by_that_id_is_said_without_the_journal() {
    let store = store();
    let one = Seat::at(&store).await;
    opens(&one, Duration::from_secs(10)).await;
    let said = |answer: Answer| (answer.outcome.as_str(), answer.decided);
    assert_eq!(said(holds(&one, "h1", "ann", &["A1"]).await), ("held", Decided::Journal));
    assert_eq!(said(holds(&one, "h1", "ann", &["A1"]).await), ("already_held", Decided::Replica));
    assert_eq!(said(holds(&one, "h2", "bob", &["A1"]).await), ("unit_taken", Decided::Replica));
    assert_eq!(said(holds(&one, "h2", "bob", &["Z1"]).await), ("no_such_unit", Decided::Replica));
    assert_eq!(said(holds(&one, "h3", "ann", &["B1"]).await), ("has_hold", Decided::Journal));
    // Nearly free: only the journal knows what comes first.
    sleep(Duration::from_millis(8_500)).await;
    assert_eq!(said(holds(&one, "h9", "eve", &["A1"]).await), ("unit_taken", Decided::Journal));
    assert_eq!(confirms(&one, "h1", "bob").await.as_str(), "not_yours");
}

/// Without a ledger nothing is ever settled, so that only the holds keep the campaign in memory.
#[tokio::test(start_paused = true)]
async fn a_closed_campaign_stays_in_memory_until_its_last_hold_is_over() {
    let store = store();
    let one = Seat::at(&store).await;
    let pace = LeaderPace {
        settle_interval: Duration::from_millis(200),
        settle_delay: SettleDelay::default(),
        keep_for: Some(Duration::from_secs(60)),
        snapshot_bytes: u64::MAX,
        snapshot_every: Duration::MAX,
    };
    let leader =
        Leadership::start(&one.node, None, pace, Election::Alone, &Arc::new(Metrics::default()));
    opens(&one, Duration::from_secs(480)).await;
    assert_eq!(holds(&one, "h1", "ann", &["A1"]).await.outcome.as_str(), "held");
    assert_eq!(holds(&one, "h2", "bob", &["B1"]).await.outcome.as_str(), "held");
    let order = Order { id: None, who: "ops" };
    let close = Command::Steer { campaign: "hall", steer: Steer::Close, order };
    assert_eq!(one.node.intake.decide(&close).await.unwrap().outcome.as_str(), "changed");
    // Seven times `keep_for`, and the payment page of ann is still open.
    sleep(Duration::from_secs(420)).await;
    assert_eq!(confirms(&one, "h1", "ann").await.as_str(), "confirmed");
    until_nothing_is_held(&one).await;
    sleep(Duration::from_secs(120)).await;
    assert_eq!(confirms(&one, "h2", "bob").await.as_str(), "archived");
    leader.stop().await;
}
