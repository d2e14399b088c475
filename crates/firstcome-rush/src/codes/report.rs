//! What a load test on codes found.

use serde_json::{Value, json};

use super::promised::Promised;
use super::read::Ledger;
use super::record::{Record, Verb};
use super::{Plan, Report};
use crate::terminal::thousands;

/// How many people did what.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Totals {
    /// Codes that were issued.
    pub issued: u64,
    /// Claims that were cancelled.
    pub cancelled: u64,
    /// Reservations that were made.
    pub reserved: u64,
    /// Redemptions, those that were rolled back included.
    pub redeemed: u64,
    /// Redemptions that were rolled back.
    pub rolled_back: u64,
    /// Refusals that said that all uses of a code are gone.
    pub refused: u64,
    /// Codes that were tried and do not count.
    pub wrong: u64,
    /// Requests that were sent a second time.
    pub repeats: u64,
    /// People who waited for a code.
    pub waited: u64,
    /// Those of them who were offered one.
    pub offered: u64,
    /// Those who did nothing about it.
    pub let_go: u64,
    /// The codes that were issued, to look for them where none may be.
    pub(crate) codes: Vec<String>,
}

impl Totals {
    pub(super) fn of(record: &Record) -> Self {
        let outcome = |outcomes: &[&str]| {
            record.answers.steps.iter().filter(|step| outcomes.contains(&&*step.outcome)).count()
                as u64
        };
        let reserved = record
            .answers
            .steps
            .iter()
            .filter(|step| step.verb == Verb::Reserve && step.outcome == "reserved");
        Self {
            issued: record.answers.issued.len() as u64,
            cancelled: record.answers.cancelled.len() as u64,
            reserved: reserved.count() as u64,
            redeemed: record.answers.redeemed,
            rolled_back: record.answers.rolled_back,
            refused: outcome(&["code_used", "code_reserved", "reused_since"]),
            wrong: record.answers.wrong,
            repeats: record.repeats,
            waited: record.answers.waited.len() as u64,
            offered: record.answers.waited.iter().filter(|waited| waited.offered.is_some()).count()
                as u64,
            let_go: record.answers.waited.iter().filter(|waited| waited.let_go).count() as u64,
            codes: record.answers.issued.iter().map(|issued| issued.code.clone()).collect(),
        }
    }
}

impl Report {
    /// The report for machines.
    pub fn json(&self) -> Value {
        let mut report = self.json_of_all();
        report["totals"] = self.totals.json();
        report
    }
}

impl Totals {
    /// As reports for machines have them.
    pub(crate) fn json(&self) -> Value {
        json!({
            "issued": self.issued, "cancelled": self.cancelled, "reserved": self.reserved,
            "redeemed": self.redeemed, "rolled_back": self.rolled_back, "refused": self.refused,
            "wrong": self.wrong, "repeats": self.repeats, "waited": self.waited,
            "offered": self.offered, "let_go": self.let_go,
        })
    }
}

/// Returns a promise in words, with the numbers that show it.
pub(super) fn words(promised: Promised, plan: &Plan, record: &Record, ledger: &Ledger) -> String {
    let totals = Totals::of(record);
    let Totals { issued, reserved, redeemed, rolled_back, refused, wrong, repeats, .. } = totals;
    let n = thousands;
    use Promised as P;
    match promised {
        P::Codes => format!("each code has one subject: {} codes", n(issued)),
        P::Ranks => "ranks are gap-free and nobody shares one".to_owned(),
        P::Uses => {
            let times = match plan.visit.uses {
                1 => "once".to_owned(),
                uses => format!("{} times", n(uses.into())),
            };
            let (redeemed, back) = (n(redeemed), n(rolled_back));
            let counts = format!("{redeemed} redemptions, {back} rolled back");
            format!("no code was used more than {times} at a time: {counts}")
        }
        P::Reservations => {
            format!("nobody's own reservation was in their way: {}", n(reserved))
        }
        P::Repeats => {
            format!("all {} repeated requests got their first answer", n(repeats))
        }
        P::Kept => "what was acknowledged is in the results and in the look-ups, and nothing else"
            .to_owned(),
        P::Refusals => {
            let some = if record.incomplete { "; some of them cannot be checked" } else { "" };
            let refused = n(refused);
            format!("every code refused as used or reserved was: {refused} refusals{some}")
        }
        P::Wrong => {
            format!("no code was accepted that does not count: {} tried", n(wrong))
        }
        P::Counts => "the campaign counts what the results show".to_owned(),
        P::Turns => {
            let (waited, offered) = (n(totals.waited), n(totals.offered));
            let counts = format!("{waited} waited, {offered} were offered one");
            format!("a code that came free went to who was next: {counts}")
        }
        P::Ledger => match ledger {
            Ledger::Read(results) => {
                format!("the ledger has exactly these results: {}", n(results.len() as u64))
            }
            Ledger::None => "there is no ledger to compare with".to_owned(),
            Ledger::Late => "the ledger lacks results still, and was not compared".to_owned(),
        },
    }
}
