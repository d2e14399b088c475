//! People who wait for seats that their server does not know, or that are not there.
//!
//! Time is the runtime's own, paused: waiting for something that only time brings is done at once.

use crate::holding::{holds, opens, units};
use crate::lines::{comes, had, waits};
use crate::mistakes::shows;
use crate::several::{Seat, store};
use firstcome_core::Command;
use firstcome_inject::Mistake;
use std::time::Duration;
use tokio::time::{Instant, sleep};

const SECOND: Duration = Duration::from_secs(1);
/// After this a node that was held hears nothing any more.
const HELD: Duration = Duration::from_millis(310);

/// Bob comes to a server that has not heard of the hall yet, and wants two seats, of which ann has one. Once the server
/// knows the hall, and before bob is answered, cem comes for the other seat; says whether cem is served first.
async fn who_came_before_the_seats_is_passed() -> bool {
    let store = store();
    let one = Seat::at(&store).await;
    store.confirm_later();
    let two = Seat::at(&store).await;
    two.journal.hold();
    sleep(HELD).await;
    opens(&one, 10 * SECOND).await;
    holds(&one, "h1", "ann", &["B1"]).await;
    // Its entries would say what is durable.
    one.journal.hold();
    let bob = comes(&two, "bob", &["A1", "B1"], 60 * SECOND).await;
    two.journal.let_go();
    sleep(SECOND).await;
    assert!(!bob.is_finished() && had(&two) == ["ann"]);
    let cem = comes(&two, "cem", &["A1"], 60 * SECOND).await;
    let confirming = tokio::spawn(async move {
        loop {
            sleep(Duration::from_millis(10)).await;
            store.confirm();
        }
    });
    for waiting in [bob, cem] {
        assert_eq!(waiting.await.unwrap().outcome.as_str(), "held");
    }
    confirming.abort();
    had(&two)[1] == "cem"
}

#[tokio::test(start_paused = true)]
async fn who_came_before_the_seats_were_known_has_their_position() {
    shows(Mistake::UnknownSeatsPassed, who_came_before_the_seats_is_passed).await;
}

/// A server hears late that a hall has seats, of which people have come to it already.
#[tokio::test(start_paused = true)]
async fn a_server_that_hears_late_of_the_seats_serves_people_in_the_order_in_which_they_came() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    two.journal.hold();
    sleep(HELD).await;
    opens(&one, 10 * SECOND).await;
    holds(&one, "h1", "ann", &["B1"]).await;
    let bob = comes(&two, "bob", &["A1", "B1"], 60 * SECOND).await;
    let cem = comes(&two, "cem", &["A1"], 60 * SECOND).await;
    two.journal.let_go();
    for waiting in [bob, cem] {
        assert_eq!(waiting.await.unwrap().outcome.as_str(), "held");
    }
    assert_eq!(had(&two), ["ann", "bob", "cem"]);
}

#[tokio::test(start_paused = true)]
async fn who_names_a_seat_that_is_not_there_hears_so_though_others_wait() {
    let one = Seat::at(&store()).await;
    opens(&one, 600 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let cem = waits(&one, "cem", &["A1"], 300 * SECOND).await;
    let (subject, picks, begun) = ("bob", units(&["A1", "Z9"]), Instant::now());
    let hold = Command::Hold { campaign: "hall", id: subject, subject, picks, limit: None };
    let nowhere = one.node.intake.hold_in_line(&hold, 60 * SECOND).await.unwrap();
    assert_eq!(nowhere.outcome.as_str(), "no_such_unit");
    assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
    cem.abort();
}

#[tokio::test(start_paused = true)]
async fn who_names_a_seat_that_is_not_there_keeps_nobody_waiting() {
    let one = Seat::at(&store()).await;
    opens(&one, 600 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let cem = waits(&one, "cem", &["A1"], 300 * SECOND).await;
    // Memory cannot say so of her: she has a hold, and the journal would say that first.
    let ann = comes(&one, "ann", &["Z9"], 60 * SECOND).await;
    sleep(SECOND).await;
    let begun = Instant::now();
    let dan = comes(&one, "dan", &["B1"], 60 * SECOND).await;
    assert_eq!(dan.await.unwrap().outcome.as_str(), "held");
    assert!(begun.elapsed() < SECOND, "{:?}", begun.elapsed());
    ann.abort();
    cem.abort();
}
