//! How long answers took, as a histogram.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde_json::{Value, json};

/// How long answers took: from a microsecond to an hour with three digits; longer ones count as an hour.
#[derive(Debug, Clone)]
pub struct Latency {
    histogram: Histogram<u64>,
}

impl Default for Latency {
    fn default() -> Self {
        let histogram =
            Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("these bounds are valid");
        Self { histogram }
    }
}

fn micros(length: Duration) -> u64 {
    u64::try_from(length.as_micros()).unwrap_or(u64::MAX)
}

impl Latency {
    /// Records one answer.
    pub(crate) fn record(&mut self, took: Duration) {
        self.histogram.saturating_record(micros(took));
    }

    /// Adds all answers of another.
    pub(crate) fn add(&mut self, other: &Self) {
        self.histogram.add(&other.histogram).expect("all have the same bounds");
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
        let (over, up_to) = (micros(over), micros(up_to));
        let values = self.histogram.iter_recorded().filter(|value| {
            let value = value.value_iterated_to();
            value > over && value <= up_to
        });
        values.map(|value| value.count_at_value()).sum()
    }

    pub(crate) fn json(&self) -> Value {
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
