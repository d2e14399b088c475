//! What people asked of holds and were answered, as plain values.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::Value;

use crate::people::{self, Answer, CampaignCounts};
use firstcome_core::names::Position;

/// Units by name: a seat once, so many places of an area.
pub(super) type Basket = BTreeMap<String, u32>;

/// What is asked of a hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HoldVerb {
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct WishedUnits {
    pub(super) units: Basket,
    /// So many of the best seats besides.
    pub(super) best: u32,
    /// Whether the best need not be next to each other.
    pub(super) apart: bool,
}

impl WishedUnits {
    pub(super) fn seats<'a>(names: impl IntoIterator<Item = &'a String>) -> Self {
        let units = names.into_iter().map(|name| (name.clone(), 1)).collect();
        Self { units, ..Self::default() }
    }
}

/// One thing that was asked until it was decided, and the answer.
#[derive(Debug, Clone)]
pub(super) struct Heard {
    pub(super) verb: HoldVerb,
    pub(super) wish: WishedUnits,
    pub(super) outcome: String,
    pub(super) units: Basket,
    pub(super) ranks: BTreeMap<String, BTreeSet<u64>>,
    /// When the hold is over, in microseconds of journal time.
    pub(super) until: Option<i64>,
    /// When it was confirmed.
    pub(super) at: Option<i64>,
    pub(super) retaken: bool,
    /// The position of the answer.
    pub(super) position: u64,
    /// The position of what was heard of this hold before, 0 for nothing.
    pub(super) before: u64,
    /// Whether it was asked before in a way that may have happened.
    pub(super) doubt: bool,
    /// Whether it had been decided before, and was asked once more.
    pub(super) again: bool,
    /// When it was asked and answered, since the load test began.
    pub(super) sent: Duration,
    pub(super) answered: Duration,
}

impl Heard {
    pub(super) fn of((verb, wish): (HoldVerb, &WishedUnits), answer: &Answer) -> Self {
        let said = answer.document();
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
            outcome: answer.outcome().to_owned(),
            units,
            ranks,
            until: micros(&said["expires_at"]),
            at: micros(&said["at"]),
            retaken: said["retaken"] == true,
            position: position(said),
            before: 0,
            doubt: answer.doubt,
            again: false,
            sent: Duration::ZERO,
            answered: Duration::ZERO,
        }
    }

    /// Whether a hold began with it.
    pub(super) fn is_held(&self) -> bool {
        self.verb == HoldVerb::Hold && matches!(&*self.outcome, "held" | "already_held")
    }
}

/// What became of some units of a hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct UnitsFate {
    pub(super) unit: String,
    pub(super) count: u32,
    pub(super) state: String,
    pub(super) rank: Option<u64>,
}

/// A hold as it is shown when everything is over.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    pub(super) started: i64,
    pub(super) fates: Vec<UnitsFate>,
}

impl Shown {
    /// Reads it; none where there is no such hold.
    pub(super) fn of(answer: &Answer) -> Option<Self> {
        if answer.outcome() == "no_such_hold" {
            return None;
        }
        let units = answer.document()["units"].as_array().map_or(&[][..], Vec::as_slice);
        let fate = |unit: &Value| {
            let (unit_name, count) = named(unit);
            let state = unit["state"].as_str().unwrap_or_default().to_owned();
            UnitsFate { unit: unit_name, count, state, rank: unit["rank"].as_u64() }
        };
        let started = micros(&answer.document()["started_at"]).unwrap_or_default();
        Some(Self { started, fates: units.iter().map(fate).collect() })
    }
}

/// One hold and what became of it.
#[derive(Debug, Clone)]
pub(super) struct HoldRecord {
    pub(super) hold: String,
    pub(super) subject: String,
    /// Whether its subject came to pay after it was over.
    pub(super) late: bool,
    pub(super) heard: Vec<Heard>,
}

impl HoldRecord {
    pub(super) fn new(hold: String, subject: &str, late: bool) -> Self {
        Self { hold, subject: subject.to_owned(), late, heard: Vec::new() }
    }

    /// Whether its subject was told that it was held.
    pub(super) fn is_held(&self) -> bool {
        self.heard.first().is_some_and(Heard::is_held)
    }

    /// Returns the answers that are no repeats.
    pub(super) fn decided(&self) -> impl Iterator<Item = &Heard> {
        self.heard.iter().filter(|heard| !heard.again)
    }

    /// Whether it was over before anybody was told of it.
    pub(super) fn was_missed(&self) -> bool {
        self.heard.first().is_some_and(|first| first.outcome == "hold_expired")
    }

    /// Whether one of the answers was this.
    pub(super) fn was(&self, outcome: &str) -> bool {
        self.decided().any(|heard| heard.outcome == outcome)
    }
}

/// The map as somebody saw it.
#[derive(Debug, Clone)]
pub(super) struct Glance {
    pub(super) position: u64,
    /// A letter for each seat.
    pub(super) letters: String,
    /// Of the area: left, held, confirmed, blocked.
    pub(super) area: [u32; 4],
}

impl Glance {
    pub(super) fn of(answer: &Answer) -> Self {
        let said = answer.document();
        let of = |place: usize| said["area_standing"][0][place].as_u64().unwrap_or_default() as u32;
        Self {
            position: position(said),
            letters: said["standing"].as_str().unwrap_or_default().to_owned(),
            area: [of(0), of(1), of(2), of(3)],
        }
    }
}

/// What was answered about seats so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct SeatAnswers {
    pub(super) holds: Vec<HoldRecord>,
    /// Where there is a hall: the map as people saw it, and the counts.
    pub(super) glances: Vec<Glance>,
    pub(super) counts: Vec<CampaignCounts>,
    /// Units that were confirmed.
    pub(super) confirmed: u64,
}

impl SeatAnswers {
    /// Returns all answers, with what they were about.
    pub(super) fn all(&self) -> impl Iterator<Item = &Heard> {
        self.holds.iter().flat_map(|hold| &hold.heard)
    }
}

/// What people have got so far.
#[derive(Debug, Clone)]
pub struct SeatsDone {
    /// Seats that were confirmed in answers.
    pub confirmed: u64,
}

pub(super) type Record = people::Record<SeatAnswers>;
pub(super) type Recorder = people::Recorder<SeatAnswers>;

impl Recorder {
    /// Records that a hold is asked for, and returns its index.
    pub(super) fn begins(&self, hold: HoldRecord) -> usize {
        let holds = &mut self.record().answers.holds;
        holds.push(hold);
        holds.len() - 1
    }

    /// Records an answer at once: a person who breaks off later has heard it all the same.
    pub(super) fn heard(&self, index: usize, mut heard: Heard) {
        let mut record = self.record();
        record.repeats += u64::from(heard.again);
        let answers = &mut record.answers;
        if heard.outcome == "confirmed" && !heard.again {
            answers.confirmed += heard.units.values().copied().map(u64::from).sum::<u64>();
        }
        let before = &mut answers.holds[index].heard;
        heard.before = before.last().map_or(0, |last| last.position);
        before.push(heard);
    }
}

/// Returns the name of a unit in an answer, and how many it stands for.
fn named(unit: &Value) -> (String, u32) {
    let name = unit.as_str().or_else(|| unit["unit"].as_str()).or_else(|| unit["area"].as_str());
    let count = unit["quantity"].as_u64().and_then(|count| u32::try_from(count).ok());
    (name.unwrap_or_default().to_owned(), count.unwrap_or(1))
}

/// Bits of a position; its epoch is above them.
const POSITION_BITS: u32 = 40;

/// Returns the position of an answer, 0 where it has none.
fn position(said: &Value) -> u64 {
    let at = said["position"].as_str().and_then(|text| text.parse::<Position>().ok());
    at.map_or(0, |at| (u64::from(at.epoch) << POSITION_BITS) | at.position)
}

/// Returns a moment in microseconds.
fn micros(said: &Value) -> Option<i64> {
    Some(said.as_str()?.parse::<jiff::Timestamp>().ok()?.as_microsecond())
}
