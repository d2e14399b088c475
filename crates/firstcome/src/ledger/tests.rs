//! The ledger against real files.

mod doc;
mod full_disk;
mod settling;

use super::{Batch, Ledger, LedgerFailure, Reader, Row, Standing};
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_core::{SpaceId, Timestamp};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const SPACE: SpaceId = SpaceId([7; 16]);
/// 2027-03-01T10:00:00Z, in microseconds.
const TEN: i64 = 1_803_895_200_000_000;

/// A ledger in a folder that goes with it.
struct Stage {
    folder: TempDir,
    ledger: Ledger,
}

impl Stage {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ledger = open(&folder.path().join("ledger.sqlite")).await;
        Self { folder, ledger }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("ledger.sqlite")
    }

    /// Closes the ledger and opens it again, as a restart does.
    async fn restart(&mut self) {
        self.ledger.close().await;
        self.ledger = open(&self.path()).await;
    }

    async fn settle(
        &self,
        term: u64,
        after: u64,
        rows: Vec<Row>,
    ) -> Result<Standing, LedgerFailure> {
        self.ledger.settle(Batch { after, term, rows }).await
    }

    /// The numbers that are there, in the order of the table.
    fn numbers(&self) -> Vec<u64> {
        numbers(&self.path())
    }
}

async fn open(path: &Path) -> Ledger {
    Ledger::open_sqlite(path, SPACE, 0).await.unwrap()
}

fn numbers(path: &Path) -> Vec<u64> {
    let connection = Connection::open(path).unwrap();
    let mut statement = connection.prepare("SELECT number FROM results").unwrap();
    let numbers = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    numbers.map(|number| number.unwrap() as u64).collect()
}

fn claim(number: u64, campaign: &str, rank: u32, subject: &str) -> Row {
    Row {
        number,
        kind: Kind::Claim,
        campaign: campaign.into(),
        pool: "main".into(),
        rank,
        subject: subject.into(),
        at: Timestamp::from_micros(TEN + number as i64),
        by: None,
        reason: None,
        who: None,
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
