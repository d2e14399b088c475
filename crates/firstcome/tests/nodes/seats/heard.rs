//! What guests asked and heard, as plain values: they can be judged, and lied about.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Units by name: a seat once, so many places of the floor.
pub(crate) type Basket = BTreeMap<String, u32>;

/// What is asked of a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verb {
    Hold,
    Add,
    Drop,
    Extend,
    Confirm,
    /// A confirm that may come late.
    Retake,
    Release,
}

/// Which units are wanted; none means all the hold has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wish {
    pub(crate) units: Basket,
    /// So many of the best seats besides.
    pub(crate) best: u32,
    /// Whether the best need not be next to each other.
    pub(crate) apart: bool,
}

/// One thing that was asked until it was decided, and the answer.
#[derive(Clone, Debug)]
pub(crate) struct Heard {
    pub(crate) verb: Verb,
    pub(crate) wish: Wish,
    pub(crate) outcome: String,
    pub(crate) units: Basket,
    pub(crate) ranks: BTreeMap<String, BTreeSet<u64>>,
    /// When the hold is over, in microseconds of journal time.
    pub(crate) until: Option<i64>,
    /// When it was confirmed.
    pub(crate) at: Option<i64>,
    pub(crate) retaken: bool,
    /// The position of the answer.
    pub(crate) position: u64,
    /// The position of what was heard of this hold before, 0 for nothing.
    pub(crate) before: u64,
    /// Whether it was asked before in a way that may have happened.
    pub(crate) doubt: bool,
    /// Whether it had been decided before, and was asked once more.
    pub(crate) again: bool,
}

impl Heard {
    pub(crate) fn of((verb, wish): (Verb, &Wish), said: &Value) -> Self {
        let (mut units, mut ranks) = (Basket::new(), BTreeMap::<_, BTreeSet<_>>::new());
        for unit in said["units"].as_array().into_iter().flatten() {
            let (name, count) = named(unit);
            *units.entry(name.clone()).or_default() += count;
            if let Some(rank) = unit["rank"].as_u64() {
                ranks.entry(name).or_default().insert(rank);
            }
        }
        Self {
            verb,
            wish: wish.clone(),
            outcome: said["outcome"].as_str().unwrap_or_default().to_owned(),
            units,
            ranks,
            until: micros(&said["expires_at"]),
            at: micros(&said["at"]),
            retaken: said["retaken"] == true,
            position: position(said),
            before: 0,
            doubt: false,
            again: false,
        }
    }
}

/// What became of some units of a hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) unit: String,
    pub(crate) count: u32,
    pub(crate) state: String,
    pub(crate) rank: Option<u64>,
}

/// A hold as it is shown when everything is over.
#[derive(Clone, Debug)]
pub(crate) struct Shown {
    pub(crate) started: i64,
    pub(crate) fates: Vec<Fate>,
}

impl Shown {
    /// Reads it; none where there is no such hold.
    pub(crate) fn of(said: &Value) -> Option<Self> {
        if said["outcome"] == "no_such_hold" {
            return None;
        }
        let units = said["units"].as_array().unwrap_or_else(|| panic!("no units: {said}"));
        let fate = |unit: &Value| {
            let (name, count) = named(unit);
            let state = unit["state"].as_str().unwrap_or_default().to_owned();
            Fate { unit: name, count, state, rank: unit["rank"].as_u64() }
        };
        let fates = units.iter().map(fate).collect();
        Some(Self { started: micros(&said["started_at"]).unwrap(), fates })
    }
}

/// One guest's evening: one hold and what became of it.
#[derive(Clone, Debug)]
pub(crate) struct Evening {
    pub(crate) hold: String,
    pub(crate) subject: String,
    pub(crate) heard: Vec<Heard>,
    pub(crate) shown: Option<Shown>,
}

/// The map as somebody saw it.
#[derive(Clone, Debug)]
pub(crate) struct Glance {
    pub(crate) position: u64,
    /// A letter for each seat.
    pub(crate) letters: String,
    /// Of the floor: left, held, confirmed, blocked.
    pub(crate) floor: [u32; 4],
}

/// The pool as a server counts it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) capacity: u64,
    pub(crate) left: u64,
    pub(crate) taken: u64,
    pub(crate) held: u64,
    pub(crate) blocked: u64,
}

/// One result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) kind: String,
    pub(crate) rank: u64,
    pub(crate) subject: String,
    pub(crate) unit: String,
    pub(crate) hold: String,
}

impl Line {
    pub(crate) fn of(said: &Value) -> Self {
        let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
        Self {
            kind: text("kind"),
            rank: said["rank"].as_u64().unwrap_or_default(),
            subject: text("subject"),
            unit: text("unit"),
            hold: text("hold"),
        }
    }
}

/// Everything that was heard.
#[derive(Clone, Debug, Default)]
pub(crate) struct Book {
    pub(crate) evenings: Vec<Evening>,
    pub(crate) glances: Vec<Glance>,
    /// While it went on.
    pub(crate) counts: Vec<Count>,
    /// When everything was over, by each server.
    pub(crate) last_counts: Vec<Count>,
    pub(crate) results: Vec<Line>,
}

impl Book {
    /// Returns how often an outcome was heard.
    pub(crate) fn heard(&self, outcome: &str) -> usize {
        self.all().filter(|heard| heard.outcome == outcome).count()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Heard> {
        self.evenings.iter().flat_map(|evening| &evening.heard)
    }
}

/// Returns the name of a unit in an answer, and how many it stands for.
fn named(unit: &Value) -> (String, u32) {
    let name = unit["unit"].as_str().or_else(|| unit["area"].as_str()).unwrap_or_default();
    (name.to_owned(), unit["quantity"].as_u64().unwrap_or(1) as u32)
}

/// Returns the position of an answer.
pub(crate) fn position(said: &Value) -> u64 {
    let text = said["position"].as_str().unwrap_or_else(|| panic!("no position: {said}"));
    text.split_once('.').unwrap().1.parse().unwrap()
}

/// Returns a moment in microseconds.
pub(crate) fn micros(said: &Value) -> Option<i64> {
    Some(said.as_str()?.parse::<jiff::Timestamp>().unwrap().as_microsecond())
}
