//! What can be answered, with its stable strings.

use crate::Timestamp;
use crate::wire::{Malformed, Reader, Write};

/// On whose word a claim was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The subject's own.
    Subject,
    /// The operator's, who also keeps the subject out from then on.
    Operator,
}

impl By {
    /// Gives the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Subject => "subject",
            Self::Operator => "operator",
        }
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Self::Subject => 1,
            Self::Operator => 2,
        }
    }

    pub(crate) fn of(code: u64) -> Option<Self> {
        [Self::Subject, Self::Operator].into_iter().find(|by| u64::from(by.code()) == code)
    }
}

/// A pool whose capacity could not go down as far as asked, because more was given already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clamped {
    /// The pool.
    pub pool: Box<str>,
    /// How far its capacity got.
    pub capacity: u32,
}

/// The answer of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A unit is the subject's for good.
    Won {
        /// Its rank in the pool, from 1, gap-free.
        rank: u32,
        /// When.
        at: Timestamp,
    },
    /// The subject had won before; nothing changed.
    AlreadyWon {
        /// The rank of then.
        rank: u32,
        /// When it was won.
        at: Timestamp,
    },
    /// A claim is undone. Asking again gives the same answer.
    Cancelled {
        /// Whose word counted.
        by: By,
        /// When it was undone.
        at: Timestamp,
    },
    /// A campaign came to be.
    Created {
        /// Its version: 1.
        version: u32,
    },
    /// A campaign was changed.
    Changed {
        /// Its new version.
        version: u32,
        /// The pools whose capacity could not go down as far as asked.
        clamped: Vec<Clamped>,
    },
    /// A campaign was already as asked.
    Unchanged {
        /// Its version.
        version: u32,
    },
    /// Time passed.
    Ticked,
    /// Results up to a number are no longer kept here.
    Settled {
        /// The number.
        through: u64,
    },
    /// The rules say no, and nothing changed.
    Refused(Refusal),
}

/// What was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The campaign.
    Campaign,
    /// The pool in the campaign.
    Pool,
}

/// A setting that cannot change once the campaign has opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// The opening time.
    OpensAt,
    /// Whether subjects may claim again.
    ClaimAgain,
    /// Whether cancelled units return.
    UnitsReturn,
    /// A pool that would go.
    Pools,
}

impl Fixed {
    /// Gives the field's name as it is written in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OpensAt => "opens_at",
            Self::ClaimAgain => "claim_again",
            Self::UnitsReturn => "units_return",
            Self::Pools => "pools",
        }
    }
}

/// Why the rules say no.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such campaign, or no such pool in it.
    NotFound(Missing),
    /// The campaign is finished and has left memory.
    Archived,
    /// The campaign has several pools and none was named.
    PoolRequired,
    /// The subject cancelled here, and this campaign lets nobody claim again.
    AlreadyCancelled,
    /// The operator cancelled a claim of this subject, who may not claim again.
    NotAdmitted,
    /// The operator has paused the campaign.
    Paused,
    /// The campaign has not opened yet; without a time it is a draft.
    NotOpen {
        /// When it opens, if that is decided.
        opens_at: Option<Timestamp>,
    },
    /// The campaign is over.
    Closed,
    /// The subject has as many live claims as one may have over the campaign.
    LimitReached,
    /// No unit is left.
    SoldOut,
    /// The subject has no claim of this rank here.
    NoSuchClaim,
    /// The id was used for a command with other content.
    IdReused,
    /// The campaign is not as the command demands.
    VersionMismatch {
        /// The version it is at.
        version: u32,
    },
    /// The campaign has opened, and this cannot change any more.
    NotChangeable(Fixed),
    /// The closing time is not after the opening time, or not after now.
    ClosesTooEarly,
    /// Only a closed campaign can be archived.
    NotClosed,
    /// Some of the campaign's results are not settled yet.
    Unsettled,
    /// The number lies beyond the last result.
    BeyondResults,
}

impl Refusal {
    /// Every refusal once, in no particular order; refusals with content stand with some content.
    pub const ALL: [Self; 18] = [
        Self::NotFound(Missing::Campaign),
        Self::Archived,
        Self::PoolRequired,
        Self::AlreadyCancelled,
        Self::NotAdmitted,
        Self::Paused,
        Self::NotOpen { opens_at: None },
        Self::Closed,
        Self::LimitReached,
        Self::SoldOut,
        Self::NoSuchClaim,
        Self::IdReused,
        Self::VersionMismatch { version: 0 },
        Self::NotChangeable(Fixed::OpensAt),
        Self::ClosesTooEarly,
        Self::NotClosed,
        Self::Unsettled,
        Self::BeyondResults,
    ];

    /// Gives the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound(_) => "not_found",
            Self::Archived => "archived",
            Self::PoolRequired => "pool_required",
            Self::AlreadyCancelled => "already_cancelled",
            Self::NotAdmitted => "not_admitted",
            Self::Paused => "paused",
            Self::NotOpen { .. } => "not_open",
            Self::Closed => "closed",
            Self::LimitReached => "limit_reached",
            Self::SoldOut => "sold_out",
            Self::NoSuchClaim => "no_such_claim",
            Self::IdReused => "id_reused",
            Self::VersionMismatch { .. } => "version_mismatch",
            Self::NotChangeable(_) => "not_changeable",
            Self::ClosesTooEarly => "closes_too_early",
            Self::NotClosed => "not_closed",
            Self::Unsettled => "unsettled",
            Self::BeyondResults => "beyond_results",
        }
    }

    /// Gives the stable number the digest and stored outcomes use.
    fn code(self) -> u32 {
        match self {
            Self::NotFound(_) => 32,
            Self::Archived => 33,
            Self::PoolRequired => 34,
            Self::AlreadyCancelled => 35,
            Self::NotAdmitted => 36,
            Self::Paused => 37,
            Self::NotOpen { .. } => 38,
            Self::Closed => 39,
            Self::LimitReached => 40,
            Self::SoldOut => 41,
            Self::NoSuchClaim => 42,
            Self::IdReused => 43,
            Self::VersionMismatch { .. } => 44,
            Self::NotChangeable(_) => 45,
            Self::ClosesTooEarly => 46,
            Self::NotClosed => 47,
            Self::Unsettled => 48,
            Self::BeyondResults => 49,
        }
    }
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl Outcome {
    /// Gives the stable string.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Won { .. } => "won",
            Self::AlreadyWon { .. } => "already_won",
            Self::Cancelled { .. } => "cancelled",
            Self::Created { .. } => "created",
            Self::Changed { .. } => "changed",
            Self::Unchanged { .. } => "unchanged",
            Self::Ticked => "ticked",
            Self::Settled { .. } => "settled",
            Self::Refused(refusal) => refusal.as_str(),
        }
    }

    /// Says whether the rules said no.
    pub fn is_refusal(&self) -> bool {
        matches!(self, Self::Refused(_))
    }

    /// Writes the outcome for the digest and for snapshots: its code, then what it carries.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Won { rank, at } => {
                out.number(1, u64::from(*rank));
                out.time(16, *at);
            }
            Self::AlreadyWon { rank, at } => {
                out.number(2, u64::from(*rank));
                out.time(16, *at);
            }
            Self::Cancelled { by, at } => {
                out.number(3, u64::from(by.code()));
                out.time(16, *at);
            }
            Self::Created { version } => out.number(4, u64::from(*version)),
            Self::Changed { version, clamped } => {
                out.number(5, u64::from(*version));
                for pool in clamped {
                    out.nested(17, |out| {
                        out.text(1, &pool.pool);
                        out.number(2, u64::from(pool.capacity));
                    });
                }
            }
            Self::Unchanged { version } => out.number(6, u64::from(*version)),
            Self::Ticked => out.number(7, 0),
            Self::Settled { through } => out.number(8, *through),
            Self::Refused(refusal) => {
                let content = match refusal {
                    Refusal::VersionMismatch { version } => u64::from(*version),
                    Refusal::NotChangeable(fixed) => *fixed as u64,
                    Refusal::NotFound(missing) => *missing as u64,
                    Refusal::NotOpen { opens_at } => opens_at.map_or(0, |at| at.as_micros() as u64),
                    Refusal::Archived
                    | Refusal::PoolRequired
                    | Refusal::AlreadyCancelled
                    | Refusal::NotAdmitted
                    | Refusal::Paused
                    | Refusal::Closed
                    | Refusal::LimitReached
                    | Refusal::SoldOut
                    | Refusal::NoSuchClaim
                    | Refusal::IdReused
                    | Refusal::ClosesTooEarly
                    | Refusal::NotClosed
                    | Refusal::Unsettled
                    | Refusal::BeyondResults => 0,
                };
                out.number(refusal.code(), content);
            }
        }
    }

    /// Reads the outcome of an operator command; only a yes is ever kept.
    ///
    /// # Errors
    ///
    /// Bytes of another form, or an outcome that is not a yes to an operator.
    pub fn decode_kept(fields: Reader<'_>) -> Result<Self, Malformed> {
        let end = fields;
        let (mut read, mut clamped) = (None, Vec::new());
        fields.fields(|field, value| {
            match field {
                4 => read = Some(Self::Created { version: value.number32()? }),
                5 => read = Some(Self::Changed { version: value.number32()?, clamped: Vec::new() }),
                6 => read = Some(Self::Unchanged { version: value.number32()? }),
                17 => {
                    let mut pool = Clamped { pool: "".into(), capacity: 0 };
                    value.nested()?.fields(|field, value| {
                        match field {
                            1 => pool.pool = value.text()?.into(),
                            2 => pool.capacity = value.number32()?,
                            _ => return Err(value.wrong("an unknown field of a clamped pool")),
                        }
                        Ok(())
                    })?;
                    clamped.push(pool);
                }
                _ => return Err(value.wrong("an outcome that is never kept")),
            }
            Ok(())
        })?;
        if let Some(Self::Changed { clamped: kept, .. }) = &mut read {
            *kept = clamped;
        }
        read.ok_or_else(|| end.wrong("an outcome without a code"))
    }
}
