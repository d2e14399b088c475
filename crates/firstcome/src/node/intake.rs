//! Where a command enters: the only place that may answer without the journal.
//!
//! A node never grants from memory. It may repeat a yes or refuse while its state is fresh and at or
//! past the position the caller brought; the table is `from_memory`.

use super::ask::{Answer, Ask, Decided, Waiting};
use super::health::{Condition, Health};
use super::queue::{NotTaken, Queue};
use super::replica::Replica;
use crate::answer::Failure;
use crate::metrics::Metrics;
use firstcome_core::names::Position;
use firstcome_core::{Outcome, Refusal, State, Timestamp};
use firstcome_journal::Clock;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout_at};

/// How much this node takes on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Commands that may wait for the journal.
    pub queue: usize,
    /// How long a command waits.
    pub wait: Duration,
    /// Bytes of memory that campaigns may take.
    pub memory: u64,
    /// Results that may wait for the ledger; without a ledger there is no such limit.
    pub outbox: Option<usize>,
}

/// Takes commands and answers them.
#[derive(Debug)]
pub struct Intake {
    pub(crate) replica: Arc<Replica>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) health: Arc<Health>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Clock,
    pub(crate) limits: Limits,
}

impl Intake {
    /// Claims a unit.
    ///
    /// # Errors
    ///
    /// Any [`Failure`]; only [`Failure::Unknown`] may have changed something.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the claim may or may not happen; asking again gives the same answer.
    pub async fn claim(
        &self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
        min: Option<Position>,
    ) -> Result<Answer, Failure> {
        self.reach(min).await?;
        if let Some(answer) = self.claim_from_memory(campaign, pool, subject) {
            return Ok(answer);
        }
        self.decide(Ask::Claim {
            campaign: campaign.into(),
            pool: pool.map(Into::into),
            subject: subject.into(),
        })
        .await
    }

    /// Has the journal decide a command.
    ///
    /// # Errors
    ///
    /// Any [`Failure`]; only [`Failure::Unknown`] may have changed something.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the command may or may not happen.
    pub async fn decide(&self, ask: Ask) -> Result<Answer, Failure> {
        if let Condition::Lost(failure, _) = self.health.condition() {
            return Err(failure);
        }
        if self.makes_results_beyond_the_outbox(&ask) {
            return Err(Failure::OutboxFull);
        }
        self.enqueue(ask).await
    }

    /// Has the journal decide a command of the node's own, whatever the node's condition.
    pub(crate) async fn enqueue(&self, ask: Ask) -> Result<Answer, Failure> {
        let (reply, answer) = oneshot::channel();
        let until = Instant::now() + self.limits.wait;
        self.queue.push(Waiting { ask, reply, until }).map_err(|not| match not {
            NotTaken::Full => Failure::Busy,
            NotTaken::Closed => Failure::Unavailable("this node is shutting down".into()),
        })?;
        // The appender answers every command it takes, at the latest when its time is over.
        answer.await.unwrap_or(Err(Failure::Unknown))
    }

    /// Waits until this node's state is at or past a position.
    ///
    /// # Errors
    ///
    /// `stale_position` for one of another epoch, `unavailable` if it is not reached in time.
    pub async fn reach(&self, min: Option<Position>) -> Result<(), Failure> {
        let Some(min) = min else {
            return Ok(());
        };
        let now = self.replica.look(State::token);
        if min.epoch != now.epoch || min.shard != now.shard {
            return Err(Failure::StalePosition);
        }
        if min.position <= now.position {
            return Ok(());
        }
        let until = Instant::now() + self.limits.wait;
        timeout_at(until, self.replica.reach(min.position))
            .await
            .map_err(|_| Failure::Unavailable(format!("position {min} is not known here yet")))
    }

    /// Gives the condition of this node.
    pub fn condition(&self) -> Condition {
        self.health.condition()
    }

    fn claim_from_memory(
        &self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
    ) -> Option<Answer> {
        if self.health.condition() != Condition::Fresh {
            return None;
        }
        let now = self.clock.now();
        let (outcome, position) = self.replica.look(|state| {
            let outcome = match state.campaign(campaign) {
                Ok(campaign) => campaign.judge_claim(state.at(), pool, subject).err()?,
                Err(refusal) => refusal.into(),
            };
            from_memory(&outcome, now).then(|| (outcome, state.token()))
        })?;
        self.metrics.from_memory.inc();
        Some(Answer { outcome, position, decided: Decided::Replica })
    }

    fn makes_results_beyond_the_outbox(&self, ask: &Ask) -> bool {
        let makes_results = matches!(ask, Ask::Claim { .. } | Ask::Cancel { .. });
        let full = |most| self.replica.look(State::unsettled) >= most;
        makes_results && self.limits.outbox.is_some_and(full)
    }
}

/// Says whether an outcome of a claim may be given from this node's state, by a row each.
///
/// The embedded store has this process as its only writer, so the state *is* caught up with the head
/// whenever it is fresh: rows that want that hold without asking.
fn from_memory(outcome: &Outcome, now: Timestamp) -> bool {
    match outcome {
        // The same yes again; where subjects may cancel and claim again, as of the head.
        Outcome::AlreadyWon { .. } => true,
        Outcome::Refused(refusal) => match refusal {
            // As of the position.
            Refusal::SoldOut | Refusal::Closed | Refusal::Paused => true,
            // Nothing undoes them while the state is caught up with the head.
            Refusal::NotFound(_) | Refusal::Archived | Refusal::PoolRequired => true,
            // Only if the store's clock cannot be there yet. This process reads that clock itself.
            Refusal::NotOpen { opens_at } => opens_at.is_none_or(|opens_at| now < opens_at),
            // The subject's own affairs, and what no claim is answered with.
            Refusal::AlreadyCancelled
            | Refusal::NotAdmitted
            | Refusal::LimitReached
            | Refusal::NoSuchClaim
            | Refusal::IdReused
            | Refusal::VersionMismatch { .. }
            | Refusal::NotChangeable(_)
            | Refusal::ClosesTooEarly
            | Refusal::NotClosed
            | Refusal::Unsettled
            | Refusal::BeyondResults => false,
        },
        Outcome::Won { .. }
        | Outcome::Cancelled { .. }
        | Outcome::Created { .. }
        | Outcome::Changed { .. }
        | Outcome::Unchanged { .. }
        | Outcome::Ticked
        | Outcome::Settled { .. } => false,
    }
}
