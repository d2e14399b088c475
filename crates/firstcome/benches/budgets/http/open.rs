//! The rows of the open loop: claims arrive at random times, whatever the answers.

use super::contender::{Contender, Record};
use super::figures::ratios;
use crate::loader::Opened;
use crate::plan::Plan;
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::Result;

/// The shares of its own peak at which each server is measured.
const SHARES: [(f64, &str); 3] = [(1.0 / 3.0, "1/3"), (TWO_THIRDS, "2/3"), (0.9, "9/10")];
pub(super) const TWO_THIRDS: f64 = 2.0 / 3.0;
/// A server whose answers come slower than this share of the arrivals cannot do the rate.
const KEEPS_UP: f64 = 0.97;

/// The open loops of a contender, one list of rounds for each share.
#[derive(Default)]
pub(super) struct Opens([Rates; SHARES.len()]);

/// The rounds of an open load.
#[derive(Default)]
pub(super) struct Rates {
    offered: Vec<f64>,
    answered: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
    p999: Vec<f64>,
    cpu: Vec<f64>,
}

impl Rates {
    pub(super) fn measure(
        &mut self,
        contender: &mut Contender,
        a_second: f64,
        plan: &Plan,
    ) -> Result<()> {
        let (Opened { offered, answered, p50, p99, p999, .. }, cpu) =
            contender.open(a_second, plan)?;
        self.offered.push(offered);
        self.answered.push(answered);
        self.p50.push(p50);
        self.p99.push(p99);
        self.p999.push(p999);
        self.cpu.push(cpu);
        Ok(())
    }

    /// Says whether the server answered as fast as claims arrived, in the median.
    fn keeps_up(&self) -> bool {
        Spread::from(ratios(&self.answered, &self.offered)).median() >= KEEPS_UP
    }

    fn text(&self) -> String {
        let ms = |figures: &[f64]| Spread::from(figures.to_vec()).text(2);
        let late = if self.keeps_up() {
            String::new()
        } else {
            let answered = Spread::thousands(self.answered.clone()).text(1);
            format!(", CANNOT DO THIS RATE: {answered} k/s were answered")
        };
        format!(
            "{} k/s: p50 {}, p99 {}, p99.9 {} ms, {} us CPU{late}",
            Spread::thousands(self.offered.clone()).text(1),
            ms(&self.p50),
            ms(&self.p99),
            ms(&self.p999),
            Spread::from(self.cpu.clone()).text(1),
        )
    }
}

impl Opens {
    /// Measures a contender at all shares of its peak.
    pub(super) fn measure(
        &mut self,
        contender: &mut Contender,
        peak: f64,
        plan: &Plan,
    ) -> Result<()> {
        for (rates, (share, _)) in self.0.iter_mut().zip(SHARES) {
            rates.measure(contender, peak * share, plan)?;
        }
        Ok(())
    }

    /// At two thirds of its own peak.
    fn two_thirds(&self) -> &Rates {
        &self.0[1]
    }
}

/// Adds a row for each share of a contender's own peak; the figure is its p99 in milliseconds.
pub(super) fn add(name: &str, record: &Record, table: &mut Table) {
    let peak = Spread::thousands(record.peaks.clone()).text(1);
    for (rates, (_, share)) in record.open.0.iter().zip(SHARES) {
        table.add(
            format!("open loop, {name}, {share} of its peak, p99 in ms"),
            rates.text(),
            format!("its peak {peak} k/s"),
            rates.p99.clone(),
            Budget::None,
        );
    }
}

/// The open loops in which both our server and the SQLite peer get the rate of one of them.
#[derive(Default)]
pub(super) struct Crossed {
    /// The peer at two thirds of our peak.
    pub(super) peer: Rates,
    /// Ours at two thirds of the peer's peak.
    pub(super) ours: Rates,
}

impl Crossed {
    pub(super) fn add(&self, ours: &Record, peer: &Record, peer_name: &str, table: &mut Table) {
        let rows = [
            ("ours", ours.open.two_thirds(), &self.peer, Budget::AtMost(1.0)),
            ("the peer's", &self.ours, peer.open.two_thirds(), Budget::None),
        ];
        for (whose, ours, peer, budget) in rows {
            table.add(
                format!("open loop, p99 at 2/3 of the peak, {whose}"),
                ours.text(),
                format!("{peer_name} {}", peer.text()),
                ratios(&ours.p99, &peer.p99),
                budget,
            );
        }
    }
}
