//! Claims over HTTP with several servers on one Redis.

use crate::http::{CONNECTIONS, ratios};
use crate::loader;
use crate::plan::Plan;
use crate::redis_server::Store;
use crate::server::{Server, create};
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Context, Result, ensure};

/// The number of servers that has budgets.
const WITH_BUDGET: usize = 3;

/// Claims a second, and the store's processor time for each, of all rounds.
#[derive(Default)]
struct Figures {
    rate: Vec<f64>,
    store_cpu: Vec<f64>,
}

impl Figures {
    fn add(&mut self, plan: &Plan, servers: &[Server], store: &Store) -> Result<()> {
        let before = store.work()?;
        self.rate.push(claims(plan, servers)?);
        self.store_cpu.push(store.work()?.since(before).cpu_us / plan.requests as f64);
        Ok(())
    }

    fn text(&self) -> String {
        format!(
            "{} k/s, {} us of the store's CPU",
            Spread::thousands(self.rate.clone()).text(1),
            Spread::from(self.store_cpu.clone()).text(2)
        )
    }
}

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("claims over HTTP on one Redis, {CONNECTIONS} connections");
    for count in 1..=WITH_BUDGET {
        let (mut ours, mut script, mut bare) = (Figures::default(), Figures::default(), vec![]);
        for _ in 0..plan.rounds {
            bare.push(claims(plan, &[Server::bare()?])?);
            let store = Store::start().context("redis-server is not installed")?;
            let by_script = || Server::of_this_program(&["--serve", "lua", &store.url()]);
            let servers: Vec<Server> = (0..count).map(|_| by_script()).collect::<Result<_>>()?;
            script.add(plan, &servers, &store)?;
            drop((servers, store));

            let store = Store::start().context("redis-server is not installed")?;
            let of_ours = || Server::on_store(&store.url(), &[]);
            let servers: Vec<Server> = (0..count).map(|_| of_ours()).collect::<Result<_>>()?;
            create(&servers[0].address, "bench", plan.requests)?;
            ours.add(plan, &servers, &store)?;
        }
        let with_budget = |budget| if count == WITH_BUDGET { budget } else { Budget::None };
        let what = format!("HTTP on Redis, accepted, {count} servers");
        let against = format!("bare axum {} k/s", Spread::thousands(bare.clone()).text(1));
        table.add(&what, ours.text(), against, ratios(&ours.rate, &bare), Budget::None);
        let against = format!("as many of axum + Lua script by hand {}", script.text());
        let rate = ratios(&ours.rate, &script.rate);
        let budget = with_budget(Budget::AtLeast(0.95));
        table.add(format!("{what}, rate to the script's"), ours.text(), &against, rate, budget);
        let cpu = ratios(&ours.store_cpu, &script.store_cpu);
        let budget = with_budget(Budget::AtMost(0.4));
        table.add(format!("{what}, store CPU"), ours.text(), &against, cpu, budget);
    }
    Ok(())
}

/// Returns the claims a second that these servers accept, one loader's connections spread over them.
fn claims(plan: &Plan, servers: &[Server]) -> Result<f64> {
    let addresses: Vec<&str> = servers.iter().map(|server| &*server.address).collect();
    let phase = loader::claims(&addresses, "bench", CONNECTIONS, plan.requests, |number| number)?;
    ensure!(
        phase.statuses.get(&201) == Some(&plan.requests),
        "expected {} answers 201, got {:?}",
        plan.requests,
        phase.statuses
    );
    Ok(phase.per_second)
}
