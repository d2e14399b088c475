//! Runs a world and judges it; shortens a plan that breaks a promise.

use crate::judge::{Broken, Verdict, judge};
use crate::plan::Plan;
use crate::trace::Listener;
use crate::world::{WorldRun, run_world};
use firstcome_inject::Mistake;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

/// What a trial came to.
#[derive(Debug)]
pub struct Trial {
    /// What happened.
    pub world_run: WorldRun,
    /// What the judge counted, or which promises broke.
    pub verdict: Result<Verdict, Vec<Broken>>,
}

impl Trial {
    /// Says whether a promise of that name broke.
    pub fn breaks(&self, promise: &str) -> bool {
        let broken = self.verdict.as_ref().err();
        broken.is_some_and(|all| all.iter().any(|broken| broken.promise == promise))
    }

    /// Returns the first promise that broke, if one did.
    pub fn broken(&self) -> Option<&Broken> {
        self.verdict.as_ref().err().and_then(|all| all.first())
    }
}

thread_local! {
    static PANICS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Has panics in a world be a finding instead of text on standard error.
fn catch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            let caught = PANICS.with(|panics| match panics.try_borrow_mut() {
                Ok(mut panics) => panics.as_mut().map(|all| all.push(panic.to_string())).is_some(),
                Err(_) => false,
            });
            if !caught {
                usual(panic);
            }
        }));
    });
}

/// Runs a world and judges it; `listener` hears its story.
///
/// # Panics
///
/// The simulation itself panics, or the judge: the message names the world. What panics in a node is a finding instead.
pub fn trial(plan: &Plan, mistake: Option<Mistake>, listener: Option<Listener>) -> Trial {
    catch_panics();
    PANICS.set(Some(Vec::new()));
    // Nothing of what panicked is used afterwards.
    let ended = catch_unwind(AssertUnwindSafe(|| {
        let world_run = run_world(plan, mistake, listener);
        let verdict = judge(&world_run.history);
        (world_run, verdict)
    }));
    let mut panics = PANICS.take().unwrap_or_default();
    let Ok((world_run, mut verdict)) = ended else {
        // The next world on this thread makes no mistake of this one.
        firstcome_inject::set(None);
        let seed = plan.seed;
        let last = panics.pop().unwrap_or_default();
        panic!(
            "the simulation itself broke in world {seed}, to be seen with --seed {seed}: {last}"
        );
    };
    if let (Ok(_), Some(what)) = (&verdict, &world_run.needless) {
        verdict = Err(vec![Broken { promise: "settles_by_itself", what: what.clone() }]);
    }
    if let (Ok(_), Some(what)) = (&verdict, &world_run.newer) {
        verdict = Err(vec![Broken { promise: "older_level_stops", what: what.clone() }]);
    }
    if let Some(panic) = panics.into_iter().next() {
        let broken = Broken { promise: "no_panic", what: panic };
        match &mut verdict {
            Ok(_) => verdict = Err(vec![broken]),
            Err(all) => all.insert(0, broken),
        }
    }
    Trial { world_run, verdict }
}

/// Leaves steps out of a plan for as long as the same promise breaks without them; gives the steps that
/// are left, as numbers in the plan.
pub fn shorten(plan: &Plan, mistake: Option<Mistake>, promise: &str, time: Duration) -> Vec<usize> {
    let end = Instant::now() + time;
    let mut kept: Vec<usize> = (0..plan.steps.len()).collect();
    let mut size = kept.len().div_ceil(2);
    while size > 0 {
        let mut from = 0;
        let mut shorter = false;
        while from < kept.len() && Instant::now() < end {
            let without: Vec<usize> = {
                let left_out = from..(from + size).min(kept.len());
                let steps = kept.iter().enumerate();
                steps
                    .filter(|(index, _)| !left_out.contains(index))
                    .map(|(_, step)| *step)
                    .collect()
            };
            if trial(&plan.only(&without), mistake, None).breaks(promise) {
                kept = without;
                shorter = true;
            } else {
                from += size;
            }
        }
        if Instant::now() >= end || size == 1 && !shorter {
            break;
        }
        if !shorter {
            size = size.div_ceil(2);
        }
    }
    kept
}

/// Makes a mistake in one world after the other, until a promise breaks; gives the number of the world,
/// the lowest there is, and the promise.
pub fn until_noticed(mistake: Mistake, worlds: u64, threads: usize) -> Option<(u64, &'static str)> {
    let (next, lowest) = (AtomicU64::new(0), Mutex::new(None::<(u64, &'static str)>));
    let known = || lowest.lock().unwrap_or_else(PoisonError::into_inner);
    std::thread::scope(|scope| {
        for _ in 0..threads.max(1) {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= worlds || known().is_some_and(|(found, _)| found < seed) {
                        return;
                    }
                    let trial = trial(&Plan::draw(seed), Some(mistake), None);
                    let Some(broken) = trial.broken() else { continue };
                    let mut lowest = known();
                    if lowest.is_none_or(|(found, _)| seed < found) {
                        *lowest = Some((seed, broken.promise));
                    }
                }
            });
        }
    });
    lowest.into_inner().unwrap_or_else(PoisonError::into_inner)
}
