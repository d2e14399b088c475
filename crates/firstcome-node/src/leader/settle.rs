//! Results into the ledger, exactly once.
//!
//! One transaction carries the rows and moves `through` from what this leader knows to what it wrote,
//! under the term the ledger minted. An older leader, or the same transaction a second time, finds
//! another `through` or another term, and writes nothing.

use super::Standing;
use crate::agreement::LedgerMark;
use crate::ledger::{Batch, Ledger, LedgerError, Row};
use crate::metrics::Metrics;
use crate::{Intake, stopped, stopped_within};
use firstcome_core::State;
use firstcome_inject::{Mistake, inject};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// Rows looked at in one go: claims wait while they are gathered.
const ROWS: usize = 4_096;
/// Rows in one transaction at most.
const BITE: usize = 4 * ROWS;
/// How often a ledger is looked at that nothing is written to.
const LOOK_EVERY: Duration = Duration::from_secs(10);
/// The pause after a failure.
const AFTER_FAILURE: Duration = Duration::from_secs(1);
/// While more waits, the pause is this many times what the transaction took: claims come first.
const YIELD: u32 = 3;

pub(super) struct Settle {
    pub(super) intake: Arc<Intake>,
    pub(super) ledger: Ledger,
    pub(super) interval: Duration,
    pub(super) delay: SettleDelay,
    pub(super) metrics: Arc<Metrics>,
    pub(super) standing: Arc<Mutex<Standing>>,
}

/// How late results are written while new ones keep coming: claims come first, and one large transaction costs less than
/// many small ones.
#[derive(Clone, Copy, Debug)]
pub struct SettleDelay {
    /// The time that the first of them waits, at most.
    pub time: Duration,
    /// The number that waits, at most.
    pub results: usize,
}

impl Default for SettleDelay {
    /// Two seconds, or a hundred thousand results.
    fn default() -> Self {
        Self { time: Duration::from_secs(2), results: 100_000 }
    }
}

impl Drop for Settle {
    /// What is wrong with the ledger is for whoever leads next to say.
    fn drop(&mut self) {
        self.stand(|standing| standing.trouble = None);
    }
}

/// Why this stretch of leading the ledger ended.
enum End {
    /// The leader stops.
    Stopped,
    /// The ledger failed or moved on: begin again with a new term.
    Again(String),
}

impl Settle {
    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) {
        let mut believed = None;
        loop {
            match self.lead(&mut stop, &mut believed).await {
                End::Stopped => return,
                End::Again(why) => {
                    self.metrics.settle_failures.inc();
                    self.stand(|standing| standing.trouble = Some(why));
                    if stopped_within(&mut stop, AFTER_FAILURE).await {
                        return;
                    }
                }
            }
        }
    }

    /// Settles under one term until something ends it.
    ///
    /// It goes on from where the ledger is. `believed` is set without [`Mistake::SettleWithoutReread`] only.
    async fn lead(&self, stop: &mut watch::Receiver<bool>, believed: &mut Option<u64>) -> End {
        // Before anything is written: which one it is.
        if let Ok(id) = self.ledger.id().await {
            self.intake.agreement.has_ledger(LedgerMark::Known(id));
        }
        if let Some(why) = self.elsewhere() {
            return End::Again(why);
        }
        let minted = match self.ledger.mint_term().await {
            Ok(minted) => minted,
            Err(failure) => return End::Again(failure.to_string()),
        };
        let (term, mut through) = (minted.term, believed.unwrap_or(minted.through));
        let branch = self.intake.replica.durable().branch;
        if let Err(why) = self.check(through).await {
            return End::Again(why);
        }
        self.stand(|standing| *standing = Standing { term, trouble: None });
        self.mark(through, term, branch).await;
        let mut applied = self.intake.replica.watch();
        let mut looked = Instant::now();
        loop {
            let rows = self.bite_after(through);
            // Looked at after the rows: what was dropped before they were gathered shows here. A node that was
            // elected while it lagged learns only now what was settled before an older ledger came back.
            if let Some(why) = self.behind(through) {
                return End::Again(why);
            }
            if let Some(why) = self.elsewhere() {
                return End::Again(why);
            }
            let stopping = *stop.borrow();
            let Some(last) = rows.last().map(|row| row.number) else {
                if stopping {
                    return End::Stopped;
                }
                tokio::select! {
                    _ = applied.changed() => {}
                    () = stopped(stop) => continue,
                    () = sleep_until(looked + LOOK_EVERY) => {
                        looked = Instant::now();
                        if let Some(why) = self.moved(through, term, branch).await {
                            return End::Again(why);
                        }
                        // A mark that failed is said again, even if no result ever follows.
                        self.mark(through, term, branch).await;
                        continue;
                    }
                }
                self.wait_while_more_come(stop).await;
                continue;
            };
            if !self.endures(branch, stop).await {
                return if *stop.borrow() {
                    End::Stopped
                } else {
                    End::Again("the node switched to another branch of the journal".into())
                };
            }
            let full = rows.len() == BITE;
            let begun = Instant::now();
            if inject(Mistake::ResultsDroppedEarly) {
                self.mark(last, term, branch).await;
            }
            let written = self.write(through, last, term, rows).await;
            if inject(Mistake::SettleWithoutReread) {
                *believed = Some(if written.is_ok() { last } else { through });
            }
            if let Err(failure) = written {
                return if stopping { End::Stopped } else { End::Again(failure.to_string()) };
            }
            through = last;
            self.metrics.settlements.inc();
            self.mark(through, term, branch).await;
            if full && !stopping {
                stopped_within(stop, begun.elapsed() * YIELD).await;
            } else if !stopping {
                self.wait_while_more_come(stop).await;
            }
        }
    }

    /// Waits for the pause between two rounds, and while new results keep coming for as long as they may be late.
    async fn wait_while_more_come(&self, stop: &mut watch::Receiver<bool>) {
        let begun = Instant::now();
        let made = || self.intake.replica.look(|state| (state.last_result(), state.unsettled()));
        let (mut before, _) = made();
        while !stopped_within(stop, self.interval).await {
            let (last, waiting) = made();
            let late = begun.elapsed() >= self.delay.time || waiting >= self.delay.results;
            if late || last == before {
                return;
            }
            before = last;
        }
    }

    /// Says whether the ledger, or this node's branch, is another one than this leader goes by.
    ///
    /// Writing would find out, but nothing may be there to write after somebody restored a backup.
    async fn moved(&self, through: u64, term: u64, branch: u64) -> Option<String> {
        if self.intake.replica.durable().branch != branch {
            return Some("the node switched to another branch of the journal".into());
        }
        // One that does not answer is noticed when there is something to write.
        let now = self.ledger.standing().await.ok()?;
        let same = now.through == through && now.term == term;
        (!same).then(|| {
            let crate::ledger::Standing { through: is, term: by } = now;
            format!(
                "the ledger has results up to {is} under term {by}, this leader wrote up to {through} \
                 under term {term}: looking again"
            )
        })
    }

    /// Waits until what is applied is durable; `false` if this node switched to another branch, or it stops.
    ///
    /// A ledger must not have what the journal may still lose.
    async fn endures(&self, branch: u64, stop: &mut watch::Receiver<bool>) -> bool {
        let replica = &self.intake.replica;
        let position = replica.look(State::position);
        let durable = replica.durable();
        let early = inject(Mistake::SettleBeforeDurable);
        if durable.branch == branch && (durable.position >= position || early) {
            return true;
        }
        tokio::select! {
            same = replica.endures(branch, position) => same,
            () = stopped(stop) => false,
        }
    }

    /// Writes rows, and learns by looking whether a transaction counts whose answer was lost.
    async fn write(
        &self,
        after: u64,
        last: u64,
        term: u64,
        rows: Vec<Row>,
    ) -> Result<(), LedgerError> {
        match self.ledger.settle(Batch { after, term, rows }).await {
            Ok(_) => Ok(()),
            Err(failure) if inject(Mistake::SettleWithoutReread) => Err(failure),
            Err(LedgerError::Unknown(why)) => match self.ledger.standing().await? {
                now if now.through == last && now.term == term => Ok(()),
                _ => Err(LedgerError::Unknown(why)),
            },
            Err(failure) => Err(failure),
        }
    }

    /// Refuses a ledger that does not fit this node's branch.
    async fn check(&self, through: u64) -> Result<(), String> {
        let (settled, last, fingerprint) = self
            .intake
            .replica
            .look(|state| (state.settled(), state.last_result(), state.settled_fingerprint()));
        if through > last {
            return Err(format!(
                "ledger_ahead: the ledger has results up to {through}, this journal made {last}: \
                 it belongs to another journal, or the journal lost its end. Name the right ledger; or stop the \
                 server, run `firstcome settle set-aside`, which renames this one, then `firstcome settle rebuild`, \
                 which writes another from the journal"
            ));
        }
        if let Some(why) = self.behind(through) {
            return Err(why);
        }
        // The last one that was settled: a copy of the ledger from a history that is no more may be as long.
        if let Some(ours) = fingerprint {
            let theirs = self.ledger.results(settled - 1, 1, None).await;
            let theirs = theirs.map_err(|why| why.to_string())?;
            let is_ours = |row: &Row| row.number == settled && row.fingerprint() == ours;
            if !theirs.first().is_some_and(is_ours) {
                return Err(other_ledger(settled));
            }
        }
        // Every result that both still have: after a fork of the journal they may differ anywhere.
        let mut number = settled.min(through.saturating_sub(1));
        while number < through {
            let ours = self.rows_after(number);
            let theirs = self.ledger.results(number, ROWS, None).await;
            let theirs = theirs.map_err(|why| why.to_string())?;
            for ours in ours.iter().filter(|ours| ours.number <= through) {
                let found = theirs.iter().find(|theirs| theirs.number == ours.number);
                if !found.is_some_and(|found| found.is_same_result(ours)) {
                    return Err(other_ledger(ours.number));
                }
            }
            let Some(last) = ours.last().or(theirs.last()) else { return Ok(()) };
            number = last.number.max(number + 1);
        }
        Ok(())
    }

    /// Says that the ledger lacks what was settled once, if it does: this node has it no more, and would leave a gap.
    fn behind(&self, through: u64) -> Option<String> {
        let settled = self.intake.replica.look(State::settled);
        (through < settled).then(|| {
            format!(
                "ledger_behind: the ledger has results up to {through}, those up to {settled} were \
                 settled and dropped from memory here. Restore a newer copy of the ledger; or stop the server and \
                 run `firstcome settle rebuild`, which writes what is missing from the journal and its archive"
            )
        })
    }

    /// Says that a live server has the ledger of the space and this one another, if it is so: nothing is written to two.
    ///
    /// One whose id cannot be known is written to, as before there were ids.
    fn elsewhere(&self) -> Option<String> {
        let LedgerMark::Known(_) = self.intake.agreement.own().ledger else { return None };
        let address = self.intake.agreement.has_other_ledger()?;
        Some(format!(
            "ledger_differs: the server {address} has another ledger, which is that of the space as it has run for \
             longer; nothing is written to two. Give both the same `ledger` setting and restart the wrong one"
        ))
    }

    /// Returns what one transaction takes, gathered in several looks.
    fn bite_after(&self, number: u64) -> Vec<Row> {
        let mut bite = self.rows_after(number);
        while bite.len() < BITE && bite.len().is_multiple_of(ROWS) {
            let Some(last) = bite.last().map(|row| row.number) else { break };
            let more = self.rows_after(last);
            if more.is_empty() {
                break;
            }
            bite.extend(more);
        }
        bite
    }

    fn rows_after(&self, number: u64) -> Vec<Row> {
        let rows = |state: &State| state.results_after(number).take(ROWS).map(Row::from).collect();
        // What a broken entry left half done is nobody's result.
        self.intake.replica.look_whole(rows).unwrap_or_default()
    }

    /// Lets every replica drop what the ledger has.
    async fn mark(&self, through: u64, term: u64, branch: u64) {
        if self.intake.replica.look(State::settled) < through {
            // If it fails now, the next look says it again.
            drop(self.intake.settled(through, term, branch).await);
        }
    }

    fn stand(&self, change: impl FnOnce(&mut Standing)) {
        change(&mut self.standing.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Says that a result in the ledger is not that of this journal.
fn other_ledger(number: u64) -> String {
    format!(
        "ledger_other: result {number} in the ledger is not the one of this journal: it belongs to another history. Name the \
         right ledger; or stop the server, run `firstcome settle set-aside`, which renames this one, then \
         `firstcome settle rebuild`"
    )
}
