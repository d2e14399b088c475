//! A load test of people who claim coupon codes or wait for one, reserve and redeem them, give up, roll back, and try
//! wrong ones.
//!
//! Each person comes when they are due, whether the server keeps up or not, and behaves as they are: `person`. Every
//! answer is recorded: `record`. At the end the results are read, once more from the ledger, and every code is looked
//! up: `results`. Then everything is compared with the promises: `checker`. It trusts nothing the server says about
//! itself.

mod checker;
mod person;
mod plan;
mod progress;
mod record;
mod report;
mod results;
#[cfg(test)]
mod tests;
mod violation;

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

pub use plan::{Plan, Shares};
pub use progress::Progress;
pub use report::{Report, Totals};
pub(crate) use violation::Promised;
#[cfg(test)]
pub(crate) use violation::Violation;

use crate::failure::LoadError;
use crate::people::{Answers, Connections};
use person::Person;
use record::Recorder;

/// Called about ten times a second; after [`ControlFlow::Break`] nobody else comes.
pub type Observer<'a> = dyn FnMut(&Progress) -> ControlFlow<()> + Send + 'a;

/// Runs a plan to its end and reports.
///
/// The report holds every broken promise; that it exists does not mean that all were kept: ask [`Report::kept`].
///
/// # Errors
///
/// When no server answers within the plan's patience, or refuses what the load test needs.
///
/// # Cancel safety
///
/// Dropping the future stops everybody; requests under way may have happened.
pub async fn run(plan: Plan, observer: &mut Observer<'_>) -> Result<Report, LoadError> {
    let began = Instant::now();
    let answers = Arc::new(Answers::new(began));
    let recorder = Arc::new(Recorder::new(Arc::clone(&answers)));
    let connections = Arc::new(Connections::new(plan.access(), Arc::clone(&answers)));
    let plan = Arc::new(plan);
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let mut running = JoinSet::new();
    let (mut came, mut people) = (0, plan.people);
    let mut clock = tokio::time::interval(Duration::from_millis(2));
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut observed = Instant::now();
    let mut failed = None;
    while failed.is_none() && (came < people || !running.is_empty()) {
        // Neither arm loses anything when the other is taken: a tick is only a look, and the set keeps who has gone.
        tokio::select! {
            _ = clock.tick() => {
                let rate = plan.per_second.unwrap_or(f64::INFINITY);
                let elapsed = began.elapsed().as_secs_f64();
                while came < people && f64::from(came) < elapsed * rate {
                    let due = began + Duration::from_secs_f64(f64::from(came) / rate);
                    let seed = random.u64(..);
                    let person = Person::new(&plan, (&connections, &recorder), came, seed);
                    running.spawn(person.visit(due));
                    came += 1;
                }
            }
            Some(ended) = running.join_next() => {
                failed = ended.expect("a person does not panic").err();
            }
        }
        if observed.elapsed() >= Duration::from_millis(100) {
            observed = Instant::now();
            if observer(&recorder.progress(people, came)).is_break() {
                people = came;
            }
        }
    }
    running.shutdown().await;
    let elapsed = began.elapsed();
    // Nobody else can come any more, whatever the observer says.
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) =
        observer(&recorder.progress(people, came));
    // What is read from here on is no part of the load.
    let (outages, counts, latency) = (answers.outages.past(), answers.counts(), answers.latency());
    let mut record = recorder.end();
    record.incomplete |= failed.is_some();
    let read = match failed {
        Some(reason) => Err(reason),
        None => results::read(&plan, &connections, &record).await,
    };
    let (violations, read, cut_short) = match read {
        Ok(found) => (checker::check(&plan, &record, &found), found, None),
        // What was seen to be broken stays broken, whether the rest could be read or not.
        Err(reason) => {
            let violations = checker::by_answers(&plan, &record);
            if violations.is_empty() {
                return Err(reason);
            }
            (violations, results::Read::default(), Some(reason.to_string()))
        }
    };
    let mut report = Report::new(&plan, &record, &read.ledger, violations);
    (report.elapsed, report.people, report.outages) = (elapsed, came, outages);
    (report.answers, report.again, report.latency) = (counts.answers, counts.again, latency);
    (report.results, report.cut_short) = (read.results.len() as u64, cut_short);
    Ok(report)
}
