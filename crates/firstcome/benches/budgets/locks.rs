//! Locks against bare round trips on the same kind of connection, and beside real Redisson.
//!
//! Everything runs on servers of its own that are gone afterwards. Without `redis-server` the whole part is skipped,
//! without Java or Maven the figures of Redisson are.

mod crowd;
mod databases;
mod ends;
mod idle;
mod pairs;
mod redisson;
mod turns;

use crate::redis_server::Store;
use crate::table::Table;
use anyhow::Result;
use firstcome_lock::{Lock, Locks};
use redisson::Redisson;

pub(crate) use databases::run as run_on_databases;
pub(crate) use turns::take_turns;

/// Rounds of each figure; the median counts.
const ROUNDS: usize = 5;

/// Each kind of lock, and what it may cost a server at most where a waiter takes it over, in parts of what Redisson's does.
const KINDS: [(&str, f64); 5] =
    [("plain", 1.0 / 3.0), ("fair", 1.0 / 3.0), ("read", 1.0), ("write", 1.0), ("semaphore", 1.0)];

/// Returns the lock of a kind; a semaphore has one permit.
fn of_kind(locks: &Locks, kind: &str, name: &str) -> Result<Lock> {
    let name = format!("{kind}-{name}");
    Ok(match kind {
        "fair" => locks.fair(&name)?,
        "read" => locks.read(&name)?,
        "write" => locks.write(&name)?,
        "semaphore" => locks.semaphore(&name, 1)?,
        _ => locks.mutex(&name)?,
    })
}

pub(crate) fn run(table: &mut Table) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load = load.split(' ').next().unwrap_or("?");
    eprintln!("locks on Redis; the machine's load at the beginning: {load}");
    let Some(server) = Store::start() else { return Ok(()) };
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
