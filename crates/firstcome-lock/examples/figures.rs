//! Prints what locks cost, as ratios within one run: `cargo run --release --example figures`.
//!
//! Starts a server of its own where `redis-server` is on the path, and stops it at the end.

use std::error::Error;
use std::time::{Duration, Instant};

use firstcome_lock::{Lock, Locks};
use firstcome_store::{Command, Options, Redis};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let role = std::env::args().nth(1);
    if role.as_deref() == Some("waiters") {
        return waiters(&std::env::args().nth(2).ok_or("a URL")?, 4).await;
    }
    let Some(server) = firstcome_testbed::Redis::start() else { return Ok(()) };
    pairs(&server).await?;
    crowd(&server).await?;
    hand_overs(&server).await?;
    hand_overs_of_four(&server).await?;
    killed(&server).await?;
    Ok(())
}

/// Uncontended pairs of one task, against two bare round trips of the same kind of connection.
async fn pairs(server: &firstcome_testbed::Redis) -> Outcome<()> {
    let redis = Redis::connect(Options::new(server.url())).await?;
    let locks = Locks::connect(&server.url()).await?;
    let (lock, ping) = (locks.lock("pair")?, Command::new("PING"));
    let (mut bare, mut whole, mut dropped) = (Vec::new(), Vec::new(), Vec::new());
    // In turns, so that noise on the machine meets all of them.
    for _ in 0..40 {
        bare.push(
            timed(100, async || {
                redis.send(&ping).await?;
                redis.send(&ping).await?;
                Ok(())
            })
            .await?,
        );
        whole.push(
            timed(100, async || {
                lock.lock().await?.release().await?;
                Ok(())
            })
            .await?,
        );
        dropped.push(
            timed(100, async || {
                // Another name each time: the one before may not have been given back yet.
                let name = format!("n{}", fastrand::u32(..));
                drop(locks.lock(&name)?.lock().await?);
                Ok(())
            })
            .await?,
        );
    }
    let (bare, whole, dropped) = (median(bare), median(whole), median(dropped));
    println!("two round trips, one task            {:8.1} µs", bare * 1e6);
    println!("acquire + release ÷ two round trips  {:8.2}     (budget 1.25)", whole / bare);
    let inside = server.ask("INFO commandstats");
    let inside = inside.lines().find_map(|line| line.strip_prefix("cmdstat_evalsha:"));
    let inside = inside.and_then(|line| line.split("usec_per_call=").nth(1)?.split(',').next());
    println!("inside the server, one script        {:>8} µs", inside.unwrap_or("?"));
    println!("acquire + drop ÷ two round trips     {:8.2}", dropped / bare);
    Ok(())
}

async fn timed(times: u32, mut work: impl AsyncFnMut() -> Outcome<()>) -> Outcome<f64> {
    let begun = Instant::now();
    for _ in 0..times {
        work().await?;
    }
    Ok(begun.elapsed().as_secs_f64() / f64::from(times))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// The server's processor time for pairs of 64 tasks on names of their own.
async fn crowd(server: &firstcome_testbed::Redis) -> Outcome<()> {
    const PAIRS: u32 = 500;
    let locks = Locks::connect(&server.url()).await?;
    let before = processor_time(server)?;
    let begun = Instant::now();
    let tasks: Vec<_> = (0..64)
        .map(|task| {
            let locks = locks.clone();
            tokio::spawn(async move {
                let lock = locks.lock(&format!("crowd{task}"))?;
                for _ in 0..PAIRS {
                    lock.lock().await?.release().await?;
                }
                Outcome::Ok(())
            })
        })
        .collect();
    for task in tasks {
        task.await??;
    }
    let pairs = f64::from(64 * PAIRS);
    let spent = processor_time(server)? - before;
    println!("server's CPU per pair, 64 tasks      {:8.1} µs", spent * 1e6 / pairs);
    println!("pairs per second, 64 tasks           {:8.0}", pairs / begun.elapsed().as_secs_f64());
    Ok(())
}

fn processor_time(server: &firstcome_testbed::Redis) -> Outcome<f64> {
    let info = server.ask("INFO cpu");
    let part = |name: &str| -> Outcome<f64> {
        let line = info.lines().find_map(|line| line.strip_prefix(name)).ok_or("no such line")?;
        Ok(line.parse()?)
    };
    Ok(part("used_cpu_user:")? + part("used_cpu_sys:")?)
}

fn commands(server: &firstcome_testbed::Redis) -> Outcome<f64> {
    // What clients send; the scripts that run here use none of these inside.
    let info = server.ask("INFO commandstats");
    let mut sum = 0.0;
    for name in ["evalsha", "subscribe", "unsubscribe", "del", "role", "ping"] {
        let wanted = format!("cmdstat_{name}:calls=");
        let calls = info.lines().find_map(|line| line.strip_prefix(&wanted));
        let calls = calls.and_then(|rest| rest.split(',').next()).unwrap_or("0");
        sum += calls.parse::<f64>()?;
    }
    Ok(sum)
}

const HAND_OVERS: u32 = 400;

/// Takes turns with others on one lock, 2 ms at a time, and gives the gaps between turns.
async fn take_turns(lock: Lock, turns: u32) -> Outcome<Vec<(f64, f64)>> {
    let epoch = std::time::UNIX_EPOCH;
    let mut held = Vec::new();
    for _ in 0..turns {
        let lease = lock.lock().await?;
        let from = epoch.elapsed()?.as_secs_f64();
        tokio::time::sleep(Duration::from_millis(2)).await;
        let to = epoch.elapsed()?.as_secs_f64();
        lease.release().await?;
        held.push((from, to));
    }
    Ok(held)
}

async fn waiters(url: &str, tasks: u32) -> Outcome<()> {
    let locks = Locks::connect(url).await?;
    let mut all = Vec::new();
    let turns = HAND_OVERS / 16;
    let running: Vec<_> = (0..tasks)
        .map(|_| locks.lock("turns").map(|lock| tokio::spawn(take_turns(lock, turns))))
        .collect();
    for task in running {
        all.extend(task?.await??);
    }
    for (from, to) in all {
        println!("{from:.6} {to:.6}");
    }
    locks.close().await;
    Ok(())
}

fn report(what: &str, budget: &str, mut held: Vec<(f64, f64)>, sent: f64) {
    held.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut gaps: Vec<f64> = held.windows(2).map(|pair| (pair[1].0 - pair[0].1) * 1e3).collect();
    gaps.sort_by(f64::total_cmp);
    let at = |part: f64| gaps[((gaps.len() - 1) as f64 * part) as usize];
    println!(
        "{what}: commands per hand-over   {:8.2}     (budget {budget})",
        sent / held.len() as f64
    );
    println!(
        "{what}: gap p50 / p99 / least    {:8.3} / {:.3} / {:.3} ms",
        at(0.5),
        at(0.99),
        at(0.0)
    );
}

/// Sixteen tasks of one process take turns.
async fn hand_overs(server: &firstcome_testbed::Redis) -> Outcome<()> {
    let locks = Locks::connect(&server.url()).await?;
    let before = commands(server)?;
    let mut held = Vec::new();
    let running: Vec<_> = (0..16)
        .map(|_| locks.lock("turns").map(|lock| tokio::spawn(take_turns(lock, HAND_OVERS / 16))))
        .collect();
    for task in running {
        held.extend(task?.await??);
    }
    locks.close().await;
    let sent = commands(server)? - before;
    report("16 waiters in one process ", "3.5", held, sent);
    Ok(())
}

/// Four tasks of each of four processes take turns.
async fn hand_overs_of_four(server: &firstcome_testbed::Redis) -> Outcome<()> {
    let before = commands(server)?;
    let me = std::env::current_exe()?;
    let children: Vec<_> = (0..4)
        .map(|_| {
            std::process::Command::new(&me)
                .args(["waiters", &server.url()])
                .stdout(std::process::Stdio::piped())
                .spawn()
        })
        .collect();
    let mut held = Vec::new();
    for child in children {
        let child = child?;
        let output = tokio::task::spawn_blocking(move || child.wait_with_output()).await??;
        for line in String::from_utf8(output.stdout)?.lines() {
            let (from, to) = line.split_once(' ').ok_or("two numbers")?;
            held.push((from.parse()?, to.parse()?));
        }
    }
    let sent = commands(server)? - before;
    report("4 waiters in each of four ", "6.5", held, sent);
    Ok(())
}

/// How late the next owner is after the lease of one that never gave back.
async fn killed(server: &firstcome_testbed::Redis) -> Outcome<()> {
    let (ann, bob) = (Locks::connect(&server.url()).await?, Locks::connect(&server.url()).await?);
    let lease = Duration::from_millis(200);
    let mut late = Vec::new();
    for _ in 0..20 {
        let held = ann.lock("killed")?.lease(lease).lock().await?;
        let begun = Instant::now();
        held.leak();
        bob.lock("killed")?.lock().await?.release().await?;
        late.push((begun.elapsed().as_secs_f64() - lease.as_secs_f64()) * 1e3);
    }
    let worst = late.iter().copied().fold(f64::MIN, f64::max);
    println!("late after a lease that ended, median / worst  {:.1} / {worst:.1} ms", median(late));
    Ok(())
}
