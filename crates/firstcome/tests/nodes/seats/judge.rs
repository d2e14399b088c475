//! Holds everything that was heard against what is promised: plain functions over plain values.
//!
//! The journal's own order is the order of things: answers say the position they are as of, and enough of them
//! say the time of their entry that the times of all others are known to lie between two. What is not known
//! exactly is judged only where it is certain.

mod crossing;
mod end;
mod walk;

use super::heard::{Book, Verb};
use super::house::House;
use crossing::Crossing;
use std::collections::BTreeMap;
use std::fmt;
use walk::Walk;

/// A promise about seats.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Promise {
    /// No unit has two owners at a time, and no more is given than there is.
    OneOwner,
    /// A basket is had whole or not at all.
    WholeBaskets,
    /// What was acknowledged stays.
    Kept,
    /// Asked again, the answer is the same.
    Repeated,
    /// No hold ends before the time it showed.
    NotEarly,
    /// No hold lasts longer than it showed.
    NotLate,
    /// A refund is due only where somebody else has a unit.
    Refunds,
    /// A unit that is refused is another's, and every one that is is named.
    Taken,
    /// The map shows what is so.
    Map,
    /// Free, held, confirmed and blocked are all there is.
    Counts,
    /// Ranks and results have no gap and nothing twice.
    Ranks,
    /// Every answer is one that can be given.
    Answers,
}

/// A broken promise, and what shows it.
#[derive(Clone, Debug)]
pub(crate) struct Breach {
    pub(crate) promise: Promise,
    pub(crate) evidence: String,
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.promise, self.evidence)
    }
}

/// A place in the journal: a time and a position, both of which only go on.
type Point = (i64, u64);

/// The earliest and the latest that something can have happened.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    lo: Point,
    hi: Point,
}

impl Bounds {
    fn at(point: Point) -> Self {
        Self { lo: point, hi: point }
    }
}

/// That a hold had a unit, from when until when.
#[derive(Clone, Debug)]
struct Span {
    hold: String,
    unit: String,
    count: u32,
    begin: Bounds,
    end: Bounds,
}

impl Span {
    /// Whether it may have had it at some time between.
    fn may_meet(&self, when: Bounds) -> bool {
        self.begin.lo <= when.hi && when.lo < self.end.hi
    }

    /// Whether it had it all that time for certain.
    fn covers(&self, when: Bounds) -> bool {
        self.begin.hi <= when.lo && when.hi < self.end.lo
    }
}

/// The times of entries, as far as answers say them.
struct Times(BTreeMap<u64, i64>);

impl Times {
    fn of(house: &House, book: &Book, found: &mut Vec<Breach>) -> Self {
        let mut known = BTreeMap::new();
        for heard in book.all().filter(|heard| !heard.again) {
            let at = match (heard.verb, &*heard.outcome) {
                (Verb::Hold, "held") => heard.until.map(|until| until - house.ttl),
                (Verb::Confirm | Verb::Retake, "confirmed") if !heard.doubt => heard.at,
                _ => None,
            };
            let Some(at) = at else { continue };
            if *known.entry(heard.position).or_insert(at) != at {
                let evidence = format!("entry {} has two times", heard.position);
                found.push(Breach { promise: Promise::Answers, evidence });
            }
        }
        if !known.values().is_sorted() {
            let evidence = "time goes back along the journal".to_owned();
            found.push(Breach { promise: Promise::Answers, evidence });
        }
        Self(known)
    }

    /// Returns when an entry was, as exactly as is known.
    fn at(&self, position: u64) -> Bounds {
        let before = self.0.range(..=position).next_back().map_or(i64::MIN, |(_, at)| *at);
        let behind = self.0.range(position..).next().map_or(i64::MAX, |(_, at)| *at);
        Bounds { lo: (before, position), hi: (behind, position) }
    }
}

/// Returns every promise that was broken, with what shows it.
pub(crate) fn judge(house: &House, book: &Book) -> Vec<Breach> {
    let mut found = Vec::new();
    let times = Times::of(house, book, &mut found);
    let mut spans = Vec::new();
    let mut refusals = Vec::new();
    let mut ends = Vec::new();
    for evening in &book.evenings {
        let walked = Walk::through(house, &times, evening, &mut found);
        spans.extend(walked.spans);
        refusals.extend(walked.refusals);
        ends.push(walked.end);
    }
    let crossing = Crossing::of(house, &spans);
    crossing.owners(&mut found);
    crossing.refusals(&refusals, &mut found);
    crossing.map(&times, &book.glances, &mut found);
    end::counts(house, book, &mut found);
    end::results(book, &ends, &mut found);
    found
}

/// Fails with the first of what was broken.
pub(crate) fn acquit(house: &House, book: &Book) {
    let found = judge(house, book);
    let said: Vec<String> = found.iter().take(12).map(ToString::to_string).collect();
    assert!(found.is_empty(), "{} promises were broken: {said:#?}", found.len());
}
