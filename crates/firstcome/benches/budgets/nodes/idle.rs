//! What servers cost the store while nobody asks for anything.

use crate::redis_server::Store;
use crate::server::Server;
use crate::table::{Budget, Table};
use anyhow::{Context, Result};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SERVERS: usize = 10;
/// After the start, until every part of a server has come to rest.
const SETTLE: Duration = Duration::from_secs(5);
const LENGTH: Duration = Duration::from_secs(15);
/// What reads the journal.
const READS: [&str; 4] = ["xread", "xrange", "hget", "hmget"];

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("{SERVERS} servers with nothing to do, {LENGTH:?}");
    let store = Store::start().context("redis-server is not installed")?;
    let servers: Vec<Server> =
        (0..SERVERS).map(|_| Server::on_store(&store.url(), &[])).collect::<Result<_>>()?;
    sleep(SETTLE);
    let reads = || READS.map(|command| store.calls_of(command));
    let (begun, before, read) = (Instant::now(), store.work()?, reads());
    sleep(LENGTH);
    let (seconds, work) = (begun.elapsed().as_secs_f64(), store.work()?.since(before));
    let each = |calls: f64| calls / seconds / SERVERS as f64;
    let read = reads().iter().zip(read).map(|(now, then)| now - then).collect::<Vec<_>>();
    drop(servers);
    // An announcement reads the head once; the rest is following.
    let following = each(read[0] + read[1] + read[2]);
    table.add(
        format!("reads of an idle follower, {SERVERS} servers"),
        format!("{following:.2}/s, {:.2}/s of the head with its announcements", each(read[3])),
        "4/s",
        following / 4.0,
        Budget::AtMost(1.0),
    );
    table.add(
        format!("{SERVERS} idle servers, store commands and CPU"),
        format!("{:.0} commands/s, those in scripts included", work.commands / seconds),
        "one core",
        work.cpu_us / seconds / 1e6,
        Budget::None,
    );
    Ok(())
}
