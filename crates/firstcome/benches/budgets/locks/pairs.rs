//! Uncontended pairs of one task against bare round trips, in turns.

use super::redisson::Redisson;
use crate::redis_server::Store;
use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::{Result, ensure};
use firstcome_lock::{Lock, Locks};
use firstcome_store::{Command, Redis, RedisOptions, RedisReply, Script};
use std::sync::LazyLock;
use std::time::Instant;

/// Pairs of each kind in a turn, and turns.
const PAIRS: u32 = 100;
const TURNS: usize = 60;

/// How the release of a lock by hand is usually written.
static BY_HAND: LazyLock<Script> = LazyLock::new(|| {
    Script::new(
        "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0",
    )
});

/// Microseconds for each pair, turn by turn.
#[derive(Default)]
struct Figures {
    bare: Vec<f64>,
    released: Vec<f64>,
    dropped: Vec<f64>,
    by_hand: Vec<f64>,
}

/// Returns the microseconds that one of [`PAIRS`] takes.
async fn timed(mut pair: impl AsyncFnMut() -> Result<()>) -> Result<f64> {
    let begun = Instant::now();
    for _ in 0..PAIRS {
        pair().await?;
    }
    Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(PAIRS))
}

pub(crate) async fn run(
    server: &Store,
    redisson: Option<&Redisson>,
    table: &mut Table,
) -> Result<()> {
    let redis = Redis::connect(RedisOptions::new(server.url())).await?;
    let locks = Locks::connect(&server.url()).await?;
    let figures = take(&redis, &locks).await?;
    let against = format!("two round trips {:.0} us", median(figures.bare.clone()));
    let mut add = |what: &str, pairs: &[f64], budget| {
        let ratios = pairs.iter().zip(&figures.bare).map(|(pair, bare)| pair / bare);
        let ratios: Vec<f64> = ratios.collect();
        let ours = format!("{:.0} us", median(pairs.to_vec()));
        table.add(what, ours, &against, ratios, budget);
    };
    add("lock + release, one task", &figures.released, Budget::AtMost(1.25));
    add("lock + drop, one task", &figures.dropped, Budget::AtMost(1.25));
    add("SET NX and compare-and-delete by hand", &figures.by_hand, Budget::None);
    if let Some(redisson) = redisson {
        let mut java = redisson.start(&server.url(), 1).await?;
        let (mut pairs, mut ratios) = (vec![], vec![]);
        // Each line is a turn: a pair, and two round trips of the same client.
        for row in java.ask(&format!("pair {} {PAIRS}", TURNS / 2)).await? {
            pairs.push(row[0]);
            ratios.push(row[0] / row[1]);
        }
        let ours = format!("{:.0} us", median(pairs));
        let against = "two round trips of its own";
        table.add("Redisson: lock + unlock, one thread", ours, against, ratios, Budget::None);
    }
    locks.close().await;
    redis.close().await;
    Ok(())
}

async fn take(redis: &Redis, locks: &Locks) -> Result<Figures> {
    let (lock, ping) = (locks.mutex("pair")?, Command::new("PING"));
    // One after the other: what was dropped may not have been given back yet when the next pair begins.
    let many: Result<Vec<Lock>, _> = (0..PAIRS).map(|n| locks.mutex(&format!("pair{n}"))).collect();
    let many = many?;
    let mut figures = Figures::default();
    // The first turn warms up. In turns, so that noise on the machine meets all of them.
    for turn in 0..=TURNS {
        let bare = timed(async || {
            redis.send(&ping).await?;
            redis.send(&ping).await?;
            Ok(())
        });
        let bare = bare.await?;
        let released = timed(async || {
            lock.lock().await?.release().await?;
            Ok(())
        });
        let released = released.await?;
        let mut next = many.iter().cycle();
        let dropped = timed(async || {
            drop(next.next().expect("it never ends").lock().await?);
            Ok(())
        });
        let dropped = dropped.await?;
        let by_hand = timed(async || {
            let token = format!("{:032x}", fastrand::u128(..));
            let set = Command::new("SET").arg("hand").arg(&token).arg("NX").arg("PX").arg(30_000);
            ensure!(redis.send(&set).await? != RedisReply::Nil, "it is held");
            let deleted = redis.send(&Command::script(&BY_HAND, &["hand"]).arg(&token)).await?;
            ensure!(deleted == RedisReply::Number(1), "it was not held");
            Ok(())
        });
        let by_hand = by_hand.await?;
        if turn > 0 {
            figures.bare.push(bare);
            figures.released.push(released);
            figures.dropped.push(dropped);
            figures.by_hand.push(by_hand);
        }
    }
    Ok(figures)
}
