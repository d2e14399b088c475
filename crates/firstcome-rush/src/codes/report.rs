//! What a load test on codes found.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::plan::Plan;
use super::record::{Record, Verb};
use super::results::Ledger;
use super::violation::{Promised, Violation};
use crate::latency::Latency;
use crate::outage::whole_ms;
use crate::promise::Promise;
use crate::terminal::thousands;

/// What a load test on codes found.
#[derive(Debug, Default)]
pub struct Report {
    /// The campaign.
    pub campaign: String,
    /// The seed everything was drawn from.
    pub seed: u64,
    /// How long it took.
    pub elapsed: Duration,
    /// How many people came.
    pub people: u32,
    /// Answers by their outcome.
    pub answers: BTreeMap<String, u64>,
    /// Stretches during which no server could be reached.
    pub outages: Vec<Duration>,
    /// Requests that were sent again, by why.
    pub again: BTreeMap<&'static str, u64>,
    /// From when a request was due to its final answer.
    pub latency: Latency,
    /// Every promise, kept or not.
    pub promises: Vec<Promise>,
    /// Results read.
    pub results: u64,
    /// Why it ended before all could be checked, if it did.
    pub cut_short: Option<String>,
    /// How many people did what.
    pub totals: Totals,
    /// The codes that were issued, to look for them where none may be.
    pub(crate) codes: Vec<String>,
    pub(crate) violations: Vec<Violation>,
}

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
}

impl Totals {
    fn of(record: &Record) -> Self {
        let outcome = |outcomes: &[&str]| {
            record.steps.iter().filter(|step| outcomes.contains(&&*step.outcome)).count() as u64
        };
        let reserved = record
            .steps
            .iter()
            .filter(|step| step.verb == Verb::Reserve && step.outcome == "reserved");
        Self {
            issued: record.issued.len() as u64,
            cancelled: record.cancelled.len() as u64,
            reserved: reserved.count() as u64,
            redeemed: record.redeemed,
            rolled_back: record.rolled_back,
            refused: outcome(&["code_used", "code_reserved", "reused_since"]),
            wrong: record.wrong,
            repeats: record.repeats,
            waited: record.waited.len() as u64,
            offered: record.waited.iter().filter(|waited| waited.offered.is_some()).count() as u64,
            let_go: record.waited.iter().filter(|waited| waited.let_go).count() as u64,
        }
    }
}

/// How many violations are shown with their evidence.
const SHOWN: usize = 50;

impl Report {
    pub(super) fn new(
        plan: &Plan,
        record: &Record,
        ledger: &Ledger,
        violations: Vec<Violation>,
    ) -> Self {
        let totals = Totals::of(record);
        let promises = Promised::ALL.into_iter().map(|promised| {
            let of = || violations.iter().filter(move |found| found.promise == promised);
            let (name, words) = words(promised, plan, &totals, (record.incomplete, ledger));
            let evidence = of().next().map(|violation| violation.evidence.clone());
            Promise { name, words, broken: of().count() as u64, evidence }
        });
        Self {
            campaign: plan.campaign.clone(),
            seed: plan.seed,
            promises: promises.collect(),
            totals,
            codes: record.issued.iter().map(|issued| issued.code.clone()).collect(),
            violations,
            ..Self::default()
        }
    }

    /// The first evidence that one of these was broken.
    pub(crate) fn evidence(&self, promised: &[Promised]) -> Option<String> {
        let found = self.violations.iter().find(|found| promised.contains(&found.promise));
        found.map(|violation| violation.evidence.clone())
    }

    /// Whether every promise was kept.
    pub fn kept(&self) -> bool {
        self.promises.iter().all(Promise::kept)
    }

    /// Answers in all.
    pub fn answered(&self) -> u64 {
        self.answers.values().sum()
    }

    /// The report for machines.
    pub fn json(&self) -> Value {
        let elapsed = self.elapsed.as_secs_f64().max(1e-9);
        json!({
            "campaign": self.campaign,
            "seed": self.seed,
            "kept": self.kept(),
            "promises": self.promises.iter().map(Promise::json).collect::<Vec<_>>(),
            "people": self.people,
            "answered": self.answered(),
            "elapsed_ms": whole_ms(self.elapsed),
            "per_second": (self.answered() as f64 / elapsed).round(),
            "answers": self.answers,
            "totals": self.totals.json(),
            "sent_again": self.again,
            "away_ms": self.outages.iter().copied().map(whole_ms).collect::<Vec<_>>(),
            "results": self.results,
            "cut_short": self.cut_short,
            "latency": self.latency.json(),
            "evidence": self.violations.iter().take(SHOWN).map(|found| &found.evidence).collect::<Vec<_>>(),
        })
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

fn words(
    promised: Promised,
    plan: &Plan,
    totals: &Totals,
    (incomplete, ledger): (bool, &Ledger),
) -> (&'static str, String) {
    let Totals { issued, reserved, redeemed, rolled_back, refused, wrong, repeats, .. } =
        totals.clone();
    let n = thousands;
    use Promised as P;
    match promised {
        P::Codes => ("codes", format!("each code has one subject: {} codes", n(issued))),
        P::Ranks => ("ranks", "ranks are gap-free and nobody shares one".to_owned()),
        P::Uses => {
            let times = match plan.uses {
                1 => "once".to_owned(),
                uses => format!("{} times", n(uses.into())),
            };
            let (redeemed, back) = (n(redeemed), n(rolled_back));
            let counts = format!("{redeemed} redemptions, {back} rolled back");
            ("uses", format!("no code was used more than {times} at a time: {counts}"))
        }
        P::Reservations => {
            ("reservations", format!("nobody's own reservation was in their way: {}", n(reserved)))
        }
        P::Repeats => {
            ("repeats", format!("all {} repeated requests got their first answer", n(repeats)))
        }
        P::Kept => (
            "kept",
            "what was acknowledged is in the results and in the look-ups, and nothing else"
                .to_owned(),
        ),
        P::Refusals => {
            let some = if incomplete { "; some of them cannot be checked" } else { "" };
            let refused = n(refused);
            (
                "refusals",
                format!("every code refused as used or reserved was: {refused} refusals{some}"),
            )
        }
        P::Wrong => {
            ("wrong", format!("no code was accepted that does not count: {} tried", n(wrong)))
        }
        P::Counts => ("counts", "the campaign counts what the results show".to_owned()),
        P::Turns => {
            let (waited, offered) = (n(totals.waited), n(totals.offered));
            let counts = format!("{waited} waited, {offered} were offered one");
            ("turns", format!("a code that came free went to who was next: {counts}"))
        }
        P::Ledger => {
            let words = match ledger {
                Ledger::Read(results) => {
                    format!("the ledger has exactly these results: {}", n(results.len() as u64))
                }
                Ledger::None => "there is no ledger to compare with".to_owned(),
                Ledger::Late => "the ledger lacks results still, and was not compared".to_owned(),
            };
            ("ledger", words)
        }
    }
}
