//! Compares durable appends with what SQLite commits by itself, at the same batch sizes.
//!
//! `cargo run --release -p firstcome-journal --example append [FOLDER]`

use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::names::{NodeId, SpaceId};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options, Sqlite};
use firstcome_journal::{Append, Journal, Name};
use rusqlite::Connection;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const NODE: NodeId = NodeId([3; 16]);
const ROUNDS: usize = 41;
const ROUND: Duration = Duration::from_millis(100);

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> Outcome<()> {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build()?;
    println!(
        "claims per batch    raw commits/s    appends/s    claims/s    ratio (medians of {ROUNDS})"
    );
    for claims in [1, 32, 256, 1_000, 4_000] {
        let (mut raw, mut journal, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            let data = folder.join(format!("firstcome-append-{}-{round}", std::process::id()));
            std::fs::create_dir_all(&data)?;
            // Close together, since a disk's pace changes while others use it.
            let raw_now = raw_rate(&data, claims)?;
            let journal_now = runtime.block_on(journal_rate(&data, claims))?;
            raw.push(raw_now);
            journal.push(journal_now);
            ratios.push(journal_now / raw_now);
            std::fs::remove_dir_all(&data)?;
        }
        let (raw, journal, ratio) = (median(raw), median(journal), median(ratios));
        let rate = journal * claims as f64;
        println!("{claims:>16} {raw:>16.0} {journal:>12.0} {rate:>11.0} {ratio:>8.2}");
    }
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn body(number: u64, claims: usize) -> Vec<u8> {
    let mut writer = BodyWriter::new(NODE, number, number);
    for claim in 0..claims {
        let subject = format!("subject-{number}-{claim}");
        writer.push(&Command::claim("spring", None, &subject));
    }
    writer.finish()
}

/// Rows of the same size in the simplest table, on the thread that makes them.
fn raw_rate(data: &Path, claims: usize) -> Outcome<f64> {
    let connection = Connection::open(data.join("raw.sqlite"))?;
    connection.execute_batch(
        "PRAGMA journal_mode = wal; PRAGMA synchronous = full; PRAGMA wal_autocheckpoint = 4096;
         CREATE TABLE raw (position INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    )?;
    let mut commits = 0_u32;
    let start = Instant::now();
    while start.elapsed() < ROUND {
        let body = body(u64::from(commits), claims);
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        connection.prepare_cached("INSERT INTO raw (body) VALUES (?1)")?.execute([&body])?;
        connection.prepare_cached("COMMIT")?.execute([])?;
        commits += 1;
    }
    Ok(f64::from(commits) / start.elapsed().as_secs_f64())
}

async fn journal_rate(data: &Path, claims: usize) -> Outcome<f64> {
    let folder = DataFolder::take(data)?;
    let sqlite = Sqlite::open(&folder, Options::new(SpaceId([1; 16])))?;
    let journal = Journal::Sqlite(sqlite.clone());
    let mut last = Name::default();
    let mut number = 0;
    let start = Instant::now();
    while start.elapsed() < ROUND {
        let name = Name { node: NODE, number: number + 1 };
        let body = body(name.number, claims).into();
        let append = Append { body, name, applied: number, applied_name: last };
        let exchange = journal.append(append).await?;
        assert_eq!(exchange.entries.len(), 1, "alone, only the own entry comes back");
        (last, number) = (name, name.number);
    }
    let rate = number as f64 / start.elapsed().as_secs_f64();
    sqlite.close().await;
    Ok(rate)
}
