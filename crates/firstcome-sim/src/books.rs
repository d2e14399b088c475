//! The ledger's side of a world: it goes away, loses the answer to a COMMIT, stops inside of a
//! transaction, and comes back as it was yesterday.

use crate::record::Record;
use crate::road::Gate;
use crate::trace::Trace;
use fastrand::Rng;
use firstcome_core::{Outcome, SpaceId, State};
use firstcome_node::ledger::memory::{Call, Kept, Memory, Way, Work};
use firstcome_node::ledger::{Batch, Ledger, LedgerFailure, Row};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// How long a transaction waits for another one, and how long it may stand still.
const LOCK_WITHIN: Duration = Duration::from_secs(5);
/// How often a backup is made.
const BACKUP_EVERY: Duration = Duration::from_millis(500);

/// The ledger. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct Books {
    memory: Memory,
    inside: Arc<Mutex<Inside>>,
    record: Record,
    trace: Trace,
}

#[derive(Debug)]
struct Inside {
    random: Rng,
    away: Instant,
    lost_commits: u32,
    /// How long the next transaction stands still.
    stuck_for: Option<Duration>,
    /// Until when one does.
    stuck: Instant,
    backups: Vec<(Instant, Kept)>,
    /// How many ways to it there were.
    desks: u64,
    /// Over which of them a term was minted last; none since another content was put in its place.
    began: Option<u64>,
}

impl Books {
    pub(crate) fn open(seed: u64, record: Record, trace: Trace) -> Self {
        let now = Instant::now();
        let inside = Inside {
            random: Rng::with_seed(seed ^ 0x1ed6_e400),
            away: now,
            lost_commits: 0,
            stuck_for: None,
            stuck: now,
            backups: Vec::new(),
            desks: 0,
            began: None,
        };
        let memory = Memory::new(SpaceId([7; 16]), 0);
        let books = Self { memory, inside: Arc::new(Mutex::new(inside)), record, trace };
        let backups = books.clone();
        tokio::spawn(async move {
            loop {
                let kept = backups.memory.kept();
                backups.lock().backups.push((Instant::now(), kept));
                sleep(BACKUP_EVERY).await;
            }
        });
        books
    }

    /// Gives the ledger as a node reaches it.
    pub(crate) fn reached_by(&self, gate: Gate) -> Ledger {
        let number = {
            let mut inside = self.lock();
            inside.desks += 1;
            inside.desks
        };
        let way = Desk { books: self.clone(), gate, number };
        Ledger::Memory(self.memory.through(Arc::new(way)))
    }

    pub(crate) fn away(&self, time: Duration) {
        self.lock().away = Instant::now() + time;
    }

    pub(crate) fn lose_commit(&self) {
        self.lock().lost_commits += 1;
    }

    pub(crate) fn stick(&self, time: Duration) {
        self.lock().stuck_for = Some(time);
    }

    /// Puts a backup of so long ago in the place of all it has.
    pub(crate) fn restore(&self, age: Duration) {
        let now = Instant::now();
        let backup = {
            let inside = self.lock();
            let old = inside.backups.iter().rev().find(|(made, _)| now - *made >= age);
            old.or(inside.backups.first()).map(|(_, kept)| kept.clone())
        };
        if let Some(kept) = backup {
            self.replace(&kept);
        }
    }

    /// Has other content from now on, terms included.
    fn replace(&self, kept: &Kept) {
        self.memory.restore(kept);
        self.lock().began = None;
        self.record.ledger_restored(self.trace.now());
        self.record.settled(kept.results(0).last().map_or(0, |last| last.number));
    }

    pub(crate) fn mend(&self) {
        let mut inside = self.lock();
        let now = Instant::now();
        inside.away = now;
        inside.stuck = now;
        inside.stuck_for = None;
        inside.lost_commits = 0;
    }

    /// Gives every row, in the order of their numbers.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.memory.kept().results(0).cloned().collect()
    }

    /// Gives the number of the last row; 0 if there is none.
    pub(crate) fn through(&self) -> u64 {
        self.memory.kept().results(0).last().map_or(0, |last| last.number)
    }

    /// Writes the ledger anew from the journal, as `firstcome settle rebuild` does after a set-aside.
    pub(crate) async fn rebuild(&self, chain: &[usize]) {
        let entries: Vec<_> = self.record.with(|history| {
            chain.iter().map(|place| history.stored[*place].entry.clone()).collect()
        });
        let fresh = Memory::new(SpaceId([7; 16]), 0);
        let ledger = Ledger::Memory(fresh.clone());
        let mut state = State::new(SpaceId([7; 16]), 0);
        let Ok(mut standing) = ledger.mint_term().await else { return };
        for entry in entries {
            let Ok((stamp, body)) = entry.open() else { return };
            let Ok(commands) = body.commands() else { return };
            let mut outcomes: Vec<Outcome> = Vec::new();
            state.apply(stamp, &commands, &mut outcomes);
            let rows: Vec<Row> = state.results_after(standing.through).map(Row::from).collect();
            if rows.is_empty() {
                continue;
            }
            let batch = Batch { after: standing.through, term: standing.term, rows };
            let Ok(now) = ledger.settle(batch).await else { return };
            standing = now;
        }
        self.replace(&fresh.kept());
        self.trace.tell(format_args!("the ledger is rebuilt through {}", standing.through));
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The way of one node to the ledger.
#[derive(Clone, Debug)]
struct Desk {
    books: Books,
    gate: Gate,
    number: u64,
}

impl Way for Desk {
    fn carry(
        &self,
        call: Call,
        work: Work,
    ) -> Pin<Box<dyn Future<Output = Result<(), LedgerFailure>> + Send>> {
        let desk = self.clone();
        Box::pin(async move {
            desk.gate.pass().await;
            let carried = desk.carries(call, work).await;
            desk.gate.pass().await;
            carried
        })
    }
}

impl Desk {
    async fn carries(&self, call: Call, work: Work) -> Result<(), LedgerFailure> {
        let (there, back, hangs) = {
            let random = &mut self.books.lock().random;
            let (there, back) = (random.u64(50..3_000), random.u64(50..3_000));
            (Duration::from_micros(there), Duration::from_micros(back), random.bool())
        };
        sleep(there).await;
        if self.books.lock().away > Instant::now() {
            if hangs {
                sleep(LOCK_WITHIN).await;
            }
            return Err(LedgerFailure::Unavailable("the ledger is away".into()));
        }
        if matches!(call, Call::Settle | Call::MintTerm) {
            let stuck = self.books.lock().stuck;
            let now = Instant::now();
            if stuck > now {
                sleep_until(stuck.min(now + LOCK_WITHIN)).await;
                if stuck > now + LOCK_WITHIN {
                    return Err(LedgerFailure::Unavailable(
                        "a lock was waited for too long".into(),
                    ));
                }
            }
        }
        if call == Call::Settle {
            let stuck_for = {
                let mut inside = self.books.lock();
                let stuck_for = inside.stuck_for.take();
                // One that stands still for too long is ended by the database.
                inside.stuck = Instant::now() + stuck_for.unwrap_or_default().min(LOCK_WITHIN);
                stuck_for
            };
            if let Some(time) = stuck_for {
                sleep(time.min(LOCK_WITHIN)).await;
                if time > LOCK_WITHIN {
                    drop(work);
                    sleep(time - LOCK_WITHIN).await;
                    return Err(LedgerFailure::Unavailable("the transaction was ended".into()));
                }
            }
        }
        self.has_done(call, work).await;
        sleep(back).await;
        let lost = {
            let mut inside = self.books.lock();
            let lost = call == Call::Settle && inside.lost_commits > 0;
            inside.lost_commits -= u32::from(lost);
            lost || inside.away > Instant::now()
        };
        if lost {
            return Err(LedgerFailure::Unknown("the answer was lost".into()));
        }
        Ok(())
    }

    /// Has work done, and notes what it changed.
    async fn has_done(&self, call: Call, work: Work) {
        let Books { memory, record, trace, .. } = &self.books;
        let ledger = Ledger::Memory(memory.clone());
        let before = ledger.standing().await.ok();
        work();
        let after = ledger.standing().await.ok();
        if call == Call::MintTerm {
            self.books.lock().began = Some(self.number);
        }
        if let Some(after) = after
            && before.is_some_and(|before| before.through != after.through)
        {
            record.settled(after.through);
            if self.books.lock().began.is_some_and(|began| began != self.number) {
                record.wrote_late(trace.now());
            }
        }
    }
}
