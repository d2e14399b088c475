//! A world, from its first moment until everything is quiet and whole again, or cannot become so.

use crate::history::{Durability, End, History, Last};
use crate::life::{Counted, Seats};
use crate::people::People;
use crate::plan::{Fault, Plan, Step, What};
use crate::record::Record;
use crate::store::Store;
use crate::trace::Trace;
use firstcome::node::Condition;
use firstcome_core::State;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// How long after the last fault everything is whole again.
pub const WHOLE_WITHIN: Duration = Duration::from_secs(60);

/// What became of a world.
#[derive(Debug)]
pub struct Lived {
    /// All that happened.
    pub history: History,
    /// The hash over the story.
    pub hash: u64,
    /// How long it lived.
    pub time: Duration,
    /// How often something went wrong.
    pub faults: u64,
    /// How many forks nodes went through, entries they put back, and stores they seeded anew.
    pub forks: u64,
    /// See [`Lived::forks`].
    pub put_back: u64,
    /// See [`Lived::forks`].
    pub reseeds: u64,
}

/// Lives through a world; `told` hears its story.
///
/// # Panics
///
/// The runtime cannot be built; or something in the world panics, which is a finding.
pub fn live(plan: &Plan, told: Option<Box<dyn FnMut(&str) + Send>>) -> Lived {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    #[cfg(tokio_unstable)]
    builder.rng_seed(tokio::runtime::RngSeed::from_bytes(&plan.seed.to_le_bytes()));
    fastrand::seed(plan.seed);
    let runtime = builder.build().expect("a runtime without threads can be built");
    let lived = runtime.block_on(passes(Arc::new(plan.clone()), told));
    // What still waits there would wait for ever.
    drop(runtime);
    lived
}

async fn passes(plan: Arc<Plan>, told: Option<Box<dyn FnMut(&str) + Send>>) -> Lived {
    let begun = Instant::now();
    let trace = Trace::begin(told);
    let record = Record::begin(empty(plan.durability));
    let store = Store::build(&plan, None, record.clone(), trace.clone());
    let seats = Seats::set_up(Arc::clone(&plan), store.clone(), trace.clone());
    trace.tell(format_args!("{:?}", Plan { steps: Vec::new(), ..(*plan).clone() }));
    for seat in 0..plan.nodes {
        seats.start(seat, Duration::from_millis(seat as u64));
    }
    let people = People::gather(Arc::clone(&plan), seats.clone(), store.clone(), trace.clone());
    let watching = tokio::spawn(watch(seats.clone(), store.clone()));
    let mut faults = 0;
    for Step { at, what } in &plan.steps {
        sleep_until(begun + *at).await;
        match what {
            What::Ask(ask) => drop(tokio::spawn(people.clone().asks(ask.clone()))),
            What::Fault(fault) => {
                faults += 1;
                trace.tell(format_args!("{fault:?}"));
                befalls(*fault, &seats, &store);
            }
        }
    }
    sleep_until(begun + plan.ends).await;
    trace.tell(format_args!("nothing goes wrong any more"));
    store.mend();
    seats.mend();
    let whole = becomes_whole(&plan, &seats, &store).await;
    trace.tell(format_args!("whole: {whole}"));
    watching.abort();
    let end = end(&seats, &store).await;
    let Counted { forks, put_back, reseeds } = seats.counted();
    let history = record.with(|history| {
        history.end = end;
        std::mem::replace(history, empty(plan.durability))
    });
    Lived { history, hash: trace.hash(), time: begun.elapsed(), faults, forks, put_back, reseeds }
}

fn empty(durability: Durability) -> History {
    History {
        durability,
        exchanges: Vec::new(),
        stored: Vec::new(),
        headed: Vec::new(),
        losses: Vec::new(),
        clock_steps: Vec::new(),
        ledger_restored: Vec::new(),
        lives: Vec::new(),
        end: End::default(),
    }
}

/// Has something go wrong.
fn befalls(fault: Fault, seats: &Seats, store: &Store) {
    match fault {
        Fault::Crash { seat, down } => seats.crash(seat, down),
        Fault::Stop { seat, down } => seats.stop(seat, down),
        Fault::Pause { seat, time } => seats.pause(seat, time),
        Fault::Cut { seat, time, way } => seats.cut(seat, way, time),
        Fault::Slow { seat, time, by } => seats.slow(seat, time, by),
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
        Fault::LockAway { .. }
        | Fault::LedgerAway { .. }
        | Fault::LostCommit
        | Fault::StuckTransaction { .. }
        | Fault::OldLedger { .. } => {}
    }
}

/// Notes what each node has applied.
async fn watch(seats: Seats, store: Store) {
    loop {
        note_applied(&seats, &store);
        sleep(Duration::from_millis(1)).await;
    }
}

fn note_applied(seats: &Seats, store: &Store) {
    // Filled in where the record can tell which entry it is.
    let _seen = (seats, store);
}

/// Waits until every node has what the store has, says the same of it, and is well.
async fn becomes_whole(plan: &Plan, seats: &Seats, store: &Store) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < WHOLE_WITHIN {
        sleep(Duration::from_millis(500)).await;
        // The operator's part: a store that has nothing any more is seeded by the node that knows most.
        reseed(seats);
        let (chain, _) = store.chain();
        let said = seats.each(|_, node| {
            let fresh = node.intake.condition() == Condition::Fresh;
            (fresh, node.replica.look(|state: &State| (state.position(), state.digest())))
        });
        let all = said.len() == plan.nodes && said.iter().all(|(fresh, _)| *fresh);
        let same = said.windows(2).all(|pair| pair[0].1 == pair[1].1);
        let head = store
            .record
            .with(|history| chain.last().map_or(0, |last| history.stored[*last].entry.position));
        if all && same && said.iter().all(|(_, (position, _))| *position == head) {
            return true;
        }
    }
    false
}

/// Has the node that knows most seed a store that has nothing any more.
fn reseed(seats: &Seats) {
    let known = seats.each(|front, node| {
        (node.is_without_store(), node.replica.look(State::position), front.life())
    });
    if known.is_empty() || !known.iter().all(|(without, ..)| *without) {
        return;
    }
    let most = known.iter().map(|(_, position, life)| (*position, *life)).max();
    seats.each(|front, node| {
        if most.is_some_and(|(_, life)| life == front.life()) {
            node.reseed();
        }
    });
}

async fn end(seats: &Seats, store: &Store) -> End {
    let (chain, _) = store.chain();
    let nodes = seats.each(|front, node| {
        let trouble = match node.intake.condition() {
            Condition::Fresh => None,
            Condition::Stale(why) | Condition::Lost(_, why) => Some(why),
        };
        let (position, digest) =
            node.replica.look(|state: &State| (state.position(), state.digest()));
        let applied = chain.get((position as usize).wrapping_sub(1)).copied();
        Last { life: front.life(), applied, digest, trouble }
    });
    End { journal: chain.to_vec(), nodes, ..End::default() }
}
