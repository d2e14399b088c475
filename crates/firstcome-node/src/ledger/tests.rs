//! The ledger against real files and a real server, and the one in memory beside them.

mod doc;
mod files;
mod full_disk;
mod memory;
mod mysql;
mod postgres;
mod settling;
mod webhooks;

use super::{Batch, Details, Ledger, LedgerError, MemoryLedger, Reader, Row, Standing};
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_core::{SpaceId, Timestamp};
use firstcome_testbed::MariaDb;
use firstcome_testbed::Postgres;
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SPACE: SpaceId = SpaceId([7; 16]);
/// 2027-03-01T10:00:00Z, in microseconds.
const TEN: i64 = 1_803_895_200_000_000;

/// Runs each test of a list on each kind of ledger.
macro_rules! on_each_store {
    ($($test:ident),* $(,)?) => {
        mod on_memory {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::ledger::tests::Stage::memory().await).await;
            })*
        }
        mod on_databases {
            use super::*;
            crate::ledger::tests::on_each_database!($($test),*);
        }
    };
}
use on_each_store;

/// Runs each test of a list on each of the databases: those that speak SQL beside the ledger.
macro_rules! on_each_database {
    ($($test:ident),* $(,)?) => {
        mod on_sqlite {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                super::$test(crate::ledger::tests::Stage::sqlite().await).await;
            })*
        }
        mod on_postgres {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                // Nothing where there is no server, which was said loudly.
                if let Some(stage) = crate::ledger::tests::Stage::postgres().await {
                    super::$test(stage).await;
                }
            })*
        }
        mod on_mariadb {
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $test() {
                if let Some(stage) = crate::ledger::tests::Stage::mariadb().await {
                    super::$test(stage).await;
                }
            })*
        }
    };
}
use on_each_database;

/// A ledger in a place of its own, which goes with it.
struct Stage {
    place: Place,
    ledger: Ledger,
}

enum Place {
    Folder(TempDir),
    /// A schema of the server that all tests share, by the name of the space.
    Space(&'static Postgres, String),
    /// A database of the server that all tests share, by the name of the space.
    Database(&'static MariaDb, String),
    Memory(MemoryLedger),
}

impl Place {
    async fn open(&self, space: SpaceId) -> Result<Ledger, LedgerError> {
        match self {
            Self::Folder(folder) => Ledger::open_sqlite(&file(folder), space).await,
            Self::Space(server, name) => {
                let ledger = Ledger::postgres(&server.url(), name, space)?;
                ledger.ready().await?;
                Ok(ledger)
            }
            Self::Database(server, name) => {
                let ledger = Ledger::mysql(&url_of(server), name, space)?;
                ledger.ready().await?;
                Ok(ledger)
            }
            Self::Memory(memory) => memory.open(space).map(Ledger::Memory),
        }
    }
}

fn file(folder: &TempDir) -> PathBuf {
    folder.path().join("ledger.sqlite")
}

impl Stage {
    async fn sqlite() -> Self {
        let place = Place::Folder(tempfile::tempdir().unwrap());
        let ledger = place.open(SPACE).await.unwrap();
        Self { place, ledger }
    }

    async fn memory() -> Self {
        let place = Place::Memory(MemoryLedger::new(SPACE));
        let ledger = place.open(SPACE).await.unwrap();
        Self { place, ledger }
    }

    async fn postgres() -> Option<Self> {
        let place = Place::Space(Postgres::shared()?, fresh_space());
        let ledger = place.open(SPACE).await.unwrap();
        Some(Self { place, ledger })
    }

    async fn mariadb() -> Option<Self> {
        let place = Place::Database(MariaDb::shared()?, fresh_space());
        let ledger = place.open(SPACE).await.unwrap();
        Some(Self { place, ledger })
    }

    /// Opens it once more, for this space or another one.
    async fn open(&self, space: SpaceId) -> Result<Ledger, LedgerError> {
        self.place.open(space).await
    }

    /// Closes the ledger and opens it again, as a restart does.
    async fn restart(&mut self) {
        self.ledger.close().await;
        self.ledger = self.open(SPACE).await.unwrap();
    }

    async fn settle(&self, term: u64, after: u64, rows: Vec<Row>) -> Result<Standing, LedgerError> {
        self.ledger.settle(Batch { after, term, rows }).await
    }

    /// The numbers that are there, in order.
    fn numbers(&self) -> Vec<u64> {
        if let Place::Memory(memory) = &self.place {
            let (kept, number) = (memory.kept(), |row: &Row| row.number);
            return kept.results().map(number).collect();
        }
        let lines = self.sql("SELECT number FROM results ORDER BY number");
        lines.iter().map(|line| line.parse().unwrap()).collect()
    }

    /// Does something beside the ledger, with the database's own means; gives a line for each row.
    fn sql(&self, sql: &str) -> Vec<String> {
        self.try_sql(sql).unwrap_or_else(|error| panic!("{error} in\n{sql}"))
    }

    fn try_sql(&self, sql: &str) -> Result<Vec<String>, String> {
        match &self.place {
            Place::Folder(folder) => lines(&Connection::open(file(folder)).unwrap(), sql),
            Place::Space(server, name) => {
                let sql = format!("SET search_path TO firstcome_{name}; {sql}");
                let text = server.try_sql("ledger", &sql)?;
                // What SQLite calls 1 is `t` here.
                let cell = |cell: &str| if cell == "t" { "1".to_owned() } else { cell.to_owned() };
                let line = |line: &str| line.split(" | ").map(cell).collect::<Vec<_>>().join(" | ");
                Ok(text.lines().map(line).collect())
            }
            Place::Database(server, name) => {
                let text = server.try_sql(&format!("USE firstcome_{name}; {sql}"))?;
                let cell =
                    |cell: &str| if cell == "NULL" { "".to_owned() } else { cell.to_owned() };
                let line = |line: &str| line.split('\t').map(cell).collect::<Vec<_>>().join(" | ");
                Ok(text.lines().map(line).collect())
            }
            Place::Memory(_) => panic!("the ledger in memory speaks no SQL: {sql}"),
        }
    }
}

/// The URL of a database that has none of the ledgers' tables.
fn url_of(server: &MariaDb) -> String {
    server.url_through(server.port(), "information_schema")
}

/// A name no other test here has.
fn fresh_space() -> String {
    use std::sync::atomic::{AtomicU32, Ordering};
    static NEXT: AtomicU32 = AtomicU32::new(0);
    format!("t{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// Runs statements, and gives what the last of them gives, a line for each row.
fn lines(connection: &Connection, sql: &str) -> Result<Vec<String>, String> {
    let mut statement = connection.prepare(sql).map_err(|error| error.to_string())?;
    let columns = statement.column_count();
    let cell = |cell: rusqlite::types::Value| match cell {
        rusqlite::types::Value::Null => String::new(),
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Real(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    };
    let rows = statement.query_map([], |row| {
        let cells = (0..columns).map(|column| row.get(column).map(cell));
        Ok(cells.collect::<Result<Vec<_>, _>>()?.join(" | "))
    });
    rows.and_then(Iterator::collect).map_err(|error| error.to_string())
}

async fn open(path: &Path) -> Ledger {
    Ledger::open_sqlite(path, SPACE).await.unwrap()
}

fn numbers(path: &Path) -> Vec<u64> {
    let connection = Connection::open(path).unwrap();
    let lines = lines(&connection, "SELECT number FROM results ORDER BY number").unwrap();
    lines.iter().map(|line| line.parse().unwrap()).collect()
}

fn claim(number: u64, campaign: &str, rank: u32, subject: &str) -> Row {
    Row {
        number,
        in_campaign: number as u32,
        kind: Kind::Claim,
        campaign: campaign.into(),
        // Each name in these tests has another sum.
        campaign_number: campaign.bytes().map(u32::from).sum(),
        pool: "main".into(),
        pool_number: 0,
        rank,
        subject: subject.into(),
        at: Timestamp::from_micros(TEN + number as i64),
        by: None,
        reason: None,
        who: None,
        unit: None,
        hold: None,
        moved_from: None,
        details: None,
    }
}

fn cancel(number: u64, campaign: &str, rank: u32, subject: &str) -> Row {
    let (kind, by) = (Kind::Cancel, Some(By::Operator));
    let (reason, who) = (Some("paid twice".into()), Some("desk".into()));
    Row { kind, by, reason, who, ..claim(number, campaign, rank, subject) }
}

/// Claims of `spring` whose rank is their number.
fn claims(numbers: std::ops::RangeInclusive<u64>) -> Vec<Row> {
    numbers.map(|n| claim(n, "spring", n as u32, &format!("subject-{n}"))).collect()
}
