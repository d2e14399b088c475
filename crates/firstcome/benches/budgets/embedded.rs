//! Durable claims in process against what the same SQLite can commit.

use crate::processor;
use crate::spread::{Spread, median};
use crate::table::{Budget, Table};
use anyhow::{Result, bail, ensure};
use firstcome_core::command::{Expect, Order};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Outcome, Settings, SpaceId};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options, Sqlite};
use firstcome_journal::{Clock, Journal};
use firstcome_node::Metrics;
use firstcome_node::intake::{QUEUE_BYTES, Ready};
use firstcome_node::{Given, Limits, Node, OnEmptied};
use futures_util::future::join_all;
use std::collections::BTreeMap;
use std::future::poll_fn;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LENGTH: Duration = Duration::from_secs(2);
/// The space of every journal in process.
pub(crate) const SPACE: SpaceId = SpaceId([7; 16]);

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("durable claims in process, embedded store");
    for batch in [64, 256, 1024] {
        measure(batch, Callers::Each, table)?;
        measure(batch, Callers::Bulk, table)?;
    }
    growth(table)
}

/// Who claims.
#[derive(Clone, Copy)]
enum Callers {
    /// One caller for each claim, who waits for its answer.
    Each,
    /// A caller that brings all claims of a batch, as `POST /v1/commands` does.
    Bulk,
}

fn measure(batch: usize, callers: Callers, table: &mut Table) -> Result<()> {
    let (mut ours, mut raw, mut ratios) = (vec![], vec![], vec![]);
    for _ in 0..3 {
        let folder = tempfile::tempdir()?;
        let raw_now = commits(folder.path(), batch)?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let ours_now = runtime.block_on(rate(folder.path(), batch, callers))?;
        ours.push(ours_now);
        raw.push(raw_now);
        ratios.push(ours_now / raw_now);
    }
    let (who, budget) = match callers {
        Callers::Each => ("", Budget::AtLeast(0.7)),
        Callers::Bulk => (", in bulk", Budget::None),
    };
    table.add(
        format!("embedded, {batch} at a time{who}"),
        format!("{} k claims/s", Spread::thousands(ours).text(0)),
        format!("SQLite commits {} k rows/s", Spread::thousands(raw).text(0)),
        ratios,
        budget,
    );
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

/// A node on the embedded store, and the campaigns it was given.
pub(crate) struct Embedded {
    pub(crate) node: Node,
    pub(crate) folder: DataFolder,
    pub(crate) metrics: Arc<Metrics>,
    store: Sqlite,
}

impl Embedded {
    pub(crate) async fn start(folder: &Path) -> Result<Self> {
        let folder = DataFolder::take(folder.join("data"))?;
        let store = Sqlite::open(&folder, Options::new(SPACE))?;
        let metrics = Arc::new(Metrics::default());
        let limits = Limits {
            queue: 16_384,
            queue_bytes: QUEUE_BYTES,
            wait: Duration::from_secs(5),
            memory: u64::MAX,
            outbox: None,
        };
        let mut random = 1;
        let given = Given {
            journal: Journal::Sqlite(store.clone()),
            clock: Some(Clock::system()),
            address: "".into(),
            random: Box::new(move || {
                random += 1;
                random
            }),
            limits,
            metrics: Arc::clone(&metrics),
            says: firstcome_node::in_log(),
            core: None,
            settings: BTreeMap::new(),
            on_emptied: OnEmptied::default(),
            codes: std::sync::Arc::default(),
        };
        let node = Node::start(given, |_, _| {}).await?;
        Ok(Self { node, folder, metrics, store })
    }

    pub(crate) async fn stop(self) -> Result<()> {
        self.node.stop().await?;
        self.store.close().await;
        Ok(())
    }

    pub(crate) fn settings(pools: Vec<PoolSettings>) -> Settings {
        Settings {
            title: "".into(),
            opens: Opens::Now,
            closes_at: None,
            limit: None,
            claim_again: false,
            units_return: true,
            public: false,
            holding: HoldSettings::default(),
            pools,
        }
    }

    pub(crate) async fn open(&self, campaign: &str, capacity: u32) -> Result<()> {
        let settings = Self::settings(vec![PoolSettings::counted("main", capacity)]);
        let (expect, order) = (Expect::Anything, Order::default());
        let put = Command::Put { campaign, settings, expect, order };
        self.node.intake.decide(&put).await.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        Ok(())
    }

    /// Claims for one subject; gives the outcome and the position it is as of.
    pub(crate) async fn claim_one(&self, campaign: &str, subject: &str) -> Result<(Outcome, u64)> {
        let answer = self.node.intake.claim(campaign, Some("main"), subject, None).await;
        let answer = answer.map_err(|failure| anyhow::anyhow!("{failure:?}"))?;
        Ok((answer.outcome, answer.position.position))
    }

    /// Claims for so many new subjects at once, in one task: what is measured is the node, not the
    /// scheduling of callers.
    pub(crate) async fn claim(
        &self,
        campaign: &str,
        group: &str,
        first: usize,
        callers: usize,
    ) -> Result<()> {
        let round = (first..first + callers).map(|n| {
            let subject = format!("{group}-{n:08}");
            async move { self.claim_one(campaign, &subject).await }
        });
        for answer in join_all(round).await {
            let (outcome, _) = answer?;
            ensure!(matches!(outcome, Outcome::Won { .. }), "{outcome:?}");
        }
        Ok(())
    }

    /// The same for one caller that brings all of them.
    async fn claim_in_bulk(
        &self,
        campaign: &str,
        group: &str,
        first: usize,
        claims: usize,
    ) -> Result<()> {
        let failed = |failure| anyhow::anyhow!("{failure:?}");
        let mut under_way = Vec::with_capacity(claims);
        for n in first..first + claims {
            let subject = format!("{group}-{n:08}");
            let command = Command::claim(campaign, Some("main"), &subject);
            let Ready::Command { encoded, .. } =
                self.node.intake.encode(&command).await.map_err(failed)?
            else {
                bail!("a new claim was answered without the journal");
            };
            let submitted = self.node.intake.submit(encoded);
            under_way.push(submitted.map_err(|not| anyhow::anyhow!("{not:?}"))?);
        }
        for mut claim in under_way {
            let answer = poll_fn(|cx| claim.poll(cx)).await.map_err(failed)?;
            ensure!(matches!(answer.outcome, Outcome::Won { .. }), "{:?}", answer.outcome);
        }
        Ok(())
    }
}

/// Claims a second through intake, appender, journal and rules, so many callers to a batch.
///
/// Two groups of callers take turns: one's batch is committed while the other's arrives, as it is
/// where people do not wait for each other.
async fn rate(folder: &Path, batch: usize, callers: Callers) -> Result<f64> {
    let embedded = Embedded::start(folder).await?;
    embedded.open("bench", 50_000_000).await?;
    let embedded = Arc::new(embedded);
    let begun = Instant::now();
    let groups = ["a", "b"].map(|group| {
        let embedded = Arc::clone(&embedded);
        tokio::spawn(async move {
            let mut claimed = 0;
            while begun.elapsed() < LENGTH {
                match callers {
                    Callers::Each => embedded.claim("bench", group, claimed, batch).await?,
                    Callers::Bulk => embedded.claim_in_bulk("bench", group, claimed, batch).await?,
                }
                claimed += batch;
            }
            anyhow::Ok(claimed)
        })
    });
    let mut claimed = 0;
    for group in groups {
        claimed += group.await??;
    }
    let took = begun.elapsed();
    Arc::into_inner(embedded).expect("the groups are done").stop().await?;
    Ok(claimed as f64 / took.as_secs_f64())
}

/// Claims of which the cost is measured, and a small campaign.
const MEASURED: usize = 240_000;
const SMALL: usize = 10_000;
const LARGE: usize = 1_000_000;
const CALLERS: usize = 500;

/// What a durable claim costs in processor time at a million accepted, against ten thousand.
pub(crate) fn growth(table: &mut Table) -> Result<()> {
    eprintln!("what a durable claim costs as a campaign grows");
    let (mut small, mut large) = (vec![], vec![]);
    for _ in 0..3 {
        let folder = tempfile::tempdir()?;
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let (few, many) = runtime.block_on(async {
            let embedded = Embedded::start(folder.path()).await?;
            let before = processor::own()?;
            for campaign in 0..MEASURED / SMALL {
                let campaign = format!("small-{campaign}");
                embedded.open(&campaign, SMALL as u32).await?;
                for first in (0..SMALL).step_by(CALLERS) {
                    embedded.claim(&campaign, "s", first, CALLERS).await?;
                }
            }
            let few = (processor::own()? - before) / MEASURED as f64;
            embedded.open("large", (LARGE + MEASURED) as u32).await?;
            for first in (0..LARGE).step_by(CALLERS) {
                embedded.claim("large", "s", first, CALLERS).await?;
            }
            let before = processor::own()?;
            for first in (LARGE..LARGE + MEASURED).step_by(CALLERS) {
                embedded.claim("large", "s", first, CALLERS).await?;
            }
            let many = (processor::own()? - before) / MEASURED as f64;
            embedded.stop().await?;
            anyhow::Ok((few, many))
        })?;
        small.push(few);
        large.push(many);
    }
    let (small, large) = (median(small), median(large));
    table.add(
        "durable claim at 1,000,000 accepted",
        format!("{large:.2} us CPU"),
        format!("{small:.2} us CPU at 10,000"),
        large / small,
        Budget::AtMost(1.3),
    );
    Ok(())
}
