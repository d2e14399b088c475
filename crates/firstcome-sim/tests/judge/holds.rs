//! Judges holds and seats: the replies about them, and the wait queue.

use crate::story::{Story, clock, is_broken, passes, units_for_sale};
use firstcome_core::command::{BestPick, Encoded, Late, Order, Pick, Step, Wanted};
use firstcome_core::hall::{AreaSettings, Chunk, SeatSettings};
use firstcome_core::outcome::{Holding, Missing, RefusedFor, Release, UnitName};
use firstcome_core::settings::{HoldSettings, PoolSettings};
use firstcome_core::{Command, Outcome, Refusal, Settings};
use firstcome_node::{CommandError, Decided};
use firstcome_sim::history::{Asked, Cause, Durability, History, QueueWait, Reply};
use firstcome_sim::judge::judge;
use std::time::Duration;

/// How long a hold lasts, in seconds.
const TTL: f64 = 5.0;

fn on(command: &Command<'_>) -> Asked {
    Asked::On { command: Encoded::new(command).unwrap(), wait: Duration::ZERO }
}

fn hold(id: &str, subject: &str, seats: &[&str]) -> Asked {
    let picks = vec![Pick::units("hall", seats.to_vec())];
    on(&Command::Hold { campaign: "spring", id, subject, picks, limit: None })
}

/// The same by a caller that waits for three seconds.
fn waits(id: &str, subject: &str, seats: &[&str]) -> Asked {
    let Asked::On { command, .. } = hold(id, subject, seats) else { panic!() };
    Asked::On { command, wait: Duration::from_secs(3) }
}

fn names(seats: &[&str]) -> Vec<UnitName> {
    let name = |seat: &&str| UnitName { pool: "hall".into(), unit: Some((*seat).into()) };
    seats.iter().map(name).collect()
}

fn held(id: &str, seats: &[&str], until: f64) -> Outcome {
    let (hold, units) = (id.into(), names(seats));
    Outcome::Held(Box::new(Holding { hold, units, expires_at: clock(until) }))
}

fn taken(seats: &[&str]) -> Outcome {
    let (refusal, units) = (Refusal::UnitTaken, names(seats));
    Outcome::RefusedFor(Box::new(RefusedFor { refusal, hold: None, units, seat: None }))
}

/// `spring` with four seats and an area of two units, at its opening.
fn venue() -> Story {
    let mut settings: Settings = units_for_sale(3);
    settings.pools.push(PoolSettings::seated("hall"));
    settings.holding = HoldSettings { ttl_us: (TTL * 1e6) as i64, ..HoldSettings::default() };
    let mut story = Story::opened(Durability::Memory, settings);
    let names = ["A1", "A2", "A3", "A4"];
    let seats = names.iter().map(|name| SeatSettings { row: "A", ..SeatSettings::named(name) });
    let chunk = Chunk { seats: seats.collect(), areas: vec![AreaSettings::named("GA", 2)] };
    let order = Order { id: None, who: "desk" };
    let seats = on(&Command::Seats { campaign: "spring", pool: "hall", chunk, order });
    story.decides(seats, Outcome::Imported { seats: 4, areas: 1 });
    story
}

/// Ann holds two seats since the tenth second.
fn taken_once() -> Story {
    let mut story = venue();
    story.decides(hold("h1", "ann", &["A1", "A2"]), held("h1", &["A1", "A2"], 10.0 + TTL));
    story
}

#[test]
fn a_hold_its_repeat_its_end_and_the_next_one() {
    let mut story = taken_once();
    let already =
        Holding { hold: "h1".into(), units: names(&["A1", "A2"]), expires_at: clock(15.0) };
    story.remembers(hold("h1", "ann", &["A1", "A2"]), Outcome::AlreadyHeld(Box::new(already)));
    story.at(12.0);
    story.remembers(hold("h2", "bob", &["A1"]), taken(&["A1"]));
    story.at(14.9);
    story.decides(hold("h2", "bob", &["A1"]), taken(&["A1"]));
    story.at(15.0);
    let step = Step { campaign: "spring", hold: "h1", subject: "ann", id: None };
    let late = Command::Confirm { step, units: Vec::new(), late: Late::Refuse };
    story.decides(on(&late), Refusal::HoldExpired.into());
    story.decides(hold("h3", "bob", &["A1"]), held("h3", &["A1"], 15.0 + TTL));
    passes(&story.ends());
}

#[test]
fn a_hold_that_ends_too_early_or_too_late() {
    let mut story = taken_once();
    story.at(14.9);
    story.decides(hold("h2", "bob", &["A1"]), held("h2", &["A1"], 14.9 + TTL));
    is_broken(&story.ends(), "decided_by_the_rules");
    let mut story = taken_once();
    story.at(15.0);
    story.decides(hold("h2", "bob", &["A1"]), taken(&["A1"]));
    is_broken(&story.ends(), "decided_by_the_rules");
}

#[test]
fn what_another_branch_had_later_at_that_position_was_in_no_memory() {
    let mut story = venue();
    story.at(10.0);
    let until = 10.0 + TTL;
    let before = story.decides(hold("h1", "ann", &["A1", "A2"]), held("h1", &["A1", "A2"], until));
    story.at(12.0);
    let lost = story.decides(hold("h2", "bob", &["A1"]), taken(&["A1"]));
    story.remembers(hold("h3", "bob", &["A1"]), taken(&["A1"]));
    story.at(13.0);
    story.loses(Some(before), Cause::Promotion);
    // One second is left of the hold.
    story.at(14.0);
    assert_ne!(story.decides(hold("h4", "cid", &["A1"]), taken(&["A1"])), lost);
    passes(&story.ends());
}

#[test]
fn a_seat_that_may_be_free_within_two_seconds() {
    let mut story = taken_once();
    story.at(14.0);
    story.remembers(hold("h2", "bob", &["A1"]), taken(&["A1"]));
    let mut history = story.ends();
    let said = is_broken(&history, "memory_taken_lasts");
    assert!(said.contains("it may be free again within two seconds"), "{said}");
    // Who does not know what the clock says cannot know that.
    history.clock_steps.push((Duration::from_secs_f64(13.5), 1));
    passes(&history);
}

#[test]
fn half_a_basket() {
    let mut story = venue();
    story.decides(hold("h1", "ann", &["A1", "A2"]), held("h1", &["A1"], 10.0 + TTL));
    also_breaks(&story.ends(), "whole_or_nothing");
    let mut story = venue();
    story.decides(hold("h1", "ann", &["A1", "A2"]), held("h1", &["A1", "A3"], 10.0 + TTL));
    also_breaks(&story.ends(), "whole_or_nothing");
}

/// Finds this promise broken among others.
fn also_breaks(history: &History, promise: &str) {
    let wrong = judge(history).unwrap_err();
    assert!(wrong.iter().any(|broken| broken.promise == promise), "{wrong:#?}");
}

/// Ann stands in line for two units from the eleventh second to the fourteenth; bob, behind her, is given the first of
/// them in the thirteenth.
fn overtaken_for(units: [&str; 2]) -> History {
    let mut story = venue();
    story.at(11.0);
    story.hears(waits("h1", "ann", &units), Reply::Nothing);
    story.at(13.0);
    story.decides(waits("h2", "bob", &units[..1]), held("h2", &units[..1], 13.0 + TTL));
    let mut history = story.ends();
    let at = Duration::from_secs;
    let first = history.exchanges.len() - 2;
    history.queue_waits = vec![
        QueueWait { exchange: first, began: at(11), left: Some(at(14)) },
        QueueWait { exchange: first + 1, began: at(12), left: Some(at(13)) },
    ];
    history
}

fn overtaken() -> History {
    overtaken_for(["A1", "A2"])
}

#[test]
fn somebody_who_is_overtaken_in_line() {
    let said = is_broken(&overtaken(), "line_in_order");
    assert!(said.contains("was before them in line"), "{said}");
    // Who came first is served first; who left is not waited for; other seats are another line.
    let mut history = overtaken();
    history.queue_waits.swap(0, 1);
    passes(&history);
    let mut history = overtaken();
    history.queue_waits[0].left = Some(Duration::from_millis(12_900));
    passes(&history);
    let mut history = overtaken();
    history.exchanges[history.queue_waits[0].exchange].asked = waits("h1", "ann", &["A2", "A3"]);
    passes(&history);
    // Whose time was over asks as those do who do not wait.
    let mut history = overtaken();
    history.queue_waits[1].began = Duration::from_secs(10);
    history.queue_waits[0].began = Duration::from_secs(9);
    passes(&history);
}

/// Ann, who came before bob, is refused for the hold she has; bob gets the seat by the same entry, in which `first` stands
/// first. Ann hears of it after that.
fn in_one_entry(first: &str) -> History {
    let mut story = taken_once();
    story.at(13.0);
    let (ann, bob) = (waits("h3", "ann", &["A3", "A4"]), waits("h2", "bob", &["A3"]));
    let mut both = [ann.clone(), bob.clone()];
    if first == "bob" {
        both.reverse();
    }
    story.stores((2, 1), &both, &[]);
    let has_hold = RefusedFor {
        refusal: Refusal::HasHold,
        hold: Some("h1".into()),
        units: Vec::new(),
        seat: None,
    };
    story.answers(ann, Outcome::RefusedFor(Box::new(has_hold)), Decided::Journal);
    story.answers(bob, held("h2", &["A3"], 13.0 + TTL), Decided::Journal);
    let mut history = story.ends();
    let (exchange, at) = (history.exchanges.len() - 1, Duration::from_secs);
    let left = Some(Duration::from_millis(13_010));
    history.queue_waits = vec![
        QueueWait { exchange: exchange - 1, began: at(11), left },
        QueueWait { exchange, began: at(12), left },
    ];
    history
}

#[test]
fn who_was_decided_before_another_is_not_overtaken_however_late_they_hear_of_it() {
    passes(&in_one_entry("ann"));
    is_broken(&in_one_entry("bob"), "line_in_order");
}

#[test]
fn who_asks_for_a_seat_of_no_pool_keeps_nobody_waiting() {
    let told = |refusal| {
        let mut history = overtaken();
        let Reply::Answer { position, .. } = history.exchanges[0].reply else { panic!() };
        let outcome = Outcome::Refused(refusal);
        history.exchanges[history.queue_waits[0].exchange].reply =
            Reply::Answer { outcome, position, decided: Decided::Replica };
        judge(&history).err().into_iter().flatten().any(|broken| broken.promise == "line_in_order")
    };
    assert!(!told(Refusal::PoolRequired) && !told(Refusal::NotSeated));
    assert!(!told(Refusal::NotFound(Missing::Pool)));
    assert!(told(Refusal::UnitTaken) && told(Refusal::LimitReached));
}

/// World 850342249: that somebody has a hold is answered first, whatever they ask for. Here it was a seat that is not there.
#[test]
fn who_asks_for_a_seat_that_is_not_there_keeps_nobody_waiting_whatever_the_answer() {
    let mut history = overtaken();
    let earlier = history.queue_waits[0].exchange;
    history.exchanges[earlier].asked = waits("h1", "ann", &["A1", "Z9"]);
    passes(&history);
    history.exchanges[earlier].asked = waits("h1", "ann", &["A1", "A2"]);
    is_broken(&history, "line_in_order");
}

#[test]
fn an_entry_that_was_lost_says_nothing_of_the_one_that_took_its_position() {
    let mut story = venue();
    let before = story.head;
    story.at(11.2);
    story.hears(hold("h4", "eve", &["A4"]), Reply::Nothing);
    story.appends(&hold("h4", "eve", &["A4"]), &[]);
    story.loses(before, Cause::Promotion);
    story.hears(waits("h1", "ann", &["A1"]), Reply::Nothing);
    story.at(13.0);
    story.decides_as((2, 1), waits("h2", "bob", &["A1"]), held("h2", &["A1"], 13.0 + TTL));
    story.last().asked_at = Duration::from_secs(11);
    let mut history = story.ends();
    let (exchange, at) = (history.exchanges.len() - 1, Duration::from_millis);
    history.queue_waits = vec![
        QueueWait { exchange: exchange - 1, began: at(10_900), left: Some(at(12_500)) },
        QueueWait { exchange, began: at(11_000), left: Some(at(13_010)) },
    ];
    // Bob was served when ann had left.
    passes(&history);
    history.queue_waits[0].left = Some(at(13_500));
    is_broken(&history, "line_in_order");
}

#[test]
fn nobody_waits_for_a_unit_of_an_area() {
    passes(&overtaken_for(["GA", "A2"]));
}

#[test]
fn somebody_who_is_sent_away_before_their_time() {
    let mut story = taken_once();
    story.at(12.0);
    story.decides(waits("h2", "bob", &["A1"]), taken(&["A1"]));
    let mut history = story.ends();
    let exchange = history.exchanges.len() - 1;
    let began = Duration::from_secs(11);
    history.queue_waits = vec![QueueWait { exchange, began, left: Some(Duration::from_secs(12)) }];
    is_broken(&history, "line_waits");
    history.queue_waits[0].left = Some(Duration::from_secs(14));
    passes(&history);
}

/// Bob stands in line, and asks once more beside it.
fn asked_twice(first: &'static str) -> History {
    let mut story = taken_once();
    story.at(11.0);
    story.hears(waits("h3", first, &["A1"]), Reply::Nothing);
    story.at(12.0);
    story.decides(waits("h2", "bob", &["A1"]), taken(&["A1"]));
    let mut history = story.ends();
    let (exchange, at) = (history.exchanges.len() - 1, Duration::from_secs);
    history.queue_waits = vec![
        QueueWait { exchange: exchange - 1, began: at(10), left: Some(at(13)) },
        QueueWait { exchange, began: at(11), left: Some(at(12)) },
    ];
    history
}

#[test]
fn somebody_who_waits_already_is_answered_at_once_and_others_are_not() {
    passes(&asked_twice("bob"));
    is_broken(&asked_twice("cid"), "line_waits");
}

/// Bob waits for a seat that ann has. His command was refused twice, and then he heard of a failure.
fn refused_before(failure: CommandError) -> History {
    let mut story = taken_once();
    story.at(12.0);
    story.fails(waits("h2", "bob", &["A1"]), failure);
    for _ in 0..2 {
        story.appends(&hold("h2", "bob", &["A1"]), &[]);
    }
    story.ends()
}

#[test]
fn somebody_in_line_whose_command_was_sent_and_who_hears_that_nothing_changed() {
    passes(&refused_before(CommandError::Unknown));
    let history = refused_before(CommandError::Unavailable("this node is shutting down".into()));
    let wrong = judge(&history).unwrap_err();
    assert!(wrong.iter().all(|broken| broken.promise == "no_changed_nothing"), "{wrong:#?}");
    assert_eq!(wrong.len(), 2, "each of the two is there: {wrong:#?}");
}

/// Ann held a seat; the store lost that, bob came first there, and a node brought what was lost.
fn forked(lines: &[&str]) -> History {
    forked_after("A1", lines, |_| {})
}

/// The same, where bob got this seat, and where something was said before.
fn forked_after(bobs: &str, lines: &[&str], said: impl Fn(&mut Story)) -> History {
    let mut story = venue();
    let before = story.head;
    story.decides(hold("h1", "ann", &["A1"]), held("h1", &["A1"], 10.0 + TTL));
    said(&mut story);
    story.applies();
    story.at(11.0);
    story.loses(before, Cause::Promotion);
    story.decides_as((2, 1), hold("h2", "bob", &[bobs]), held("h2", &[bobs], 11.0 + TTL));
    story.epoch = 1;
    story.at(12.0);
    story.stores((1, 3), &[hold("h1", "ann", &["A1"])], &[]);
    for line in lines {
        story.reports(line);
    }
    story.ends()
}

#[test]
fn a_hold_that_a_fork_took_stands_in_its_list() {
    let said = is_broken(&forked(&[]), "acknowledged_kept");
    assert!(said.contains("there is no hold \"h1\", and no list names it"), "{said}");
    let line = "spring hold \"h1\" of \"ann\" is gone, it had hall/A1";
    assert_eq!(passes(&forked(&[line])).ranks_excused, 1);
    is_broken(
        &forked(&["spring hold \"h2\" of \"ann\" is gone, it had hall/A1"]),
        "acknowledged_kept",
    );
}

#[test]
fn who_asks_again_under_another_id_keeps_the_hold_that_the_answer_names() {
    let asks_again = |story: &mut Story| {
        let Outcome::Held(had) = held("h1", &["A1"], 10.0 + TTL) else { panic!() };
        story.remembers(hold("h9", "ann", &["A1"]), Outcome::AlreadyHeld(had));
    };
    passes(&forked_after("A4", &[], asks_again));
    let lost = forked_after("A1", &[], asks_again);
    let wrong = judge(&lost).unwrap_err();
    assert_eq!(wrong.len(), 2, "{wrong:#?}");
    for broken in wrong {
        let said = broken.to_string();
        assert!(said.contains("there is no hold \"h1\", and no list names it"), "{said}");
    }
    let line = "spring hold \"h1\" of \"ann\" is gone, it had hall/A1";
    assert_eq!(passes(&forked_after("A1", &[line], asks_again)).ranks_excused, 2);
}

#[test]
fn a_hold_that_was_given_back_is_not_missed_whichever_seat_it_had() {
    let best = BestPick { count: 1, grade: None, price: None, adjacent: true, accessible: false };
    let best = Pick { pool: Some("hall"), wanted: Wanted::Best(best), channel: None };
    let (id, subject, picks) = ("h1", "ann", vec![best]);
    let best = on(&Command::Hold { campaign: "spring", id, subject, picks, limit: None });
    for gives_back in [true, false] {
        let mut story = venue();
        let before = story.head;
        story.decides(best.clone(), held("h1", &["A1"], 10.0 + TTL));
        story.applies();
        story.at(11.0);
        story.loses(before, Cause::Promotion);
        story.decides_as((2, 1), hold("h2", "bob", &["A1"]), held("h2", &["A1"], 11.0 + TTL));
        story.epoch = 1;
        story.at(12.0);
        story.stores((1, 3), std::slice::from_ref(&best), &[]);
        if gives_back {
            let step = Step { campaign: "spring", hold: "h1", subject: "ann", id: None };
            let release = on(&Command::Release { step, units: Vec::new() });
            let (hold, units, left) = ("h1".into(), names(&["A2"]), 0);
            let released = Outcome::Released(Box::new(Release { hold, units, left }));
            story.decides_as((2, 2), release, released);
            passes(&story.ends());
        } else {
            is_broken(&story.ends(), "acknowledged_kept");
        }
    }
}
