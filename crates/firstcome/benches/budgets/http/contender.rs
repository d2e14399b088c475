//! A server that is measured in every round: ours, or one it is compared with.

use super::figures::Figures;
use super::open::Opens;
use crate::anchors::{Anchor, Running};
use crate::loader::{self, Load, Opened};
use crate::plan::Plan;
use anyhow::{Result, ensure};
use std::collections::BTreeMap;

/// A server of one round.
pub(super) struct Contender {
    pub(super) running: Running,
    campaign: &'static str,
    /// The number of the next subject that did not claim yet.
    next: usize,
}

/// The figures of a contender over all rounds.
#[derive(Default)]
pub(super) struct Record {
    /// By the number of connections.
    pub(super) closed: BTreeMap<usize, Figures>,
    /// The best rate of the closed loops of each round.
    pub(super) peaks: Vec<f64>,
    /// By the share of its own peak.
    pub(super) open: Opens,
}

impl Contender {
    pub(super) fn new(running: Running, campaign: &'static str) -> Self {
        Self { running, campaign, next: 0 }
    }

    /// Measures new subjects in a closed loop; gives how many are accepted a second.
    pub(super) fn accepted(
        &mut self,
        connections: usize,
        requests: usize,
        figures: &mut Figures,
    ) -> Result<f64> {
        let first = self.next;
        self.next += requests;
        self.closed(connections, requests, move |number| first + number, 201, figures)
    }

    /// Measures claims in a closed loop that all get the same status; gives how many a second.
    pub(super) fn closed(
        &self,
        connections: usize,
        requests: usize,
        subject: impl Fn(usize) -> usize + 'static,
        status: u16,
        figures: &mut Figures,
    ) -> Result<f64> {
        let (server, campaign) = (&self.running.server, self.campaign);
        let (before, of_store) = (server.cpu_us()?, self.running.store_cpu_us()?);
        let phase = loader::claims(&[&server.address], campaign, connections, requests, subject)?;
        ensure!(
            phase.statuses.get(&status) == Some(&requests),
            "expected {requests} answers {status}, got {:?}",
            phase.statuses
        );
        let each = |used: f64| used / requests as f64;
        let of_store = match (self.running.store_cpu_us()?, of_store) {
            (Some(now), Some(before)) => Some(each(now - before)),
            _ => None,
        };
        figures.add(&phase, each(server.cpu_us()? - before), of_store);
        Ok(phase.per_second)
    }

    /// Measures new subjects that arrive so many a second, whatever the answers; gives the processor time for each, too.
    pub(super) fn open(&mut self, a_second: f64, plan: &Plan) -> Result<(Opened, f64)> {
        let (server, campaign) = (&self.running.server, self.campaign);
        let before = server.cpu_us()?;
        let load = Load { campaign, a_second, length: plan.length, first: self.next };
        let opened = loader::open(&server.address, load)?;
        self.next += opened.claims;
        let cpu = (server.cpu_us()? - before) / opened.claims as f64;
        Ok((opened, cpu))
    }
}

/// Starts a contender by its anchor; none if a program it needs is missing.
pub(super) fn start(anchor: Anchor, folder: &std::path::Path) -> Result<Option<Contender>> {
    Ok(anchor.start(folder)?.map(|running| Contender::new(running, "bench")))
}
