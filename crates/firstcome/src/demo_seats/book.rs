//! What people were told, kept by them and not by the node.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard};

use firstcome_core::Outcome;
use firstcome_core::hall::Counts;
use firstcome_core::outcome::Holding;
use serde_json::{Value, json};

/// How paying too late was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LateAnswer {
    /// With the same seats.
    Seats {
        /// Whether the answer says that they were taken again.
        retaken: bool,
    },
    /// With money back.
    Refund,
    /// With anything else.
    Other(String),
}

/// Everything that was heard.
#[derive(Debug, Default)]
pub(super) struct Heard {
    /// By hold: its seats as they were held.
    pub(super) held: BTreeMap<String, Vec<String>>,
    /// By seat: for whom it was confirmed, and with which rank.
    pub(super) confirmed: BTreeMap<String, (String, u32)>,
    /// Seats that two people were told are theirs.
    pub(super) twice: Vec<String>,
    /// Baskets that were not whole.
    pub(super) halves: Vec<String>,
    /// Seats that were named as taken.
    pub(super) named_as_taken: BTreeSet<String>,
    /// By hold: how paying too late was answered.
    pub(super) late: BTreeMap<String, LateAnswer>,
    /// Answers that were not the same when asked again.
    pub(super) changed: Vec<String>,
    /// Looks at which the counts did not add up.
    pub(super) miscounted: Vec<String>,
    pub(super) looks: u64,
    pub(super) repeats: u64,
    answers: BTreeMap<&'static str, u64>,
    left: u64,
}

/// The book all people write into.
#[derive(Debug, Default)]
pub(super) struct Book(Mutex<Heard>);

/// What people did and were told, in numbers.
#[derive(Debug, Clone, Default)]
pub struct Totals {
    /// People who came.
    pub guests: u32,
    /// Answers by their name.
    pub answers: BTreeMap<&'static str, u64>,
    /// People who left without a word while they held seats.
    pub left: u64,
    /// People who paid too late and got the same seats.
    pub late_with_seats: u64,
    /// People who paid too late and get their money back.
    pub late_with_refund: u64,
}

impl Totals {
    pub(super) fn json(&self) -> Value {
        json!({
            "guests": self.guests,
            "answers": self.answers,
            "left_without_a_word": self.left,
            "late_with_seats": self.late_with_seats,
            "late_with_refund": self.late_with_refund,
        })
    }
}

impl Book {
    pub(super) fn read(&self) -> MutexGuard<'_, Heard> {
        self.0.lock().expect("nothing panics while it writes")
    }

    pub(super) fn answered(&self, outcome: &Outcome) {
        *self.read().answers.entry(outcome.as_str()).or_default() += 1;
    }

    pub(super) fn held(&self, guest: &str, holding: &Holding, party: u32, seats: &[String]) {
        let mut heard = self.read();
        if seats.len() as u32 != party {
            heard.halves.push(format!("{guest} asked for {party} seats and holds {}", seats.len()));
        }
        heard.held.insert(holding.hold.to_string(), seats.to_vec());
    }

    pub(super) fn confirmed(
        &self,
        guest: &str,
        hold: &str,
        seats: &[String],
        ranked: Vec<(String, u32)>,
    ) {
        let mut heard = self.read();
        let mut names: Vec<&str> = ranked.iter().map(|(seat, _)| &**seat).collect();
        names.sort_unstable();
        if names != seats {
            heard.halves.push(format!("hold {hold} had {seats:?}, confirmed are {names:?}"));
        }
        for (seat, rank) in ranked {
            let before = heard.confirmed.insert(seat.clone(), (guest.to_owned(), rank));
            if let Some((other, _)) = before {
                heard.twice.push(format!("{seat} is {other}'s and {guest}'s"));
            }
        }
    }

    pub(super) fn named_as_taken(&self, seats: &[String]) {
        self.read().named_as_taken.extend(seats.iter().cloned());
    }

    pub(super) fn left(&self) {
        self.read().left += 1;
    }

    pub(super) fn late(&self, hold: &str, answer: LateAnswer) {
        self.read().late.insert(hold.to_owned(), answer);
    }

    pub(super) fn repeated(&self, hold: &str, first: &Outcome, again: &Outcome) {
        let mut heard = self.read();
        heard.repeats += 1;
        if first != again {
            heard.changed.push(format!("hold {hold}: {first:?}, then {again:?}"));
        }
    }

    /// Somebody looked at the house.
    pub(super) fn counted(&self, counts: Counts, seats: u32, by_seat: Counts) {
        let mut heard = self.read();
        heard.looks += 1;
        let of = |c: &Counts| (c.free, c.held, c.confirmed, c.blocked);
        if counts.all() != seats || of(&counts) != of(&by_seat) {
            heard.miscounted.push(format!("{counts:?}, seat by seat {by_seat:?}, of {seats}"));
        }
    }

    pub(super) fn totals(&self, guests: u32) -> Totals {
        let heard = self.read();
        let late = |wanted: fn(&LateAnswer) -> bool| {
            heard.late.values().filter(|answer| wanted(answer)).count() as u64
        };
        Totals {
            guests,
            answers: heard.answers.clone(),
            left: heard.left,
            late_with_seats: late(|answer| matches!(answer, LateAnswer::Seats { .. })),
            late_with_refund: late(|answer| *answer == LateAnswer::Refund),
        }
    }
}
