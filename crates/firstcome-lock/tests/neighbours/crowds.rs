//! A crowd of threads in Java and one of tasks in Rust that want the same lock, again and again without a pause.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, UNIX_EPOCH};

use firstcome_lock::{Lock, Locks, Mistake, RedisOptions};
use firstcome_testbed::{RedisServer, redisson};

/// Threads in Java, and tasks in Rust.
const CROWD: usize = 8;

/// How long each holds the lock, in milliseconds.
const HELD_MS: u64 = 1;

/// From when to when somebody held the lock, in microseconds since 1970, and whether that was Java.
type Turn = (u64, u64, bool);

fn now() -> u64 {
    u64::try_from(UNIX_EPOCH.elapsed().unwrap().as_micros()).unwrap()
}

async fn turns_of_one(lock: Lock, turns: usize) -> Vec<Turn> {
    let mut held = Vec::new();
    for _ in 0..turns {
        let lease = lock.lock().await.unwrap();
        let from = now();
        tokio::time::sleep(Duration::from_millis(HELD_MS)).await;
        let to = now();
        lease.release().await.unwrap();
        held.push((from, to, false));
    }
    held
}

/// Has both take as many turns, and gives Java's share of the first half of all: after that, one side may be done.
fn javas_share(entries: usize, mistake: Option<Mistake>) -> Option<f64> {
    let redis = RedisServer::start()?;
    let mut java = redisson("Figures")?;
    let java = java.args([redis.url().as_str(), "1"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut java = java.spawn().unwrap();
    let mut lines = BufReader::new(java.stdout.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line == "done"), "it is warm");
    let each = entries / CROWD;

    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).enable_all().build().unwrap();
    let builder = mistake.into_iter().fold(Locks::builder(), firstcome_lock::Builder::inject);
    let mut held = runtime.block_on(async {
        let locks = builder.connect(RedisOptions::new(redis.url())).await.unwrap();
        let mut tell = java.stdin.take().unwrap();
        writeln!(tell, "turns {CROWD} {each} {HELD_MS} plain turns").unwrap();
        let tasks: Vec<_> = (0..CROWD)
            .map(|_| tokio::spawn(turns_of_one(locks.mutex("turns").unwrap(), each)))
            .collect();
        let mut held = Vec::new();
        for task in tasks {
            held.extend(task.await.unwrap());
        }
        // It reads until its input ends.
        let said = lines.by_ref().take_while(|line| line != "done");
        held.extend(said.map(|line| {
            let (from, to) = line.split_once(' ').unwrap();
            (from.parse().unwrap(), to.parse().unwrap(), true)
        }));
        locks.close().await;
        held
    });
    java.wait().unwrap();
    held.sort_unstable();
    assert_eq!(held.len(), 2 * entries);
    let both = held.windows(2).find(|pair| pair[0].1 > pair[1].0);
    assert_eq!(both, None, "two held it at a time");
    let first = &held[..entries];
    let of_java = first.iter().filter(|(.., java)| *java).count();
    let changes = first.windows(2).filter(|pair| pair[0].2 != pair[1].2).count();
    let took = (first[entries - 1].1 - first[0].0) / 1000;
    println!(
        "{mistake:?}: {of_java} of {entries} entries by Java, {changes} changes of side, {took} ms"
    );
    Some(of_java as f64 / entries as f64)
}

#[test]
fn each_of_two_crowds_has_a_third_of_the_entries() {
    let _alone = crate::alone();
    let Some(share) = javas_share(2048, None) else { return };
    assert!((1.0 / 3.0..=2.0 / 3.0).contains(&share), "{share}");
}

/// In contrast: without a limit to passing on, or without turns for others after it, Java hardly gets in.
#[test]
fn a_crowd_that_keeps_the_lock_to_itself_is_noticed() {
    let _alone = crate::alone();
    for mistake in [Mistake::PassWithoutLimit, Mistake::NoTurnsForOthers] {
        let Some(share) = javas_share(512, Some(mistake)) else { return };
        assert!(share < 1.0 / 3.0, "{mistake:?}: {share}");
    }
}
