//! What a pair costs the server when 64 tasks take pairs on names of their own.

use super::redisson::Redisson;
use super::{KINDS, of_kind};
use crate::redis_server::Store;
use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::Result;
use firstcome_lock::Locks;
use std::time::Instant;

const TASKS: u32 = 64;
const PAIRS: u32 = 300;
/// Many short rounds: what else runs on the machine moves this figure most.
const ROUNDS: usize = 11;

/// Microseconds of the server's processor per pair, and pairs per second.
#[derive(Default)]
struct Figures {
    cpu: Vec<f64>,
    rate: Vec<f64>,
}

impl Figures {
    async fn add(&mut self, server: &Store, crowd: impl Future<Output = Result<()>>) -> Result<()> {
        let (before, begun) = (server.work()?.cpu_us, Instant::now());
        crowd.await?;
        let took = begun.elapsed().as_secs_f64();
        let pairs = f64::from(TASKS * PAIRS);
        self.cpu.push((server.work()?.cpu_us - before) / pairs);
        self.rate.push(pairs / took);
        Ok(())
    }

    fn text(&self) -> String {
        let rate = median(self.rate.clone()) / 1e3;
        format!("{:.1} us CPU a pair, {rate:.0} k/s", median(self.cpu.clone()))
    }
}

pub(crate) async fn run(
    server: &Store,
    redisson: Option<&Redisson>,
    table: &mut Table,
) -> Result<()> {
    for (kind, _) in KINDS {
        run_of_kind(server, redisson, table, kind).await?;
    }
    Ok(())
}

async fn run_of_kind(
    server: &Store,
    redisson: Option<&Redisson>,
    table: &mut Table,
    kind: &str,
) -> Result<()> {
    let what = format!("server CPU, {kind}, lock + release, {TASKS} tasks");
    let locks = Locks::connect(&server.url()).await?;
    let mut java = match redisson {
        Some(redisson) => Some(redisson.start(&server.url(), 1).await?),
        None => None,
    };
    let (mut ours, mut theirs) = (Figures::default(), Figures::default());
    pairs(&locks, kind).await?;
    for _ in 0..ROUNDS {
        ours.add(server, pairs(&locks, kind)).await?;
        if let Some(java) = &mut java {
            let crowd =
                async { java.ask(&format!("crowd {TASKS} {PAIRS} {kind}")).await.map(drop) };
            theirs.add(server, crowd).await?;
        }
    }
    if java.is_some() {
        let ratios = ours.cpu.iter().zip(&theirs.cpu).map(|(ours, theirs)| ours / theirs);
        let against = format!("Redisson {}", theirs.text());
        let budget = Budget::AtMost(if kind == "plain" { 0.3 } else { 1.0 });
        table.add(what, ours.text(), against, ratios.collect::<Vec<_>>(), budget);
    } else {
        table.add(what, ours.text(), "-", ours.cpu.clone(), Budget::None);
    }
    locks.close().await;
    Ok(())
}

async fn pairs(locks: &Locks, kind: &str) -> Result<()> {
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| {
            let lock = of_kind(locks, kind, &format!("crowd{task}"));
            tokio::spawn(async move {
                let lock = lock?;
                for _ in 0..PAIRS {
                    lock.lock().await?.release().await?;
                }
                anyhow::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    Ok(())
}
