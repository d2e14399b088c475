//! What accepted claims take of the store's memory, in its entries and in its snapshot.

use super::by_script;
use super::seat;
use crate::redis_server::Store;
use crate::table::{Budget, Table};
use anyhow::{Context, Result};
use firstcome_node::leader::{Election, Leader, Pace, SettleDelay};
use futures_util::future::join_all;
use std::time::Duration;

const CLAIMS: u64 = 500_000;
/// Claims that wait at once: about as many to an entry as an open flood brings.
const AT_ONCE: u64 = 200;
/// Bytes of a subject here.
const SUBJECT: f64 = 10.0;

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("memory of the store, {CLAIMS} claims");
    let store = Store::start().context("redis-server is not installed")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (tail, snapshot) = runtime.block_on(claims(&store))?;
    let script = by_script::memory(CLAIMS)?;
    let budget = 32.0 + SUBJECT;
    let against = format!("32 B and {SUBJECT} B of subject; script {script:.0} B in its hash");
    for (what, bytes) in
        [("entries", tail), ("snapshot", snapshot), ("entries and snapshot", tail + snapshot)]
    {
        let what = format!("store memory a claim, {what}, {AT_ONCE} claims an entry");
        table.add(what, format!("{bytes:.1} B"), &against, bytes / budget, Budget::AtMost(1.0));
    }
    Ok(())
}

/// Returns what a claim takes in the entries and in a snapshot, in bytes.
async fn claims(store: &Store) -> Result<(f64, f64)> {
    let seats = seat::seats(&store.url(), 1, u32::MAX - 1).await?;
    let before = store.work()?.memory;
    for first in (0..CLAIMS).step_by(AT_ONCE as usize) {
        for claim in join_all((first..first + AT_ONCE).map(|n| seats[0].claim(n))).await {
            claim?;
        }
    }
    let full = store.work()?.memory;
    let pace = Pace {
        settle_interval: Duration::from_secs(1),
        settle_delay: SettleDelay::default(),
        keep_for: None,
        snapshot_bytes: 1,
        snapshot_every: Duration::from_secs(1),
    };
    let seat = &seats[0];
    let leader = Leader::start(&seat.node, None, pace, Election::Alone, &seat.metrics);
    while seat.metrics.snapshots.get() == 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    leader.stop().await;
    let both = store.work()?.memory;
    seat::stop(seats).await?;
    Ok(((full - before) / CLAIMS as f64, (both - full) / CLAIMS as f64))
}
