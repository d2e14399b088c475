//! People who wait for a seat that somebody has: their order, and what the journal hears of them.

use crate::holding::{holds, opens, units};
use crate::mistakes::shows;
use crate::several::{Seat, store};
use firstcome_core::command::{Encoded, Late, Order, Steer, Step};
use firstcome_core::hall::{Chunk, SeatChange, SeatSettings};
use firstcome_core::outcome::By;
use firstcome_core::{Command, Outcome, State};
use firstcome_inject::Mistake;
use firstcome_node::{Answer, Decided};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

const SECOND: Duration = Duration::from_secs(1);

/// Sends somebody into line, behind all who are there.
pub(crate) async fn waits(
    seat: &Seat,
    subject: &str,
    names: &[&str],
    wait: Duration,
) -> JoinHandle<Answer> {
    let before = seat.node.intake.in_line();
    let waiting = comes(seat, subject, names, wait).await;
    while seat.node.intake.in_line() == before {
        tokio::task::yield_now().await;
    }
    waiting
}

/// Has somebody come who may have to wait.
pub(crate) async fn comes(
    seat: &Seat,
    subject: &str,
    names: &[&str],
    wait: Duration,
) -> JoinHandle<Answer> {
    let (picks, id) = (units(names), &*format!("of-{subject}"));
    let hold = Command::Hold { campaign: "hall", id, subject, picks, limit: None };
    let hold = Encoded::new(&hold).unwrap();
    let intake = Arc::clone(&seat.node.intake);
    let waiting =
        tokio::spawn(async move { intake.hold_in_line(&hold.command(), wait).await.unwrap() });
    tokio::task::yield_now().await;
    waiting
}

/// Returns who has had the seats of the hall, in the order they got them.
pub(crate) fn had(seat: &Seat) -> Vec<String> {
    seat.node.replica.look(|state| {
        state.campaign("hall").unwrap().holds().map(|hold| hold.subject().to_owned()).collect()
    })
}

/// Everybody waits for the same seat and gives it back at once; says whether somebody got it before another one who had
/// come before.
async fn somebody_overtakes() -> bool {
    let one = Seat::at(&store()).await;
    opens(&one, 600 * SECOND).await;
    holds(&one, "of-first", "first", &["A1"]).await;
    let mut line = Vec::new();
    for number in 10..30 {
        line.push(waits(&one, &format!("s{number}"), &["A1"], 300 * SECOND).await);
    }
    for turn in 1..=line.len() {
        let now = had(&one);
        assert_eq!(now.len(), turn);
        gives_back(&one, &now[turn - 1]).await;
        while had(&one).len() == turn {
            tokio::task::yield_now().await;
        }
    }
    for waiting in line {
        assert_eq!(waiting.await.unwrap().outcome.as_str(), "held");
    }
    assert_eq!(one.node.intake.in_line(), 0);
    let had = had(&one);
    assert_eq!((had.len(), &*had[0]), (21, "first"));
    !had[1..].is_sorted()
}

pub(crate) async fn gives_back(seat: &Seat, subject: &str) {
    let hold = &*format!("of-{subject}");
    let step = Step { campaign: "hall", hold, subject, id: None };
    let release = Command::Release { step, units: Vec::new() };
    assert_eq!(seat.node.intake.hold(&release, None).await.unwrap().outcome.as_str(), "released");
}

#[tokio::test(start_paused = true)]
async fn people_get_a_seat_in_the_order_in_which_they_came() {
    shows(Mistake::WaitQueueJumped, somebody_overtakes).await;
}

/// Two seats are taken, one for longer; who wants both came before who wants the one that is free sooner.
async fn who_wants_less_is_sooner() -> bool {
    let one = Seat::at(&store()).await;
    opens(&one, 10 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    sleep(5 * SECOND).await;
    holds(&one, "h2", "bob", &["B1"]).await;
    let cem = waits(&one, "cem", &["A1", "B1"], 60 * SECOND).await;
    let dan = waits(&one, "dan", &["A1"], 60 * SECOND).await;
    for waiting in [cem, dan] {
        assert_eq!(waiting.await.unwrap().outcome.as_str(), "held");
    }
    had(&one)[2] == "dan"
}

#[tokio::test(start_paused = true)]
async fn nobody_is_passed_by_who_wants_only_one_of_the_seats() {
    shows(Mistake::WaitQueueJumped, who_wants_less_is_sooner).await;
}

/// Somebody who has just come asks for a seat ten milliseconds after its hold is over; says whether they get it, though
/// another one waited for it.
async fn who_comes_at_the_right_moment_is_sooner() -> bool {
    let one = Seat::at(&store()).await;
    opens(&one, 10 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let bob = waits(&one, "bob", &["A1"], 60 * SECOND).await;
    sleep(10 * SECOND + Duration::from_millis(10)).await;
    holds(&one, "h2", "cem", &["A1"]).await;
    assert_eq!(bob.await.unwrap().outcome.as_str(), "held");
    had(&one)[1] == "cem"
}

#[tokio::test(start_paused = true)]
async fn who_waits_has_the_seat_the_moment_its_hold_is_over() {
    shows(Mistake::WaitForTickFirst, who_comes_at_the_right_moment_is_sooner).await;
}

/// Says whether the journal is asked for a seat while people wait for it.
async fn is_asked_while_they_wait() -> bool {
    let one = Seat::at(&store()).await;
    opens(&one, 480 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let mut line = Vec::new();
    for number in 10..60 {
        line.push(waits(&one, &format!("s{number}"), &["A1"], 30 * SECOND).await);
    }
    // A tick in five seconds, while something is held, is nothing that those who wait ask for.
    let (before, mut applied) = (one.journal.appends(), one.node.replica.watch());
    let asked = async {
        while one.journal.appends() < before + 20 {
            applied.changed().await.unwrap();
        }
    };
    if timeout(29 * SECOND, asked).await.is_ok() {
        line.iter().for_each(JoinHandle::abort);
        return true;
    }
    for waiting in line {
        let said = waiting.await.unwrap();
        assert_eq!((said.outcome.as_str(), said.decided), ("unit_taken", Decided::Replica));
    }
    false
}

#[tokio::test(start_paused = true)]
async fn the_journal_is_not_asked_while_people_wait() {
    shows(Mistake::PollWhileWaiting, is_asked_while_they_wait).await;
}

/// A node hears nothing of the others for less than a second, in which a hold ends; says whether it answers `who` by
/// itself, who wants the seat, as if it lasted.
async fn is_said_to_last(id: &str, who: &str) -> bool {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens(&one, 10 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    sleep(Duration::from_millis(9_800)).await;
    two.reaches(one.position().position).await;
    two.journal.hold();
    sleep(Duration::from_millis(400)).await;
    assert_eq!(one.node.replica.look(State::live_holds), 0, "it is over");
    assert_eq!(two.node.replica.look(State::live_holds), 1, "and who hears nothing cannot know");
    let (picks, subject) = (units(&["A1"]), who);
    let hold = Command::Hold { campaign: "hall", id, subject, picks, limit: None };
    two.node.intake.hold(&hold, None).await.is_ok_and(|said| said.decided == Decided::Replica)
}

#[tokio::test(start_paused = true)]
async fn a_seat_is_not_called_taken_by_who_cannot_know_whether_its_hold_is_over() {
    shows(Mistake::TakenWithoutMargin, async || is_said_to_last("h2", "bob").await).await;
}

#[tokio::test(start_paused = true)]
async fn a_hold_is_not_called_held_by_who_cannot_know_whether_it_is_over() {
    shows(Mistake::TakenWithoutMargin, async || is_said_to_last("h1", "ann").await).await;
}

/// Cem waits for a seat behind bob. He is barred at one server; at theirs, which has not heard of it, he is let in again and
/// the seat is given back. Says whether he gets it before bob.
async fn who_is_let_in_again_jumps_the_line() -> bool {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens(&one, 600 * SECOND).await;
    holds(&one, "of-ann", "ann", &["A1"]).await;
    two.reaches(one.position().position).await;
    let bob = waits(&one, "bob", &["A1"], 300 * SECOND).await;
    let cem = waits(&one, "cem", &["A1"], 300 * SECOND).await;
    // What it sends next brings the bar; the other commands wait behind that.
    let appends = one.journal.appends();
    one.journal.hold();
    let intake = Arc::clone(&one.node.intake);
    let tick = tokio::spawn(async move { intake.tick().await });
    one.journal.asked(appends + 1).await;
    let ask = |command: Command<'_>| {
        let (intake, command) = (Arc::clone(&one.node.intake), Encoded::new(&command).unwrap());
        tokio::spawn(async move { intake.decide(&command.command()).await.unwrap() })
    };
    let unbar = ask(Command::Unbar { campaign: "hall", subject: "cem", order: OPS });
    tokio::task::yield_now().await;
    let bar = Command::Bar { campaign: "hall", subject: "cem", reason: "resale", order: OPS };
    does(&two, bar).await;
    let release = Command::Release { step: step("ann", "of-ann"), units: Vec::new() };
    let release = ask(release);
    tokio::task::yield_now().await;
    one.journal.let_go();
    tick.await.unwrap().unwrap();
    assert_eq!(unbar.await.unwrap().outcome, Outcome::BarLifted { was_barred: true });
    assert_eq!(release.await.unwrap().outcome.as_str(), "released");
    let jumps = loop {
        if let [_, second, ..] = &had(&one)[..] {
            break second == "cem";
        }
        tokio::task::yield_now().await;
    };
    bob.abort();
    cem.abort();
    jumps
}

#[tokio::test(start_paused = true)]
async fn who_is_barred_and_let_in_again_keeps_his_turn() {
    shows(Mistake::BarredJumpsLine, who_is_let_in_again_jumps_the_line).await;
}

#[tokio::test(start_paused = true)]
async fn who_goes_home_leaves_the_line_and_the_next_one_is_not_kept_waiting() {
    let one = Seat::at(&store()).await;
    opens(&one, 10 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let gone = waits(&one, "bob", &["A1"], 60 * SECOND).await;
    let short = waits(&one, "cem", &["A1"], 2 * SECOND).await;
    let dan = waits(&one, "dan", &["A1"], 60 * SECOND).await;
    gone.abort();
    assert_eq!(short.await.unwrap().outcome.as_str(), "unit_taken");
    assert_eq!(dan.await.unwrap().outcome.as_str(), "held");
    assert_eq!((had(&one), one.node.intake.in_line()), (vec!["ann".into(), "dan".into()], 0));
}

const OPS: Order<'_> = Order { id: None, who: "ops" };

fn step(subject: &str, hold: &'static str) -> Step<'static> {
    let subject = if subject == "ann" { "ann" } else { "bob" };
    Step { campaign: "hall", hold, subject, id: None }
}

async fn does(seat: &Seat, command: Command<'_>) {
    let done = seat.node.intake.decide(&command).await.unwrap().outcome;
    assert!(!done.is_refusal(), "{command:?}: {done:?}");
}

/// Ann has both seats for ten minutes, and bob waits for `A1`; says how long it takes him once `frees` was done.
async fn is_called(frees: impl AsyncFn(&Seat)) -> (Answer, Duration) {
    let one = Seat::at(&store()).await;
    opens(&one, 600 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let bob = waits(&one, "bob", &["A1"], 300 * SECOND).await;
    sleep(5 * SECOND).await;
    let begun = tokio::time::Instant::now();
    frees(&one).await;
    (bob.await.unwrap(), begun.elapsed())
}

/// Says whether somebody whose seat is given back hears nothing of it.
async fn is_left_waiting() -> bool {
    let release = Command::Release { step: step("ann", "h1"), units: Vec::new() };
    let (said, took) = is_called(async |one| does(one, release.clone()).await).await;
    assert_eq!(said.outcome.as_str(), "held");
    took > SECOND
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_called_when_the_seat_is_given_back() {
    shows(Mistake::FreedSeatsUnheard, is_left_waiting).await;
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_called_however_the_seat_comes_free() {
    let confirm =
        Command::Confirm { step: step("ann", "h1"), units: Vec::new(), late: Late::Refuse };
    let ways: Vec<Vec<Command<'_>>> = vec![
        vec![Command::Release { step: step("ann", "h1"), units: units(&["A1"]) }],
        vec![Command::Change {
            step: step("ann", "h1"),
            add: units(&["B1"]),
            drop: units(&["A1"]),
            limit: None,
        }],
        vec![
            confirm.clone(),
            Command::Cancel {
                campaign: "hall",
                pool: Some("main"),
                subject: "ann",
                rank: 1,
                by: By::Subject,
                reason: "",
                who: "",
            },
        ],
        vec![Command::Move {
            campaign: "hall",
            pool: "main",
            from: "A1",
            to: "B1",
            reason: "",
            order: OPS,
        }],
    ];
    for way in ways {
        let (said, took) = is_called(async |one| {
            for command in &way {
                does(one, command.clone()).await;
            }
        })
        .await;
        assert_eq!(said.outcome.as_str(), "held", "{way:?}");
        assert!(took < SECOND, "{took:?} after {way:?}");
    }
    // Nothing is left to wait for.
    let (said, took) = is_called(async |one| {
        let campaign = "hall";
        does(one, Command::Steer { campaign, steer: Steer::Close, order: OPS }).await;
        let steer = Steer::Archive { drop_unsettled: true };
        does(one, Command::Steer { campaign, steer, order: OPS }).await;
    })
    .await;
    assert_eq!(said.outcome.as_str(), "archived");
    assert!(took < SECOND, "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_blocked_seat_is_called_when_it_is_unblocked() {
    let one = Seat::at(&store()).await;
    opens(&one, 600 * SECOND).await;
    let block = |blocked| {
        let (campaign, units, reason) = ("hall", units(&["A1"]), "");
        Command::Block { campaign, units, blocked, reason, order: OPS }
    };
    does(&one, block(true)).await;
    // A blocked seat is not for sale: nobody is kept waiting for it.
    assert_eq!(holds(&one, "h1", "ann", &["A1"]).await.outcome.as_str(), "not_for_sale");
    let waits = waits(&one, "bob", &["A1"], 300 * SECOND).await;
    does(&one, block(false)).await;
    let begun = tokio::time::Instant::now();
    assert_eq!(waits.await.unwrap().outcome.as_str(), "held");
    assert!(begun.elapsed() < SECOND);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_a_hold_that_is_extended_asks_at_its_new_end() {
    let one = Seat::at(&store()).await;
    opens(&one, 10 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let bob = waits(&one, "bob", &["A1"], 60 * SECOND).await;
    sleep(8 * SECOND).await;
    does(&one, Command::Extend { step: step("ann", "h1"), by_us: None }).await;
    let (before, begun) = (one.journal.appends(), tokio::time::Instant::now());
    sleep(5 * SECOND).await;
    // A tick may be due in five seconds, but nobody asked for the seat when its hold would have been over.
    assert!(one.journal.appends() <= before + 2);
    assert_eq!(bob.await.unwrap().outcome.as_str(), "held");
    let took = begun.elapsed();
    assert!((10 * SECOND..11 * SECOND).contains(&took), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_subject_waits_once_in_a_campaign_and_is_answered_at_once_the_second_time() {
    let one = Seat::at(&store()).await;
    opens(&one, 10 * SECOND).await;
    holds(&one, "h1", "ann", &["A1"]).await;
    let bob = waits(&one, "bob", &["A1"], 60 * SECOND).await;
    let (picks, id) = (units(&["A1"]), "again");
    let again = Command::Hold { campaign: "hall", id, subject: "bob", picks, limit: None };
    let begun = tokio::time::Instant::now();
    let said = one.node.intake.hold_in_line(&again, 60 * SECOND).await.unwrap();
    assert_eq!((said.outcome.as_str(), one.node.intake.in_line()), ("unit_taken", 1));
    assert!(begun.elapsed() < SECOND);
    assert_eq!(bob.await.unwrap().outcome.as_str(), "held");
    assert_eq!(one.node.intake.in_line(), 0, "and may wait again");
}

#[tokio::test(start_paused = true)]
async fn groups_that_make_too_many_seats_are_refused_before_they_are_written() {
    let one = Seat::at(&store()).await;
    opens(&one, 600 * SECOND).await;
    let names: Vec<(String, String)> =
        (0..600).map(|n| (format!("S{n}"), format!("T{}", n / 100))).collect();
    let seats =
        names.iter().map(|(name, group)| SeatSettings { group, ..SeatSettings::named(name) });
    let chunk = Chunk { seats: seats.collect(), areas: Vec::new() };
    does(&one, Command::Seats { campaign: "hall", pool: "main", chunk, order: OPS }).await;
    let six = ["T0", "T1", "T2", "T3", "T4", "T5"];
    let before = one.position();
    let release = Command::Release { step: step("ann", "h1"), units: units(&six) };
    let said = one.node.intake.decide(&release).await.unwrap();
    assert_eq!((said.outcome.as_str(), said.decided), ("too_many_units", Decided::Replica));
    let said = holds(&one, "h2", "bob", &six).await;
    assert_eq!((said.outcome.as_str(), said.decided), ("too_many_units", Decided::Replica));
    assert_eq!(one.position(), before, "nothing was written");
    let said = holds(&one, "h2", "bob", &six[..5]).await;
    assert_eq!(said.outcome.as_str(), "held", "five hundred are not too many");
}

/// Bob waits for a seat. The entry that refuses it to him, because cem has it, has two more commands: cem gives it back, and
/// it gets another name. What bob waited for is not there any more, and nobody has it: he hears what the journal says then.
#[tokio::test(start_paused = true)]
async fn who_waits_for_a_seat_that_gets_another_name_hears_that_there_is_no_such_seat() {
    let store = store();
    let (one, two) = (Seat::at(&store).await, Seat::at(&store).await);
    opens(&one, 10 * SECOND).await;
    let held = Instant::now();
    holds(&one, "h1", "ann", &["A1"]).await;
    two.reaches(one.position().position).await;
    let bob = waits(&two, "bob", &["A1"], 60 * SECOND).await;
    sleep_until(held + Duration::from_millis(9_900)).await;
    // A batch of his node is on its way while the hold ends, and what comes meanwhile is the next one.
    two.journal.hold();
    let intake = Arc::clone(&two.node.intake);
    let under_way = tokio::spawn(async move { intake.tick().await });
    sleep(Duration::from_millis(200)).await;
    assert_eq!(holds(&one, "h2", "cem", &["A1"]).await.outcome.as_str(), "held");
    while two.node.waiting() < 1 {
        tokio::task::yield_now().await;
    }
    let intake = Arc::clone(&two.node.intake);
    let others = tokio::spawn(async move {
        let step = Step { campaign: "hall", hold: "h2", subject: "cem", id: None };
        let release = Command::Release { step, units: Vec::new() };
        let seats =
            vec![SeatChange { name: "A1", new_name: Some("A01"), grade: None, price: None }];
        let rename = Command::ChangeSeats { campaign: "hall", pool: "main", seats, order: OPS };
        let (released, renamed) = tokio::join!(intake.decide(&release), intake.decide(&rename));
        [released, renamed].map(Result::unwrap)
    });
    while two.node.waiting() < 3 {
        tokio::task::yield_now().await;
    }
    two.journal.let_go();
    let [released, renamed] = others.await.unwrap();
    assert_eq!(
        (released.outcome.as_str(), renamed.outcome.as_str()),
        ("released", "seats_changed")
    );
    under_way.await.unwrap().unwrap();
    let entry = released.position.position;
    let found = two.journal.truth().read(entry - 1).await.unwrap().entries;
    let (_, body) = found[0].open().unwrap();
    // The node's own tick may be among them.
    let commands = body.commands().unwrap();
    let three: Vec<_> =
        commands.iter().filter(|one| !matches!(one, Command::Tick { .. })).collect();
    assert!(
        matches!(
            three[..],
            [Command::Hold { .. }, Command::Release { .. }, Command::ChangeSeats { .. }]
        ),
        "the three of them are one entry: {three:?}"
    );
    assert_eq!(bob.await.unwrap().outcome.as_str(), "no_such_unit");
    assert_eq!(two.node.intake.in_line(), 0);
}
