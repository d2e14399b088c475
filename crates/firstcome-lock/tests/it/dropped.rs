//! Acquires that are dropped at random instants while everything goes wrong at once.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use fastrand::Rng;
use firstcome_lock::{Builder, Locks, Mistake, RedisOptions};
use firstcome_testbed::{Proxy, ProxyFault, RedisServer, RedisSettings};

use crate::crowds::names_held;
use crate::stage::{SECOND, client_of, ms, until};

/// What is dropped and what goes wrong is drawn from this; another one by `FIRSTCOME_SEED`.
fn seed() -> u64 {
    std::env::var("FIRSTCOME_SEED").map_or(16, |seed| seed.parse().expect("a number"))
}

const TASKS: u64 = 10;

/// A lease that nobody gives back lasts for longer than the test looks.
const LEASE: Duration = Duration::from_secs(60);

/// Polls a future a few times, or for a while, and drops it wherever it stands then.
async fn drop_at_random(dice: &mut Rng, future: impl Future) {
    if dice.bool() {
        drop(tokio::time::timeout(Duration::from_micros(dice.u64(..10_000)), future).await);
        return;
    }
    let mut future = std::pin::pin!(future);
    for _ in 0..dice.u32(..12) {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            drop(output);
            return;
        }
        tokio::task::yield_now().await;
    }
}

async fn acquire_and_drop(locks: Locks, mut dice: Rng, times: u32) {
    for _ in 0..times {
        let lock = locks.mutex(&format!("n{}", dice.u32(..20))).unwrap();
        match dice.u32(..4) {
            0 => drop_at_random(&mut dice, lock.try_lock()).await,
            1 => drop_at_random(&mut dice, lock.lock()).await,
            2 => drop_at_random(&mut dice, lock.lock_within(SECOND)).await,
            _ => {
                let both = async {
                    if let Ok(lease) = lock.lock().await {
                        drop(lease.release().await);
                    }
                };
                drop_at_random(&mut dice, both).await;
            }
        }
    }
}

/// Cuts, stalls and reloads, one after the other, for ever.
async fn trouble(redis: &Arc<RedisServer>, proxy: &Proxy, mut dice: Rng) {
    loop {
        tokio::time::sleep(ms(dice.u64(5..60))).await;
        let lasts = ms(dice.u64(1..60));
        match dice.u32(..6) {
            0 => proxy.cut(),
            1 => proxy.set(ProxyFault::CutAtRequest),
            2 => proxy.set(ProxyFault::CutAtReply),
            3 => proxy.set(ProxyFault::StallRequests),
            4 => proxy.set(ProxyFault::StallReplies),
            // It reads its file again, and says LOADING meanwhile.
            _ => {
                let redis = Arc::clone(redis);
                let reloading = move || drop(redis.ask("DEBUG RELOAD"));
                tokio::task::spawn_blocking(reloading).await.unwrap();
            }
        }
        tokio::time::sleep(lasts).await;
        proxy.set(ProxyFault::None);
    }
}

/// Drops acquires while everything goes wrong, and gives how many locks are held a few seconds after the last fault, when
/// nobody wants any of them.
async fn held_afterwards(builder: Builder, times: u32) -> Option<usize> {
    let more = ["--enable-debug-command", "yes", "--loading-process-events-interval-bytes", "1024"];
    let settings =
        RedisSettings { more: more.map(str::to_owned).into(), ..RedisSettings::default() };
    let redis = Arc::new(RedisServer::with(settings)?);
    for words in [
        "CONFIG SET rdbcompression no",
        "DEBUG POPULATE 30 filler 600",
        // Five milliseconds for each key.
        "CONFIG SET key-load-delay 5000",
    ] {
        assert_eq!(redis.ask(words), "+OK", "{words}");
    }
    let proxy = Proxy::start(redis.port()).await;
    let options = RedisOptions::new(redis.url_through(proxy.port()));
    let options = options.answer_within(ms(500)).heartbeat(ms(300));
    let ann = builder.watchdog(LEASE).connect(options).await.unwrap();
    let bob = client_of(&redis).await;
    let seed = seed();
    let (begun, connections) = (Instant::now(), proxy.connections());
    let tasks: Vec<_> = (0..TASKS)
        .map(|task| acquire_and_drop(ann.clone(), Rng::with_seed(seed + task), times))
        .map(tokio::spawn)
        .collect();
    let all = async {
        for task in tasks {
            task.await.unwrap();
        }
    };
    tokio::select! {
        () = all => {}
        () = trouble(&redis, &proxy, Rng::with_seed(seed)) => {}
    }
    proxy.set(ProxyFault::None);
    let loading = redis.ask("INFO errorstats").contains("errorstat_LOADING");
    let cuts = proxy.connections() - connections;
    println!("seed {seed}: {:?}, {cuts} new connections, loading {loading}", begun.elapsed());
    assert!(cuts > 2, "connections were cut");
    until("it has read its file", async || bob.inspect("n0").await.is_ok()).await;
    let last = Instant::now();
    loop {
        let held = names_held(&bob).await;
        if held == 0 || last.elapsed() > 8 * SECOND {
            return Some(held);
        }
        tokio::time::sleep(ms(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_acquires_dropped_in_cuts_stalls_and_loading_leave_nothing_held() {
    let Some(held) = held_afterwards(Locks::builder(), 1000).await else { return };
    assert_eq!(held, 0, "long before a lease of theirs is over");
}

/// In contrast: without undoing, grants that nobody has heard of stay for their lease.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_undoing_acquires_dropped_in_cuts_stay_held() {
    let careless = Locks::builder().inject(Mistake::LeaveLostGrants);
    let Some(held) = held_afterwards(careless, 400).await else { return };
    assert!(held > 0, "the story is blind");
}
