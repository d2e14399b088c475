//! Claims a second that nodes append, against plain inserts of the same bytes, and against a counter row for each claim; in
//! NATS against plain messages of the same bytes.

use super::{Database, runtime};
use crate::plan::Plan;
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Result, bail};
use firstcome_core::command::{BodyWriter, Command};
use firstcome_core::names::{NodeId, SpaceId};
use firstcome_journal::{
    Append, Journal, Name, mysql as mysql_journal, nats as nats_journal, postgres as pg_journal,
};
use firstcome_store::postgres::{ToSql, Type};
use firstcome_store::{mysql, nats, postgres};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::task::JoinSet;

/// How long each is measured in a round.
const LENGTH: Duration = Duration::from_millis(1_500);
/// Claims in a batch.
const BATCHES: [usize; 3] = [20, 200, 1_000];
const NODES: [u8; 2] = [1, 3];
/// Connections that count one claim each.
const COUNTERS: usize = 16;
const RAW_BYTEA: &str = "CREATE TABLE raw (id BIGINT PRIMARY KEY, body BYTEA NOT NULL)";
const RAW_BLOB: &str = "CREATE TABLE raw (id BIGINT PRIMARY KEY, body LONGBLOB NOT NULL)";
const COUNTER: &str = "CREATE TABLE counter (one INTEGER PRIMARY KEY, n BIGINT NOT NULL)";
const FIRST: &str = "INSERT INTO counter VALUES (1, 0)";
const COUNT: &str = "UPDATE counter SET n = n + 1 WHERE one = 1";

/// Connections for plain statements or messages.
#[derive(Clone)]
enum Pool {
    Postgres(postgres::PostgresPool),
    MariaDb(Arc<mysql::MySqlPool>),
    Nats(Arc<nats::Stream>),
}

impl Pool {
    /// Connects, and makes what plain inserts and counters need.
    async fn of(database: &Database) -> Result<Self> {
        let pool = Self::connected(database).await?;
        let tables: &[&'static str] = match &pool {
            Self::Postgres(_) => &[RAW_BYTEA, COUNTER, FIRST],
            Self::MariaDb(_) => &[RAW_BLOB, COUNTER, FIRST],
            Self::Nats(stream) => {
                let replicas = if stream.nats().is_clustered() { 3 } else { 1 };
                stream.create("raw.>", replicas, nats::Keeps::All { first: 1 }).await?;
                &[]
            }
        };
        for sql in tables {
            pool.step(sql).await?;
        }
        Ok(pool)
    }

    async fn connected(database: &Database) -> Result<Self> {
        let url = database.url();
        Ok(match database {
            Database::Postgres(..) => {
                let options = postgres::PostgresOptions::new(url).connections(COUNTERS);
                Self::Postgres(postgres::PostgresPool::new(options)?)
            }
            Database::MariaDb(..) => {
                let options = mysql::MySqlOptions::new(url).connections(COUNTERS);
                Self::MariaDb(Arc::new(mysql::MySqlPool::new(options)?))
            }
            Database::Nats(..) | Database::NatsCluster(..) => {
                let nats = nats::NatsConnection::connect(nats::NatsOptions::new(url)).await?;
                Self::Nats(Arc::new(nats::Stream::new(nats, "raw".to_owned())))
            }
        })
    }

    async fn step(&self, sql: &'static str) -> Result<()> {
        match self {
            Self::Postgres(pool) => pool.step(sql, &[]).await.map(drop)?,
            Self::MariaDb(pool) => pool.step(sql).await.map(drop)?,
            Self::Nats(_) => bail!("NATS has no statements"),
        }
        Ok(())
    }

    async fn insert(&self, id: i64, body: &[u8]) -> Result<()> {
        match self {
            Self::Postgres(pool) => {
                let values: [(&(dyn ToSql + Sync), Type); 2] =
                    [(&id, Type::INT8), (&body, Type::BYTEA)];
                pool.step("INSERT INTO raw VALUES ($1, $2)", &values).await?;
            }
            Self::MariaDb(pool) => {
                let sql = format!("INSERT INTO raw VALUES ({id}, {})", mysql::bytes(body));
                pool.step(&sql).await?;
            }
            Self::Nats(stream) => {
                let message = nats::Put::new(format!("raw.{id}"), body.to_vec());
                stream.put(vec![message]).await?;
            }
        }
        Ok(())
    }
}

pub(super) fn run(database: &Database, plan: &Plan, table: &mut Table) -> Result<()> {
    let name = database.name();
    eprintln!("appends in {name}, {} rounds", plan.rounds);
    let runtime = runtime()?;
    runtime.block_on(async {
        let pool = Pool::of(database).await?;
        let mut best = vec![0.0_f64; plan.rounds];
        for nodes in NODES {
            for claims in BATCHES {
                let (mut ours, mut plain) = (Vec::new(), Vec::new());
                // In turns, so that noise on the machine meets both.
                for round in 0..plan.rounds {
                    ours.push(journal(database, nodes, claims).await?);
                    plain.push(inserts(&pool, nodes, claims).await?);
                    best[round] = best[round].max(ours[round]);
                }
                let ratio: Vec<f64> = ours.iter().zip(&plain).map(|(o, p)| o / p).collect();
                let budget = match database {
                    _ if claims != 200 => Budget::None,
                    Database::NatsCluster(..) => Budget::AtLeast(0.8),
                    Database::Postgres(..) | Database::MariaDb(..) | Database::Nats(..) => {
                        Budget::AtLeast(0.7)
                    }
                };
                table.add(
                    format!("appends in {name}, {nodes} nodes, {claims} claims a batch"),
                    format!("{} k claims/s", Spread::thousands(ours).text(1)),
                    format!(
                        "{} {}",
                        if matches!(pool, Pool::Nats(_)) {
                            "plain messages"
                        } else {
                            "plain inserts"
                        },
                        Spread::thousands(plain).text(1)
                    ),
                    ratio,
                    budget,
                );
            }
        }
        if matches!(pool, Pool::Nats(_)) {
            return Ok(());
        }
        let mut counted = Vec::new();
        for _ in 0..plan.rounds {
            counted.push(counters(&pool).await?);
        }
        let ratio: Vec<f64> = best.iter().zip(&counted).map(|(o, c)| o / c).collect();
        let budget = if name == "PostgreSQL" { Budget::AtLeast(20.0) } else { Budget::None };
        table.add(
            format!("best appends in {name}, to a counter row for each claim"),
            format!("{} k claims/s", Spread::thousands(best).text(1)),
            format!("{} k/s over {COUNTERS} connections", Spread::thousands(counted).text(2)),
            ratio,
            budget,
        );
        Ok(())
    })
}

fn batch(node: NodeId, number: u64, applied: u64, claims: usize) -> Vec<u8> {
    let mut writer = BodyWriter::new(node, number, applied);
    for claim in 0..claims {
        let subject = format!("subject-{number}-{claim}");
        writer.push(&Command::claim("spring", None, &subject));
    }
    writer.finish()
}

async fn open(database: &Database) -> Result<Journal> {
    let (space, url) = (SpaceId([1; 16]), database.url());
    Ok(match database {
        Database::Postgres(..) => {
            let options = pg_journal::DatabaseOptions::new(space, pg_journal::Durability::Fsync);
            let store = postgres::PostgresOptions::new(url);
            Journal::Postgres(pg_journal::Postgres::open(store, options).await?)
        }
        Database::MariaDb(..) => {
            let options =
                mysql_journal::DatabaseOptions::new(space, mysql_journal::Durability::Fsync);
            let store = mysql::MySqlOptions::new(url);
            Journal::MySql(mysql_journal::MySql::open(store, options).await?)
        }
        Database::Nats(..) | Database::NatsCluster(..) => {
            let options =
                nats_journal::DatabaseOptions::new(space, nats_journal::Durability::Memory);
            let store = nats::NatsOptions::new(url);
            Journal::Nats(nats_journal::Nats::open(store, options).await?)
        }
    })
}

/// Returns how many claims a second so many nodes append, each reading back all that the others append.
async fn journal(database: &Database, nodes: u8, claims: usize) -> Result<f64> {
    let mut journals = Vec::new();
    for _ in 0..nodes {
        journals.push(open(database).await?);
    }
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for journal in journals {
        tasks.spawn(async move {
            let appended = node_at_work(&journal, claims).await;
            journal.close().await;
            appended
        });
    }
    total(tasks, begun, claims).await
}

async fn total(mut tasks: JoinSet<Result<u64>>, begun: Instant, claims: usize) -> Result<f64> {
    let mut batches = 0;
    while let Some(done) = tasks.join_next().await {
        batches += done??;
    }
    Ok(batches as f64 * claims as f64 / begun.elapsed().as_secs_f64())
}

async fn node_at_work(journal: &Journal, claims: usize) -> Result<u64> {
    let mut id = [0; 16];
    getrandom::fill(&mut id).map_err(anyhow::Error::msg)?;
    let node = NodeId(id);
    let head = journal.head().await?;
    let (mut applied, mut applied_name, mut number) = (head.position, head.name, 0);
    let begun = Instant::now();
    while begun.elapsed() < LENGTH {
        number += 1;
        let body = batch(node, number, applied, claims).into();
        let append = Append { body, name: Name { node, number }, applied, applied_name };
        for entry in journal.append(append).await?.entries {
            (applied, applied_name) = (entry.position, entry.name()?);
        }
    }
    Ok(number)
}

/// Returns how many claims a second so many connections insert in rows of the same bytes.
async fn inserts(pool: &Pool, nodes: u8, claims: usize) -> Result<f64> {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for node in 0..nodes {
        let pool = pool.clone();
        tasks.spawn(async move {
            let mut number = 0;
            let mut id = [0; 8];
            getrandom::fill(&mut id).map_err(anyhow::Error::msg)?;
            // Each writer has keys of its own, which grow.
            let first = (i64::from_le_bytes(id) & (i64::MAX >> 1)).saturating_sub(1 << 40);
            while begun.elapsed() < LENGTH {
                number += 1;
                let body = batch(NodeId([node; 16]), number, 0, claims);
                pool.insert(first + number.cast_signed(), &body).await?;
            }
            Ok(number)
        });
    }
    total(tasks, begun, claims).await
}

/// Returns how many claims a second take a number from one row.
async fn counters(pool: &Pool) -> Result<f64> {
    let mut tasks = JoinSet::new();
    let begun = Instant::now();
    for _ in 0..COUNTERS {
        let pool = pool.clone();
        tasks.spawn(async move {
            let mut number = 0_u64;
            while begun.elapsed() < LENGTH {
                number += 1;
                pool.step(COUNT).await?;
            }
            Ok(number)
        });
    }
    total(tasks, begun, 1).await
}
