//! Locks in databases: against raw updates of one row, taking turns, at rest, and after a leader was killed.

use super::part;
use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::Result;
use firstcome_lock::{Election, Locks};
use firstcome_store::{mysql, postgres, sqlite};
use firstcome_testbed::{Folder, MariaDb, Postgres, PostgresSettings};
use std::time::{Duration, Instant};

/// Pairs of each kind in a turn, and turns.
const PAIRS: u32 = 50;
const TURNS: usize = 20;

/// Who takes turns: tasks, over so many clients, each holding the lock so long.
const WAITERS: usize = 16;
const CLIENTS: usize = 4;
const HELD: Duration = Duration::from_millis(2);
const FOR: Duration = Duration::from_secs(5);

/// How long it is watched at rest.
const REST: Duration = Duration::from_secs(10);

/// A database, with a raw table beside the locks.
enum Place {
    Postgres(Postgres, postgres::PostgresPool),
    MariaDb(MariaDb, mysql::MySqlPool),
    Sqlite(sqlite::Sqlite),
}

impl Place {
    /// Changes one row, durably, and waits for it.
    async fn raw(&self) -> Result<()> {
        match self {
            Self::Postgres(_, pool) => {
                pool.step("UPDATE raw SET n = n + 1 WHERE id = 1", &[]).await?;
            }
            Self::MariaDb(_, pool) => {
                pool.step("UPDATE raw SET n = n + 1 WHERE id = 1").await?;
            }
            Self::Sqlite(file) => {
                file.write(|file| file.execute("UPDATE raw SET n = n + 1 WHERE id = 1", []))
                    .await?;
            }
        }
        Ok(())
    }

    /// Returns how many statements the server has carried out, where it counts them.
    fn statements(&self) -> Option<f64> {
        match self {
            Self::Postgres(server, _) => {
                // What ends a transaction is counted after a moment, at the latest a second.
                std::thread::sleep(Duration::from_millis(1100));
                let count = "SELECT sum(xact_commit + xact_rollback) FROM pg_stat_database";
                server.sql("postgres", count).parse().ok()
            }
            Self::MariaDb(server, _) => {
                let count = server.sql("SHOW GLOBAL STATUS LIKE 'Questions'");
                count.split('\t').nth(1)?.parse().ok()
            }
            Self::Sqlite(_) => None,
        }
    }
}

const RAW: &str =
    "CREATE TABLE raw (id BIGINT PRIMARY KEY, n BIGINT); INSERT INTO raw VALUES (1, 0)";

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("locks in databases");
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    if let Some(server) = Postgres::with(PostgresSettings { fsync: true, ..Default::default() }) {
        let url = server.new_database();
        server
            .sql(url.rsplit('/').next().and_then(|rest| rest.split('?').next()).unwrap_or(""), RAW);
        let pool = runtime.block_on(async {
            postgres::PostgresPool::new(postgres::PostgresOptions::new(&url).connections(1))
        })?;
        runtime.block_on(all("postgres", &url, &Place::Postgres(server, pool), table))?;
    }
    if let Some(server) = MariaDb::with(&["--innodb-flush-log-at-trx-commit=1"]) {
        let url = server.new_database();
        server.sql(&format!("USE {}; {RAW}", url.rsplit('/').next().unwrap_or("")));
        let pool = mysql::MySqlPool::new(mysql::MySqlOptions::new(&url).connections(1))?;
        runtime.block_on(all("mariadb", &url, &Place::MariaDb(server, pool), table))?;
    }
    let folder = Folder::new("locks");
    let url = format!("sqlite://{}/locks.db", folder.path().display());
    runtime.block_on(async {
        let file = sqlite::Sqlite::open(sqlite::SqliteOptions::from_url(&url)?).await?;
        file.write(|file| file.execute_batch(RAW)).await?;
        all("sqlite", &url, &Place::Sqlite(file), table).await
    })
}

async fn all(name: &str, url: &str, place: &Place, table: &mut Table) -> Result<()> {
    pairs(name, url, place, table).await?;
    turns(name, url, table).await?;
    rest(name, url, place, table).await?;
    killed(name, url, table).await
}

async fn pairs(name: &str, url: &str, place: &Place, table: &mut Table) -> Result<()> {
    let locks = Locks::connect(url).await?;
    let lock = locks.mutex("pair")?;
    let (mut ours, mut raw, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    // The first turn warms up. In turns, so that noise on the machine meets both.
    for turn in 0..=TURNS {
        let begun = Instant::now();
        for _ in 0..PAIRS {
            place.raw().await?;
            place.raw().await?;
        }
        let bare = begun.elapsed().as_secs_f64() * 1e6 / f64::from(PAIRS);
        let begun = Instant::now();
        for _ in 0..PAIRS {
            lock.lock().await?.release().await?;
        }
        let pair = begun.elapsed().as_secs_f64() * 1e6 / f64::from(PAIRS);
        if turn > 0 {
            ours.push(pair);
            raw.push(bare);
            ratios.push(pair / bare);
        }
    }
    let against = format!("two raw updates {:.0} us", median(raw));
    let ours = format!("{:.0} us", median(ours));
    table.add(format!("{name}: lock + release"), ours, against, ratios, Budget::AtMost(1.3));
    locks.close().await;
    Ok(())
}

async fn turns(name: &str, url: &str, table: &mut Table) -> Result<()> {
    let mut tasks = Vec::new();
    let end = Instant::now() + FOR;
    let mut clients = Vec::new();
    for _ in 0..CLIENTS {
        clients.push(Locks::connect(url).await?);
    }
    for waiter in 0..WAITERS {
        let lock = clients[waiter % CLIENTS].mutex("turns")?;
        tasks.push(tokio::spawn(async move {
            let mut held = Vec::new();
            while Instant::now() < end {
                let lease = lock.lock().await?;
                let from = Instant::now();
                tokio::time::sleep(HELD).await;
                held.push((from, Instant::now()));
                lease.release().await?;
            }
            Ok::<_, firstcome_lock::Error>(held)
        }));
    }
    let mut held = Vec::new();
    for task in tasks {
        held.extend(task.await??);
    }
    held.sort();
    let gaps: Vec<f64> = held
        .iter()
        .zip(held.iter().skip(1))
        .map(|(one, next)| next.0.saturating_duration_since(one.1).as_secs_f64() * 1e3)
        .collect();
    let each = held.len() as f64 / FOR.as_secs_f64();
    let ours =
        format!("{each:.0}/s, gap p50 {:.1} p99 {:.1} ms", part(&gaps, 0.5), part(&gaps, 0.99));
    let against = "a row polled each 100 ms: 10 to 25/s";
    table.add(
        format!("{name}: turns of 16 waiters of 4 clients"),
        ours,
        against,
        each / 25.0,
        Budget::None,
    );
    for client in clients {
        client.close().await;
    }
    Ok(())
}

async fn rest(name: &str, url: &str, place: &Place, table: &mut Table) -> Result<()> {
    if place.statements().is_none() {
        return Ok(());
    }
    let holder = Locks::connect(url).await?;
    let lease = holder.mutex("rest")?.lock().await?;
    let waiting = Locks::connect(url).await?;
    let mut tasks = Vec::new();
    for _ in 0..100 {
        let lock = waiting.mutex("rest")?;
        tasks.push(tokio::spawn(async move { drop(lock.lock().await) }));
    }
    let each = count(place).await;
    table.add(
        format!("{name}: 100 waiters of one process, at rest"),
        format!("{each:.1} statements/s"),
        "a row polled each 100 ms: 1000/s",
        each / 1000.0,
        Budget::None,
    );
    tasks.iter().for_each(tokio::task::JoinHandle::abort);
    lease.release().await?;
    waiting.close().await;

    let mut candidates = Vec::new();
    for _ in 0..10 {
        let locks = Locks::connect(url).await?;
        let election = Election::new(&locks, "boss")?;
        let standing = tokio::spawn(async move {
            drop(election.run(|_| std::future::pending::<()>()).await);
        });
        candidates.push((locks, standing));
    }
    let each = count(place).await;
    table.add(
        format!("{name}: ten candidates, one of them leads"),
        format!("{each:.1} statements/s"),
        "polled each second: 10/s",
        each / 10.0,
        Budget::None,
    );
    for (locks, standing) in candidates {
        standing.abort();
        locks.close().await;
    }
    holder.close().await;
    Ok(())
}

async fn count(place: &Place) -> f64 {
    // A connection at rest tells what it has done before only after a while.
    tokio::time::sleep(Duration::from_secs(15)).await;
    let (begun, before) = (Instant::now(), place.statements().unwrap_or_default());
    tokio::time::sleep(REST).await;
    (place.statements().unwrap_or_default() - before) / begun.elapsed().as_secs_f64()
}

async fn killed(name: &str, url: &str, table: &mut Table) -> Result<()> {
    let (locks, next) = (Locks::connect(url).await?, Locks::connect(url).await?);
    let mut late = Vec::new();
    for n in 0..20 {
        let lease = Duration::from_millis(400);
        let held = locks.mutex(&format!("killed{n}"))?.lease(lease).lock().await?;
        let ends = Instant::now() + lease;
        // As if its process were gone.
        held.leak();
        let got = next.mutex(&format!("killed{n}"))?.lock().await?;
        late.push(Instant::now().saturating_duration_since(ends).as_secs_f64() * 1e3);
        got.release().await?;
    }
    let ours = format!("median {:.1}, worst {:.1} ms", median(late.clone()), part(&late, 1.0));
    let worst = part(&late, 1.0) / 100.0;
    let against = "100 ms";
    table.add(
        format!("{name}: late after a killed one's lease"),
        ours,
        against,
        worst,
        Budget::AtMost(1.0),
    );
    locks.close().await;
    next.close().await;
    Ok(())
}
