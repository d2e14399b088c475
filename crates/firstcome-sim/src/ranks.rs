//! `--order`: prints how far ranks follow the order of arrival.

use firstcome_sim::order;
use std::time::Duration;

/// Numbers of nodes.
const NODES: [usize; 2] = [10, 20];
/// Claims a second.
const RATES: [u32; 2] = [10_000, 50_000];
/// Virtual time of one measurement.
const LENGTH: Duration = Duration::from_secs(4);
/// Milliseconds by which a better rank may have arrived later, p99.
const BUDGET_MS: f64 = 5.0;
const SEED: u64 = 1;

/// Prints a line for each number of nodes and rate.
pub(crate) fn print() {
    println!("virtual time has steps of 1 ms; a message to the store takes one step");
    println!(
        "{:>5} {:>9} {:>20} {:>8} {:>9}",
        "nodes", "claims/s", "neighbours inverted", "p99", "worst"
    );
    for nodes in NODES {
        for rate in RATES {
            let counted = order::measure(nodes, f64::from(rate), LENGTH, SEED);
            let verdict = if counted.late_ms(0.99) <= BUDGET_MS { "kept" } else { "MISSED" };
            println!(
                "{nodes:>5} {rate:>9} {:>18.2} % {:>5.0} ms {:>6.0} ms  <= {BUDGET_MS} ms {verdict}",
                counted.share() * 1e2,
                counted.late_ms(0.99),
                counted.late_ms(1.0)
            );
        }
    }
}
