//! What a rush found.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

use super::Shared;
use super::breach::{Breaches, Broken};
use super::tally::{Kind, Progress};
use super::verdict::Verdict;

/// What a rush found.
#[derive(Debug)]
pub struct Report {
    /// The campaign.
    pub campaign: String,
    /// The seed everything was drawn from.
    pub seed: u64,
    /// The counts at the end.
    pub counts: Progress,
    /// Stretches during which no server could be reached.
    pub away: Vec<Duration>,
    /// From when a request was due to its final answer, sent again or not.
    pub latency: Latency,
    /// The same for claims that were won.
    pub latency_won: Latency,
    /// Units over all pools.
    pub places: u64,
    /// Live claims over all pools, by the results.
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
    pub breaches: Breaches,
    /// Why it ended before all could be checked, if it did.
    pub cut_short: Option<String>,
}

/// A rank and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankLine {
    /// The rank.
    pub rank: u64,
    /// Whose.
    pub subject: String,
    /// Decided when.
    pub at: String,
}

/// One promise, held against everything seen.
#[derive(Debug, Clone)]
pub struct Promise {
    /// A stable name for machines.
    pub name: &'static str,
    /// The promise in words, with the numbers that show it.
    pub words: String,
    /// How often it was broken.
    pub broken: u64,
    /// The first evidence against it.
    pub evidence: Option<String>,
}

/// How long answers took.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Latency {
    pub(super) fn new(histogram: Histogram<u64>) -> Self {
        Self { histogram }
    }

    /// How many answers.
    pub fn count(&self) -> u64 {
        self.histogram.len()
    }

    /// The time within which this share of answers came, 0 to 1.
    pub fn quantile(&self, share: f64) -> Duration {
        Duration::from_micros(self.histogram.value_at_quantile(share))
    }

    /// The longest.
    pub fn max(&self) -> Duration {
        Duration::from_micros(self.histogram.max())
    }

    /// How many answers took longer than `over` and at most `up_to`.
    pub fn between(&self, over: Duration, up_to: Duration) -> u64 {
        let micros = |length: Duration| u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        let (over, up_to) = (micros(over), micros(up_to));
        let values = self.histogram.iter_recorded().filter(|value| {
            let value = value.value_iterated_to();
            value > over && value <= up_to
        });
        values.map(|value| value.count_at_value()).sum()
    }

    pub(super) fn json(&self) -> Value {
        let ms = |length: Duration| length.as_secs_f64() * 1_000.0;
        json!({
            "count": self.count(),
            "p50_ms": ms(self.quantile(0.5)),
            "p90_ms": ms(self.quantile(0.9)),
            "p99_ms": ms(self.quantile(0.99)),
            "p999_ms": ms(self.quantile(0.999)),
            "max_ms": ms(self.max()),
        })
    }
}

impl Report {
    pub(super) fn new(
        shared: &Shared,
        elapsed: Duration,
        verdict: Verdict,
        cut_short: Option<String>,
    ) -> Self {
        let counts = shared.plan.tally.progress(elapsed, None);
        let mut breaches = shared.checker.breaches();
        breaches.merge(verdict.breaches);
        let mut all = super::Latencies::new();
        for part in &shared.latencies {
            let part = part.lock().expect("every lane has ended");
            all.all.add(&part.all).expect("all parts have the same bounds");
            all.won.add(&part.won).expect("all parts have the same bounds");
        }
        let mut report = Self {
            campaign: shared.plan.campaign.clone(),
            seed: shared.plan.seed,
            counts,
            away: shared.away.past(),
            latency: Latency { histogram: all.all },
            latency_won: Latency { histogram: all.won },
            places: verdict.places,
            winners: verdict.winners,
            results: verdict.results,
            first: verdict.first,
            last: verdict.last,
            promises: Vec::new(),
            breaches,
            cut_short,
        };
        report.promises = Broken::ALL.into_iter().map(|promise| report.promise(promise)).collect();
        report
    }

    /// Whether every promise was kept.
    pub fn kept(&self) -> bool {
        self.breaches.total() == 0
    }

    /// Requests answered for good per second.
    pub fn rate(&self) -> f64 {
        self.counts.answered as f64 / self.counts.elapsed.as_secs_f64().max(1e-9)
    }

    fn promise(&self, promise: Broken) -> Promise {
        let (places, winners) = (self.places, self.winners);
        let repeats = self.counts.of(Kind::AlreadyWon);
        let (name, words) = match promise {
            Broken::TooMany if winners == places => {
                ("places", format!("places = winners: {winners} of {places}"))
            }
            Broken::TooMany => {
                ("places", format!("no more winners than places: {winners} of {places}"))
            }
            Broken::Ranks => ("ranks", "ranks are gap-free and nobody shares one".to_owned()),
            Broken::Twice => ("once", "nobody won twice".to_owned()),
            Broken::Repeats => ("repeats", format!("all {repeats} repeated answers are identical")),
            Broken::Lost => {
                let acknowledged = self.counts.acknowledged;
                ("kept", format!("nothing acknowledged is missing: {acknowledged} checked"))
            }
        };
        let evidence = self.breaches.first(promise).map(ToString::to_string);
        Promise { name, words, broken: self.breaches.count(promise), evidence }
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
            "elapsed_ms": u64::try_from(counts.elapsed.as_millis()).unwrap_or(u64::MAX),
            "per_second": self.rate().round(),
            "answers": answers,
            "sent_again": {"unknown": counts.unknown, "busy": counts.busy, "broken": counts.broken, "cut": counts.cut},
            "acknowledged": counts.acknowledged,
            "away_ms": self.away.iter().map(|length| u64::try_from(length.as_millis()).unwrap_or(u64::MAX)).collect::<Vec<_>>(),
            "places": self.places,
            "winners": self.winners,
            "results": self.results,
            "cut_short": self.cut_short,
            "latency": self.latency.json(),
            "latency_won": self.latency_won.json(),
            "evidence": self.breaches.kept().iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }
}

impl Promise {
    /// Whether it was kept.
    pub fn kept(&self) -> bool {
        self.broken == 0
    }

    pub(super) fn json(&self) -> Value {
        json!({"name": self.name, "kept": self.kept(), "words": self.words, "broken": self.broken, "evidence": self.evidence})
    }
}
