//! Where a command enters: the only place that may answer without the journal.
//!
//! A node never grants from memory. It may repeat a yes or refuse while its state is fresh and at or
//! past the position the caller brought; the table is `from_memory`. Into the bytes of a batch: `encode`. ReplyReceiver for seats: `in_line`. Codes: `codes`.

mod codes;
mod encode;
pub(crate) mod from_memory;
mod in_line;
mod many;

pub use codes::{CodeAsk, CodeVerb, Unread};
pub use encode::{Ready, lacked_its_tag};
pub use many::{NotSubmitted, SentCommand};

use crate::agreement::Agreement;
use crate::answer::{Answer, Decided};
use crate::appender::queue::{NotTaken, Queue};
use crate::appender::queue::{Pending, QueuedRequest};
use crate::appender::reply::reply_channel;
use crate::appender::signals::Signals;
use crate::clock::StoreClock;
use crate::codes::CodeKeys;
use crate::error::CommandError;
use crate::heal::suspensions::Suspensions;
use crate::health::{Condition, Health};
use crate::intake::from_memory::{When, from_memory};
use crate::metrics::Metrics;
use crate::replica::Replica;
use firstcome_core::limits::SERVICE_STEP_US;
use firstcome_core::names::Position;
use firstcome_core::{Command, Outcome, State, Timestamp};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::cluster::Membership;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

/// How long a reader waits for what it read to be durable.
const READ_WAIT: Duration = Duration::from_secs(1);

/// How long a hold must last still, in microseconds of service time, for this node to say by itself that it does.
const LASTS_FOR_US: i64 = 2_000_000;

/// Bytes that all commands may have together that wait for the journal, unless told otherwise: 64 MiB.
pub const QUEUE_BYTES: usize = 64 << 20;

/// How much this node takes on.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Commands that may wait for the journal.
    pub queue: usize,
    /// Bytes that they may have together.
    pub queue_bytes: usize,
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
    /// The state.
    pub replica: Arc<Replica>,
    pub(crate) queue: Arc<Queue>,
    pub(crate) health: Arc<Health>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) clock: Arc<StoreClock>,
    pub(crate) signals: Arc<Signals>,
    /// How much this node takes on.
    pub limits: Limits,
    /// The settings this node announces, and those of the others.
    pub agreement: Arc<Agreement>,
    /// The nodes that send heartbeats, where several share the journal.
    pub(crate) membership: watch::Receiver<Option<Membership>>,
    /// The keys that codes are made and kept with.
    pub codes: Arc<CodeKeys>,
    pub(crate) suspensions: Arc<Suspensions>,
}

impl Intake {
    /// Claims a unit.
    ///
    /// # Errors
    ///
    /// Any [`CommandError`]; only [`CommandError::Unknown`] may have changed something.
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
    ) -> Result<Answer, CommandError> {
        match self.claim_early(campaign, pool, subject, min).await? {
            Some(answer) => Ok(answer),
            None => self.decide(&Command::claim(campaign, pool, subject)).await,
        }
    }

    /// Answers a claim without the journal, where that can be done; else it is for [`Self::decide`].
    ///
    /// # Errors
    ///
    /// As [`Self::claim`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn claim_early(
        &self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
        min: Option<Position>,
    ) -> Result<Option<Answer>, CommandError> {
        self.reach(min).await?;
        self.claim_from_memory(campaign, pool, subject).await.transpose()
    }

    /// Sets units aside for a subject.
    ///
    /// # Errors
    ///
    /// Any [`CommandError`]; only [`CommandError::Unknown`] may have changed something.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the hold may or may not happen; asking again under the same id gives the same answer.
    pub async fn hold(
        &self,
        hold: &Command<'_>,
        min: Option<Position>,
    ) -> Result<Answer, CommandError> {
        match self.hold_early(hold, min).await? {
            Some(answer) => Ok(answer),
            None => self.decide(hold).await,
        }
    }

    /// Answers a hold without the journal, where that can be done; else, and whatever other command it is, it is for
    /// [`Self::decide`].
    ///
    /// # Errors
    ///
    /// As [`Self::hold`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn hold_early(
        &self,
        command: &Command<'_>,
        min: Option<Position>,
    ) -> Result<Option<Answer>, CommandError> {
        self.reach(min).await?;
        let answer = self.say_from_memory(|state| {
            // Service time went on since the last entry, by as much as a step counts at most.
            let since = self.clock.latest().map(|latest| latest.micros_since(state.at()));
            let since = since.map_or(SERVICE_STEP_US, |since| since.clamp(0, SERVICE_STEP_US));
            let since = if inject(Mistake::TakenWithoutElapsed) { 0 } else { since };
            let margin = if inject(Mistake::TakenWithoutMargin) { 0 } else { LASTS_FOR_US + since };
            state.judge_hold(command, margin)
        });
        answer.await.transpose()
    }

    /// Returns the store's time, as far as this node knows it.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lets time pass, whatever the node's condition.
    ///
    /// # Errors
    ///
    /// As [`Self::decide`].
    pub async fn tick(&self) -> Result<Answer, CommandError> {
        self.enqueue(QueuedRequest::Tick).await
    }

    /// Says that a ledger has the results up to a number of a branch of this node, whatever the node's condition.
    ///
    /// # Errors
    ///
    /// As [`Self::decide`]; [`CommandError::Unavailable`] if the node has switched to another branch since.
    pub async fn settled(
        &self,
        through: u64,
        term: u64,
        branch: u64,
    ) -> Result<Answer, CommandError> {
        self.enqueue(QueuedRequest::Settled { through, term, branch }).await
    }

    /// Has the journal decide a request, whatever the node's condition.
    pub(crate) async fn enqueue(&self, request: QueuedRequest) -> Result<Answer, CommandError> {
        let (reply, waiting) = reply_channel();
        let since = Instant::now();
        self.queue.push(Pending { request, reply, since }).map_err(|not| match not {
            NotTaken::Full => CommandError::Busy,
            NotTaken::Closed => CommandError::Unavailable("this node is shutting down".into()),
        })?;
        waiting.until(since + self.limits.wait).await
    }

    /// Waits until this node's state is at or past a position.
    ///
    /// # Errors
    ///
    /// `stale_position` for one of an older epoch, `unavailable` if it is not reached in time.
    pub async fn reach(&self, min: Option<Position>) -> Result<(), CommandError> {
        let Some(min) = min.filter(|_| !inject(Mistake::MinPositionIgnored)) else {
            return Ok(());
        };
        let until = Instant::now() + self.limits.wait;
        let mut applied = self.replica.watch();
        loop {
            applied.borrow_and_update();
            let now = self.replica.look(State::token);
            // A later epoch may be known elsewhere already, where there is an elsewhere.
            let later = min.epoch > now.epoch && self.health.several();
            if min.epoch != now.epoch && !later {
                return Err(CommandError::StalePosition);
            }
            if min.epoch == now.epoch && min.position <= now.position {
                return Ok(());
            }
            self.signals.look();
            let waited = timeout_at(until, applied.changed()).await;
            if waited.is_err() {
                return Err(CommandError::Unavailable(format!(
                    "position {min} is not known here yet"
                )));
            }
        }
    }

    /// Waits, at most for a second, until what was read as of a position is durable; says whether it is.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn endures(&self, position: Position) -> bool {
        self.signals.reads();
        self.endures_until(position.position, Instant::now() + READ_WAIT).await
    }

    /// Catches up with the head of the journal once, in time for a command; says whether it did.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn catches_up(&self) -> bool {
        self.catch_up(Instant::now() + self.limits.wait).await.is_some()
    }

    async fn endures_until(&self, position: u64, until: Instant) -> bool {
        let durable = self.replica.durable();
        if durable.position >= position {
            return true;
        }
        self.signals.endure();
        let endures = self.replica.endures(durable.branch, position);
        timeout_at(until, endures).await.unwrap_or(false)
    }

    /// Returns how many bytes of memory campaigns may take: the least of all nodes that are there.
    pub fn memory_limit(&self) -> u64 {
        let membership = self.membership.borrow();
        let others =
            membership.iter().flat_map(|membership| &membership.nodes).map(|(node, _)| node.memory);
        others.fold(self.limits.memory, u64::min)
    }

    /// Returns the nodes that send heartbeats, as far as this node heard; none where it is the only one there can be.
    pub fn membership(&self) -> Option<Membership> {
        self.membership.borrow().clone()
    }

    /// Returns how many imported codes changed hands in a fork and are not suspended yet, as far as this node knows: it sends
    /// again every second the commands that suspend them.
    pub fn codes_to_suspend(&self) -> usize {
        self.suspensions.codes()
    }

    /// Returns the condition of this node.
    pub fn condition(&self) -> Condition {
        self.health.condition()
    }

    /// Answers a claim without the journal, where that can be done.
    async fn claim_from_memory(
        &self,
        campaign: &str,
        pool: Option<&str>,
        subject: &str,
    ) -> Option<Result<Answer, CommandError>> {
        self.say_from_memory(|state| match state.campaign(campaign) {
            Ok(campaign) => {
                let outcome = campaign.judge_claim(state.at(), pool, subject, None).err()?;
                Some((outcome, campaign.lets_claim_again()))
            }
            Err(refusal) => Some((refusal.into(), false)),
        })
        .await
    }

    /// Answers what the state can be asked about without the journal, where that can be done. `judge` gives the
    /// answer, and whether the campaign lets a subject claim again.
    async fn say_from_memory(
        &self,
        judge: impl Fn(&State) -> Option<(Outcome, bool)>,
    ) -> Option<Result<Answer, CommandError>> {
        let judge = || {
            let fresh = self.health.condition() == Condition::Fresh;
            if !fresh && !inject(Mistake::AnswerWhileStale) {
                return None;
            }
            let latest = self.clock.latest();
            self.replica.look(|state| {
                let (outcome, again) = judge(state)?;
                let when = from_memory(&outcome, latest, again);
                let answer = Answer { outcome, position: state.token(), decided: Decided::Replica };
                Some((when, answer))
            })
        };
        let (when, mut answer) = judge()?;
        let until = Instant::now() + self.limits.wait;
        match when {
            When::Now => {}
            When::AfterCatchingUp => {
                self.catch_up(until).await?;
                let (when, caught_up) = judge()?;
                if when == When::Never {
                    return None;
                }
                answer = caught_up;
            }
            When::Never => return None,
        }
        self.signals.reads();
        if !self.endures_until(answer.position.position, until).await {
            return Some(Err(CommandError::Unknown));
        }
        self.metrics.from_memory.inc();
        Some(Ok(answer))
    }

    /// Catches up with the head of the journal once; all who wait share one read.
    async fn catch_up(&self, until: Instant) -> Option<()> {
        let now = Instant::now();
        // Where one look is not enough, the next one comes soon.
        self.signals.reads();
        self.signals.look();
        timeout_at(until, self.health.catches_up_with(now)).await.ok()
    }
}
