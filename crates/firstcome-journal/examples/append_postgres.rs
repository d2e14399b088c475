//! What a journal in PostgreSQL reaches against plain inserts of the same bytes, and against a counter row for each claim.
//!
//! `cargo run --release -p firstcome-journal --features postgres --example append_postgres`
//!
//! It starts a server of its own that forces its commits to the disk.

use firstcome_core::command::{BodyWriter, Command as Claim};
use firstcome_core::names::{NodeId, SpaceId};
use firstcome_journal::postgres::{Durability, Options, Postgres};
use firstcome_journal::{Append, Journal, Name};
use firstcome_store::postgres::{Options as Store, Postgres as Pool, Type};
use firstcome_testbed::{Postgres as Server, PostgresSettings};
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

const ROUND: Duration = Duration::from_secs(3);
const ROUNDS: usize = 3;
/// Connections that count one claim each.
const COUNTERS: usize = 16;

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let settings = PostgresSettings { fsync: true, ..PostgresSettings::default() };
    let server = Server::with(settings).ok_or("PostgreSQL is not installed")?;
    let url = server.url();
    let pool = Pool::new(Store::new(&*url).connections(COUNTERS))?;
    pool.step("CREATE TABLE raw (id bigserial PRIMARY KEY, body bytea NOT NULL)", &[]).await?;
    pool.step("CREATE TABLE counter (one integer PRIMARY KEY, n bigint NOT NULL)", &[]).await?;
    pool.step("INSERT INTO counter VALUES (1, 0)", &[]).await?;
    println!("medians of {ROUNDS} rounds in turns, claims/s");
    println!(
        "{:>6} {:>7} {:>10} {:>12} {:>6}",
        "nodes", "batch", "journal", "plain insert", "ratio"
    );
    let mut best = 0.0_f64;
    for nodes in [1, 3] {
        for claims in [1, 20, 200, 1_000] {
            let (mut ours, mut plain) = (Vec::new(), Vec::new());
            for _ in 0..ROUNDS {
                ours.push(journal(&url, nodes, claims).await?);
                plain.push(inserts(&pool, nodes, claims).await?);
            }
            let (ours, plain) = (median(ours), median(plain));
            best = best.max(ours);
            println!("{nodes:>6} {claims:>7} {ours:>10.0} {plain:>12.0} {:>6.2}", ours / plain);
        }
    }
    let mut counted = Vec::new();
    for _ in 0..ROUNDS {
        counted.push(counters(&pool).await?);
    }
    let counted = median(counted);
    println!(
        "a counter row for each claim, {COUNTERS} connections: {counted:.0}, {:.0} times less",
        best / counted
    );
    Ok(())
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}

fn batch(node: NodeId, number: u64, applied: u64, claims: usize) -> Vec<u8> {
    let mut writer = BodyWriter::new(node, number, applied);
    for claim in 0..claims {
        let subject = format!("subject-{number}-{claim}");
        writer.push(&Claim::claim("spring", None, &subject));
    }
    writer.finish()
}

/// Gives how many claims a second so many nodes append.
async fn journal(url: &str, nodes: u8, claims: usize) -> Outcome<f64> {
    let mut journals = Vec::new();
    for _ in 0..nodes {
        let mut options = Options::new(SpaceId([1; 16]), Durability::Fsync);
        options.space_name = "cost".into();
        journals.push(Journal::Postgres(Postgres::open(Store::new(url), options).await?));
    }
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for (number, journal) in journals.into_iter().enumerate() {
        let mut id = [number as u8 + 1; 16];
        id[..8].copy_from_slice(&begun.elapsed().as_nanos().to_le_bytes()[..8]);
        tasks.spawn(async move { node_at_work(&journal, NodeId(id), claims).await });
    }
    let mut appends = 0;
    while let Some(done) = tasks.join_next().await {
        appends += done??;
    }
    Ok(appends as f64 * claims as f64 / begun.elapsed().as_secs_f64())
}

async fn node_at_work(journal: &Journal, node: NodeId, claims: usize) -> Outcome<u64> {
    let head = journal.head().await?;
    let (mut applied, mut applied_name, mut number) = (head.position, head.name, 0);
    let begun = Instant::now();
    while begun.elapsed() < ROUND {
        number += 1;
        let body = batch(node, number, applied, claims).into();
        let append = Append { body, name: Name { node, number }, applied, applied_name };
        for entry in journal.append(append).await?.entries {
            (applied, applied_name) = (entry.position, entry.name()?);
        }
    }
    Ok(number)
}

/// Gives how many claims a second so many writers insert in rows of the same bytes.
async fn inserts(pool: &Pool, nodes: u8, claims: usize) -> Outcome<f64> {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for node in 0..nodes {
        let pool = pool.clone();
        tasks.spawn(async move {
            let mut number = 0;
            while begun.elapsed() < ROUND {
                number += 1;
                let body = batch(NodeId([node; 16]), number, 0, claims);
                let value =
                    [(&body as &(dyn firstcome_store::postgres::ToSql + Sync), Type::BYTEA)];
                pool.step("INSERT INTO raw (body) VALUES ($1)", &value).await?;
            }
            Ok::<_, firstcome_store::Failure>(number)
        });
    }
    let mut rows = 0;
    while let Some(done) = tasks.join_next().await {
        rows += done??;
    }
    Ok(rows as f64 * claims as f64 / begun.elapsed().as_secs_f64())
}

/// Gives how many claims a second take a number from one row.
async fn counters(pool: &Pool) -> Outcome<f64> {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..COUNTERS {
        let pool = pool.clone();
        tasks.spawn(async move {
            let mut number = 0_u64;
            while begun.elapsed() < ROUND {
                number += 1;
                pool.step("UPDATE counter SET n = n + 1 WHERE one = 1 RETURNING n", &[]).await?;
            }
            Ok::<_, firstcome_store::Failure>(number)
        });
    }
    let mut claims = 0;
    while let Some(done) = tasks.join_next().await {
        claims += done??;
    }
    Ok(claims as f64 / begun.elapsed().as_secs_f64())
}
