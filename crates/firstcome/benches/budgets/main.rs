//! The project's budgets, each a ratio of two figures of the same run.
//!
//! `cargo xtask bench` prints one table and writes `bench.json`; `docs/BENCHMARKS.md` says how to read it.

mod bare;
mod embedded;
mod http;
#[cfg(feature = "postgres")]
mod ledger;
mod loader;
#[cfg(feature = "redis")]
mod locks;
#[cfg(feature = "redis")]
mod nodes;
mod rules;
mod seats;
mod table;
mod worst;

use anyhow::Result;
use table::Table;

const USAGE: &str = "\
usage: cargo xtask bench [--only http|embedded|ledger|rules|worst|seats|locks|databases|nodes] [--rounds N] [--requests N] [--json FILE]

  --only PART     run one part; of nodes also one piece: nodes/costs, /waits, /memory, /sold-out, /idle,
                  /trouble, /http; of locks: locks/redis, /shedlock;
                  of seats: seats/holds, /watchers, /best
  --rounds N      rounds of the parts about HTTP, seats and nodes, the median counts (3)
  --requests N    requests of each HTTP phase (100000)
  --json FILE     where the figures go (bench.json)
";

/// What was asked for.
pub(crate) struct Plan {
    only: Option<String>,
    pub(crate) rounds: usize,
    pub(crate) requests: usize,
    json: String,
}

impl Plan {
    /// Says whether a piece of a part is wanted: all, the part, or just that piece.
    pub(crate) fn wants(&self, part: &str, piece: &str) -> bool {
        let Some(only) = &self.only else { return true };
        only == part
            || only.strip_prefix(part).is_some_and(|rest| rest.strip_prefix('/') == Some(piece))
    }
}

fn main() -> Result<()> {
    let mut args = std::env::args().skip(1);
    let mut plan = Plan {
        only: None,
        rounds: 3,
        requests: 100_000,
        json: concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench.json").into(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| anyhow::anyhow!("{arg} wants a value"));
        match arg.as_str() {
            // Cargo adds this to every benchmark it runs.
            "--bench" => {}
            "--bare" => return bare::serve(),
            "--seat-memory" => return seats::print_memory(),
            "--state-memory" => return rules::print_memory(value()?.parse()?),
            #[cfg(feature = "redis")]
            "--take-turns" => return locks::take_turns(&value()?),
            "--only" => plan.only = Some(value()?),
            "--rounds" => plan.rounds = value()?.parse()?,
            "--requests" => plan.requests = value()?.parse()?,
            "--json" => plan.json = value()?,
            "--help" | "-h" => {
                print!("{USAGE}");
                return Ok(());
            }
            other => anyhow::bail!("there is no option {other}\n\n{USAGE}"),
        }
    }
    let wanted = |part: &str| plan.only.as_deref().is_none_or(|only| only == part);
    let mut table = Table::default();
    if wanted("rules") {
        rules::run(&mut table)?;
    }
    if wanted("worst") {
        worst::run(&mut table)?;
    }
    if wanted("embedded") {
        embedded::run(&mut table)?;
    }
    #[cfg(feature = "postgres")]
    if wanted("ledger") {
        ledger::run(&mut table)?;
    }
    if wanted("http") {
        http::run(&plan, &mut table)?;
    }
    if plan.only.as_deref().is_none_or(|only| only.starts_with("seats")) {
        seats::run(&plan, &mut table)?;
    }
    #[cfg(feature = "redis")]
    if plan.only.as_deref().is_none_or(|only| only.starts_with("locks")) {
        locks::run(&plan, &mut table)?;
    }
    #[cfg(all(feature = "redis", feature = "postgres", feature = "mysql"))]
    if wanted("databases") {
        locks::run_on_databases(&mut table)?;
    }
    #[cfg(feature = "redis")]
    if plan.only.as_deref().is_none_or(|only| only.starts_with("nodes")) {
        nodes::run(&plan, &mut table)?;
    }
    table.print();
    table.write(&plan.json)?;
    eprintln!("figures written to {}", plan.json);
    Ok(())
}
