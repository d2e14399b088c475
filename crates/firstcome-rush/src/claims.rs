//! A load test that claims units on running servers and checks every answer.
//!
//! [`run`] sends claims over raw HTTP/1.1 connections, sends again whatever was cut off or not decided, waits out a
//! restart, and compares every answer with all earlier ones; at the end it reads the results and compares them with
//! what was acknowledged. It trusts nothing the server says about itself.

mod answer;
mod checker;
mod connection;
mod pace;
mod plan;
mod report;
mod sequence;
mod shared;
mod tally;
mod verdict;
mod violation;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

pub use pace::{Pace, Speed};
pub use plan::{MOST_SUBJECTS, Plan, subject_name};
pub use report::Report;
pub use tally::{ClaimsProgress, Kind, Tally};
pub use verdict::RankLine;
pub use violation::{Violation, Violations};

use crate::error::LoadError;
use crate::outage::Outages;
use checker::Checker;
use sequence::Sequence;
use shared::{LATENCY_PARTS, Shared};

/// Watches a load test while it runs.
pub trait Observer: Send {
    /// Called about ten times a second.
    fn progress(&mut self, now: &ClaimsProgress);

    /// Called when all claims are decided and the results are being read.
    fn checking(&mut self) {}
}

/// Watches nothing.
impl Observer for () {
    fn progress(&mut self, _: &ClaimsProgress) {}
}

/// Runs a plan to its end and reports.
///
/// The report holds every broken promise; that it exists does not mean that all were kept: ask [`Report::kept`].
///
/// # Errors
///
/// When no server answers within the plan's patience, or refuses what the load test needs. Then nothing is known about the promises.
///
/// # Cancel safety
///
/// Dropping the future stops all connections; claims under way may have happened.
pub async fn run(plan: Plan, observer: &mut dyn Observer) -> Result<Report, LoadError> {
    let pace = Arc::clone(&plan.pace);
    let tally = Arc::clone(&plan.tally);
    let connections = plan.connections;
    let ends_after = plan.duration;
    let shared = Arc::new(Shared {
        sequence: Mutex::new(Sequence::new(&plan)),
        checker: Checker::new(&plan),
        outages: Outages::default(),
        latencies: std::iter::repeat_with(Mutex::default).take(LATENCY_PARTS).collect(),
        stop: Mutex::default(),
        plan,
    });
    let began = Instant::now();
    let _pacer = pace.start();
    let mut running = JoinSet::new();
    for number in 0..connections {
        running.spawn(connection::run(Arc::clone(&shared), number));
    }
    let mut clock = tokio::time::interval(Duration::from_millis(100));
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Neither arm loses anything when the other is taken: a tick is only a look, and the set keeps finished connections.
    while !running.is_empty() {
        tokio::select! {
            _ = clock.tick() => {
                if ends_after.is_some_and(|length| began.elapsed() >= length) {
                    pace.finish();
                }
                observer.progress(&tally.progress(began.elapsed(), shared.outages.now()));
            }
            Some(ended) = running.join_next() => ended.expect("a connection does not panic"),
        }
    }
    let elapsed = began.elapsed();
    observer.progress(&tally.progress(elapsed, None));
    let early = shared.stop.lock().expect("every connection has ended").take();
    let verdict = match early {
        Some(reason) => Err(reason),
        None => {
            observer.checking();
            verdict::read(&shared.plan, &shared.checker).await
        }
    };
    match verdict {
        Ok(verdict) => Ok(Report::new(&shared, elapsed, verdict, None)),
        // What was seen to be broken stays broken, whether the rest could be read or not.
        Err(reason) if shared.checker.violations().total() > 0 => Ok(Report::new(
            &shared,
            elapsed,
            verdict::ResultsVerdict::default(),
            Some(reason.to_string()),
        )),
        Err(reason) => Err(reason),
    }
}

#[cfg(test)]
mod tests;
