//! How far ranks follow the order in which claims arrived at the servers.

use super::flood;
use crate::plan::Plan;
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::Result;
use inversions::Inversions;

// The simulation counts in the same way with more nodes than this machine can run.
#[expect(unreachable_pub, reason = "it is public there")]
#[path = "../../../../firstcome-sim/src/order/inversions.rs"]
mod inversions;

/// Claims a second.
const RATES: [f64; 2] = [10_000.0, 50_000.0];
/// Milliseconds by which a better rank may have arrived later.
const BUDGET_MS: f64 = 5.0;

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("the order of ranks and arrivals, {} rounds", plan.rounds);
    for nodes in [1, 3] {
        for a_second in RATES {
            let (mut shares, mut p99, mut worst) = (vec![], vec![], vec![]);
            for _ in 0..plan.rounds {
                let inversions = Inversions::count(flood::ranks(nodes, a_second)?);
                shares.push(inversions.share() * 1e2);
                p99.push(inversions.late_ms(0.99));
                worst.push(inversions.late_ms(1.0));
            }
            let share = Spread::from(shares).text(2);
            let (late, worst) = (Spread::from(p99.clone()).text(2), Spread::from(worst).text(2));
            table.add(
                format!("order, {nodes} servers on one Redis, {} k/s, p99 in ms", a_second / 1e3),
                format!("{share} % of neighbours inverted, by p99 {late} ms, worst {worst} ms"),
                format!("{BUDGET_MS} ms"),
                p99,
                Budget::AtMost(BUDGET_MS),
            );
        }
    }
    Ok(())
}
