//! What a load test on seats found.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::plan::Plan;
use super::record::{End, Record};
use super::violation::{Promised, Violation};
use crate::latency::Latency;
use crate::outage::whole_ms;
use crate::promise::Promise;
use crate::terminal::thousands;

/// What a load test on seats found.
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
    /// Answers by their outcome; `looked` are looks at the map.
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
    pub(crate) violations: Vec<Violation>,
}

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
    fn of(record: &Record) -> Self {
        let count = |late: bool, wanted: fn(&End) -> bool| {
            let ended = record.holds.iter().filter(|held| held.late == late && wanted(&held.end));
            ended.count() as u64
        };
        Self {
            holds: record.holds.len() as u64,
            confirmed: record.seats,
            abandoned: count(false, |end| *end == End::Left),
            late_with_seats: count(true, |end| matches!(end, End::Confirmed { .. })),
            late_with_refund: count(true, |end| matches!(end, End::Refund { .. })),
            taken: record.taken.len() as u64,
            repeats: record.repeats,
        }
    }
}

/// How many violations are shown with their evidence.
const SHOWN: usize = 50;

impl Report {
    pub(super) fn new(
        plan: &Plan,
        elapsed: Duration,
        record: &Record,
        latency: Latency,
        violations: Vec<Violation>,
    ) -> Self {
        let promises = Promised::ALL.into_iter().map(|promised| {
            let of = || violations.iter().filter(move |found| found.promise.shown_as() == promised);
            let (name, words) = words(promised, plan, record);
            let evidence = of().next().map(|violation| violation.evidence.clone());
            Promise { name, words, broken: of().count() as u64, evidence }
        });
        Self {
            campaign: plan.campaign.clone(),
            seed: plan.seed,
            elapsed,
            people: plan.people,
            answers: record.answers.clone(),
            outages: Vec::new(),
            again: record.again.clone(),
            latency,
            promises: promises.collect(),
            results: 0,
            cut_short: None,
            totals: Totals::of(record),
            violations,
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
            "sent_again": self.again,
            "away_ms": self.outages.iter().copied().map(whole_ms).collect::<Vec<_>>(),
            "results": self.results,
            "cut_short": self.cut_short,
            "latency": self.latency.json(),
            "evidence": self.violations.iter().take(SHOWN).map(|found| &found.evidence).collect::<Vec<_>>(),
        })
    }
}

fn words(promised: Promised, plan: &Plan, record: &Record) -> (&'static str, String) {
    let ended =
        |wanted: fn(&End) -> bool| record.holds.iter().filter(|held| wanted(&held.end)).count();
    let confirmed = ended(|end| matches!(end, End::Confirmed { .. }));
    let late = record.holds.iter().filter(|held| held.late).count();
    let refunds = ended(|end| matches!(end, End::Refund { .. }));
    let seats = thousands(record.seats);
    let count = |count: usize| thousands(count as u64);
    use Promised as P;
    match promised {
        P::Seats => ("seats", format!("no seat is two people's: {seats} confirmed")),
        P::Baskets => ("baskets", format!("no half basket: {} holds", count(record.holds.len()))),
        P::Ranks => ("ranks", "ranks are gap-free and nobody shares one".to_owned()),
        P::Kept | P::Repeats => (
            "kept",
            format!(
                "what was confirmed stays: {} holds checked, {} confirmed twice",
                count(confirmed),
                thousands(record.repeats)
            ),
        ),
        P::Taken => {
            let some = if record.incomplete {
                "; whose some of them were nobody here can say"
            } else {
                ""
            };
            let refusals = count(record.taken.len());
            ("taken", format!("every seat named as taken was: {refusals} refusals{some}"))
        }
        P::Limits => match plan.limit {
            Some(limit) => ("limits", format!("nobody has more than {limit}")),
            None => ("limits", "nobody has more than they may: there is no limit".to_owned()),
        },
        P::Late => (
            "late",
            format!(
                "who pays too late has the same seats or is owed a refund: {} people, {} refunds",
                count(late),
                count(refunds)
            ),
        ),
        P::Counts => ("counts", "the campaign counts what the results show".to_owned()),
    }
}
