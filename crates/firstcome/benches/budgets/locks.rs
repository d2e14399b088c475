//! Locks against bare round trips on the same kind of connection, and beside real Redisson and real ShedLock.
//!
//! Everything runs on servers of its own that are gone afterwards. Without `redis-server` the whole part is skipped,
//! without Java or Maven the figures of Redisson are.

mod crowd;
mod databases;
mod ends;
mod idle;
mod pairs;
mod redisson;
mod server;
mod shedlock;
mod turns;

use crate::plan::Plan;
use crate::table::Table;
use anyhow::Result;
use redisson::Redisson;
use server::Server;

pub(crate) use databases::run as run_on_databases;
pub(crate) use turns::take_turns;

/// Rounds of each figure; the median counts.
const ROUNDS: usize = 5;

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if plan.wants("locks", "shedlock") {
        runtime.block_on(shedlock::run(table))?;
    }
    if !plan.wants("locks", "redis") {
        return Ok(());
    }
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?");
    eprintln!("locks on Redis; the machine's load at the beginning: {load}");
    let Some(server) = Server::start()? else { return Ok(()) };
    let redisson = Redisson::built();
    runtime.block_on(async {
        pairs::run(&server, redisson.as_ref(), table).await?;
        crowd::run(&server, redisson.as_ref(), table).await?;
        turns::run(&server, redisson.as_ref(), table).await?;
        ends::run(&server, redisson.as_ref(), table).await?;
        idle::run(redisson.as_ref(), table).await
    })
}

/// Returns the value below which this part of the values lies.
fn part(values: &[f64], part: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values[((values.len() - 1) as f64 * part) as usize]
}
