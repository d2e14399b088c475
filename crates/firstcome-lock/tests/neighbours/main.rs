//! Java with real Redisson and Rust with this crate as neighbours: processes of both add to one number in one file,
//! under one lock, and are killed and paused at random while they do.
//!
//! Apart from the other tests, because it fills the machine with processes that start. Ten seconds of it are a test;
//! `cargo xtask neighbours` takes a minute and prints what it saw.
//!
//! - [`visitor`]: the process in Rust; `interop/redisson` has the one in Java
//! - [`crowds`]: many of both, in two processes, and which share of the entries each has
//! - [`crew`]: starts them, kills them, pauses them
//! - [`monitor`]: what the store was asked, in its order
//! - [`verdict`]: what the diaries and the store say when all is over

#![expect(clippy::unwrap_used, reason = "a test that cannot go on ends where it stands")]

mod crew;
mod crowds;
mod monitor;
mod verdict;
mod visitor;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::crew::{Crew, Plan, Tongue};
use crate::verdict::Diaries;

/// How long the chaos lasts, in seconds, where it is not ten.
const SECONDS: &str = "FIRSTCOME_NEIGHBOURS_SECONDS";

/// The seed of the chaos, where it is not drawn.
const SEED: &str = "FIRSTCOME_NEIGHBOURS_SEED";

/// One crew at a time: each of them is enough for a small machine.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn number_from(variable: &str) -> Option<u64> {
    let text = std::env::var(variable).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{variable}={text} is no number")))
}

/// Lets the crew work until `enough`, and fails after a minute.
fn until(crew: &Crew, what: &str, enough: impl Fn(&Diaries) -> bool) {
    let began = Instant::now();
    while !enough(&crew.diaries()) {
        assert!(began.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn java_and_rust_killed_at_random_never_overlap_and_wake_each_other() {
    let _alone = alone();
    let time = Duration::from_secs(number_from(SECONDS).unwrap_or(10));
    let seed = number_from(SEED).unwrap_or_else(|| fastrand::u64(..1_000_000));
    println!("\nseed {seed}, {} s of kills and pauses", time.as_secs());
    let Some(mut crew) = Crew::start(Plan { seed, ..Plan::default() }) else { return };
    until(&crew, "each of them has been inside", |diaries| diaries.entries_of_each() > 0);
    crew.trouble(time);
    let verdict = crew.end();
    println!("{verdict}");
    assert!(verdict.broken.is_empty() && verdict.overlaps == 0, "{:#?}", verdict.broken);
    for (from, to) in [(Tongue::Java, Tongue::Rust), (Tongue::Rust, Tongue::Java)] {
        assert!(verdict.by_message(from, to) > 0, "none from {from} to {to} by message");
        assert_eq!(verdict.late(from, to), 0, "from {from} to {to} by the end of a lease");
        assert!(verdict.entries_of(to) > 0);
    }
}

/// In contrast: where the two do not take the same lock, both ways to notice do notice.
#[test]
fn neighbours_with_different_locks_are_caught() {
    let _alone = alone();
    let plan = Plan { rust_takes: "another", crowd: 2, ..Plan::default() };
    let Some(crew) = Crew::start(plan) else { return };
    until(&crew, "they meet at the door, and a write is lost", |diaries| {
        diaries.overlaps() > 0 && !diaries.written_twice().is_empty()
    });
    let verdict = crew.end();
    assert!(verdict.overlaps > 0);
    assert!(verdict.broken.iter().any(|what| what.contains("a write was lost")), "{verdict}");
}

/// In contrast: a neighbour that announces nothing is not taken for one that does.
#[test]
fn nobody_is_woken_by_a_neighbour_that_is_silent() {
    let _alone = alone();
    let plan = Plan { java_takes: "spin", lease_ms: 1500, crowd: 2, ..Plan::default() };
    let Some(crew) = Crew::start(plan) else { return };
    until(&crew, "each of them has been inside often", |diaries| diaries.entries_of_each() > 10);
    let verdict = crew.end();
    assert!(verdict.broken.is_empty() && verdict.overlaps == 0, "{:#?}", verdict.broken);
    assert!(verdict.in_turn(Tongue::Java, Tongue::Rust) > 0, "{verdict}");
    assert_eq!(verdict.by_message(Tongue::Java, Tongue::Rust), 0, "{verdict}");
}
