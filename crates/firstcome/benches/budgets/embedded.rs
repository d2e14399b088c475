//! Durable claims in process against what the same SQLite can commit.

use crate::table::{Budget, Table, median};
use anyhow::{Result, ensure};
use firstcome::metrics::Metrics;
use firstcome::node::{Ask, Given, Limits, Node, Ordered};
use firstcome_core::command::Expect;
use firstcome_core::settings::{Opens, PoolSettings};
use firstcome_core::{Outcome, Settings, SpaceId};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options, Sqlite};
use firstcome_journal::{Clock, Journal};
use futures_util::future::join_all;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LENGTH: Duration = Duration::from_secs(2);

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("durable claims in process, embedded store");
    for batch in [64, 256, 1024] {
        let (mut ours, mut raw, mut ratios) = (vec![], vec![], vec![]);
        for _ in 0..3 {
            let folder = tempfile::tempdir()?;
            let raw_now = commits(folder.path(), batch)?;
            let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
            let ours_now = runtime.block_on(claims(folder.path(), batch))?;
            ours.push(ours_now);
            raw.push(raw_now);
            ratios.push(ours_now / raw_now);
        }
        table.add(
            format!("embedded, {batch} at a time"),
            format!("{:.0} k claims/s", median(ours) / 1e3),
            format!("SQLite commits {:.0} k rows/s", median(raw) / 1e3),
            median(ratios),
            Budget::AtLeast(0.7),
        );
    }
    Ok(())
}

/// Rows a second that SQLite makes durable, so many in one transaction.
fn commits(folder: &Path, batch: usize) -> Result<f64> {
    let mut db = rusqlite::Connection::open(folder.join("raw.sqlite"))?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "FULL")?;
    db.execute("CREATE TABLE claim (rank INTEGER PRIMARY KEY, subject TEXT, at INTEGER)", [])?;
    let (begun, mut rows) = (Instant::now(), 0_i64);
    while begun.elapsed() < LENGTH {
        let transaction = db.transaction()?;
        {
            let mut insert = transaction.prepare_cached("INSERT INTO claim VALUES (?1, ?2, ?3)")?;
            for _ in 0..batch {
                rows += 1;
                insert.execute((rows, format!("s-{rows:08}"), 1_800_000_000_000_000 + rows))?;
            }
        }
        transaction.commit()?;
    }
    Ok(rows as f64 / begun.elapsed().as_secs_f64())
}

/// Claims a second through intake, appender, journal and rules, so many callers at once.
async fn claims(folder: &Path, callers: usize) -> Result<f64> {
    let folder = DataFolder::take(folder.join("data"))?;
    let store = Sqlite::open(&folder, Options::new(SpaceId([7; 16])))?;
    let limits =
        Limits { queue: 16_384, wait: Duration::from_secs(5), memory: u64::MAX, outbox: None };
    let mut random = 1;
    let node = Node::start(
        Given {
            journal: Journal::Sqlite(store.clone()),
            clock: Clock::system(),
            random: Box::new(move || {
                random += 1;
                random
            }),
            limits,
            metrics: Arc::new(Metrics::default()),
        },
        |_, _| {},
    )
    .await?;
    let settings = Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        pools: vec![PoolSettings { name: "main".into(), capacity: 50_000_000 }],
    };
    let put = Ask::Put {
        campaign: "bench".into(),
        settings: Box::new(settings),
        expect: Expect::Anything,
        ordered: Ordered::default(),
    };
    node.intake.decide(put).await.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
    let intake = Arc::clone(&node.intake);
    // Callers in one task: what is measured is the node, not the scheduling of callers.
    let (took, won) = tokio::spawn(async move {
        let (begun, mut won) = (Instant::now(), 0_usize);
        while begun.elapsed() < LENGTH {
            let round = (won..won + callers).map(|n| {
                let subject = format!("s-{n:08}");
                let intake = &intake;
                async move { intake.claim("bench", Some("main"), &subject, None).await }
            });
            for answer in join_all(round).await {
                let answer = answer.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
                ensure!(matches!(answer.outcome, Outcome::Won { .. }), "{:?}", answer.outcome);
            }
            won += callers;
        }
        Ok((begun.elapsed(), won))
    })
    .await??;
    node.stop().await?;
    store.close().await;
    Ok(won as f64 / took.as_secs_f64())
}
