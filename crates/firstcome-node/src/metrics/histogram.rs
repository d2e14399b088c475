//! Histograms whose observation is two atomic additions.

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of times, in nanoseconds: 0.1 ms to 10 s, three a decade, so that a p99 is known to a factor of 2.5.
const TIMES: [u64; 16] = [
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
];
/// Upper bounds of counts of commands.
const COMMANDS: [u64; 7] = [1, 4, 16, 64, 256, 1_024, 4_096];

/// How many observations there were up to each of several bounds, and their sum.
#[derive(Clone, Debug)]
pub struct Histogram(Arc<Buckets>);

#[derive(Debug)]
struct Buckets {
    /// Upper bounds, inclusive, in ascending order.
    bounds: &'static [u64],
    /// Observations up to each bound and above the one before it; the last are beyond all bounds.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
    /// How many of what is observed make one of the unit that is shown.
    scale: f64,
}

impl Histogram {
    /// Makes one of times, from 0.1 ms to 10 s.
    pub fn of_times() -> Self {
        Self::new(&TIMES, 1e9)
    }

    /// Makes one of counts of commands, from 1 to 4,096.
    pub fn of_commands() -> Self {
        Self::new(&COMMANDS, 1.0)
    }

    fn new(bounds: &'static [u64], scale: f64) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Buckets { bounds, counts, sum: AtomicU64::new(0), scale }))
    }

    /// Counts a time.
    pub fn took(&self, time: Duration) {
        self.count(u64::try_from(time.as_nanos()).unwrap_or(u64::MAX));
    }

    /// Counts a number.
    pub fn count(&self, number: u64) {
        let Buckets { bounds, counts, sum, .. } = &*self.0;
        let bucket = bounds.partition_point(|bound| *bound < number);
        if let Some(count) = counts.get(bucket) {
            count.fetch_add(1, Ordering::Relaxed);
            sum.fetch_add(number, Ordering::Relaxed);
        }
    }

    /// Returns how many were counted.
    pub fn observations(&self) -> u64 {
        self.0.counts.iter().map(|count| count.load(Ordering::Relaxed)).sum()
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), std::fmt::Error> {
        let Buckets { bounds, counts, sum, scale } = &*self.0;
        let bounds = bounds.iter().map(|bound| *bound as f64 / scale).chain([f64::INFINITY]);
        let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let all = buckets.iter().map(|(_, count)| count).sum();
        let sum = sum.load(Ordering::Relaxed) as f64 / scale;
        encoder.encode_histogram::<NoLabelSet>(sum, all, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    #[test]
    fn a_time_is_counted_up_to_its_bound_and_beyond_all_bounds() {
        let mut registry = Registry::default();
        let times = Histogram::of_times();
        registry.register("times", "Times", times.clone());
        for micros in [0, 100, 101, 10_000_000, 10_000_001] {
            times.took(Duration::from_micros(micros));
        }
        assert_eq!(times.observations(), 5);
        let mut text = String::new();
        encode(&mut text, &registry).unwrap();
        for line in [
            "times_sum 20.000202",
            "times_count 5",
            "times_bucket{le=\"0.0001\"} 2",
            "times_bucket{le=\"0.00025\"} 3",
            "times_bucket{le=\"10.0\"} 4",
            "times_bucket{le=\"+Inf\"} 5",
        ] {
            assert!(text.lines().any(|found| found == line), "{line}: {text}");
        }
    }
}
