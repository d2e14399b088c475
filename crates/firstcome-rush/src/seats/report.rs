//! What a load test on seats found.

use serde_json::Value;

use super::promised::Promised;
use super::record::{End, Record};
use super::{Plan, Report};
use crate::terminal::thousands;

/// How many people did what, as far as it is no single answer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Holds that were answered with yes.
    pub holds: u64,
    /// Seats that were confirmed.
    pub confirmed: u64,
    /// Holds that were left without a word.
    pub abandoned: u64,
    /// People who paid too late and got the same seats.
    pub late_with_seats: u64,
    /// People who paid too late and get their money back.
    pub late_with_refund: u64,
    /// Refusals that named seats as taken.
    pub taken: u64,
    /// Confirms that were sent a second time.
    pub repeats: u64,
}

impl Totals {
    pub(super) fn of(record: &Record) -> Self {
        let count = |late: bool, wanted: fn(&End) -> bool| {
            let ended =
                record.answers.holds.iter().filter(|held| held.late == late && wanted(&held.end));
            ended.count() as u64
        };
        Self {
            holds: record.answers.holds.len() as u64,
            confirmed: record.answers.confirmed,
            abandoned: count(false, |end| *end == End::Left),
            late_with_seats: count(true, |end| matches!(end, End::Confirmed { .. })),
            late_with_refund: count(true, |end| matches!(end, End::Refund { .. })),
            taken: record.answers.taken.len() as u64,
            repeats: record.repeats,
        }
    }
}

impl Report {
    /// The report for machines.
    pub fn json(&self) -> Value {
        self.json_of_all()
    }
}

/// Returns a promise in words, with the numbers that show it.
pub(super) fn words(promised: Promised, plan: &Plan, record: &Record) -> String {
    let ended = |wanted: fn(&End) -> bool| {
        record.answers.holds.iter().filter(|held| wanted(&held.end)).count()
    };
    let confirmed = ended(|end| matches!(end, End::Confirmed { .. }));
    let late = record.answers.holds.iter().filter(|held| held.late).count();
    let refunds = ended(|end| matches!(end, End::Refund { .. }));
    let seats = thousands(record.answers.confirmed);
    let count = |count: usize| thousands(count as u64);
    use Promised as P;
    match promised {
        P::Seats => format!("no seat is two people's: {seats} confirmed"),
        P::Baskets => format!("no half basket: {} holds", count(record.answers.holds.len())),
        P::Ranks => "ranks are gap-free and nobody shares one".to_owned(),
        P::Kept | P::Repeats => format!(
            "what was confirmed stays: {} holds checked, {} confirmed twice",
            count(confirmed),
            thousands(record.repeats)
        ),
        P::Taken => {
            let some = if record.incomplete {
                "; whose some of them were nobody here can say"
            } else {
                ""
            };
            let refusals = count(record.answers.taken.len());
            format!("every seat named as taken was: {refusals} refusals{some}")
        }
        P::Limits => match plan.visit.limit {
            Some(limit) => format!("nobody has more than {limit}"),
            None => "nobody has more than they may: there is no limit".to_owned(),
        },
        P::Late => format!(
            "who pays too late has the same seats or is owed a refund: {} people, {} refunds",
            count(late),
            count(refunds)
        ),
        P::Counts => "the campaign counts what the results show".to_owned(),
    }
}
