//! The worst command of each kind that a server lets in, under the lock of the state; and people in line for seats.

mod hall;
mod in_line;
mod large;

use crate::table::{Budget, Table};
use anyhow::Result;

/// Claims of the campaign that is archived.
const CLAIMS: usize = 10_000_000;
/// How long one entry may hold the lock, in milliseconds.
const MOST_MS: f64 = 5.0;

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("the worst command of each kind, 200,000 seats, {CLAIMS} claims");
    for (what, took) in hall::worst().into_iter().chain(large::worst(CLAIMS)) {
        let ms = took.as_secs_f64() * 1e3;
        // What stays as exact as it is, and what no server lets in, have no budget: see the page.
        let budget = if what.ends_with(hall::SHOWN) { Budget::None } else { Budget::AtMost(1.0) };
        table.add(what, format!("{ms:.3} ms"), format!("{MOST_MS} ms"), ms / MOST_MS, budget);
    }
    in_line::run(table)
}
