//! A campaign of ten million claims: the start, a snapshot, claims meanwhile, and the results at the far end.
//!
//! The claims are made in process. The start and the results are those of a server on the same folder.

use crate::arrivals::{self, Lane};
use crate::embedded::{Embedded, SPACE};
use crate::plan::Plan;
use crate::server::{Server, tell};
use crate::spread::Spread;
use crate::table::{Budget, Table};
use anyhow::{Context, Result, ensure};
use firstcome_core::State;
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use firstcome_node::ledger::Ledger;
use firstcome_node::ledger::choice::LedgerChoice;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::time::{sleep, timeout};

const CAMPAIGN: &str = "large";
/// Claims at once while the campaign is filled, in two groups.
const CALLERS: usize = 1_000;
/// Claims a second while pauses are measured.
const A_SECOND: f64 = 5_000.0;
/// How long claims are measured while no snapshot is written.
const WITHOUT: Duration = Duration::from_secs(5);
/// The leader looks once a second whether a snapshot is due: the first one begins after this time.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// The longest that a snapshot, or settling, may take.
const PATIENCE: Duration = Duration::from_secs(600);
const DAY: Duration = Duration::from_secs(86_400);
/// Results of a page, and pages read at each end, in turns.
const PAGE: usize = 1_000;
const PAGES: usize = 21;

/// What was measured in process.
struct InProcess {
    snapshot: Duration,
    /// Waits of claims beside the snapshot, and without it.
    during: Arc<Lane>,
    without: Arc<Lane>,
}

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    let claims = plan.claims;
    eprintln!("a campaign of {claims} claims");
    let folder = tempfile::tempdir()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let InProcess { snapshot, during, without } =
        runtime.block_on(in_process(folder.path(), claims))?;
    drop(runtime);

    let begun = Instant::now();
    let server = Server::in_folder(&folder.path().join("data"))?;
    let start = begun.elapsed().as_secs_f64();
    let (near, far) = pages(&server, claims)?;

    let wait = |lane: &Arc<Lane>, share| arrivals::wait_ms(std::slice::from_ref(lane), share);
    let waits = |lane: &Arc<Lane>| {
        let [p50, p999, worst] = [0.5, 0.999, 1.0].map(|share| wait(lane, share));
        format!("p50 {p50:.2}, p99.9 {p999:.2}, worst {worst:.2} ms at {A_SECOND:.0}/s")
    };
    let ratio =
        Spread::from(near.iter().zip(&far).map(|(near, far)| far / near).collect::<Vec<_>>());
    let what = |what: &str| format!("{claims} claims, {what}");
    let text = format!("{start:.1} s from the newest snapshot");
    table.add(what("start in s"), text, "6 s", start, Budget::AtMost(6.0));
    let snapshot = snapshot.as_secs_f64();
    let text = format!("{snapshot:.1} s for the whole state");
    table.add(what("snapshot in s"), text, "-", snapshot, Budget::None);
    let without = format!("without it {}", waits(&without));
    let (what_waits, p999) = (what("claim beside a snapshot, p99.9 in ms"), wait(&during, 0.999));
    table.add(what_waits, waits(&during), without, p999, Budget::AtMost(10.0));
    let text = format!("{} ms for a page of {PAGE} at the end", Spread::from(far).text(2));
    let against = format!("{} ms at the start", Spread::from(near).text(2));
    table.add(what("results at the far end"), text, against, ratio, Budget::AtMost(1.2));
    Ok(())
}

async fn in_process(folder: &Path, claims: usize) -> Result<InProcess> {
    let embedded = Arc::new(Embedded::start(folder).await?);
    let kind = LedgerChoice::Sqlite;
    let ledger = Ledger::named(&kind, Some(&embedded.folder), "default", SPACE).await?;
    let ledger = ledger.context("the folder has a ledger")?;
    embedded.open(CAMPAIGN, u32::MAX - 1).await?;

    let leader = lead(&embedded, &ledger, DAY);
    let begun = Instant::now();
    fill(&embedded, claims).await?;
    eprintln!("  claimed after {:.0} s", begun.elapsed().as_secs_f64());
    let settled = until(|| embedded.node.replica.look(State::unsettled) == 0);
    settled.await.context("the results were not settled")?;
    eprintln!("  settled after {:.0} s", begun.elapsed().as_secs_f64());
    let without = claim_while(&embedded, "before", sleep(WITHOUT)).await?;
    leader.stop().await;

    let (leader, begun) = (lead(&embedded, &ledger, FIRST_LOOK), Instant::now());
    sleep(FIRST_LOOK).await;
    let written = until(|| embedded.metrics.snapshots.get() > 0);
    let during = claim_while(&embedded, "during", written).await?;
    let snapshot = begun.elapsed() - FIRST_LOOK;
    ensure!(embedded.metrics.snapshots.get() > 0, "no snapshot was written");
    leader.stop().await;
    let embedded = Arc::into_inner(embedded).context("nobody claims any more")?;
    embedded.stop().await?;
    ledger.close().await;
    Ok(InProcess { snapshot, during, without })
}

fn lead(embedded: &Embedded, ledger: &Ledger, snapshot_every: Duration) -> Leadership {
    let pace = LeaderPace {
        settle_interval: Duration::from_millis(100),
        settle_delay: SettleDelay::default(),
        keep_for: None,
        snapshot_bytes: u64::MAX,
        snapshot_every,
    };
    let ledger = Some(ledger.clone());
    Leadership::start(&embedded.node, ledger, pace, Election::Alone, &embedded.metrics)
}

/// Lets so many subjects claim, two groups in turns.
async fn fill(embedded: &Arc<Embedded>, claims: usize) -> Result<()> {
    let groups = ["a", "b"].map(|group| {
        let embedded = Arc::clone(embedded);
        tokio::spawn(async move {
            let half = claims / 2;
            for first in (0..half).step_by(CALLERS) {
                let callers = CALLERS.min(half - first);
                embedded.claim(CAMPAIGN, group, first, callers).await?;
            }
            anyhow::Ok(())
        })
    });
    for group in groups {
        group.await??;
    }
    Ok(())
}

/// Lets claims arrive until something is over; gives their waits.
async fn claim_while<T>(
    embedded: &Arc<Embedded>,
    group: &'static str,
    over: impl Future<Output = T>,
) -> Result<Arc<Lane>> {
    let lane = Arc::new(Lane::default());
    lane.measured.store(true, Ordering::Relaxed);
    let serving = tokio::spawn({
        let (embedded, lane) = (Arc::clone(embedded), Arc::clone(&lane));
        tokio::task::unconstrained(async move {
            let embedded = &embedded;
            arrivals::serve(lane, |number| async move {
                embedded.claim_one(CAMPAIGN, &format!("{group}-{number:08}")).await
            })
            .await
        })
    });
    let arriving = arrivals::begin(&[Arc::clone(&lane)], A_SECOND, PATIENCE);
    over.await;
    lane.end();
    serving.await??;
    ensure!(arriving.join().is_ok(), "nobody arrived any more");
    let others = lane.others.load(Ordering::Relaxed);
    ensure!(others == 0, "{others} claims were not accepted");
    Ok(lane)
}

/// Waits until something is true, for ten minutes at most.
async fn until(is_true: impl Fn() -> bool) -> Result<()> {
    let waiting = async {
        while !is_true() {
            sleep(Duration::from_millis(2)).await;
        }
    };
    Ok(timeout(PATIENCE, waiting).await?)
}

/// Returns the milliseconds of pages at the start of the results, and of pages at their end.
fn pages(server: &Server, claims: usize) -> Result<(Vec<f64>, Vec<f64>)> {
    let page = |after: usize| -> Result<f64> {
        let path = format!("/v1/campaigns/{CAMPAIGN}/results?after={after}&limit={PAGE}");
        let begun = Instant::now();
        let answer = tell(&server.address, "GET", &path, "")?;
        let took = begun.elapsed().as_secs_f64() * 1e3;
        ensure!(answer.starts_with("HTTP/1.1 200"), "{}", answer.lines().next().unwrap_or(""));
        let results = answer.matches("\"rank\"").count();
        ensure!(results == PAGE.min(claims - after), "a page after {after} has {results} results");
        Ok(took)
    };
    let end = claims.saturating_sub(PAGE);
    // Both are read once before they count: the first read of a page comes from the disk.
    page(0)?;
    page(end)?;
    let (mut near, mut far) = (vec![], vec![]);
    for _ in 0..PAGES {
        near.push(page(0)?);
        far.push(page(end)?);
    }
    Ok((near, far))
}
