//! What settling into the ledgers costs; in PostgreSQL against what it inserts in bulk.

use crate::processor;
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Context, Result};
use firstcome_core::results::Kind;
use firstcome_core::{SpaceId, Timestamp};
use firstcome_node::ledger::{Batch, Ledger, Row};
use firstcome_testbed::{Postgres, PostgresSettings};
use futures_util::SinkExt;
use std::fmt::Write as _;
use std::time::Instant;

/// Rows of one measurement.
const ROWS: u64 = 200_000;
/// Rows in one transaction, as the leader has it while many wait.
const BATCH: u64 = 4_096;

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("settling results");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let what = |ledger| format!("settle into {ledger}, {BATCH} at a time");
    let (mut rates, mut cpu) = (vec![], vec![]);
    for _ in 0..3 {
        let folder = tempfile::tempdir()?;
        let path = folder.path().join("ledger.sqlite");
        let settled = runtime.block_on(async {
            settle(Ledger::open_sqlite(&path, SpaceId([1; 16])).await?).await
        })?;
        rates.push(settled.a_second);
        cpu.push(settled.cpu_us);
    }
    let text = format!("{} k results/s", Spread::thousands(rates).text(0));
    table.add(what("SQLite, CPU"), text, "1 us a result", cpu, Budget::AtMost(1.0));
    let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
    let Some(server) = Postgres::with(settings) else { return Ok(()) };
    let (mut ours, mut raw, mut ratios) = (vec![], vec![], vec![]);
    for round in 0..3 {
        let raw_now = runtime.block_on(postgres_copies(&server))?;
        let space = format!("bench{round}");
        let settled = runtime.block_on(async {
            settle(Ledger::postgres(&server.url(), &space, SpaceId([1; 16]))?).await
        })?;
        ours.push(settled.a_second);
        raw.push(raw_now);
        ratios.push(settled.a_second / raw_now);
    }
    let text = format!("{} k results/s", Spread::thousands(ours).text(0));
    let against = format!("PostgreSQL copies in {} k/s", Spread::thousands(raw).text(0));
    table.add(what("PostgreSQL"), text, against, ratios, Budget::AtLeast(0.5));
    Ok(())
}

/// What settling came to.
struct Settled {
    a_second: f64,
    /// Of this process, for each result.
    cpu_us: f64,
}

/// Settles through the ledger.
async fn settle(ledger: Ledger) -> Result<Settled> {
    let term = ledger.mint_term().await?.term;
    let (begun, used, mut after) = (Instant::now(), processor::own()?, 0);
    while after < ROWS {
        let rows: Vec<Row> = (after + 1..=after + BATCH).map(row).collect();
        ledger.settle(Batch { after, term, rows }).await?;
        after += BATCH;
    }
    let a_second = after as f64 / begun.elapsed().as_secs_f64();
    let cpu_us = (processor::own()? - used) / after as f64;
    ledger.close().await;
    Ok(Settled { a_second, cpu_us })
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

/// The same rows into a table with the same keys, and nothing else: no comparison, no counts, no terms.
const TABLE: &str = "
    CREATE TABLE result (number bigint PRIMARY KEY, rank bigint, at bigint, kind int, pool int, subject text);
    CREATE INDEX ON result (pool, rank, kind);";

/// Results a second that PostgreSQL takes with COPY, the fastest way in that it has.
async fn postgres_copies(server: &Postgres) -> Result<f64> {
    let config: tokio_postgres::Config = server.url().parse()?;
    let stream = tokio::net::TcpStream::connect(("127.0.0.1", server.port())).await?;
    stream.set_nodelay(true)?;
    let (client, connection) = config.connect_raw(stream, tokio_postgres::NoTls).await?;
    let driver = tokio::spawn(connection);
    client.batch_execute(&format!("DROP TABLE IF EXISTS result;{TABLE}")).await?;
    let (begun, mut after) = (Instant::now(), 0);
    while after < ROWS {
        let mut results = String::new();
        for number in after + 1..=after + BATCH {
            let (at, subject) = (at(number), subject(number));
            writeln!(results, "{number}\t{number}\t{at}\t0\t0\t{subject}")?;
        }
        let sink = client.copy_in("COPY result FROM STDIN").await?;
        let mut sink = std::pin::pin!(sink);
        sink.send(std::io::Cursor::new(results)).await?;
        sink.as_mut().finish().await.context("COPY")?;
        after += BATCH;
    }
    let rate = after as f64 / begun.elapsed().as_secs_f64();
    drop(client);
    driver.await??;
    Ok(rate)
}
