//! How soon the next owner has a lock that was given back, and one whose holder is gone.

use super::part;
use super::redisson::{Java, Redisson};
use crate::redis_server::Store;
use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::Result;
use firstcome_lock::{Lease, Locks};
use firstcome_store::{Command, Redis, RedisOptions};
use std::time::{Duration, Instant};

const HAND_OVERS: usize = 200;
const DEATHS: usize = 40;
const LEASE: Duration = Duration::from_millis(200);

pub(crate) async fn run(
    server: &Store,
    redisson: Option<&Redisson>,
    table: &mut Table,
) -> Result<()> {
    let (ann, bob) = (Locks::connect(&server.url()).await?, Locks::connect(&server.url()).await?);
    let redis = Redis::connect(RedisOptions::new(server.url())).await?;
    let mut java = match redisson {
        Some(redisson) => Some(redisson.start(&server.url(), 2).await?),
        None => None,
    };

    let (mut over, mut allowed) = (vec![], vec![]);
    for _ in 0..HAND_OVERS {
        let begun = Instant::now();
        redis.send(&Command::new("PING")).await?;
        redis.send(&Command::new("PING")).await?;
        allowed.push(begun.elapsed().as_secs_f64() * 1e3 + 1.0);
        over.push(hand_over(server, &ann, &bob).await?);
    }
    let ratio = median(over.clone()) / median(allowed.clone());
    let against = beside(&mut java, "over 100").await?;
    let allowed = median(allowed);
    table.add(
        format!("given back, the next has it (two round trips + 1 ms: {allowed:.2} ms)"),
        text(&over),
        against,
        ratio,
        Budget::AtMost(1.0),
    );

    let mut late = vec![];
    for _ in 0..DEATHS {
        let held = ann.mutex("killed")?.lease(LEASE).lock().await?;
        let begun = Instant::now();
        // To the store it is the same as a process that was killed: nothing of it is heard any more.
        held.leak();
        let next = bob.mutex("killed")?.lock().await?;
        late.push((begun.elapsed().as_secs_f64() - LEASE.as_secs_f64()) * 1e3);
        next.release().await?;
    }
    let against = beside(&mut java, "killed 40 200").await?;
    let what = "killed holder, worst lateness after the lease, ms";
    table.add(what, text(&late), against, part(&late, 1.0), Budget::AtMost(100.0));
    ann.close().await;
    bob.close().await;
    redis.close().await;
    Ok(())
}

/// Returns the milliseconds from the release of one client to the acquire of another that waits for it.
async fn hand_over(server: &Store, ann: &Locks, bob: &Locks) -> Result<f64> {
    let held: Lease = ann.mutex("over")?.lock().await?;
    let lock = bob.mutex("over")?;
    let waiting = tokio::spawn(async move {
        let next = lock.lock().await?;
        let at = Instant::now();
        next.release().await?;
        anyhow::Ok(at)
    });
    server.heard("redisson_lock__channel:{over}").await?;
    // It looks once more after it has subscribed.
    tokio::time::sleep(Duration::from_millis(2)).await;
    let begun = Instant::now();
    held.release().await?;
    Ok(waiting.await??.duration_since(begun).as_secs_f64() * 1e3)
}

/// Has Redisson do the same.
async fn beside(java: &mut Option<Java>, what: &str) -> Result<String> {
    let Some(java) = java else { return Ok("-".to_owned()) };
    let late: Vec<f64> = java.ask(what).await?.into_iter().map(|row| row[0]).collect();
    Ok(format!("Redisson {}", text(&late)))
}

fn text(late: &[f64]) -> String {
    format!("median {:.2}, worst {:.2} ms", median(late.to_vec()), part(late, 1.0))
}
