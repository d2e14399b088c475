//! How long there is no leader after one that stopped, and after one that was killed: with real servers on one Redis.

use crate::plan::Plan;
use crate::redis_server::Store;
use crate::server::{Server, tell};
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Context, Result, ensure};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LEASE: Duration = Duration::from_secs(2);
/// Time for a new server to be a candidate.
const STANDS: Duration = Duration::from_millis(500);

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("changes of leader, {} rounds", plan.rounds);
    let lease = LEASE.as_secs_f64() * 1e3;
    for (what, budget_ms, end) in [
        ("leader stopped", 50.0, Server::terminate as fn(&Server) -> Result<()>),
        ("leader killed", lease + 100.0, Server::kill),
    ] {
        let took = (0..plan.rounds).map(|_| change(end)).collect::<Result<Vec<_>>>()?;
        let worst = took.iter().copied().fold(0.0, f64::max);
        table.add(
            format!("time until the next leader, {what}"),
            format!("{} ms", Spread::from(took).text(1)),
            format!("{budget_ms} ms; its lease is {lease} ms"),
            worst / budget_ms,
            Budget::AtMost(1.0),
        );
    }
    Ok(())
}

/// Returns the milliseconds from the end of a leader until another server leads.
fn change(end: fn(&Server) -> Result<()>) -> Result<f64> {
    let store = Store::start().context("redis-server is not installed")?;
    let lease = LEASE.as_millis().to_string();
    let start = || Server::on_store(&store.url(), &["--leader-lease-ms", &lease]);
    let first = start()?;
    until_it_leads(&first)?;
    let next = start()?;
    // A kill comes at any moment between two renewals.
    sleep(STANDS + Duration::from_millis(fastrand::u64(..700)));
    ensure!(!leads(&next)?, "two servers lead");
    let begun = Instant::now();
    end(&first)?;
    until_it_leads(&next)?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

fn until_it_leads(server: &Server) -> Result<()> {
    let begun = Instant::now();
    while !leads(server)? {
        ensure!(begun.elapsed() < 10 * LEASE, "nobody leads");
        sleep(Duration::from_millis(1));
    }
    Ok(())
}

fn leads(server: &Server) -> Result<bool> {
    let metrics = tell(&server.address, "GET", "/metrics", "")?;
    Ok(metrics.lines().any(|line| line == "firstcome_is_leader 1"))
}
