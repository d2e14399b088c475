//! Runs one simulated world, from its start until all nodes have recovered from the faults, or cannot.

mod newer_build;
mod recovery;

pub use recovery::RECOVERY_WITHIN;

use crate::environment::Environment;
use crate::history::History;
use crate::ledger::SimLedger;
use crate::nodes::{NodeCounts, Slots};
use crate::people::People;
use crate::plan::{Fault, Plan, Step, What};
use crate::trace::Listener;
use firstcome_inject::Mistake;
use firstcome_virtual::runtime::in_virtual_time;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// The result of a world.
#[derive(Debug)]
pub struct WorldRun {
    /// All that happened.
    pub history: History,
    /// The hash over the story.
    pub hash: u64,
    /// How long it ran.
    pub time: Duration,
    /// How often something went wrong.
    pub faults: u64,
    /// How often the store went on from another server, or from an older file.
    pub failovers: usize,
    /// How many forks nodes went through, entries they put back, and stores they seeded anew.
    pub forks: u64,
    /// See [`WorldRun::forks`].
    pub put_back: u64,
    /// See [`WorldRun::forks`].
    pub reseeds: u64,
    /// Whether everything was whole again in time.
    pub whole: bool,
    /// When settling waited for the operator although nothing had been lost, if it did.
    pub needless: Option<String>,
    /// What a node did after a newer build had written, if it did not just stop.
    pub newer: Option<String>,
}

/// Runs a world; `listener` hears its story.
///
/// # Panics
///
/// The runtime cannot be built; or something in the world panics, which is a finding.
pub fn run_world(plan: &Plan, mistake: Option<Mistake>, listener: Option<Listener>) -> WorldRun {
    firstcome_inject::set(mistake);
    // For the judge, too, who reads what was written.
    firstcome_inject::invent_level(plan.invents_level);
    let steps = run_steps(Arc::new(plan.clone()), mistake, listener);
    let world_run = in_virtual_time(plan.seed, steps);
    firstcome_inject::set(None);
    world_run
}

async fn run_steps(
    plan: Arc<Plan>,
    mistake: Option<Mistake>,
    listener: Option<Listener>,
) -> WorldRun {
    let begun = Instant::now();
    let environment = Environment::build(plan, mistake, listener);
    let Environment { plan, trace, .. } = &environment;
    let slots = Slots::set_up(environment.clone());
    trace.tell(format_args!("{:?}", Plan { steps: Vec::new(), ..(**plan).clone() }));
    for slot in 0..plan.nodes {
        slots.start(slot, Duration::from_millis(slot as u64));
    }
    let people = People::new(environment.clone(), slots.clone());
    let mut faults = 0;
    for Step { at, what } in &plan.steps {
        sleep_until(begun + *at).await;
        match what {
            What::Ask(ask) => drop(tokio::spawn(people.clone().ask(ask.clone()))),
            What::Fault(fault) => {
                faults += 1;
                trace.tell(format_args!("{fault:?}"));
                inject(*fault, &slots, &environment);
            }
        }
    }
    sleep_until(begun + plan.ends).await;
    trace.tell(format_args!("nothing goes wrong any more"));
    environment.store.stop_faults();
    if let Some(ledger) = &environment.ledger {
        ledger.stop_faults();
    }
    slots.stop_faults();
    let (whole, needless) = recovery::wait_for_recovery(&environment, &slots).await;
    trace.tell(format_args!("{}", if whole { "all is whole" } else { "it does not become whole" }));
    let end = recovery::end(&environment, &slots).await;
    let NodeCounts { forks, put_back, reseeds } = slots.counted();
    let mut history = environment.record.with(|history| {
        let said = std::mem::take(&mut history.end.reports);
        history.end = end;
        history.end.reports.extend(said);
        history.clone()
    });
    history.stored = environment.store.with_entries(<[_]>::to_vec);
    let newer = if plan.newer && whole {
        newer_build::write(&environment, &slots).await.err()
    } else {
        None
    };
    let (hash, time) = (trace.hash(), begun.elapsed());
    let failovers = environment.store.failovers();
    WorldRun {
        history,
        hash,
        time,
        faults,
        failovers,
        forks,
        put_back,
        reseeds,
        whole,
        needless,
        newer,
    }
}

/// Injects a fault.
fn inject(fault: Fault, slots: &Slots, environment: &Environment) {
    let (store, ledger) = (&environment.store, environment.ledger.as_ref());
    match fault {
        Fault::Crash { slot, down } => slots.crash(slot, down),
        Fault::Stop { slot, down } => slots.stop(slot, down),
        Fault::Pause { slot, time } => slots.pause(slot, time),
        Fault::Cut { slot, time, direction } => slots.cut(slot, direction, time),
        Fault::Slow { slot, time, by } => slots.slow(slot, time, by),
        Fault::Lag { copy, time } => store.lag(copy, time),
        Fault::Promote { copy, lingers } => store.promote(copy, lingers),
        Fault::Restart { down } => store.restart(down, Duration::ZERO, false),
        Fault::OldFile { age } => store.restart(Duration::from_millis(20), age, false),
        Fault::Emptied => store.restart(Duration::from_millis(20), Duration::ZERO, true),
        Fault::Full { time } => {
            store.full(true);
            let store = store.clone();
            tokio::spawn(async move {
                sleep(time).await;
                store.full(false);
            });
        }
        Fault::Clock { by } => store.set_clock(by),
        Fault::NoConfirms { time } => store.without_confirms(time),
        Fault::LockAway { slot, time } => slots.lock_away(slot, time),
        Fault::LockRefuses { error, time } => slots.lock_refuses(error, time),
        Fault::LedgerAway { time } => drop(ledger.map(|ledger| ledger.away(time))),
        Fault::LostCommit => drop(ledger.map(SimLedger::lose_commit)),
        Fault::StuckTransaction { time } => drop(ledger.map(|ledger| ledger.stick(time))),
        Fault::OldLedger { age } => drop(ledger.map(|ledger| ledger.restore(age))),
    }
}
