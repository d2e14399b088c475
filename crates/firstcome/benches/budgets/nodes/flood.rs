//! What an accepted claim costs the store in an open flood over several nodes.

use super::by_script;
use super::light;
use super::seat;
use crate::arrivals::{self, Lane};
use crate::redis_server::{Store, Work};
use anyhow::{Context, Result, ensure};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::task::{JoinSet, unconstrained};

/// Before anything is measured.
const WARM: Duration = Duration::from_millis(500);
const LENGTH: Duration = Duration::from_secs(2);
/// Until nothing waits any more, after the last arrival.
const DRAIN: Duration = Duration::from_secs(20);

/// Who takes the claims.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taker {
    /// Nodes as they are.
    Nodes,
    /// Nodes whose followers decode what they read and apply nothing, with their pauses or without.
    Light { paced: bool },
    /// A script for each claim.
    Script,
}

/// What a flood came to.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flood {
    /// Claims accepted a second.
    pub(crate) a_second: f64,
    /// What each cost the store.
    pub(crate) each: Work,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Appends a second of each node, and each node's median waiting time.
    pub(crate) appends: Vec<f64>,
    pub(crate) waits: Vec<f64>,
}

impl Flood {
    pub(crate) fn text(&self) -> String {
        format!(
            "{:.2} us CPU, {:.0} B in, {:.0} B out, p50 {:.2} ms, p99 {:.1} ms, {:.1} k/s",
            self.each.cpu_us,
            self.each.read,
            self.each.written,
            self.p50,
            self.p99,
            self.a_second / 1e3
        )
    }
}

/// Floods a store of its own with so many claims a second over so many nodes.
pub(crate) fn run(taker: Taker, nodes: usize, a_second: f64) -> Result<Flood> {
    let store = Store::start().context("redis-server is not installed")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(flood(&store, taker, nodes, a_second))
}

/// The same with nodes as they are; gives each claim's rank and the time when it arrived at its node.
pub(crate) fn ranks(nodes: usize, a_second: f64) -> Result<Vec<(u32, Duration)>> {
    let store = Store::start().context("redis-server is not installed")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let lanes: Vec<Arc<Lane>> = (0..nodes).map(|_| Arc::new(Lane::with_ranks())).collect();
    runtime.block_on(flood_lanes(&store, Taker::Nodes, &lanes, a_second))?;
    Ok(arrivals::ranks(&lanes))
}

async fn flood(store: &Store, taker: Taker, nodes: usize, a_second: f64) -> Result<Flood> {
    let lanes: Vec<Arc<Lane>> = (0..nodes).map(|_| Arc::default()).collect();
    flood_lanes(store, taker, &lanes, a_second).await
}

async fn flood_lanes(
    store: &Store,
    taker: Taker,
    lanes: &[Arc<Lane>],
    a_second: f64,
) -> Result<Flood> {
    let mut seats = Vec::new();
    let mut serving: JoinSet<Result<()>> = JoinSet::new();
    match taker {
        Taker::Nodes => {
            seats = seat::seats(&store.url(), lanes.len(), u32::MAX - 1).await?;
            for (seat, lane) in seats.iter().zip(lanes) {
                // One task for all who wait: what a task may do before it has to let others run would
                // have each of them looked at again and again.
                let (seat, lane) = (Arc::clone(seat), Arc::clone(lane));
                serving.spawn(unconstrained(async move {
                    arrivals::serve(lane, |number| seat.claim(number)).await
                }));
            }
        }
        Taker::Light { paced } => {
            for (number, lane) in lanes.iter().enumerate() {
                let redis = seat::journal(&store.url()).await?;
                serving.spawn(light::serve(redis, number as u8, paced, Arc::clone(lane)));
            }
        }
        Taker::Script => {
            for lane in lanes {
                serving.spawn(by_script::serve(store.port(), Arc::clone(lane)));
            }
        }
    }
    let arriving = arrivals::begin(lanes, a_second, WARM + LENGTH);
    tokio::time::sleep(WARM).await;
    let count = || lanes.iter().map(|lane| lane.accepted.load(Ordering::Relaxed)).sum::<u64>();
    let appends = || lanes.iter().map(|lane| lane.appends.load(Ordering::Relaxed));
    lanes.iter().for_each(|lane| lane.measured.store(true, Ordering::Relaxed));
    let (begun, before, counted) = (Instant::now(), store.work()?, count());
    let appended: Vec<u64> = appends().collect();
    tokio::time::sleep(LENGTH).await;
    let (took, work, accepted) =
        (begun.elapsed().as_secs_f64(), store.work()?.since(before), count() - counted);
    let appended = appends().zip(appended).map(|(now, then)| (now - then) as f64 / took).collect();
    lanes.iter().for_each(|lane| lane.measured.store(false, Ordering::Relaxed));
    ensure!(arriving.join().is_ok(), "nobody arrived any more");
    let served = tokio::time::timeout(DRAIN, async {
        while let Some(served) = serving.join_next().await {
            served??;
        }
        anyhow::Ok(())
    });
    served.await.context("the flood did not drain")??;
    let others: u64 = lanes.iter().map(|lane| lane.others.load(Ordering::Relaxed)).sum();
    ensure!(others == 0, "{others} claims were not accepted");
    seat::stop(seats).await?;
    let claims = accepted as f64;
    Ok(Flood {
        a_second: claims / took,
        each: Work {
            cpu_us: work.cpu_us / claims,
            commands: work.commands / claims,
            read: work.read / claims,
            written: work.written / claims,
        },
        p50: arrivals::wait_ms(lanes, 0.5),
        p99: arrivals::wait_ms(lanes, 0.99),
        appends: appended,
        waits: lanes.iter().map(|lane| lane.wait_ms(0.5)).collect(),
    })
}
