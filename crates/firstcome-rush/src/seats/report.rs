//! What a load test on seats found.

use serde_json::Value;

use super::promised::Promised;
use super::record::{HoldRecord, Record};
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
        let holds = &record.answers.holds;
        let held = |late: bool, which: &dyn Fn(&HoldRecord) -> bool| {
            let held = |hold: &&HoldRecord| hold.is_held() || hold.was_missed();
            let those = holds.iter().filter(held).filter(|hold| hold.late == late && which(hold));
            those.count() as u64
        };
        let decided = || holds.iter().flat_map(HoldRecord::decided);
        Self {
            holds: held(false, &|_| true) + held(true, &|_| true),
            confirmed: record.answers.confirmed,
            abandoned: held(false, &|hold| hold.decided().count() == 1),
            late_with_seats: held(true, &|hold| hold.was("confirmed")),
            late_with_refund: held(true, &|hold| hold.was("refund_due")),
            taken: decided().filter(|heard| heard.outcome == "unit_taken").count() as u64,
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
    let totals = Totals::of(record);
    let ended =
        |outcome: &str| record.answers.holds.iter().filter(|hold| hold.was(outcome)).count() as u64;
    let late = record.answers.holds.iter().filter(|hold| hold.late && hold.is_held()).count();
    let n = thousands;
    use Promised as P;
    match promised {
        P::Seats => format!("no seat is two people's: {} confirmed", n(totals.confirmed)),
        P::Baskets => format!("no half basket: {} holds", n(totals.holds)),
        P::Ranks => "ranks are gap-free and nobody shares one".to_owned(),
        P::Kept | P::Repeats => format!(
            "what was confirmed stays: {} holds checked, {} confirmed twice",
            n(ended("confirmed")),
            n(record.repeats)
        ),
        P::Taken => {
            let some = if record.incomplete {
                "; whose some of them were nobody here can say"
            } else {
                ""
            };
            let refusals = n(totals.taken);
            format!("every seat named as taken was: {refusals} refusals{some}")
        }
        P::Limits => match plan.visit.limit {
            Some(limit) => format!("nobody has more than {limit}"),
            None => "nobody has more than they may: there is no limit".to_owned(),
        },
        P::Late => format!(
            "who pays too late has the same seats or is owed a refund: {} people, {} refunds",
            n(late as u64),
            n(ended("refund_due"))
        ),
        P::Counts => "the campaign counts what the results show".to_owned(),
    }
}
