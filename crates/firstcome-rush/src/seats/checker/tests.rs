//! Lies told about what people were told by an honest server: each must be noticed.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use super::super::plan::{HallPlan, Seats, Shares};
use super::super::record::{Basket, Heard, HoldRecord, HoldVerb, WishedUnits};
use super::super::tests::faulty_server::{AREA, FaultyServer, HOLD, LONGEST, rows};
use super::*;
use crate::people::{self, PersonResult, come};

/// Everything that people were told.
struct Told {
    record: Record,
    read: Read,
}

/// A lie: what it breaks, and how it is told; what it is told about there is plenty of.
type Lie = (&'static str, &'static str, fn(&mut HallPlan, &mut Told));

const LIES: [Lie; 30] = [
    ("a basket is half granted", "baskets", half_granted),
    ("a basket is half confirmed", "baskets", half_confirmed),
    ("others are added than were asked for", "baskets", other_added),
    ("a confirmed seat is given again", "seats", given_after_confirm),
    ("a held seat is given again", "seats", given_while_held),
    ("a seat behind a pillar is given", "seats", pillar_given),
    ("more stand on the floor than it has places", "seats", |hall, _| hall.area.1 = 4),
    ("a hold is over before its end", "late", over_early),
    ("an extension is too late though it is not", "late", extended_too_late),
    ("a hold is taken again before it was over", "late", taken_again_in_time),
    ("a hold is confirmed after its end", "late", confirmed_late),
    ("a refund is due for what is free", "late", refund_for_free),
    ("a refund is on no list", "late", refund_unlisted),
    ("what is confirmed is lost", "kept", confirmed_lost),
    ("what is confirmed is on no list", "kept", confirmed_unlisted),
    ("a hold is lost", "kept", hold_lost),
    ("what was released is kept", "kept", released_kept),
    ("asked again, the rank is another", "repeats", other_rank),
    ("asked again, a seat is another", "repeats", other_seat),
    ("a free seat is called taken", "taken", free_called_taken),
    ("of two seats that are taken one is named", "taken", one_of_two_named),
    ("all is said to be sold out", "taken", sold_out),
    ("the map shows a seat that is sold", "counts", sold_shown_free),
    ("one server counts one more", "counts", |_, told| told.read.counts[0].pools[0].left += 1),
    ("somebody has a claim whom nobody knows", "kept", strangers_claim),
    ("somebody is owed a refund whom nobody knows", "late", strangers_refund),
    ("a result is another one's", "ranks", of_another),
    ("a seat is twice in the results", "seats", twice_in_the_results),
    ("a late payer is treated as one in time", "late", late_as_in_time),
    ("a rank is left out", "ranks", |_, told| drop(told.read.results.remove(7))),
];

/// Lets people come to an honest server; returns what there is, and what they were told.
async fn honest() -> (Plan, Told) {
    let (rows, area) = (rows(40), (AREA.to_owned(), 60));
    let hall = HallPlan { rows: rows.clone(), blocked: Vec::new(), area, longest: LONGEST };
    let shares = Shares { browse: 0.1, ..Shares::default() };
    let server = FaultyServer::with_area(rows.clone(), 60);
    let (hold, hall) = (HOLD, Some(hall));
    let visit = Seats { rows, limit: None, hold, shares, all_pay_after: None, hall };
    let plan = people::tests::plan(server, visit);
    let per_second = Some(150.0);
    let plan = Plan { people: 700, per_second, connections: 32, slack: Duration::ZERO, ..plan };
    let visited = come(plan, &mut |_| ControlFlow::Continue(())).await;
    let told = Told { record: visited.record, read: visited.read.unwrap() };
    (Arc::into_inner(visited.plan).unwrap(), told)
}

#[tokio::test]
async fn an_honest_server_is_believed_and_every_lie_about_it_is_noticed() {
    let (mut plan, told) = honest().await;
    assert!(has_all(&told));
    let found = check(&plan, &told.record, Some(&told.read));
    assert_eq!(found, [], "{} promises", found.len());
    let honest_hall = plan.visit.hall.clone().unwrap();
    for (lie, promise, tells) in LIES {
        let answers = told.record.answers.clone();
        let record = Record { answers, ..Record::default() };
        let mut told = Told { record, read: told.read.clone() };
        let mut hall = honest_hall.clone();
        tells(&mut hall, &mut told);
        plan.visit.hall = Some(hall);
        let found = check(&plan, &told.record, Some(&told.read));
        let noticed = found.iter().any(|violation| violation.promise == promise);
        assert!(noticed, "{lie}: nobody noticed, but {:?}", found.first());
    }
}

fn heard(told: &Told, outcome: &str) -> usize {
    told.record.answers.all().filter(|heard| heard.outcome == outcome).count()
}

/// Returns a result of some kind.
fn result(told: &Told, kind: &str) -> PersonResult {
    told.read.results.iter().rfind(|result| result.kind == kind).unwrap().clone()
}

fn strangers_claim(_: &mut HallPlan, told: &mut Told) {
    let last = result(told, "claim");
    let (hold, unit) = (Some("nobodys".to_owned()), Some("40-10".to_owned()));
    told.read.results.push(PersonResult { rank: last.rank + 1, hold, unit, ..last });
}

fn strangers_refund(_: &mut HallPlan, told: &mut Told) {
    let hold = Some("nobodys".to_owned());
    told.read.results.push(PersonResult { hold, ..result(told, "refund_due") });
}

fn of_another(_: &mut HallPlan, told: &mut Told) {
    told.read.results[0].subject = "nobody".to_owned();
}

fn twice_in_the_results(_: &mut HallPlan, told: &mut Told) {
    let is_seat =
        |result: &&mut PersonResult| result.kind == "claim" && result.unit.as_deref() != Some(AREA);
    let mut seats = told.read.results.iter_mut().filter(is_seat);
    let (first, second) = (seats.next().unwrap(), seats.next().unwrap());
    second.unit.clone_from(&first.unit);
}

fn late_as_in_time(_: &mut HallPlan, told: &mut Told) {
    let in_time = |hold: &&mut HoldRecord| hold.heard.iter().any(is_early);
    held(told).filter(|hold| hold.was("confirmed")).find(in_time).unwrap().late = true;
}

/// Whether there is something to lie about.
fn has_all(told: &Told) -> bool {
    let confirmed = |of: fn(&Heard) -> bool| {
        told.record.answers.all().filter(|heard| heard.outcome == "confirmed" && of(heard)).count()
    };
    let taken = |told: &Told| two_taken(told).count();
    told.record.answers.holds.len() > 400
        && heard(told, "refund_due") > 1
        && heard(told, "extended") > 5
        && heard(told, "released") > 5
        && confirmed(|heard| heard.retaken) > 2
        && confirmed(|heard| heard.again) > 2
        && confirmed(is_early) > 5
        && taken(told) > 2
}

/// Returns holds about which there was no doubt, and that began with a yes.
fn held(told: &mut Told) -> impl Iterator<Item = &mut HoldRecord> {
    let plain = |hold: &&mut HoldRecord| {
        hold.heard[0].outcome == "held" && hold.heard.iter().all(|heard| !heard.doubt)
    };
    told.record.answers.holds.iter_mut().filter(plain)
}

/// Returns answers of one kind, the repeated ones left out.
fn answers<'a>(told: &'a mut Told, outcome: &'a str) -> impl Iterator<Item = &'a mut Heard> {
    let all = told.record.answers.holds.iter_mut().flat_map(|hold| &mut hold.heard);
    all.filter(move |heard| heard.outcome == outcome && !heard.again && !heard.doubt)
}

fn first_seat(units: &Basket) -> Option<String> {
    units.keys().find(|unit| *unit != AREA).cloned()
}

fn half_granted(_: &mut HallPlan, told: &mut Told) {
    let two = held(told).find(|hold| hold.heard[0].units.len() > 1).unwrap();
    two.heard[0].units.pop_first().unwrap();
}

fn half_confirmed(_: &mut HallPlan, told: &mut Told) {
    let two = answers(told, "confirmed").find(|heard| heard.units.len() > 1).unwrap();
    let (unit, _) = two.units.pop_first().unwrap();
    two.ranks.remove(&unit);
}

fn other_added(hall: &mut HallPlan, told: &mut Told) {
    let last = hall.seats().last().unwrap().clone();
    let added = answers(told, "held").find(|heard| heard.verb == HoldVerb::Add).unwrap();
    let gone = added.wish.units.keys().next().unwrap().clone();
    added.units.remove(&gone);
    added.units.insert(last, 1);
}

/// Gives a seat of a hold another name, wherever it is spoken of.
fn rename(told: &mut Told, id: &str, from: &str, to: &str) {
    let change = |units: &mut Basket| {
        if let Some(count) = units.remove(from) {
            units.insert(to.to_owned(), count);
        }
    };
    let hold = told.record.answers.holds.iter_mut().find(|hold| hold.hold == id).unwrap();
    for heard in &mut hold.heard {
        change(&mut heard.units);
        change(&mut heard.wish.units);
        if let Some(ranks) = heard.ranks.remove(from) {
            heard.ranks.insert(to.to_owned(), ranks);
        }
    }
    let shown = told.read.shown.get_mut(id).and_then(Option::as_mut);
    for fate in shown.into_iter().flat_map(|shown| &mut shown.fates) {
        if fate.unit == from {
            fate.unit = to.to_owned();
        }
    }
}

/// Gives a seat to whoever held one at a position between.
fn give_again(told: &mut Told, seat: &str, between: std::ops::Range<u64>) {
    let again = held(told).find(|hold| {
        let first = &hold.heard[0];
        between.contains(&first.position)
            && first_seat(&first.units).is_some()
            && !first.units.contains_key(seat)
    });
    let again = again.expect("somebody held something then");
    let (id, from) = (again.hold.clone(), first_seat(&again.heard[0].units).unwrap());
    rename(told, &id, &from, seat);
}

fn given_after_confirm(_: &mut HallPlan, told: &mut Told) {
    let sold = answers(told, "confirmed").find(|heard| first_seat(&heard.units).is_some());
    let sold = sold.unwrap();
    let (seat, position) = (first_seat(&sold.units).unwrap(), sold.position);
    give_again(told, &seat, position + 1..u64::MAX);
}

fn given_while_held(_: &mut HallPlan, told: &mut Told) {
    let kept = held(told).find(|hold| {
        // It was there long after, and nothing was asked of it in between.
        let (first, second) = (&hold.heard[0], hold.heard.get(1));
        first_seat(&first.units).is_some()
            && second.is_some_and(|second| second.position > first.position + 40)
    });
    let kept = kept.expect("somebody thinks for a while");
    let seat = first_seat(&kept.heard[0].units).unwrap();
    let between = kept.heard[0].position + 5..kept.heard[1].position - 5;
    give_again(told, &seat, between);
}

fn pillar_given(hall: &mut HallPlan, told: &mut Told) {
    let pillar = "40-10".to_owned();
    hall.blocked.push(pillar.clone());
    let lucky = held(told).find(|hold| first_seat(&hold.heard[0].units).is_some()).unwrap();
    let (id, from) = (lucky.hold.clone(), first_seat(&lucky.heard[0].units).unwrap());
    rename(told, &id, &from, &pillar);
}

/// Whether it was confirmed long before its time was over.
fn is_early(heard: &Heard) -> bool {
    heard.verb == HoldVerb::Confirm && !heard.again && !heard.retaken && heard.wish.units.is_empty()
}

fn say_no(heard: &mut Heard, outcome: &str) {
    outcome.clone_into(&mut heard.outcome);
    heard.units.clear();
    heard.ranks.clear();
    (heard.until, heard.at, heard.retaken) = (None, None, false);
}

fn over_early(_: &mut HallPlan, told: &mut Told) {
    // Some were paid for in the last moment; not all of them.
    answers(told, "confirmed").filter(|heard| is_early(heard)).take(20).for_each(|heard| {
        say_no(heard, "hold_expired");
    });
}

fn extended_too_late(_: &mut HallPlan, told: &mut Told) {
    answers(told, "extended").for_each(|heard| say_no(heard, "hold_expired"));
}

fn taken_again_in_time(_: &mut HallPlan, told: &mut Told) {
    answers(told, "confirmed").filter(|heard| is_early(heard)).for_each(|heard| {
        heard.verb = HoldVerb::Retake;
        heard.retaken = true;
    });
}

fn confirmed_late(_: &mut HallPlan, told: &mut Told) {
    answers(told, "confirmed").for_each(|heard| heard.retaken = false);
}

fn refund_for_free(_: &mut HallPlan, told: &mut Told) {
    answers(told, "confirmed").filter(|heard| heard.retaken).for_each(|heard| {
        let units = heard.units.clone();
        say_no(heard, "refund_due");
        heard.units = units;
    });
}

fn refund_unlisted(_: &mut HallPlan, told: &mut Told) {
    told.read.results.retain(|line| line.kind != "refund_due");
}

/// Changes what is shown of units with some fate.
fn shown_otherwise(told: &mut Told, from: &str, to: &str) {
    let all = told.read.shown.values_mut().flatten();
    let fate = all.flat_map(|shown| &mut shown.fates).find(|fate| fate.state == from).unwrap();
    to.clone_into(&mut fate.state);
    fate.rank = None;
}

fn confirmed_lost(_: &mut HallPlan, told: &mut Told) {
    shown_otherwise(told, "confirmed", "expired");
}

fn released_kept(_: &mut HallPlan, told: &mut Told) {
    shown_otherwise(told, "released", "held");
}

fn confirmed_unlisted(_: &mut HallPlan, told: &mut Told) {
    let last = told.read.results.iter().rposition(|line| line.kind == "claim").unwrap();
    let PersonResult { kind, .. } = told.read.results.remove(last);
    assert_eq!(kind, "claim");
}

fn hold_lost(_: &mut HallPlan, told: &mut Told) {
    let hold = held(told).next().unwrap().hold.clone();
    told.read.shown.insert(hold, None);
}

fn repeated<'a>(told: &'a mut Told, outcome: &'a str) -> impl Iterator<Item = &'a mut Heard> {
    let all = told.record.answers.holds.iter_mut().flat_map(|hold| &mut hold.heard);
    all.filter(move |heard| heard.outcome == outcome && heard.again)
}

fn other_rank(_: &mut HallPlan, told: &mut Told) {
    let again = repeated(told, "confirmed").next().unwrap();
    let ranks = again.ranks.values_mut().next().unwrap();
    *ranks = ranks.iter().map(|rank| rank + 1).collect();
}

fn other_seat(hall: &mut HallPlan, told: &mut Told) {
    let last = hall.seats().last().unwrap().clone();
    let again = repeated(told, "already_held").next().unwrap();
    again.units.pop_first().unwrap();
    again.units.insert(last, 1);
}

fn free_called_taken(hall: &mut HallPlan, told: &mut Told) {
    let last = hall.seats().last().unwrap().clone();
    let refused = answers(told, "unit_taken").next().unwrap();
    let named = refused.units.keys().next().unwrap().clone();
    refused.units.remove(&named);
    refused.wish.units.remove(&named);
    refused.units.insert(last.clone(), 1);
    refused.wish.units.insert(last, 1);
}

/// Returns refusals that name several seats.
fn two_taken(told: &Told) -> impl Iterator<Item = &Heard> {
    told.record.answers.all().filter(|heard| heard.outcome == "unit_taken" && heard.units.len() > 1)
}

fn one_of_two_named(_: &mut HallPlan, told: &mut Told) {
    let two = answers(told, "unit_taken").filter(|heard| heard.units.len() > 1);
    two.for_each(|heard| {
        let (_, last) = (heard.units.pop_first(), heard.units.pop_last().unwrap());
        heard.units = Basket::from([last]);
    });
}

fn sold_out(_: &mut HallPlan, told: &mut Told) {
    let refused = answers(told, "unit_taken").next().unwrap();
    say_no(refused, "sold_out");
    refused.wish = WishedUnits { best: 2, ..WishedUnits::default() };
}

fn sold_shown_free(_: &mut HallPlan, told: &mut Told) {
    let last = told.record.answers.glances.last_mut().unwrap();
    assert!(last.letters.contains('c'), "nothing is sold");
    last.letters = last.letters.replace('c', ".");
}
