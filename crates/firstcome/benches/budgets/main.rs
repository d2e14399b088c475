//! The project's budgets, each a ratio of two figures of the same run.
//!
//! `cargo xtask bench` prints one table and writes `bench.json`; `docs/BENCHMARKS.md` says how to read it.

mod anchors;
mod arrivals;
mod codes;
mod embedded;
mod http;
mod large;
mod ledger;
mod loader;
mod locks;
mod nodes;
mod plan;
mod processor;
mod quiet;
mod redis_server;
mod rules;
mod seats;
mod server;
mod spread;
mod stores;
mod table;
mod worst;

use anyhow::{Result, anyhow, bail};
use plan::Plan;
use std::process::ExitCode;
use table::Table;

fn main() -> Result<ExitCode> {
    let mut args = std::env::args().skip(1);
    let mut plan = Plan::default();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| anyhow!("{arg} wants a value"));
        let done = match arg.as_str() {
            // Cargo adds this to every benchmark it runs.
            "--bench" => continue,
            // What this program starts itself with, for what must be a process of its own.
            "--serve" => anchors::serve(&value()?, args.next().as_deref()),
            "--seat-memory" => seats::print_memory(),
            "--code-memory" => codes::print_memory(&value()?),
            "--state-memory" => rules::print_memory(value()?.parse()?),
            "--take-turns" => locks::take_turns(&value()?),
            "--quiet-check" => return quiet::check_alone(),
            "--help" | "-h" => {
                print!("{}", plan::USAGE);
                Ok(())
            }
            option => {
                if plan.take(option, value)? {
                    continue;
                }
                bail!("there is no option {option}\n\n{}", plan::USAGE)
            }
        };
        return done.map(|()| ExitCode::SUCCESS);
    }
    let quiet = quiet::Watch::begin()?;
    let mut table = Table::default();
    let measured = measure(&plan, &mut table);
    let quiet = quiet.end()?;
    println!("{}", quiet.line());
    table.print();
    table.write(&plan.json, &quiet)?;
    eprintln!("figures written to {}", plan.json);
    // What was measured before something failed is worth seeing.
    measured.map(|()| ExitCode::SUCCESS)
}

fn measure(plan: &Plan, table: &mut Table) -> Result<()> {
    if plan.wants_part("rules") {
        rules::run(table)?;
    }
    if plan.wants_part("worst") {
        worst::run(table)?;
    }
    if plan.wants_part("embedded") {
        embedded::run(table)?;
    }
    if plan.wants_part("ledger") {
        ledger::run(table)?;
    }
    if plan.wants("http", "closed") || plan.wants("http", "open") {
        http::run(plan, table)?;
    }
    if plan.wants("http", "codes") {
        codes::run(plan, table)?;
    }
    if plan.wants_part("seats") {
        seats::run(plan, table)?;
    }
    if plan.wants_part("large") {
        large::run(plan, table)?;
    }
    if plan.wants_part("locks") {
        locks::run(table)?;
    }
    if plan.wants_part("databases") {
        locks::run_on_databases(table)?;
    }
    if plan.wants_part("stores") {
        stores::run(plan, table)?;
    }
    if plan.wants_part("nodes") {
        nodes::run(plan, table)?;
    }
    Ok(())
}
