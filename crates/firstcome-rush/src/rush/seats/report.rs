//! What a rush on seats found.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::report::{Latency, Promise};
use super::checker::{self, SeatBreach};
use super::heard::{End, Heard};
use super::{SeatResult, SeatsPlan};
use crate::picture::thousands;

/// How it is going.
#[derive(Debug, Clone)]
pub struct SeatsProgress {
    /// Since the rush began.
    pub elapsed: Duration,
    /// How many people come.
    pub people: u32,
    /// How many have gone home.
    pub gone: u32,
    /// Seats that were told to be confirmed.
    pub confirmed: u64,
    /// How long no server could be reached by now, if none can.
    pub away: Option<Duration>,
    /// Answers by their outcome; `looked` are looks at the map.
    pub answers: BTreeMap<String, u64>,
}

/// What a rush on seats found.
#[derive(Debug)]
pub struct SeatsReport {
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
    pub away: Vec<Duration>,
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
    evidence: Vec<String>,
}

/// How many breaches are shown with their evidence.
const SHOWN: usize = 50;

impl SeatsReport {
    pub(super) fn new(
        plan: &SeatsPlan,
        elapsed: Duration,
        heard: &Heard,
        latency: Latency,
        results: &[SeatResult],
        breaches: Vec<SeatBreach>,
    ) -> Self {
        let promises = checker::Promise::ALL.into_iter().map(|promise| {
            let of = || breaches.iter().filter(move |breach| breach.promise == promise);
            let (name, words) = words(promise, plan, heard);
            let evidence = of().next().map(ToString::to_string);
            Promise { name, words, broken: of().count() as u64, evidence }
        });
        Self {
            campaign: plan.campaign.clone(),
            seed: plan.seed,
            elapsed,
            people: plan.people,
            answers: heard.answers.clone(),
            away: Vec::new(),
            again: heard.again.clone(),
            latency,
            promises: promises.collect(),
            results: results.len() as u64,
            cut_short: None,
            evidence: breaches.iter().take(SHOWN).map(ToString::to_string).collect(),
        }
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
            "elapsed_ms": u64::try_from(self.elapsed.as_millis()).unwrap_or(u64::MAX),
            "per_second": (self.answered() as f64 / elapsed).round(),
            "answers": self.answers,
            "sent_again": self.again,
            "away_ms": self.away.iter().map(|length| u64::try_from(length.as_millis()).unwrap_or(u64::MAX)).collect::<Vec<_>>(),
            "results": self.results,
            "cut_short": self.cut_short,
            "latency": self.latency.json(),
            "evidence": self.evidence,
        })
    }
}

fn words(promise: checker::Promise, plan: &SeatsPlan, heard: &Heard) -> (&'static str, String) {
    let ended =
        |wanted: fn(&End) -> bool| heard.holds.iter().filter(|held| wanted(&held.end)).count();
    let confirmed = ended(|end| matches!(end, End::Confirmed { .. }));
    let late = heard.holds.iter().filter(|held| held.late).count();
    let refunds = ended(|end| matches!(end, End::Refund { .. }));
    let seats = thousands(heard.seats);
    let count = |count: usize| thousands(count as u64);
    use checker::Promise as P;
    match promise {
        P::Seats => ("seats", format!("no seat is two people's: {seats} confirmed")),
        P::Baskets => ("baskets", format!("no half basket: {} holds", count(heard.holds.len()))),
        P::Ranks => ("ranks", "ranks are gap-free and nobody shares one".to_owned()),
        P::Kept => (
            "kept",
            format!(
                "what was confirmed stays: {} holds checked, {} confirmed twice",
                count(confirmed),
                thousands(heard.repeats)
            ),
        ),
        P::Taken => {
            let some =
                if heard.unsure { "; whose some of them were nobody here can say" } else { "" };
            let refusals = count(heard.taken.len());
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
