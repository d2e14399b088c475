//! Load against running servers that checks the promises while it presses.
//!
//! [`run`] sends claims over raw HTTP/1.1 connections, sends again whatever was cut off or not decided, waits out a
//! restart, and compares every answer with all it has heard before; at the end it reads the results and holds them
//! against what was acknowledged. It trusts nothing the server says about itself.

mod answer;
mod away;
mod breach;
mod checker;
mod draw;
mod lane;
mod pace;
mod plan;
mod report;
pub mod seats;
mod tally;
mod verdict;

use std::sync::Arc;
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use tokio::task::JoinSet;

pub use away::Away;
pub use breach::{Breach, Breaches};
pub use pace::{Pace, Speed};
pub use plan::MOST_SUBJECTS;
pub use plan::{Plan, subject_name};
pub use report::{Latency, Promise, RankLine, Report};
pub use tally::{Kind, Progress, Tally};

use checker::Checker;
use draw::Draw;

/// Watches a rush while it runs.
pub trait Observer: Send {
    /// Called about ten times a second.
    fn progress(&mut self, now: &Progress);

    /// Called when the flood is over and the results are being read.
    fn checking(&mut self) {}
}

/// Watches nothing.
impl Observer for () {
    fn progress(&mut self, _: &Progress) {}
}

/// Why a rush could not be carried to its end.
#[derive(Debug, thiserror::Error)]
pub enum RushError {
    /// A request no repeat can help: a wrong key, a campaign that is not there.
    #[error("the server refused the rush itself: {0}")]
    Refused(String),
    /// No server answered for longer than the plan's patience.
    #[error(transparent)]
    NoAnswer(#[from] firstcome_client::Failure),
    /// An answer that is not the HTTP or JSON this program speaks.
    #[error("the answer of {server} cannot be read: {reason}")]
    Strange {
        /// The server.
        server: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// What all connections share.
struct Shared {
    plan: Plan,
    draw: std::sync::Mutex<Draw>,
    checker: Checker,
    away: Away,
    latencies: Vec<std::sync::Mutex<Latencies>>,
    stop: std::sync::Mutex<Option<RushError>>,
}

/// How long answers took, in microseconds from when each request was due.
struct Latencies {
    all: Histogram<u64>,
    won: Histogram<u64>,
}

impl Latencies {
    fn new() -> Self {
        // From a microsecond to an hour with three digits; outliers beyond count as an hour.
        let empty =
            Histogram::new_with_bounds(1, 3_600_000_000, 3).expect("these bounds are valid");
        Self { all: empty.clone(), won: empty }
    }
}

/// Latencies are kept in so many parts, so that connections rarely wait for each other to record one.
const LATENCY_PARTS: usize = 8;

impl Shared {
    /// Ends the rush early; the first reason is kept.
    fn end(&self, reason: RushError) {
        let mut stop = self.stop.lock().expect("a lane does not panic while it holds this");
        stop.get_or_insert(reason);
        self.plan.pace.finish();
    }
}

/// Runs a plan to its end and reports.
///
/// The report holds every broken promise; that it exists does not mean that all were kept: ask [`Report::kept`].
///
/// # Errors
///
/// When no server answers within the plan's patience, or refuses what a rush needs. Then nothing is known about the promises.
///
/// # Cancel safety
///
/// Dropping the future stops all connections; claims under way may have happened.
pub async fn run(plan: Plan, observer: &mut dyn Observer) -> Result<Report, RushError> {
    let pace = Arc::clone(&plan.pace);
    let tally = Arc::clone(&plan.tally);
    let lanes = plan.connections;
    let ends_after = plan.duration;
    let shared = Arc::new(Shared {
        draw: std::sync::Mutex::new(Draw::new(&plan)),
        checker: Checker::new(&plan),
        away: Away::default(),
        latencies: std::iter::repeat_with(|| std::sync::Mutex::new(Latencies::new()))
            .take(LATENCY_PARTS)
            .collect(),
        stop: std::sync::Mutex::new(None),
        plan,
    });
    let began = Instant::now();
    let _pacer = pace.start();
    let mut running = JoinSet::new();
    for number in 0..lanes {
        running.spawn(lane::run(Arc::clone(&shared), number));
    }
    let mut clock = tokio::time::interval(Duration::from_millis(100));
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // Neither arm loses anything when the other is taken: a tick is only a look, and the set keeps finished lanes.
    while !running.is_empty() {
        tokio::select! {
            _ = clock.tick() => {
                if ends_after.is_some_and(|length| began.elapsed() >= length) {
                    pace.finish();
                }
                observer.progress(&tally.progress(began.elapsed(), shared.away.now()));
            }
            Some(ended) = running.join_next() => ended.expect("a lane does not panic"),
        }
    }
    let elapsed = began.elapsed();
    observer.progress(&tally.progress(elapsed, None));
    let early = shared.stop.lock().expect("every lane has ended").take();
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
        Err(reason) if shared.checker.breaches().total() > 0 => {
            Ok(Report::new(&shared, elapsed, verdict::Verdict::default(), Some(reason.to_string())))
        }
        Err(reason) => Err(reason),
    }
}

#[cfg(test)]
mod tests;
