//! How long a change of leader takes, and how long until a tail the store lost is back.

use super::seat::{self, Seat};
use crate::redis_server::Store;
use crate::server::Server;
use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::{Context, Result, ensure};
use firstcome_lock::Locks;
use firstcome_node::leader::{Election, Leader, Pace, SettleDelay};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::time::sleep;

const ROUNDS: usize = 5;
const LEASE: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(1);
/// Claims the store forgets.
const LOST: u64 = 2_000;

pub(crate) fn run(table: &mut Table) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    eprintln!("changes of leader, {ROUNDS} rounds");
    let (clean, killed) = runtime.block_on(leaders())?;
    let worst = clean.iter().copied().fold(0.0, f64::max);
    table.add(
        "hand-over, clean",
        format!("median {:.1} ms, worst {worst:.1} ms", median(clean)),
        "50 ms",
        worst / 50.0,
        Budget::AtMost(1.0),
    );
    let worst = killed.iter().copied().fold(0.0, f64::max);
    let most = LEASE.as_secs_f64() * 1e3 + 100.0;
    table.add(
        "hand-over, leader killed",
        format!("median {:.0} ms, worst {worst:.0} ms", median(killed)),
        format!("its lease of {LEASE:?} and 100 ms"),
        worst / most,
        Budget::AtMost(1.0),
    );
    eprintln!("a tail of {LOST} claims that the store lost");
    let (mut back, mut served) = (vec![], vec![]);
    for _ in 0..3 {
        let (put_back, answered) = runtime.block_on(lost_tail())?;
        back.push(put_back);
        served.push(answered);
    }
    let (back, served) = (median(back), median(served));
    table.add(
        format!("a lost tail of {LOST} claims is back, 3 nodes"),
        format!("{back:.0} ms after the store was"),
        format!("first claim accepted after {served:.0} ms"),
        back / served,
        Budget::None,
    );
    Ok(())
}

/// A node of this process that stands for leading.
struct Candidate {
    seat: Arc<Seat>,
    locks: Locks,
    leader: Leader,
}

impl Candidate {
    async fn start(store: &Store) -> Result<Self> {
        let seat = Arc::new(Seat::start(&store.url()).await?);
        let options = firstcome_store::Options::new(store.url());
        let locks = Locks::builder().connect(options).await?;
        let candidate = firstcome_lock::Election::new(&locks, "fc:{main}:leader")?
            .node(seat.node.id.to_string())
            .lease(LEASE);
        let watch = candidate.watch().await?;
        let pace = Pace {
            settle_interval: Duration::from_secs(1),
            settle_delay: SettleDelay::default(),
            keep_for: None,
            snapshot_bytes: 64 << 20,
            snapshot_every: Duration::from_secs(300),
        };
        let election = Election::Among { candidate, watch };
        let leader = Leader::start(&seat.node, None, pace, election, &seat.metrics);
        Ok(Self { seat, locks, leader })
    }

    async fn leads(&self) {
        while !self.leader.leads() {
            sleep(LOOK).await;
        }
    }

    async fn stop(self) -> Result<()> {
        self.leader.stop().await;
        self.locks.close().await;
        seat::stop(vec![self.seat]).await
    }
}

/// Returns the milliseconds without a leader after one that resigned, and after one that was killed.
async fn leaders() -> Result<(Vec<f64>, Vec<f64>)> {
    let (mut clean, mut killed) = (vec![], vec![]);
    let store = Store::start().context("redis-server is not installed")?;
    let mut leader = Candidate::start(&store).await?;
    leader.leads().await;
    for _ in 0..ROUNDS {
        let next = Candidate::start(&store).await?;
        // Long enough to stand in line.
        sleep(Duration::from_millis(300)).await;
        let begun = Instant::now();
        let next_leads = async {
            next.leads().await;
            begun.elapsed()
        };
        let (took, ()) = tokio::join!(next_leads, leader.leader.stop());
        clean.push(took.as_secs_f64() * 1e3);
        leader.locks.close().await;
        seat::stop(vec![leader.seat]).await?;
        leader = next;
    }
    leader.stop().await?;
    for _ in 0..ROUNDS {
        let store = Store::start().context("redis-server is not installed")?;
        let lease = LEASE.as_millis().to_string();
        let server = Server::on_store(&store.url(), &["--leader-lease-ms", &lease])?;
        sleep(Duration::from_millis(500)).await;
        let next = Candidate::start(&store).await?;
        sleep(Duration::from_millis(fastrand::u64(300..1_000))).await;
        ensure!(!next.leader.leads(), "the server that was first does not lead");
        let begun = Instant::now();
        drop(server);
        next.leads().await;
        killed.push(begun.elapsed().as_secs_f64() * 1e3);
        next.stop().await?;
    }
    Ok((clean, killed))
}

/// Returns the milliseconds from the start of a store with an older file until its journal is whole
/// again, and until a claim is accepted.
async fn lost_tail() -> Result<(f64, f64)> {
    let mut store = Store::start().context("redis-server is not installed")?;
    let seats = seat::seats(&store.url(), 3, u32::MAX - 1).await?;
    seats[0].claim(0).await?;
    ensure!(store.ask("SAVE").starts_with("+OK"), "the store cannot write its file");
    for number in 1..=LOST {
        seats[number as usize % seats.len()].claim(number).await?;
    }
    let head = seats[0].node.replica.look(firstcome_core::State::position);
    store.restart();
    let begun = Instant::now();
    let journal = seat::journal(&store.url()).await?;
    let lost = firstcome_journal::Journal::Redis(journal.clone()).head().await?.position;
    ensure!(lost < head, "the store lost nothing: {lost} of {head}");
    let claim = {
        let seat = Arc::clone(&seats[1]);
        tokio::spawn(async move {
            // Asked again until the store is trusted again.
            while seat.claim(LOST + 1).await.is_err() {
                sleep(LOOK).await;
            }
            begun.elapsed()
        })
    };
    while firstcome_journal::Journal::Redis(journal.clone()).head().await?.position < head {
        sleep(LOOK).await;
    }
    let back = begun.elapsed().as_secs_f64() * 1e3;
    let served = claim.await?.as_secs_f64() * 1e3;
    journal.close().await;
    seat::stop(seats).await?;
    Ok((back, served))
}
