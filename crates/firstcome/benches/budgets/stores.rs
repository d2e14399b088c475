//! Journals in databases against the raw rate of the same database; servers at rest, and over HTTP, on each store.

mod appends;
mod rest;
mod servers;

use crate::plan::Plan;
use crate::table::Table;
use anyhow::{Context, Result};
use firstcome_testbed::{MariaDb, Postgres, PostgresSettings};

/// A database server of this benchmark's own, which forces its commits to the disk.
enum Database {
    Postgres(Postgres, String),
    MariaDb(MariaDb, String),
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

    fn name(&self) -> &'static str {
        match self {
            Self::Postgres(..) => "PostgreSQL",
            Self::MariaDb(..) => "MariaDB",
        }
    }

    fn url(&self) -> &str {
        let (Self::Postgres(_, url) | Self::MariaDb(_, url)) = self;
        url
    }

    /// Gives the process of the server; PostgreSQL has one more for each connection.
    fn process(&self) -> u32 {
        match self {
            Self::Postgres(server, _) => server.process(),
            Self::MariaDb(server, _) => server.process(),
        }
    }
}

/// How a database is started.
type Start = fn() -> Option<Database>;
const DATABASES: [Start; 2] = [Database::postgres, Database::mariadb];

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

/// Gives what the connections of a part run on.
fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    builder.worker_threads(2).enable_all().build().context("a runtime")
}
