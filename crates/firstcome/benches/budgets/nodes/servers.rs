//! Claims over HTTP with several servers on one Redis.

use super::store::Store;
use crate::Plan;
use crate::http::{CONNECTIONS, KEY, Server, create};
use crate::loader;
use crate::table::{Budget, Table, median};
use anyhow::{Context, Result, ensure};
use std::process::Command;

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("claims over HTTP on one Redis, {CONNECTIONS} connections");
    for count in 1..=3 {
        let (mut ours, mut bare, mut store_cpu) = (vec![], vec![], vec![]);
        for _ in 0..plan.rounds {
            let mut command = Command::new(std::env::current_exe()?);
            command.arg("--bare");
            let yardstick = Server::start(command)?;
            bare.push(claims(plan, &[&yardstick])?);
            drop(yardstick);
            let store = Store::start().context("redis-server is not installed")?;
            let servers: Vec<Server> =
                (0..count).map(|_| Server::on_redis(&store.url(), &[])).collect::<Result<_>>()?;
            create(&servers[0].address, plan.requests)?;
            let before = store.work()?;
            ours.push(claims(plan, &servers.iter().collect::<Vec<_>>())?);
            store_cpu.push(store.work()?.since(before).cpu_us / plan.requests as f64);
        }
        let ratios = ours.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect();
        table.add(
            format!("HTTP on Redis, accepted, {count} servers"),
            format!(
                "{:.1} k/s, {:.2} us of the store's CPU",
                median(ours) / 1e3,
                median(store_cpu)
            ),
            format!("bare axum {:.1} k/s", median(bare) / 1e3),
            median(ratios),
            Budget::None,
        );
    }
    Ok(())
}

/// Gives the claims a second that these servers accept, one loader's connections spread over them.
fn claims(plan: &Plan, servers: &[&Server]) -> Result<f64> {
    let addresses: Vec<&str> = servers.iter().map(|server| &*server.address).collect();
    let phase = loader::claims(&addresses, KEY, CONNECTIONS, plan.requests, |number| number)?;
    ensure!(
        phase.statuses.get(&201) == Some(&plan.requests),
        "expected {} answers 201, got {:?}",
        plan.requests,
        phase.statuses
    );
    Ok(phase.per_second)
}
