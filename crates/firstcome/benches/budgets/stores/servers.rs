//! Claims over HTTP on each store, against bare axum and against what a team writes by hand on that store.

use super::Database;
use crate::http::{CONNECTIONS, ratios};
use crate::loader;
use crate::plan::Plan;
use crate::redis_server::Store;
use crate::server::{Server, create};
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Result, ensure};

/// Servers on a store that several may share.
const SERVERS: [usize; 2] = [1, 3];

/// Where the servers of a round have their journal. It is kept for as long as they run.
enum Place {
    Folder(tempfile::TempDir),
    Redis(Store),
    Database(Database),
}

/// Makes a fresh one; `None` where it is not installed.
type Start = fn() -> Result<Option<Place>>;
/// Each with the name of the server by hand, where no other part has that row.
const PLACES: [(&str, Option<&str>, Start); 6] = [
    ("embedded", None, || Ok(Some(Place::Folder(tempfile::tempdir()?)))),
    ("Redis", None, || Ok(Store::start().map(Place::Redis))),
    ("PostgreSQL", Some("postgres"), || Ok(Database::postgres().map(Place::Database))),
    ("MariaDB", Some("mariadb"), || Ok(Database::mariadb().map(Place::Database))),
    ("NATS, one server", Some("nats"), || Ok(Database::nats().map(Place::Database))),
    ("NATS, three servers", Some("nats"), || Ok(Database::nats_cluster().map(Place::Database))),
];

impl Place {
    fn server(&self) -> Result<Server> {
        match self {
            Self::Folder(folder) => Server::in_folder(folder.path()),
            Self::Redis(store) => Server::on_store(&store.url(), &[]),
            Self::Database(database) => Server::on_store(database.url(), &[]),
        }
    }

    /// Starts so many servers by hand; none where this store has no such row.
    fn by_hand(&self, name: Option<&str>, count: usize) -> Result<Vec<Server>> {
        let (Self::Database(database), Some(name)) = (self, name) else { return Ok(Vec::new()) };
        let start = |_| Server::of_this_program(&["--serve", name, database.url()]);
        (0..count).map(start).collect()
    }
}

pub(super) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("claims over HTTP on each store, {CONNECTIONS} connections");
    for (name, peer, start) in PLACES {
        for count in SERVERS.into_iter().filter(|count| *count == 1 || name != "embedded") {
            let (mut ours, mut bare, mut by_hand) = (Vec::new(), Vec::new(), Vec::new());
            for _ in 0..plan.rounds {
                let Some(place) = start()? else { break };
                bare.push(claims(plan.requests, &[Server::bare()?])?);
                let servers = place.by_hand(peer, count)?;
                if !servers.is_empty() {
                    // A row of a database that everybody waits for is ten times slower.
                    let fewer = if peer == Some("nats") { 1 } else { 10 };
                    by_hand.push(claims(plan.requests / fewer, &servers)?);
                }
                drop(servers);
                let servers: Vec<Server> =
                    (0..count).map(|_| place.server()).collect::<Result<_>>()?;
                create(&servers[0].address, "bench", plan.requests)?;
                ours.push(claims(plan.requests, &servers)?);
            }
            if ours.is_empty() {
                break;
            }
            let what = format!("HTTP accepted on {name}, {count} servers");
            let thousands = |rates: &[f64]| Spread::thousands(rates.to_vec()).text(1);
            let text = format!("{} k/s", thousands(&ours));
            let against = format!("bare axum {} k/s", thousands(&bare));
            table.add(&what, &text, against, ratios(&ours, &bare), Budget::None);
            if !by_hand.is_empty() {
                let against = format!("as many by hand {} k/s", thousands(&by_hand));
                let budget = Budget::AtLeast(0.8);
                table.add(
                    format!("{what}, by hand"),
                    text,
                    against,
                    ratios(&ours, &by_hand),
                    budget,
                );
            }
        }
    }
    Ok(())
}

/// Returns the claims a second that these servers accept, one loader's connections spread over them.
fn claims(requests: usize, servers: &[Server]) -> Result<f64> {
    let addresses: Vec<&str> = servers.iter().map(|server| &*server.address).collect();
    let phase = loader::claims(&addresses, "bench", CONNECTIONS, requests, |number| number)?;
    ensure!(
        phase.statuses.get(&201) == Some(&requests),
        "expected {requests} answers 201, got {:?}",
        phase.statuses
    );
    Ok(phase.per_second)
}
