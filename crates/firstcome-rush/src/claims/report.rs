//! What a load test on claims found.

use std::time::Duration;

use serde_json::{Value, json};

use super::shared::{Latencies, Shared};
use super::tally::{ClaimsProgress, Kind};
use super::verdict::{RankLine, ResultsVerdict};
use super::violation::{ClaimsPromise, Violations};
use crate::latency::Latency;
use crate::outage::whole_ms;
use crate::promise::Promise;

/// What a load test on claims found.
#[derive(Debug)]
pub struct Report {
    pub campaign: String,
    /// The seed everything was drawn from.
    pub seed: u64,
    /// The counts at the end.
    pub counts: ClaimsProgress,
    /// Stretches during which no server could be reached.
    pub outages: Vec<Duration>,
    /// From when a request was due to its final answer, sent again or not.
    pub latency: Latency,
    /// The same for claims that were won.
    pub latency_won: Latency,
    /// Units of the pool that was asked for, or over all pools.
    pub places: u64,
    /// Live claims there, by the results.
    pub winners: u64,
    /// Results read.
    pub results: u64,
    /// The first ranks given.
    pub first: Vec<RankLine>,
    /// The last ranks given.
    pub last: Vec<RankLine>,
    /// Every promise, kept or not.
    pub promises: Vec<Promise>,
    /// Every broken promise, the first few with evidence.
    pub violations: Violations,
    /// Why it ended before all could be checked, if it did.
    pub cut_short: Option<String>,
}

impl Report {
    pub(super) fn new(
        shared: &Shared,
        elapsed: Duration,
        verdict: ResultsVerdict,
        cut_short: Option<String>,
    ) -> Self {
        let counts = shared.plan.tally.progress(elapsed, None);
        let mut violations = shared.checker.violations();
        violations.merge(verdict.violations);
        let mut all = Latencies::default();
        for part in &shared.latencies {
            let part = part.lock().expect("every connection has ended");
            all.all.add(&part.all);
            all.won.add(&part.won);
        }
        let mut report = Self {
            campaign: shared.plan.campaign.clone(),
            seed: shared.plan.seed,
            counts,
            outages: shared.outages.past(),
            latency: all.all,
            latency_won: all.won,
            places: verdict.places,
            winners: verdict.winners,
            results: verdict.results,
            first: verdict.first,
            last: verdict.last,
            promises: Vec::new(),
            violations,
            cut_short,
        };
        report.promises =
            ClaimsPromise::ALL.into_iter().map(|promise| report.promise(promise)).collect();
        report
    }

    /// Whether every promise was kept.
    pub fn kept(&self) -> bool {
        self.violations.total() == 0
    }

    /// Requests answered for good per second.
    pub fn rate(&self) -> f64 {
        self.counts.answered as f64 / self.counts.elapsed.as_secs_f64().max(1e-9)
    }

    fn promise(&self, promise: ClaimsPromise) -> Promise {
        let (places, winners) = (self.places, self.winners);
        let repeats = self.counts.of(Kind::AlreadyWon);
        let (name, words) = match promise {
            ClaimsPromise::TooMany if winners == places => {
                ("places", format!("places = winners: {winners} of {places}"))
            }
            ClaimsPromise::TooMany => {
                ("places", format!("no more winners than places: {winners} of {places}"))
            }
            ClaimsPromise::Ranks => {
                ("ranks", "ranks are gap-free and nobody shares one".to_owned())
            }
            ClaimsPromise::Twice => ("once", "nobody won twice".to_owned()),
            ClaimsPromise::Repeats => {
                ("repeats", format!("all {repeats} repeated answers are identical"))
            }
            ClaimsPromise::Lost => {
                let acknowledged = self.counts.acknowledged;
                ("kept", format!("nothing acknowledged is missing: {acknowledged} checked"))
            }
        };
        let evidence = self.violations.first(promise).map(ToString::to_string);
        Promise { name, words, broken: self.violations.count(promise), evidence }
    }

    /// The report for machines.
    pub fn json(&self) -> Value {
        let counts = &self.counts;
        let answers: serde_json::Map<String, Value> = Kind::ALL
            .into_iter()
            .map(|kind| (kind.as_str().to_owned(), counts.of(kind).into()))
            .collect();
        let promises: Vec<Value> = self.promises.iter().map(Promise::json).collect();
        json!({
            "campaign": self.campaign,
            "seed": self.seed,
            "kept": self.kept(),
            "promises": promises,
            "answered": counts.answered,
            "elapsed_ms": whole_ms(counts.elapsed),
            "per_second": self.rate().round(),
            "answers": answers,
            "sent_again": {"unknown": counts.unknown, "busy": counts.busy, "broken": counts.broken, "cut": counts.cut},
            "acknowledged": counts.acknowledged,
            "away_ms": self.outages.iter().copied().map(whole_ms).collect::<Vec<_>>(),
            "places": self.places,
            "winners": self.winners,
            "results": self.results,
            "cut_short": self.cut_short,
            "latency": self.latency.json(),
            "latency_won": self.latency_won.json(),
            "evidence": self.violations.kept().iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}
