//! What waiting and holding cost while nothing happens.

use super::redisson::Redisson;
use crate::redis_server::Store;
use crate::table::{Budget, Table};
use anyhow::Result;
use firstcome_lock::{Lease, Locks};
use std::time::Duration;

/// The lease of holds that are renewed, by default here and in Redisson, and how long is watched.
const LEASE: Duration = Duration::from_secs(30);
const WATCHED: Duration = Duration::from_secs(30);

const WAITERS: usize = 1000;
const HELD: usize = 10_000;
/// Renewals that go into one command.
const BATCH: usize = 100;

pub(crate) async fn run(redisson: Option<&Redisson>, table: &mut Table) -> Result<()> {
    eprintln!("  idle waiters and watched leases, {} s", WATCHED.as_secs());
    let (one, many, held) = (waiting(1).await?, waiting(WAITERS).await?, holding(HELD).await?);
    let (Some(one), Some(many), Some(held)) = (one, many, held) else { return Ok(()) };
    let theirs = match redisson {
        Some(redisson) => Some(held_by(redisson).await?),
        None => None,
    };
    let servers = [&one.server, &many.server, &held.server];
    let counts: Result<Vec<_>> = servers.into_iter().map(Store::count).collect();
    let theirs = match theirs.as_ref().and_then(|(server, _)| server.as_ref()) {
        Some(server) => Some(server.count()?),
        None => None,
    };
    tokio::time::sleep(WATCHED).await;
    let mut rates = Vec::new();
    for count in counts? {
        rates.push(count.stop()? / WATCHED.as_secs_f64());
    }
    let theirs = match theirs {
        Some(count) => format!("Redisson {:.1}/s", count.stop()? / WATCHED.as_secs_f64()),
        None => "-".to_owned(),
    };
    // A renewed lease runs for at least two thirds of its length when it is looked at.
    let looks = |waiters: usize| waiters as f64 / (LEASE.as_secs_f64() * 2.0 / 3.0);
    let renewals = |held: usize| held.div_ceil(BATCH) as f64 / (LEASE.as_secs_f64() / 6.0);
    // Each connection is asked for a sign of life now and then.
    let alive = 3.0;
    for (what, rate, due) in [
        (format!("{WAITERS} idle waiters for one lock"), rates[0], looks(1) + renewals(1)),
        (
            format!("{WAITERS} idle waiters for a lock each"),
            rates[1],
            looks(WAITERS) + renewals(WAITERS),
        ),
    ] {
        let against = format!("one look per remaining lease, renewals: {due:.1}/s");
        let ours = format!("{rate:.1} commands/s");
        table.add(what, ours, against, rate / (due + alive), Budget::AtMost(1.0));
    }
    let due = renewals(HELD);
    let against = format!("a command for {BATCH} each sixth of the lease: {due:.1}/s; {theirs}");
    let ours = format!("{:.1} commands/s", rates[2]);
    let ratio = rates[2] / (due + alive);
    table.add(format!("{HELD} watched leases"), ours, against, ratio, Budget::AtMost(1.0));
    Ok(())
}

/// Clients at rest on a server of their own.
struct Rest {
    server: Store,
    _clients: Vec<Locks>,
    _leases: Vec<Lease>,
    waiting: Vec<tokio::task::JoinHandle<()>>,
}

impl Drop for Rest {
    fn drop(&mut self) {
        for task in &self.waiting {
            task.abort();
        }
    }
}

/// Has somebody hold so many locks, and [`WAITERS`] of another client wait for them.
async fn waiting(locks: usize) -> Result<Option<Rest>> {
    let Some(mut rest) = holding(locks).await? else { return Ok(None) };
    let others = Locks::connect(&rest.server.url()).await?;
    for n in 0..WAITERS {
        let lock = others.mutex(&format!("rest{}", n % locks))?;
        // Whether it ever gets it does not matter.
        rest.waiting.push(tokio::spawn(async move { drop(lock.lock().await) }));
    }
    rest._clients.push(others);
    tokio::time::sleep(Duration::from_secs(2)).await;
    Ok(Some(rest))
}

/// Has one client hold so many locks.
async fn holding(held: usize) -> Result<Option<Rest>> {
    let Some(server) = Store::start() else { return Ok(None) };
    let locks = Locks::connect(&server.url()).await?;
    let mut leases = Vec::new();
    for n in 0..held {
        leases.push(locks.mutex(&format!("rest{n}"))?.lock().await?);
    }
    Ok(Some(Rest { server, _clients: vec![locks], _leases: leases, waiting: Vec::new() }))
}

async fn held_by(redisson: &Redisson) -> Result<(Option<Store>, Option<super::redisson::Java>)> {
    let Some(server) = Store::start() else { return Ok((None, None)) };
    let mut java = redisson.start(&server.url(), 1).await?;
    java.ask(&format!("hold {HELD}")).await?;
    Ok((Some(server), Some(java)))
}
