//! Journals in databases and in NATS against the raw rate of the same store; servers at rest, and over HTTP, on each store.

mod appends;
mod rest;
mod servers;

use crate::plan::Plan;
use crate::table::Table;
use anyhow::{Context, Result};
use firstcome_testbed::{MariaDb, Nats, NatsCluster, Postgres, PostgresSettings};

/// A store of this benchmark's own: a database server which forces its commits to the disk, or NATS as it comes.
enum Database {
    Postgres(Postgres, String),
    MariaDb(MariaDb, String),
    Nats(Nats, String),
    NatsCluster(Box<NatsCluster>, String),
}

impl Database {
    /// Starts a PostgreSQL; `None` where it is not installed.
    fn postgres() -> Option<Self> {
        let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
        let server = Postgres::with(settings)?;
        let url = server.url();
        Some(Self::Postgres(server, url))
    }

    /// Starts a MariaDB; `None` where it is not installed.
    fn mariadb() -> Option<Self> {
        let server = MariaDb::with(&["--innodb-flush-log-at-trx-commit=1"])?;
        let url = server.new_database();
        Some(Self::MariaDb(server, url))
    }

    /// Starts a NATS server; `None` where it is not installed.
    fn nats() -> Option<Self> {
        let server = Nats::start()?;
        let url = server.url();
        Some(Self::Nats(server, url))
    }

    /// Starts three NATS servers that are a cluster; `None` where it is not installed.
    fn nats_cluster() -> Option<Self> {
        let cluster = Box::new(NatsCluster::start()?);
        let url = cluster.url();
        Some(Self::NatsCluster(cluster, url))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Postgres(..) => "PostgreSQL",
            Self::MariaDb(..) => "MariaDB",
            Self::Nats(..) => "NATS, one server",
            Self::NatsCluster(..) => "NATS, three servers",
        }
    }

    fn url(&self) -> &str {
        let (Self::Postgres(_, url)
        | Self::MariaDb(_, url)
        | Self::Nats(_, url)
        | Self::NatsCluster(_, url)) = self;
        url
    }

    /// Returns the processes of its servers; PostgreSQL has one more for each connection, below its own.
    fn processes(&self) -> Vec<u32> {
        match self {
            Self::Postgres(server, _) => vec![server.process()],
            Self::MariaDb(server, _) => vec![server.process()],
            Self::Nats(server, _) => vec![server.process()],
            Self::NatsCluster(cluster, _) => cluster.servers.iter().map(Nats::process).collect(),
        }
    }
}

/// How a database is started.
type Start = fn() -> Option<Database>;
const DATABASES: [Start; 4] =
    [Database::postgres, Database::mariadb, Database::nats, Database::nats_cluster];

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    if plan.wants("stores", "appends") {
        for database in DATABASES.iter().filter_map(|start| start()) {
            appends::run(&database, plan, table)?;
        }
    }
    if plan.wants("stores", "idle") {
        for database in DATABASES.iter().filter_map(|start| start()) {
            rest::run(&database, table)?;
        }
    }
    if plan.wants("stores", "http") {
        servers::run(plan, table)?;
    }
    Ok(())
}

/// Returns what the connections of a part run on.
fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().context("a runtime")
}
