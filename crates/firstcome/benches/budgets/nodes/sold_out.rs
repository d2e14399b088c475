//! What claims that can win nothing any more cost the store.

use super::seat;
use crate::redis_server::Store;
use crate::table::{Budget, Table};
use anyhow::{Context, Result, ensure};
use firstcome_core::{Outcome, Refusal};
use futures_util::future::join_all;
use std::sync::Arc;
use std::time::{Duration, Instant};

const PLACES: u64 = 10_000;
const CLAIMS: u64 = 1_000_000;
const NODES: usize = 3;
const AT_ONCE: u64 = 500;
/// How long the idle rate is counted.
const IDLE: Duration = Duration::from_secs(10);

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("{CLAIMS} claims after the last place is gone");
    let store = Store::start().context("redis-server is not installed")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let (caused, commands, seconds, idle) = runtime.block_on(claims(&store))?;
    table.add(
        format!("store commands, {CLAIMS} refused or repeated claims"),
        format!("{commands:.0} in {seconds:.1} s, {caused:.0} beyond the idle rate"),
        format!("100 and the idle rate of {NODES} nodes, {idle:.0}/s; script {CLAIMS} calls"),
        caused / 100.0,
        Budget::AtMost(1.0),
    );
    Ok(())
}

/// Returns the commands beyond the idle rate, all of them, the time they took, and the idle rate.
async fn claims(store: &Store) -> Result<(f64, f64, f64, f64)> {
    let seats = seat::seats(&store.url(), NODES, PLACES as u32).await?;
    for first in (0..PLACES).step_by(AT_ONCE as usize) {
        for claim in join_all((first..first + AT_ONCE).map(|n| seats[0].claim(n))).await {
            claim?;
        }
    }
    let last = seats[0].node.replica.look(firstcome_core::State::position);
    for seat in &seats {
        seat.node.replica.reach(last).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let (begun, before) = (Instant::now(), store.work()?);
    tokio::time::sleep(IDLE).await;
    let idle = store.work()?.since(before).commands / begun.elapsed().as_secs_f64();

    let (begun, before) = (Instant::now(), store.work()?);
    let share = CLAIMS / NODES as u64;
    let asking: Vec<_> = seats
        .iter()
        .enumerate()
        .map(|(place, seat)| {
            let (seat, first) = (Arc::clone(seat), place as u64 * share);
            let end = if place + 1 == NODES { CLAIMS } else { first + share };
            tokio::spawn(async move {
                for number in first..end {
                    // Every other one is somebody who has a place, every other somebody new.
                    let repeats = number % 2 == 0;
                    let who = if repeats { number % PLACES } else { 10_000_000 + number };
                    let (outcome, _) = seat.claim(who).await?;
                    let expected = if repeats {
                        matches!(outcome, Outcome::AlreadyWon { .. })
                    } else {
                        outcome == Outcome::Refused(Refusal::SoldOut)
                    };
                    ensure!(expected, "{who} was answered {outcome:?}");
                    if number % 64 == 0 {
                        // What never waits never lets others run.
                        tokio::task::yield_now().await;
                    }
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for asking in asking {
        asking.await??;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let commands = store.work()?.since(before).commands;
    seat::stop(seats).await?;
    Ok((commands - idle * seconds, commands, seconds, idle))
}
