//! The figures of a server in a closed loop.

use crate::loader::Phase;
use crate::spread::Spread;

/// What the rounds of one row came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    pub(crate) rate: Vec<f64>,
    /// Processor time of the server for each request, in microseconds.
    pub(crate) cpu: Vec<f64>,
    /// The same of the store's processes, if there are some.
    store_cpu: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl Figures {
    pub(crate) fn add(&mut self, phase: &Phase, cpu: f64, store_cpu: Option<f64>) {
        self.rate.push(phase.per_second);
        self.cpu.push(cpu);
        self.store_cpu.extend(store_cpu);
        self.p50.push(phase.p50.as_secs_f64() * 1e3);
        self.p99.push(phase.p99.as_secs_f64() * 1e3);
    }

    pub(crate) fn text(&self) -> String {
        let text = |figures: &[f64], digits| Spread::from(figures.to_vec()).text(digits);
        let mut all = format!(
            "{} k/s, p50 {} ms, p99 {} ms, {} us CPU",
            Spread::thousands(self.rate.clone()).text(1),
            text(&self.p50, 2),
            text(&self.p99, 1),
            text(&self.cpu, 1),
        );
        if !self.store_cpu.is_empty() {
            all += &format!(" and {} of the store", text(&self.store_cpu, 1));
        }
        all
    }
}

/// Returns the ratios of the figures of the same rounds.
pub(crate) fn ratios(ours: &[f64], against: &[f64]) -> Vec<f64> {
    ours.iter().zip(against).map(|(ours, against)| ours / against).collect()
}
