//! A command becomes the bytes that a batch has of it, and is decided: the only place in which a caller's command is encoded.

use super::Intake;
use crate::answer::{Answer, Decided};
use crate::appender::queue::QueuedRequest;
use crate::codes::{CodeKeys, NoCodeKey};
use crate::error::CommandError;
use crate::health::Condition;
use firstcome_core::command::{BadCommand, Encoded};
use firstcome_core::{CodeRefusal, Command, Outcome, Refusal, State};
use std::sync::Arc;

/// What a command is before it is in the queue.
#[derive(Debug)]
pub enum Ready {
    /// It is answered without the journal.
    Answered(Answer),
    /// It is for the queue.
    Command {
        /// Its stored bytes.
        encoded: Encoded,
        /// The name of the campaign's first pool, where a claim or a cancel names none and this node knows the campaign.
        first_pool: Option<Arc<str>>,
    },
}

impl Intake {
    /// Encodes a command, a claim of a code with its tag, and refuses what cannot be put in the queue.
    ///
    /// # Errors
    ///
    /// Any [`CommandError`] but [`CommandError::Unknown`]: nothing changed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: nothing changed.
    pub async fn encode(&self, command: &Command<'_>) -> Result<Ready, CommandError> {
        // One look at the state: every claim comes by here.
        let (tagged, is_full, first_pool) = self.replica.look(|state| {
            let tagged = tagged(&self.codes, state, command);
            (tagged, self.is_beyond_the_outbox(state, command), first_pool(state, command))
        });
        let tagged = tagged?;
        let command = tagged.as_ref().unwrap_or(command);
        // Encoded here, by whoever asks: the appender only joins bytes, and nothing waits that cannot be appended.
        let encoded = Encoded::new(command).map_err(|bad| match bad {
            BadCommand::TooLarge { bytes } => CommandError::TooLarge(bytes),
            BadCommand::Malformed(malformed) => CommandError::Malformed(malformed.what),
        })?;
        if let Condition::Lost(failure, _) = self.health.condition() {
            return Err(failure);
        }
        if is_full {
            return Err(CommandError::OutboxFull);
        }
        if let Some(answer) = self.names_too_much(command) {
            return Ok(Ready::Answered(answer));
        }
        self.check_level(encoded.level()).await?;
        Ok(Ready::Command { encoded, first_pool })
    }

    /// Has the journal decide a command.
    ///
    /// # Errors
    ///
    /// Any [`CommandError`]; only [`CommandError::Unknown`] may have changed something.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, the command may or may not happen.
    pub async fn decide(&self, command: &Command<'_>) -> Result<Answer, CommandError> {
        let answer = match self.encode(command).await? {
            Ready::Answered(answer) => answer,
            Ready::Command { encoded, .. } => self.decide_encoded(encoded).await?,
        };
        let is_untagged = matches!(command, Command::Claim { tag: None, .. });
        if is_untagged && lacked_its_tag(&answer.outcome) {
            return self.decide_with_tag(command).await;
        }
        Ok(answer)
    }

    /// Has the journal decide a command that was encoded.
    ///
    /// # Errors
    ///
    /// As [`Self::decide`].
    ///
    /// # Cancel safety
    ///
    /// As [`Self::decide`].
    pub async fn decide_encoded(&self, encoded: Encoded) -> Result<Answer, CommandError> {
        self.enqueue(QueuedRequest::Command(encoded)).await
    }

    /// Has the journal decide a claim once more that [lacked its tag](lacked_its_tag).
    ///
    /// # Errors
    ///
    /// [`CommandError::Unknown`] only, also where this copy was not sent: the first one is in the journal.
    ///
    /// # Cancel safety
    ///
    /// As [`Self::decide`].
    pub async fn decide_with_tag(&self, claim: &Command<'_>) -> Result<Answer, CommandError> {
        let decide = async {
            match self.encode(claim).await? {
                Ready::Answered(answer) => Ok(answer),
                Ready::Command { encoded, .. } => self.decide_encoded(encoded).await,
            }
        };
        decide.await.map_err(CommandError::of_later_try)
    }

    /// Refuses a command of a higher level than the space, once this node has caught up with the journal: the space may
    /// have been raised through another one.
    async fn check_level(&self, needed: u32) -> Result<(), CommandError> {
        // Every space is at the first level: most commands need no look at the state.
        if needed <= 1 || needed <= self.level() {
            return Ok(());
        }
        if !self.catches_up().await {
            let why = "this server could not ask the journal for the level of the space";
            return Err(CommandError::Unavailable(why.into()));
        }
        let level = self.level();
        if needed <= level { Ok(()) } else { Err(CommandError::LevelTooLow { level, needed }) }
    }

    /// Refuses what names more seats, groups multiplied out, than a hold can have: a group never gets smaller.
    fn names_too_much(&self, command: &Command<'_>) -> Option<Answer> {
        // A claim, for one, needs no look at the state.
        if !command.may_name_too_much() {
            return None;
        }
        self.replica.look(|state| {
            let campaign = state.campaign(command.campaign()?).ok()?;
            campaign.names_too_much(command).then(|| Answer {
                outcome: Refusal::TooManyUnits.into(),
                position: state.token(),
                decided: Decided::Replica,
            })
        })
    }

    /// Says whether a command makes results, and more of them wait for the ledger than may.
    fn is_beyond_the_outbox(&self, state: &State, command: &Command<'_>) -> bool {
        let full = |most| state.unsettled() >= most;
        command.makes_results() && self.limits.outbox.is_some_and(full)
    }
}

/// Says whether a claim without a tag was refused only because its pool was not known to need a tag: the pool was made, or became one of
/// codes, after this node looked. It has applied that by now, so [`Intake::decide_with_tag`] has it decided.
pub fn lacked_its_tag(outcome: &Outcome) -> bool {
    *outcome == Outcome::from(CodeRefusal::TagRequired)
}

/// Returns the name of the campaign's first pool for a claim or a cancel that names none: the rules accept it only where that
/// is the only one.
fn first_pool(state: &State, command: &Command<'_>) -> Option<Arc<str>> {
    let (Command::Claim { campaign, pool: None, .. }
    | Command::Join { campaign, pool: None, .. }
    | Command::Cancel { campaign, pool: None, .. }) = command
    else {
        return None;
    };
    Some(state.campaign(campaign).ok()?.pools().first()?.shared_name())
}

/// Returns a claim without a tag with the tag of its code, where its pool needs one, or nothing if the command is another.
///
/// # Errors
///
/// This node does not have the key of the codes.
fn tagged<'a>(
    keys: &CodeKeys,
    state: &State,
    command: &Command<'a>,
) -> Result<Option<Command<'a>>, NoCodeKey> {
    let Command::Claim { campaign, pool, subject, limit, tag: None } = *command else {
        return Ok(None);
    };
    let Ok(found) = state.campaign(campaign) else { return Ok(None) };
    let tag = keys.tag(state.space(), (found, pool), subject, 1)?;
    Ok(Some(Command::Claim { campaign, pool, subject, limit, tag }))
}
