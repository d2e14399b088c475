//! Claims over HTTP on each store, against bare axum.

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
const PLACES: [(&str, Start); 6] = [
    ("embedded", || Ok(Some(Place::Folder(tempfile::tempdir()?)))),
    ("Redis", || Ok(Store::start().map(Place::Redis))),
    ("PostgreSQL", || Ok(Database::postgres().map(Place::Database))),
    ("MariaDB", || Ok(Database::mariadb().map(Place::Database))),
    ("NATS, one server", || Ok(Database::nats().map(Place::Database))),
    ("NATS, three servers", || Ok(Database::nats_cluster().map(Place::Database))),
];

impl Place {
    fn server(&self) -> Result<Server> {
        match self {
            Self::Folder(folder) => Server::in_folder(folder.path()),
            Self::Redis(store) => Server::on_store(&store.url(), &[]),
            Self::Database(database) => Server::on_store(database.url(), &[]),
        }
    }
}

pub(super) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("claims over HTTP on each store, {CONNECTIONS} connections");
    for (name, start) in PLACES {
        for count in SERVERS.into_iter().filter(|count| *count == 1 || name != "embedded") {
            let (mut ours, mut bare) = (Vec::new(), Vec::new());
            for _ in 0..plan.rounds {
                let Some(place) = start()? else { break };
                bare.push(claims(plan, &[Server::bare()?])?);
                let servers: Vec<Server> =
                    (0..count).map(|_| place.server()).collect::<Result<_>>()?;
                create(&servers[0].address, "bench", plan.requests)?;
                ours.push(claims(plan, &servers)?);
            }
            if ours.is_empty() {
                break;
            }
            table.add(
                format!("HTTP accepted on {name}, {count} servers"),
                format!("{} k/s", Spread::thousands(ours.clone()).text(1)),
                format!("bare axum {} k/s", Spread::thousands(bare.clone()).text(1)),
                ratios(&ours, &bare),
                Budget::None,
            );
        }
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
