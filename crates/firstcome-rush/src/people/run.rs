//! Lets people come, waits until they have gone, and compares what they were answered.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::answers::AnswerCounts;
use super::connections::Connections;
use super::record::{Record, Recorder};
use super::report::Report;
use super::visit::{Person, Visit};
use super::{Observer, Plan, Progress};
use crate::error::LoadError;

/// What came of the people of a plan.
pub(crate) struct Visited<V: Visit> {
    pub(crate) plan: Arc<Plan<V>>,
    pub(crate) record: Record<V::Answers>,
    pub(crate) read: Result<V::Read, LoadError>,
    /// A report that has what was measured.
    measured: Report<V::Totals>,
}

/// Runs a plan to its end and reports.
pub(crate) async fn run<V: Visit>(
    plan: Plan<V>,
    observer: &mut Observer<'_, V::Done>,
) -> Result<Report<V::Totals>, LoadError> {
    let Visited { plan, record, read, measured } = come(plan, observer).await;
    let (violations, read, cut_short) = match read {
        Ok(read) => (V::check(&plan, &record, Some(&read)), read, None),
        // What was seen to be broken stays broken, whether the rest could be read or not.
        Err(reason) => {
            let violations = V::check(&plan, &record, None);
            if violations.is_empty() {
                return Err(reason);
            }
            (violations, V::Read::default(), Some(reason.to_string()))
        }
    };
    let found = Report { cut_short, ..measured };
    Ok(found.with(&*plan, &record, &read, violations))
}

/// Lets all people of a plan come, and reads the results when they have gone.
pub(crate) async fn come<V: Visit>(
    plan: Plan<V>,
    observer: &mut Observer<'_, V::Done>,
) -> Visited<V> {
    let began = Instant::now();
    let answers = Arc::new(AnswerCounts::new(began));
    let recorder = Arc::new(Recorder::new(Arc::clone(&answers)));
    let connections = Arc::new(Connections::new(&plan, Arc::clone(&answers)));
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
                    let due = Duration::from_secs_f64(f64::from(came) / rate);
                    let person = Person {
                        plan: Arc::clone(&plan),
                        connections: Arc::clone(&connections),
                        recorder: Arc::clone(&recorder),
                        subject: format!("{}{came:07}", plan.prefix),
                        random: fastrand::Rng::with_seed(random.u64(..)),
                    };
                    running.spawn(V::visit(person, due));
                    came += 1;
                }
            }
            Some(ended) = running.join_next() => {
                failed = ended.expect("a person does not panic").err();
                recorder.record().gone += u32::from(failed.is_none());
            }
        }
        if observed.elapsed() >= Duration::from_millis(100) {
            observed = Instant::now();
            if observer(&progress::<V>(&recorder, &answers, (people, came))).is_break() {
                people = came;
            }
        }
    }
    running.shutdown().await;
    let elapsed = began.elapsed();
    // Nobody else can come any more, whatever the observer says.
    let (ControlFlow::Continue(()) | ControlFlow::Break(())) =
        observer(&progress::<V>(&recorder, &answers, (people, came)));
    // What is read from here on is no part of the load.
    let (outages, counts, latency) = (answers.outages.past(), answers.counts(), answers.latency());
    let mut record = recorder.end();
    record.incomplete |= failed.is_some();
    let read = match failed {
        Some(reason) => Err(reason),
        None => V::read(&plan, &connections, &record).await,
    };
    let (answers, again) = (counts.answers, counts.again);
    let measured =
        Report { elapsed, people: came, answers, outages, again, latency, ..Report::default() };
    Visited { plan, record, read, measured }
}

fn progress<V: Visit>(
    recorder: &Recorder<V::Answers>,
    counted: &AnswerCounts,
    (people, came): (u32, u32),
) -> Progress<V::Done> {
    let record = recorder.record();
    Progress {
        elapsed: counted.now(),
        people,
        came,
        gone: record.gone,
        done: V::done(&record.answers),
        outage: counted.outages.now(),
        answers: counted.counts().answers,
    }
}
