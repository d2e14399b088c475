//! The simulated ledger: its database is away, loses the answer to a COMMIT, blocks in a transaction, or is restored
//! from an old backup.

use crate::record::Record;
use crate::trace::Trace;
use fastrand::Rng;
use firstcome_core::{Outcome, SpaceId, State};
use firstcome_journal::Entry;
use firstcome_node::ledger::memory::{Kept, LedgerCall, LedgerWork, MemoryLedger, Way};
use firstcome_node::ledger::{Batch, Ledger, LedgerError, Row};
use firstcome_virtual::gate::Gate;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::{Instant, sleep, sleep_until};

/// How long a transaction waits for another one, and how long it may block.
const LOCK_WITHIN: Duration = Duration::from_secs(5);
/// How often a backup is made.
const BACKUP_EVERY: Duration = Duration::from_millis(500);

/// The simulated ledger. Clones are the same one.
#[derive(Clone, Debug)]
pub(crate) struct SimLedger {
    memory: MemoryLedger,
    state: Arc<Mutex<LedgerState>>,
    record: Record,
    trace: Trace,
}

#[derive(Debug)]
struct LedgerState {
    random: Rng,
    away: Instant,
    lost_commits: u32,
    /// How long the next transaction blocks.
    stuck_for: Option<Duration>,
    /// Until when one does.
    stuck: Instant,
    backups: Vec<(Instant, Kept)>,
    /// How many links to it there were.
    links: u64,
    /// The link over which the last term was minted; none after the content was replaced.
    began: Option<u64>,
}

impl SimLedger {
    pub(crate) fn open(seed: u64, record: Record, trace: Trace) -> Self {
        let now = Instant::now();
        let state = LedgerState {
            random: Rng::with_seed(seed ^ 0x1ed6_e400),
            away: now,
            lost_commits: 0,
            stuck_for: None,
            stuck: now,
            backups: Vec::new(),
            links: 0,
            began: None,
        };
        let memory = MemoryLedger::new(SpaceId([7; 16]));
        let ledger = Self { memory, state: Arc::new(Mutex::new(state)), record, trace };
        let backups = ledger.clone();
        tokio::spawn(async move {
            loop {
                let kept = backups.memory.kept();
                backups.lock().backups.push((Instant::now(), kept));
                sleep(BACKUP_EVERY).await;
            }
        });
        ledger
    }

    /// Returns the ledger as a node reaches it.
    pub(crate) fn reached_by(&self, gate: Gate) -> Ledger {
        let number = {
            let mut state = self.lock();
            state.links += 1;
            state.links
        };
        let way = LedgerLink { ledger: self.clone(), gate, number };
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
            let state = self.lock();
            let old = state.backups.iter().rev().find(|(made, _)| now - *made >= age);
            old.or(state.backups.first()).map(|(_, kept)| kept.clone())
        };
        if let Some(kept) = backup {
            self.replace(&kept);
        }
    }

    /// Replaces the content, terms included.
    fn replace(&self, kept: &Kept) {
        self.memory.restore(kept);
        self.lock().began = None;
        self.record.ledger_restored(self.trace.now());
        self.record.settled(self.trace.now(), kept.results().cloned().map(Into::into));
    }

    pub(crate) fn stop_faults(&self) {
        let mut state = self.lock();
        let now = Instant::now();
        state.away = now;
        state.stuck = now;
        state.stuck_for = None;
        state.lost_commits = 0;
    }

    /// Returns every row, in the order of their numbers.
    pub(crate) fn rows(&self) -> Vec<Row> {
        self.memory.kept().results().cloned().collect()
    }

    /// Returns the number of the last row; 0 if there is none.
    pub(crate) fn through(&self) -> u64 {
        self.memory.kept().results().last().map_or(0, |last| last.number)
    }

    /// Writes the ledger anew from the journal, as `firstcome settle rebuild` does after a set-aside.
    pub(crate) async fn rebuild(&self, entries: Vec<Entry>) {
        let fresh = MemoryLedger::new(SpaceId([7; 16]));
        let ledger = Ledger::Memory(fresh.clone());
        let mut state = State::new(SpaceId([7; 16]));
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

    fn lock(&self) -> MutexGuard<'_, LedgerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The link of one node to the ledger.
#[derive(Clone, Debug)]
struct LedgerLink {
    ledger: SimLedger,
    gate: Gate,
    number: u64,
}

impl Way for LedgerLink {
    fn carry(
        &self,
        call: LedgerCall,
        work: LedgerWork,
    ) -> Pin<Box<dyn Future<Output = Result<(), LedgerError>> + Send>> {
        let link = self.clone();
        Box::pin(async move {
            link.gate.pass().await;
            let carried = link.deliver(call, work).await;
            link.gate.pass().await;
            carried
        })
    }
}

impl LedgerLink {
    async fn deliver(&self, call: LedgerCall, work: LedgerWork) -> Result<(), LedgerError> {
        let (there, back, hangs) = {
            let random = &mut self.ledger.lock().random;
            let (there, back) = (random.u64(50..3_000), random.u64(50..3_000));
            (Duration::from_micros(there), Duration::from_micros(back), random.bool())
        };
        sleep(there).await;
        if self.ledger.lock().away > Instant::now() {
            if hangs {
                sleep(LOCK_WITHIN).await;
            }
            return Err(LedgerError::Unavailable("the ledger is away".into()));
        }
        if matches!(call, LedgerCall::Settle | LedgerCall::MintTerm) {
            let stuck = self.ledger.lock().stuck;
            let now = Instant::now();
            if stuck > now {
                sleep_until(stuck.min(now + LOCK_WITHIN)).await;
                if stuck > now + LOCK_WITHIN {
                    return Err(LedgerError::Unavailable("a lock was waited for too long".into()));
                }
            }
        }
        if call == LedgerCall::Settle {
            let stuck_for = {
                let mut state = self.ledger.lock();
                let stuck_for = state.stuck_for.take();
                // A transaction that blocks for too long is ended by the database.
                state.stuck = Instant::now() + stuck_for.unwrap_or_default().min(LOCK_WITHIN);
                stuck_for
            };
            if let Some(time) = stuck_for {
                sleep(time.min(LOCK_WITHIN)).await;
                if time > LOCK_WITHIN {
                    drop(work);
                    sleep(time - LOCK_WITHIN).await;
                    return Err(LedgerError::Unavailable("the transaction was ended".into()));
                }
            }
        }
        self.run_and_record(call, work).await;
        sleep(back).await;
        let lost = {
            let mut state = self.ledger.lock();
            let lost = call == LedgerCall::Settle && state.lost_commits > 0;
            state.lost_commits -= u32::from(lost);
            lost || state.away > Instant::now()
        };
        if lost {
            return Err(LedgerError::Unknown("the answer was lost".into()));
        }
        Ok(())
    }

    /// Runs the work, and records what it changed.
    async fn run_and_record(&self, call: LedgerCall, work: LedgerWork) {
        let SimLedger { memory, record, trace, .. } = &self.ledger;
        let ledger = Ledger::Memory(memory.clone());
        let before = ledger.standing().await.ok();
        work();
        let after = ledger.standing().await.ok();
        if call == LedgerCall::MintTerm {
            self.ledger.lock().began = Some(self.number);
        }
        if let Some(after) = after
            && before.is_some_and(|before| before.through != after.through)
        {
            let last = ledger.results(after.through - 1, 1, None).await.ok();
            let last = last.and_then(|rows| rows.into_iter().next());
            record.settled(trace.now(), last.map(Into::into));
            if self.ledger.lock().began.is_some_and(|began| began != self.number) {
                record.wrote_late(trace.now());
            }
        }
    }
}
