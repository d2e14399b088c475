//! What many nodes cost the Redis they share.

mod by_script;
mod flood;
mod leader;
mod light;
mod order;
mod seat;
mod servers;

use crate::plan::Plan;
use crate::redis_server::Store;
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::Result;
use flood::{Flood, Taker};

/// What is asked of the store's processor time: nodes, claims a second, ratio to the script.
const COSTS: [(usize, u32, Budget); 12] = [
    (1, 1_000, Budget::None),
    (1, 10_000, Budget::None),
    (1, 200_000, Budget::None),
    (3, 1_000, Budget::None),
    (3, 10_000, Budget::None),
    (3, 200_000, Budget::AtMost(0.2)),
    (10, 1_000, Budget::AtMost(2.0)),
    (10, 10_000, Budget::AtMost(1.0)),
    (10, 200_000, Budget::None),
    (20, 1_000, Budget::None),
    (20, 10_000, Budget::None),
    (20, 200_000, Budget::AtMost(0.2)),
];

/// Nodes and claims a second from which followers decode without applying: two cores cannot apply
/// each of 200,000 claims ten times a second beside the store.
fn taker(nodes: usize, a_second: u32) -> Taker {
    if nodes > 3 && a_second > 50_000 { Taker::Light { paced: true } } else { Taker::Nodes }
}

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    if Store::start().is_none() {
        return Ok(());
    }
    if plan.wants("nodes", "costs") {
        costs(plan, table)?;
    }
    if plan.wants("nodes", "waits") {
        waits(plan, table)?;
    }
    if plan.wants("nodes", "order") {
        order::run(plan, table)?;
    }
    if plan.wants("nodes", "leader") {
        leader::run(plan, table)?;
    }
    if plan.wants("nodes", "http") {
        servers::run(plan, table)?;
    }
    Ok(())
}

/// The store's processor time of an accepted claim, against a script for each.
fn costs(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("an open flood over several nodes on one Redis, {} rounds", plan.rounds);
    for (nodes, a_second, budget) in COSTS {
        let taker = taker(nodes, a_second);
        let (mut ours, mut script) = (vec![], vec![]);
        for _ in 0..plan.rounds {
            ours.push(flood::run(taker, nodes, f64::from(a_second))?);
            script.push(flood::run(Taker::Script, nodes, f64::from(a_second))?);
        }
        let ratios = ours.iter().zip(&script).map(|(o, s)| o.each.cpu_us / s.each.cpu_us);
        let ratio = Spread::from(ratios.collect::<Vec<_>>());
        let light = if taker == Taker::Nodes { "" } else { ", followers decode only" };
        let (ours, script) = (middle(ours), middle(script));
        table.add(
            format!("store CPU a claim, {nodes} nodes, {} k/s{light}", a_second / 1_000),
            ours.text(),
            format!("script {}", script.text()),
            ratio,
            budget,
        );
        let (least, most) = least_and_most(&ours.appends);
        let (quickest, slowest) = least_and_most(&ours.waits);
        if nodes > 1 {
            table.add(
                format!("fairness, {nodes} nodes, {} k/s{light}", a_second / 1_000),
                format!("least {least:.0} appends/s of a node, worst p50 {slowest:.2} ms"),
                format!("most {most:.0} appends/s, best p50 {quickest:.2} ms"),
                most / least,
                Budget::None,
            );
        }
    }
    Ok(())
}

/// What the pause between appends adds to the waiting of those who claim.
fn waits(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("what pacing adds to waiting, {} rounds", plan.rounds);
    let budgets = [
        (1, Budget::AtMost(0.3)),
        (3, Budget::None),
        (10, Budget::None),
        (20, Budget::AtMost(5.0)),
    ];
    for (nodes, budget) in budgets {
        let (mut with, mut without) = (vec![], vec![]);
        for _ in 0..plan.rounds {
            with.push(flood::run(Taker::Light { paced: true }, nodes, 10_000.0)?.p50);
            without.push(flood::run(Taker::Light { paced: false }, nodes, 10_000.0)?.p50);
        }
        let added: Vec<f64> =
            with.iter().zip(&without).map(|(with, without)| with - without).collect();
        table.add(
            format!("p50 added by pacing, {nodes} nodes, 10 k/s, followers decode only"),
            format!("{} ms", Spread::from(with).text(2)),
            format!("{} ms without pauses", Spread::from(without).text(2)),
            added,
            budget,
        );
    }
    Ok(())
}

/// Returns the flood with the median cost.
fn middle(mut floods: Vec<Flood>) -> Flood {
    floods.sort_by(|a, b| a.each.cpu_us.total_cmp(&b.each.cpu_us));
    floods.swap_remove(floods.len() / 2)
}

fn least_and_most(figures: &[f64]) -> (f64, f64) {
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    (least, figures.iter().copied().fold(0.0, f64::max))
}
