//! What a load test of people found.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::record::Record;
use super::visit::Visit;
use super::{Plan, Promises, Violation};
use crate::latency::Latency;
use crate::outage::whole_ms;
use crate::promise::Promise;

/// What a load test of people found.
#[derive(Debug, Default)]
pub struct Report<T> {
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
    pub totals: T,
    pub(crate) violations: Vec<Violation>,
}

/// How many violations are shown with their evidence.
const SHOWN: usize = 50;

impl<T> Report<T> {
    /// Adds what was found.
    pub(super) fn with<V: Visit<Totals = T>>(
        self,
        plan: &Plan<V>,
        record: &Record<V::Answers>,
        read: &V::Read,
        violations: Vec<Violation>,
    ) -> Self {
        let promises = V::Promised::SHOWN.iter().map(|promised| {
            let name = promised.name();
            let of = || violations.iter().filter(|found| found.shown_as == name);
            let evidence = of().next().map(|violation| violation.evidence.clone());
            let words = V::words(*promised, plan, record, read);
            Promise { name, words, broken: of().count() as u64, evidence }
        });
        Self {
            campaign: plan.campaign.clone(),
            seed: plan.seed,
            promises: promises.collect(),
            results: V::results(read),
            totals: V::totals(record),
            violations,
            ..self
        }
    }

    /// The first evidence that one of these was broken.
    pub(crate) fn evidence<P: Promises>(&self, promised: &[P]) -> Option<String> {
        let broken =
            |found: &&Violation| promised.iter().any(|promise| promise.name() == found.promise);
        self.violations.iter().find(broken).map(|violation| violation.evidence.clone())
    }

    /// Whether every promise was kept.
    pub fn kept(&self) -> bool {
        self.promises.iter().all(Promise::kept)
    }

    /// Answers in all.
    pub fn answered(&self) -> u64 {
        self.answers.values().sum()
    }

    /// The report for machines, as all kinds of visits have it.
    pub(crate) fn json_of_all(&self) -> Value {
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
