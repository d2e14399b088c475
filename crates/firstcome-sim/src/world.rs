//! A world, from its first moment until everything is quiet and whole again, or cannot become so.

mod newer;
mod quiet;

pub use quiet::WHOLE_WITHIN;

use crate::around::Around;
use crate::books::Books;
use crate::history::{Durability, End, History};
use crate::life::{Counted, Seats};
use crate::people::People;
use crate::plan::{Fault, Plan, Step, What};
use crate::record::Record;
use crate::store::{BEGIN, Store};
use crate::trace::{Listener, Trace};
use firstcome_inject::Mistake;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

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
    /// How often the store went on from another server, or from an older file.
    pub failovers: usize,
    /// How many forks nodes went through, entries they put back, and stores they seeded anew.
    pub forks: u64,
    /// See [`Lived::forks`].
    pub put_back: u64,
    /// See [`Lived::forks`].
    pub reseeds: u64,
    /// Whether everything was whole again in time.
    pub whole: bool,
    /// When settling waited for the operator although nothing had been lost, if it did.
    pub needless: Option<String>,
    /// What a node did after a newer build had written, if it did not just stop.
    pub newer: Option<String>,
}

/// Lives through a world; `told` hears its story.
///
/// # Panics
///
/// The runtime cannot be built; or something in the world panics, which is a finding.
pub fn live(plan: &Plan, mistake: Option<Mistake>, told: Option<Listener>) -> Lived {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true);
    #[cfg(tokio_unstable)]
    builder.rng_seed(tokio::runtime::RngSeed::from_bytes(&plan.seed.to_le_bytes()));
    fastrand::seed(plan.seed);
    let runtime = builder.build().expect("a runtime without threads can be built");
    firstcome_inject::set(mistake);
    let lived = runtime.block_on(passes(Arc::new(plan.clone()), mistake, told));
    firstcome_inject::set(None);
    // What still waits there would wait for ever.
    drop(runtime);
    lived
}

async fn passes(plan: Arc<Plan>, mistake: Option<Mistake>, told: Option<Listener>) -> Lived {
    let begun = Instant::now();
    let trace = Trace::begin(told);
    let record = Record::begin(empty(plan.durability));
    let around = Around {
        store: Store::build(&plan, record.clone(), trace.clone()),
        books: plan.ledger.then(|| Books::open(plan.seed, record.clone(), trace.clone())),
        locks: firstcome_lock::Memory::starting_at(BEGIN.unsigned_abs()),
        trace,
        mistake,
        plan,
    };
    let Around { plan, trace, .. } = &around;
    let seats = Seats::set_up(around.clone());
    trace.tell(format_args!("{:?}", Plan { steps: Vec::new(), ..(**plan).clone() }));
    for seat in 0..plan.nodes {
        seats.start(seat, Duration::from_millis(seat as u64));
    }
    let people = People::gather(around.clone(), seats.clone());
    let mut faults = 0;
    for Step { at, what } in &plan.steps {
        sleep_until(begun + *at).await;
        match what {
            What::Ask(ask) => drop(tokio::spawn(people.clone().asks(ask.clone()))),
            What::Fault(fault) => {
                faults += 1;
                trace.tell(format_args!("{fault:?}"));
                befalls(*fault, &seats, &around);
            }
        }
    }
    sleep_until(begun + plan.ends).await;
    trace.tell(format_args!("nothing goes wrong any more"));
    around.store.mend();
    if let Some(books) = &around.books {
        books.mend();
    }
    seats.mend();
    let (whole, needless) = quiet::becomes_whole(&around, &seats).await;
    trace.tell(format_args!("{}", if whole { "all is whole" } else { "it does not become whole" }));
    let end = quiet::end(&around, &seats).await;
    let Counted { forks, put_back, reseeds } = seats.counted();
    let history = record.with(|history| {
        let said = std::mem::take(&mut history.end.reports);
        history.end = end;
        history.end.reports.extend(said);
        history.clone()
    });
    let newer = if plan.newer && whole { newer::writes(&around, &seats).await.err() } else { None };
    let (hash, time) = (trace.hash(), begun.elapsed());
    let failovers = around.store.failovers();
    Lived {
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

fn empty(durability: Durability) -> History {
    History {
        durability,
        exchanges: Vec::new(),
        stored: Vec::new(),
        headed: Vec::new(),
        losses: Vec::new(),
        turns: Vec::new(),
        demotions: Vec::new(),
        clock_steps: Vec::new(),
        ledger_restored: Vec::new(),
        settled_late: Vec::new(),
        lined: Vec::new(),
        lives: Vec::new(),
        end: End::default(),
    }
}

/// Has something go wrong.
fn befalls(fault: Fault, seats: &Seats, around: &Around) {
    let (store, books) = (&around.store, around.books.as_ref());
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
        Fault::LockAway { seat, time } => seats.lock_away(seat, time),
        Fault::LedgerAway { time } => drop(books.map(|books| books.away(time))),
        Fault::LostCommit => drop(books.map(Books::lose_commit)),
        Fault::StuckTransaction { time } => drop(books.map(|books| books.stick(time))),
        Fault::OldLedger { age } => drop(books.map(|books| books.restore(age))),
    }
}
