//! Codes on their way in: what somebody typed becomes a code the rules know.
//!
//! A code that no pool of this node's state knows is refused here, once the state has caught up with the journal: who
//! guesses costs the journal nothing. A typing error is known without a look at the state.

use super::Intake;
use crate::answer::{Answer, Decided};
use crate::codes::{CodePool, NoCodeKey, NotRead, ReadCode};
use crate::error::CommandError;
use crate::health::Condition;
use firstcome_core::campaign::Campaign;
use firstcome_core::codes::IssuedCode;
use firstcome_core::command::{CodeCommand, CodeStep};
use firstcome_core::names::Position;
use firstcome_core::outcome::Missing;
use firstcome_core::{CodeRefusal, Command, Refusal, State};

/// What somebody wants of a code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeVerb {
    /// To set a use of it aside.
    Reserve {
        /// For how long, in microseconds of service time: 1 s to 24 h.
        ttl_us: i64,
    },
    /// To use it.
    Redeem,
    /// To undo its use.
    RollBack,
    /// To give a reservation back.
    EndReservation,
}

/// A code as it was typed, and for what.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct CodeAsk<'a> {
    pub campaign: &'a str,
    /// The pool, if one is named; else every coded pool of the campaign is tried.
    pub pool: Option<&'a str>,
    /// What was typed. It is never kept and never logged.
    pub code: &'a str,
    /// The reference: 1 to 64 bytes.
    pub reference: &'a str,
    /// Who uses it, if that is said.
    pub subject: Option<&'a str>,
}

impl std::fmt::Debug for CodeAsk<'_> {
    /// Does not show what was typed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { campaign, pool, code: _, reference, subject } = self;
        let mut shown = f.debug_struct("CodeAsk");
        shown.field("campaign", campaign).field("pool", pool).field("reference", reference);
        shown.field("subject", subject).finish_non_exhaustive()
    }
}

/// Why what was typed is no code that anything can be done with.
#[derive(Clone, Debug)]
pub enum Unread {
    /// It cannot be a code: a typing error. Nothing was looked up, and it is no guess.
    Malformed,
    /// The rules say no, as of this node's state, caught up: `no_such_code`, or there is no such campaign or pool.
    Refused(Answer),
    /// It has no outcome.
    Failed(CommandError),
}

impl From<CommandError> for Unread {
    fn from(failure: CommandError) -> Self {
        Self::Failed(failure)
    }
}

impl From<NoCodeKey> for CommandError {
    fn from(missing: NoCodeKey) -> Self {
        Self::Unavailable(missing.to_string())
    }
}

impl Intake {
    /// Finds the code that somebody typed, without the journal.
    ///
    /// # Errors
    ///
    /// Any [`Unread`]. Nothing changed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn read_code(
        &self,
        (campaign, pool): (&str, Option<&str>),
        typed: &str,
        min: Option<Position>,
    ) -> Result<ReadCode, Unread> {
        self.reach(min).await?;
        let look = || {
            self.replica.look(|state| match state.campaign(campaign) {
                Err(refusal) => Err(refused(state, refusal)),
                Ok(found) => {
                    has_codes(found, pool).map_err(|refusal| refused(state, refusal))?;
                    self.codes.read(state.space(), found, pool, typed).map_err(|not| match not {
                        NotRead::Malformed => Unread::Malformed,
                        NotRead::Unknown => refused(state, CodeRefusal::NoSuchCode.into()),
                        NotRead::NoKey(missing) => Unread::Failed(missing.into()),
                    })
                }
            })
        };
        self.looked_twice(look).await
    }

    /// Finds a coded pool, to make or read many of its codes.
    ///
    /// # Errors
    ///
    /// Any [`Unread`] but [`Unread::Malformed`]. Nothing changed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn coded_pool(
        &self,
        campaign: &str,
        pool: Option<&str>,
        min: Option<Position>,
    ) -> Result<CodePool, Unread> {
        self.reach(min).await?;
        let look = || {
            self.replica.look(|state| {
                CodePool::find(state, campaign, pool).map_err(|refusal| refused(state, refusal))
            })
        };
        self.looked_twice(look).await
    }

    /// Looks, and where that is refused looks again once the state has caught up with the journal.
    async fn looked_twice<T>(&self, look: impl Fn() -> Result<T, Unread>) -> Result<T, Unread> {
        match look() {
            Err(Unread::Refused(_)) => {}
            known => return known,
        }
        if self.condition() != Condition::Fresh || !self.catches_up().await {
            let why = "this server could not ask the journal whether there is such a code";
            return Err(CommandError::Unavailable(why.into()).into());
        }
        look()
    }

    /// Does something with a code that somebody typed; gives the name of its pool, too.
    ///
    /// # Errors
    ///
    /// Any [`Unread`]; only [`CommandError::Unknown`] may have changed something.
    ///
    /// # Cancel safety
    ///
    /// Dropped while it waits, it may or may not happen; asking again with the same reference gives the same answer.
    pub async fn code(
        &self,
        ask: &CodeAsk<'_>,
        verb: CodeVerb,
        min: Option<Position>,
    ) -> Result<(Box<str>, Answer), Unread> {
        let CodeAsk { campaign, pool, code, reference, subject } = *ask;
        let read = self.read_code((campaign, pool), code, min).await?;
        let step = CodeStep { campaign, pool: Some(&read.pool), code: read.code, reference };
        let command = Command::Code(match verb {
            CodeVerb::Reserve { ttl_us } => CodeCommand::Reserve { step, subject, ttl_us },
            CodeVerb::Redeem => CodeCommand::Redeem { step, subject },
            CodeVerb::RollBack => CodeCommand::RollBack { step },
            CodeVerb::EndReservation => CodeCommand::EndReservation { step },
        });
        let answer = self.decide(&command).await?;
        Ok((read.pool, answer))
    }

    /// Writes the code that came with a claim of a subject, for who may see it; none where the campaign has left memory, or a
    /// failover took the claim.
    ///
    /// # Errors
    ///
    /// [`NoCodeKey`]: this server lacks the key.
    pub fn write_code(
        &self,
        (campaign, subject): (&str, &str),
        pool: u16,
        code: IssuedCode,
    ) -> Result<Option<String>, NoCodeKey> {
        self.replica.look(|state| {
            let (Ok(found), index) = (state.campaign(campaign), usize::from(pool)) else {
                return Ok(None);
            };
            // Since it was answered, the state may have become that of another branch.
            let Some(unit) = found.unit_issued_to(index, subject, code) else { return Ok(None) };
            self.codes.write(state.space(), (found, index), unit).map(Some)
        })
    }
}

/// Refuses a campaign, or a pool of it, that has no codes.
fn has_codes(campaign: &Campaign, pool: Option<&str>) -> Result<(), Refusal> {
    let mut pools = campaign.pools().iter();
    let coded = match pool {
        Some(name) => {
            let found = pools.find(|pool| pool.name() == name);
            found.ok_or(Refusal::NotFound(Missing::Pool))?.codes().is_some()
        }
        None => pools.any(|pool| pool.codes().is_some()),
    };
    if coded { Ok(()) } else { Err(CodeRefusal::NotCoded.into()) }
}

fn refused(state: &State, refusal: Refusal) -> Unread {
    let (outcome, position) = (refusal.into(), state.token());
    Unread::Refused(Answer { outcome, position, decided: Decided::Replica })
}
