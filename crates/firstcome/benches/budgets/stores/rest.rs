//! What ten servers cost a database while nobody asks for anything.

use super::Database;
use crate::processor;
use crate::server::Server;
use crate::table::{Budget, Table};
use anyhow::Result;
use std::thread::sleep;
use std::time::{Duration, Instant};

const SERVERS: usize = 10;
/// After the start, until every part of a server has come to rest.
const SETTLE: Duration = Duration::from_secs(5);
const LENGTH: Duration = Duration::from_secs(15);

pub(super) fn run(database: &Database, table: &mut Table) -> Result<()> {
    let name = database.name();
    eprintln!("{SERVERS} servers with nothing to do on {name}, {LENGTH:?}");
    let servers: Vec<Server> =
        (0..SERVERS).map(|_| Server::on_store(database.url(), &[])).collect::<Result<_>>()?;
    sleep(SETTLE);
    let processes = database.processes();
    let used =
        || processes.iter().map(|process| processor::of_family(*process)).sum::<Result<f64>>();
    let (begun, before) = (Instant::now(), used()?);
    sleep(LENGTH);
    let cpu = used()? - before;
    let cores = cpu / 1e6 / begun.elapsed().as_secs_f64();
    drop(servers);
    table.add(
        format!("{SERVERS} idle servers on {name}, its CPU"),
        format!("{:.1} ms of a second", cores * 1e3),
        "one core",
        cores,
        Budget::None,
    );
    Ok(())
}
