//! Lies told about a real evening: each must be seen.

use super::evening::Night;
use super::heard::{Basket, Book, Evening, Heard, Line, Verb, Wish};
use super::house::{CAMPAIGN, FLOOR, House};
use super::judge::{Promise, acquit, judge};
use super::nights::tell;
use crate::scene::{Scene, Setup};

/// A lie: what it breaks, and how it is told; what it is told about there is plenty of.
type Lie = (&'static str, Promise, fn(&mut House, &mut Book));

const LIES: [Lie; 25] = [
    ("a basket is half granted", Promise::WholeBaskets, half_granted),
    ("a basket is half confirmed", Promise::WholeBaskets, half_confirmed),
    ("others are added than were asked for", Promise::WholeBaskets, other_added),
    ("a confirmed seat is given again", Promise::OneOwner, given_after_confirm),
    ("a held seat is given again", Promise::OneOwner, given_while_held),
    ("a seat behind a pillar is given", Promise::OneOwner, pillar_given),
    ("more stand on the floor than it has places", Promise::OneOwner, |house, _| house.floor = 4),
    ("a hold is over before its end", Promise::NotEarly, over_early),
    ("an extension is too late though it is not", Promise::NotEarly, extended_too_late),
    ("a hold is taken again before it was over", Promise::NotEarly, taken_again_in_time),
    ("a hold is confirmed after its end", Promise::NotLate, confirmed_late),
    ("a refund is due for what is free", Promise::Refunds, refund_for_free),
    ("a refund is on no list", Promise::Refunds, refund_unlisted),
    ("what is confirmed is lost", Promise::Kept, confirmed_lost),
    ("what is confirmed is on no list", Promise::Kept, confirmed_unlisted),
    ("a hold is lost", Promise::Kept, hold_lost),
    ("what was released is kept", Promise::Kept, released_kept),
    ("asked again, the rank is another", Promise::Repeated, other_rank),
    ("asked again, a seat is another", Promise::Repeated, other_seat),
    ("a free seat is called taken", Promise::Taken, free_called_taken),
    ("of two seats that are taken one is named", Promise::Taken, one_of_two_named),
    ("all is said to be sold out", Promise::Taken, sold_out),
    ("the map shows a seat that is sold", Promise::Map, sold_shown_free),
    ("one server counts one more", Promise::Counts, |_, book| book.last_counts[1].left += 1),
    ("a rank is left out", Promise::Ranks, |_, book| drop(book.results.remove(7))),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evening_on_three_servers_is_as_promised_and_every_lie_about_it_is_seen() {
    let Some(mut scene) = Scene::set(Setup::default()).await else { return };
    let house = House::open(&scene, 90, 10, 1_000).await;
    let mut night = Night::begins(&scene, house);
    night.goes_on_until(has_all).await;
    let (house, book) = night.ends(&scene).await;
    tell("undisturbed", &book);
    acquit(&house, &book);
    scene.says_the_same(CAMPAIGN).await;
    for (lie, promise, tells) in LIES {
        let (mut house, mut book) = (house.clone(), book.clone());
        tells(&mut house, &mut book);
        let found = judge(&house, &book);
        let seen = found.iter().any(|breach| breach.promise == promise);
        assert!(seen, "{lie}: nobody noticed, but {:?}", found.first());
    }
}

/// Whether there is something to lie about.
fn has_all(book: &Book) -> bool {
    let confirmed = |of: fn(&Heard) -> bool| {
        book.all().filter(|heard| heard.outcome == "confirmed" && of(heard)).count()
    };
    let taken = |book: &Book| two_taken(book).count();
    book.evenings.len() > 400
        && book.heard("refund_due") > 1
        && book.heard("extended") > 5
        && book.heard("released") > 5
        && confirmed(|heard| heard.retaken) > 2
        && confirmed(|heard| heard.again) > 2
        && confirmed(is_early) > 5
        && taken(book) > 2
}

/// Evenings that were told no doubts and began with a yes.
fn held(book: &mut Book) -> impl Iterator<Item = &mut Evening> {
    let plain = |evening: &&mut Evening| {
        evening.heard[0].outcome == "held" && evening.heard.iter().all(|heard| !heard.doubt)
    };
    book.evenings.iter_mut().filter(plain)
}

/// Returns answers of one kind, the repeated ones left out.
fn answers<'a>(book: &'a mut Book, outcome: &'a str) -> impl Iterator<Item = &'a mut Heard> {
    let all = book.evenings.iter_mut().flat_map(|evening| &mut evening.heard);
    all.filter(move |heard| heard.outcome == outcome && !heard.again && !heard.doubt)
}

fn first_seat(units: &Basket) -> Option<String> {
    units.keys().find(|unit| *unit != FLOOR).cloned()
}

fn half_granted(_: &mut House, book: &mut Book) {
    let two = held(book).find(|evening| evening.heard[0].units.len() > 1).unwrap();
    two.heard[0].units.pop_first().unwrap();
}

fn half_confirmed(_: &mut House, book: &mut Book) {
    let two = answers(book, "confirmed").find(|heard| heard.units.len() > 1).unwrap();
    let (unit, _) = two.units.pop_first().unwrap();
    two.ranks.remove(&unit);
}

fn other_added(house: &mut House, book: &mut Book) {
    let last = house.seats().last().unwrap().clone();
    let added = answers(book, "held").find(|heard| heard.verb == Verb::Add).unwrap();
    let gone = added.wish.units.keys().next().unwrap().clone();
    added.units.remove(&gone);
    added.units.insert(last, 1);
}

/// Gives a seat of one another name, wherever it is spoken of.
fn rename(evening: &mut Evening, from: &str, to: &str) {
    let change = |units: &mut Basket| {
        if let Some(count) = units.remove(from) {
            units.insert(to.to_owned(), count);
        }
    };
    for heard in &mut evening.heard {
        change(&mut heard.units);
        change(&mut heard.wish.units);
        if let Some(ranks) = heard.ranks.remove(from) {
            heard.ranks.insert(to.to_owned(), ranks);
        }
    }
    for fate in evening.shown.iter_mut().flat_map(|shown| &mut shown.fates) {
        if fate.unit == from {
            fate.unit = to.to_owned();
        }
    }
}

/// Gives a seat to whoever held one at a position between.
fn give_again(book: &mut Book, seat: &str, between: std::ops::Range<u64>) {
    let again = held(book).find(|evening| {
        let first = &evening.heard[0];
        between.contains(&first.position)
            && first_seat(&first.units).is_some()
            && !first.units.contains_key(seat)
    });
    let again = again.expect("somebody held something then");
    let from = first_seat(&again.heard[0].units).unwrap();
    rename(again, &from, seat);
}

fn given_after_confirm(_: &mut House, book: &mut Book) {
    let sold = answers(book, "confirmed").find(|heard| first_seat(&heard.units).is_some());
    let sold = sold.unwrap();
    let (seat, position) = (first_seat(&sold.units).unwrap(), sold.position);
    give_again(book, &seat, position + 1..u64::MAX);
}

fn given_while_held(_: &mut House, book: &mut Book) {
    let kept = held(book).find(|evening| {
        // It was there long after, and nothing was asked of it in between.
        let (first, second) = (&evening.heard[0], evening.heard.get(1));
        first_seat(&first.units).is_some()
            && second.is_some_and(|second| second.position > first.position + 40)
    });
    let kept = kept.expect("somebody thinks for a while");
    let seat = first_seat(&kept.heard[0].units).unwrap();
    let between = kept.heard[0].position + 5..kept.heard[1].position - 5;
    give_again(book, &seat, between);
}

fn pillar_given(house: &mut House, book: &mut Book) {
    let pillar = house.pillars[0].clone();
    let lucky = held(book).find(|evening| first_seat(&evening.heard[0].units).is_some()).unwrap();
    let from = first_seat(&lucky.heard[0].units).unwrap();
    rename(lucky, &from, &pillar);
}

/// Whether it was confirmed long before its time was over.
fn is_early(heard: &Heard) -> bool {
    heard.verb == Verb::Confirm && !heard.again && !heard.retaken && heard.wish.units.is_empty()
}

fn say_no(heard: &mut Heard, outcome: &str) {
    outcome.clone_into(&mut heard.outcome);
    heard.units.clear();
    heard.ranks.clear();
    (heard.until, heard.at, heard.retaken) = (None, None, false);
}

fn over_early(_: &mut House, book: &mut Book) {
    // Some were paid for in the last moment; not all of them.
    answers(book, "confirmed").filter(|heard| is_early(heard)).take(20).for_each(|heard| {
        say_no(heard, "hold_expired");
    });
}

fn extended_too_late(_: &mut House, book: &mut Book) {
    answers(book, "extended").for_each(|heard| say_no(heard, "hold_expired"));
}

fn taken_again_in_time(_: &mut House, book: &mut Book) {
    answers(book, "confirmed").filter(|heard| is_early(heard)).for_each(|heard| {
        heard.verb = Verb::Retake;
        heard.retaken = true;
    });
}

fn confirmed_late(_: &mut House, book: &mut Book) {
    answers(book, "confirmed").for_each(|heard| heard.retaken = false);
}

fn refund_for_free(_: &mut House, book: &mut Book) {
    answers(book, "confirmed").filter(|heard| heard.retaken).for_each(|heard| {
        let units = heard.units.clone();
        say_no(heard, "refund_due");
        heard.units = units;
    });
}

fn refund_unlisted(_: &mut House, book: &mut Book) {
    book.results.retain(|line| line.kind != "refund_due");
}

/// Changes what is shown of units with some fate.
fn shown_otherwise(book: &mut Book, from: &str, to: &str) {
    let all = book.evenings.iter_mut().filter_map(|evening| evening.shown.as_mut());
    let fate = all.flat_map(|shown| &mut shown.fates).find(|fate| fate.state == from).unwrap();
    to.clone_into(&mut fate.state);
    fate.rank = None;
}

fn confirmed_lost(_: &mut House, book: &mut Book) {
    shown_otherwise(book, "confirmed", "expired");
}

fn released_kept(_: &mut House, book: &mut Book) {
    shown_otherwise(book, "released", "held");
}

fn confirmed_unlisted(_: &mut House, book: &mut Book) {
    let last = book.results.iter().rposition(|line| line.kind == "claim").unwrap();
    let Line { kind, .. } = book.results.remove(last);
    assert_eq!(kind, "claim");
}

fn hold_lost(_: &mut House, book: &mut Book) {
    held(book).next().unwrap().shown = None;
}

fn repeated<'a>(book: &'a mut Book, outcome: &'a str) -> impl Iterator<Item = &'a mut Heard> {
    let all = book.evenings.iter_mut().flat_map(|evening| &mut evening.heard);
    all.filter(move |heard| heard.outcome == outcome && heard.again)
}

fn other_rank(_: &mut House, book: &mut Book) {
    let again = repeated(book, "confirmed").next().unwrap();
    let ranks = again.ranks.values_mut().next().unwrap();
    *ranks = ranks.iter().map(|rank| rank + 1).collect();
}

fn other_seat(house: &mut House, book: &mut Book) {
    let last = house.seats().last().unwrap().clone();
    let again = repeated(book, "already_held").next().unwrap();
    again.units.pop_first().unwrap();
    again.units.insert(last, 1);
}

fn free_called_taken(house: &mut House, book: &mut Book) {
    let last = house.seats().last().unwrap().clone();
    let refused = answers(book, "unit_taken").next().unwrap();
    let named = refused.units.keys().next().unwrap().clone();
    refused.units.remove(&named);
    refused.wish.units.remove(&named);
    refused.units.insert(last.clone(), 1);
    refused.wish.units.insert(last, 1);
}

/// Returns refusals that name several seats.
fn two_taken(book: &Book) -> impl Iterator<Item = &Heard> {
    book.all().filter(|heard| heard.outcome == "unit_taken" && heard.units.len() > 1)
}

fn one_of_two_named(_: &mut House, book: &mut Book) {
    let two = answers(book, "unit_taken").filter(|heard| heard.units.len() > 1);
    two.for_each(|heard| {
        let (_, last) = (heard.units.pop_first(), heard.units.pop_last().unwrap());
        heard.units = Basket::from([last]);
    });
}

fn sold_out(_: &mut House, book: &mut Book) {
    let refused = answers(book, "unit_taken").next().unwrap();
    say_no(refused, "sold_out");
    refused.wish = Wish { best: 2, ..Wish::default() };
}

fn sold_shown_free(_: &mut House, book: &mut Book) {
    let last = book.glances.last_mut().unwrap();
    assert!(last.letters.contains('c'), "nothing is sold");
    last.letters = last.letters.replace('c', ".");
}
