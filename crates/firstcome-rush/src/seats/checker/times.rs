//! When things happened: by the journal's own order, which answers say.
//!
//! Answers say the position they are as of, and enough of them say the time of their entry that the times of all others
//! are known to lie between two. What is not known exactly is judged only where it is certain.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::plan::Seats;
use super::super::promised::Promised;
use super::super::record::{HoldVerb, SeatAnswers};
use crate::people::Found;

/// A place in the journal: a time and a position, both of which only go on.
type Point = (i64, u64);

/// The earliest and the latest that something can have happened.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    pub(super) lo: Point,
    pub(super) hi: Point,
}

impl Bounds {
    pub(super) fn at(point: Point) -> Self {
        Self { lo: point, hi: point }
    }
}

/// That a hold had a unit, from when until when.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) hold: String,
    pub(super) unit: String,
    pub(super) count: u32,
    pub(super) begin: Bounds,
    pub(super) end: Bounds,
}

impl Span {
    /// Whether it may have had it at some time between.
    pub(super) fn may_meet(&self, when: Bounds) -> bool {
        self.begin.lo <= when.hi && when.lo < self.end.hi
    }

    /// Whether it had it all that time for certain.
    pub(super) fn covers(&self, when: Bounds) -> bool {
        self.begin.hi <= when.lo && when.hi < self.end.lo
    }
}

/// The times of entries, as far as answers say them.
pub(super) struct Times(BTreeMap<u64, i64>);

impl Times {
    pub(super) fn of(seats: &Seats, answers: &SeatAnswers, found: &mut Found) -> Self {
        let (mut known, ttl) = (BTreeMap::new(), micros(seats.hold));
        for heard in answers.all().filter(|heard| !heard.again && heard.position > 0) {
            let at = match (heard.verb, &*heard.outcome) {
                (HoldVerb::Hold, "held") => heard.until.map(|until| until - ttl),
                (HoldVerb::Confirm | HoldVerb::Retake, "confirmed") if !heard.doubt => heard.at,
                _ => None,
            };
            let Some(at) = at else { continue };
            if *known.entry(heard.position).or_insert(at) != at {
                let evidence = format!("entry {} has two times", heard.position);
                found.add(Promised::Late, evidence);
            }
        }
        if !known.values().is_sorted() {
            found.add(Promised::Late, "time goes back along the journal".to_owned());
        }
        Self(known)
    }

    /// Returns when an entry was, as exactly as is known.
    pub(super) fn at(&self, position: u64) -> Bounds {
        let before = self.0.range(..=position).next_back().map_or(i64::MIN, |(_, at)| *at);
        let behind = self.0.range(position..).next().map_or(i64::MAX, |(_, at)| *at);
        Bounds { lo: (before, position), hi: (behind, position) }
    }
}

/// Returns a length in microseconds.
pub(super) fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}
