//! Settling into the ledgers against what the same databases insert in bulk.

use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Context, Result};
use firstcome_core::results::Kind;
use firstcome_core::{SpaceId, Timestamp};
use firstcome_node::ledger::{Batch, Ledger, Row};
use firstcome_testbed::{Postgres, PostgresSettings};
use futures_util::SinkExt;
use std::fmt::Write as _;
use std::path::Path;
use std::time::Instant;

/// Rows of one measurement.
const ROWS: u64 = 200_000;
/// Rows in one transaction, as the leader has it while many wait.
const BATCH: u64 = 4_096;

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("settling results");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (mut ours, mut raw, mut ratios) = (vec![], vec![], vec![]);
    for _ in 0..3 {
        let folder = tempfile::tempdir()?;
        let raw_now = sqlite_inserts(folder.path())?;
        let ours_now = runtime.block_on(async {
            let path = folder.path().join("ledger.sqlite");
            settle(Ledger::open_sqlite(&path, SpaceId([1; 16])).await?).await
        })?;
        ours.push(ours_now);
        raw.push(raw_now);
        ratios.push(ours_now / raw_now);
    }
    add(table, "SQLite", "SQLite inserts", ours, raw, ratios);
    let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
    let Some(server) = Postgres::with(settings) else { return Ok(()) };
    let (mut ours, mut raw, mut ratios) = (vec![], vec![], vec![]);
    for round in 0..3 {
        let raw_now = runtime.block_on(postgres_copies(&server))?;
        let space = format!("bench{round}");
        let ours_now = runtime.block_on(async {
            settle(Ledger::postgres(&server.url(), &space, SpaceId([1; 16]))?).await
        })?;
        ours.push(ours_now);
        raw.push(raw_now);
        ratios.push(ours_now / raw_now);
    }
    add(table, "PostgreSQL", "PostgreSQL copies in", ours, raw, ratios);
    Ok(())
}

fn add(
    table: &mut Table,
    ledger: &str,
    against: &str,
    ours: Vec<f64>,
    raw: Vec<f64>,
    ratios: Vec<f64>,
) {
    table.add(
        format!("settle into {ledger}, {BATCH} at a time"),
        format!("{} k results/s", Spread::thousands(ours).text(0)),
        format!("{against} {} k/s", Spread::thousands(raw).text(0)),
        ratios,
        Budget::AtLeast(0.5),
    );
}

/// Results a second through the ledger.
async fn settle(ledger: Ledger) -> Result<f64> {
    let term = ledger.mint_term().await?.term;
    let (begun, mut after) = (Instant::now(), 0);
    while after < ROWS {
        let rows: Vec<Row> = (after + 1..=after + BATCH).map(row).collect();
        ledger.settle(Batch { after, term, rows }).await?;
        after += BATCH;
    }
    let rate = after as f64 / begun.elapsed().as_secs_f64();
    ledger.close().await;
    Ok(rate)
}

fn row(number: u64) -> Row {
    Row {
        number,
        in_campaign: number as u32,
        kind: Kind::Claim,
        campaign: "spring-2027".into(),
        campaign_number: 1,
        pool: "main".into(),
        pool_number: 0,
        rank: number as u32,
        subject: subject(number).into(),
        at: Timestamp::from_micros(at(number)),
        by: None,
        reason: None,
        who: None,
        unit: None,
        hold: None,
        moved_from: None,
        details: None,
    }
}

fn subject(number: u64) -> String {
    format!("user-{:08x}", number.wrapping_mul(2_654_435_761) as u32)
}

fn at(number: u64) -> i64 {
    1_803_895_200_000_000 + number as i64
}

/// The same rows into two tables with the same keys, and nothing else: no comparison, no counts, no terms.
const TABLES: &str = "
    CREATE TABLE result (number bigint PRIMARY KEY, rank bigint, at bigint, settled_at bigint,
        kind text, campaign text, pool text, subject text);
    CREATE TABLE claim (rank bigint, at bigint, result bigint,
        campaign text, pool text, subject text, PRIMARY KEY (campaign, pool, rank));";

/// Results a second that SQLite commits.
fn sqlite_inserts(folder: &Path) -> Result<f64> {
    let mut db = rusqlite::Connection::open(folder.join("raw.sqlite"))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    let tables = TABLES.replace("bigint PRIMARY", "INTEGER PRIMARY");
    db.execute_batch(&tables.replace("));", ")) WITHOUT ROWID;"))?;
    let (begun, mut after) = (Instant::now(), 0);
    while after < ROWS {
        let transaction = db.transaction()?;
        {
            let sql =
                "INSERT INTO result VALUES (?1, ?1, ?2, ?2, 'claim', 'spring-2027', 'main', ?3)";
            let mut result = transaction.prepare_cached(sql)?;
            let sql = "INSERT INTO claim VALUES (?1, ?2, ?1, 'spring-2027', 'main', ?3)";
            let mut claim = transaction.prepare_cached(sql)?;
            for number in after + 1..=after + BATCH {
                let (at, subject) = (at(number), subject(number));
                result.execute((number as i64, at, &subject))?;
                claim.execute((number as i64, at, &subject))?;
            }
        }
        transaction.commit()?;
        after += BATCH;
    }
    Ok(after as f64 / begun.elapsed().as_secs_f64())
}

/// Results a second that PostgreSQL takes with COPY, the fastest way in that it has.
async fn postgres_copies(server: &Postgres) -> Result<f64> {
    let config: tokio_postgres::Config = server.url().parse()?;
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", server.port())).await?;
    stream.set_nodelay(true)?;
    let (mut client, connection) = config.connect_raw(stream, tokio_postgres::NoTls).await?;
    let driver = tokio::spawn(connection);
    client.batch_execute(&format!("DROP TABLE IF EXISTS result, claim;{TABLES}")).await?;
    let (begun, mut after) = (Instant::now(), 0);
    while after < ROWS {
        let (mut results, mut claims) = (String::new(), String::new());
        for number in after + 1..=after + BATCH {
            let (at, subject) = (at(number), subject(number));
            let same = format!("spring-2027\tmain\t{subject}");
            writeln!(results, "{number}\t{number}\t{at}\t{at}\tclaim\t{same}")?;
            writeln!(claims, "{number}\t{at}\t{number}\t{same}")?;
        }
        let transaction = client.transaction().await?;
        for (table, rows) in [("result", results), ("claim", claims)] {
            let sink = transaction.copy_in(&format!("COPY {table} FROM STDIN")).await?;
            let mut sink = std::pin::pin!(sink);
            sink.send(std::io::Cursor::new(rows)).await?;
            sink.as_mut().finish().await.context("COPY")?;
        }
        transaction.commit().await?;
        after += BATCH;
    }
    let rate = after as f64 / begun.elapsed().as_secs_f64();
    drop(client);
    driver.await??;
    Ok(rate)
}
