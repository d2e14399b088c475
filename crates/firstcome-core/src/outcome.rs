//! Outcomes: what can be answered, with its stable strings.

mod bytes;
mod codes;
mod from_memory;
mod refusal;

pub use codes::{CodeOutcome, CodeRefusal};
pub use from_memory::FromMemory;
pub use refusal::{Fixed, Missing, Refusal};

use crate::codes::IssuedCode;
use crate::hall::BadSeat;
use crate::time::Timestamp;
use std::fmt;

/// On whose word a claim was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// The subject's own.
    Subject,
    /// The operator's.
    Operator,
}

impl By {
    /// Returns the stable string.
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
    pub pool: Box<str>,
    /// How far its capacity got.
    pub capacity: u32,
}

/// A unit by its names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnitName {
    pub pool: Box<str>,
    /// The seat or the area; none in a counted pool, whose units have no names.
    pub unit: Option<Box<str>>,
}

impl fmt::Display for UnitName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.unit {
            Some(unit) => write!(f, "{}/{unit}", self.pool),
            None => f.write_str(&self.pool),
        }
    }
}

/// A unit that became a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankedUnit {
    pub unit: UnitName,
    /// Its rank in its pool.
    pub rank: u32,
}

/// A hold as an answer shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holding {
    /// The hold's id.
    pub hold: Box<str>,
    /// The units that are held, by pool and then in the pool's order.
    pub units: Vec<UnitName>,
    /// When they are free again if journal time goes on without a break; later if it does not.
    pub expires_at: Timestamp,
}

/// Units of a hold that were given back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The hold's id.
    pub hold: Box<str>,
    /// The units asked about; none of them is held by it any more.
    pub units: Vec<UnitName>,
    /// How many units it holds still.
    pub left: u32,
}

/// Units of a hold that are the subject's for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Confirmation {
    /// The hold's id.
    pub hold: Box<str>,
    /// The units asked about with their ranks.
    pub units: Vec<RankedUnit>,
    /// When the last of them was confirmed.
    pub at: Timestamp,
    /// Whether the hold had expired and its units were free to be taken again.
    pub retaken: bool,
    /// How many units it holds still.
    pub left: u32,
}

/// Units that were paid for too late and cannot be had any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refund {
    /// The hold's id.
    pub hold: Box<str>,
    /// The units asked about, none of which is the subject's.
    pub units: Vec<UnitName>,
    /// When that was decided.
    pub at: Timestamp,
}

/// A unit exchanged for another of its pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    pub pool: Box<str>,
    /// The unit that is free now.
    pub from: Box<str>,
    /// The unit that replaces it.
    pub to: Box<str>,
    /// The rank of the claim it is of; 0 if it is held.
    pub rank: u32,
}

/// A refusal that names a hold or units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedFor {
    pub refusal: Refusal,
    /// The hold it is about: of `has_hold` the one the subject has.
    pub hold: Option<Box<str>>,
    /// The units it is about: of `unit_taken` every one that is taken.
    pub units: Vec<UnitName>,
    /// Of `bad_seat`, which one and what is wrong with it.
    pub seat: Option<BadSeat>,
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
        /// The index of the pool in its campaign.
        pool: u16,
        /// The code that came with it, in a coded pool.
        code: Option<IssuedCode>,
    },
    /// The subject had won before; nothing changed.
    AlreadyWon {
        /// The rank of then.
        rank: u32,
        /// When it was won.
        at: Timestamp,
        /// The index of the pool in its campaign.
        pool: u16,
        /// The code that the claim has now, in a coded pool.
        code: Option<IssuedCode>,
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
    Unchanged { version: u32 },
    /// Time passed.
    Ticked,
    /// Results up to a number are no longer kept here.
    Settled {
        /// The number.
        through: u64,
    },
    /// The space is at a level.
    Raised { level: u32 },
    /// Units are set aside for the subject until a deadline.
    Held(Box<Holding>),
    /// They were so before; nothing changed.
    AlreadyHeld(Box<Holding>),
    /// A hold's deadline is as late as asked, or as late as it can be. Asking again moves it again, but for a
    /// step with an id: that gives the same answer.
    Extended {
        /// When its units are free again if journal time goes on without a break.
        expires_at: Timestamp,
    },
    /// Units of a hold are not held any more. Asking again gives the same answer.
    Released(Box<Release>),
    /// Units of a hold are the subject's for good. Asking again gives the same answer.
    Confirmed(Box<Confirmation>),
    /// The hold had expired and its units cannot be had any more: what was paid is to be given back.
    /// Asking again gives the same answer.
    RefundDue(Box<Refund>),
    /// Seats and areas were added to a pool.
    Imported {
        /// How many seats the command added; those that were there with the same content are not counted.
        seats: u32,
        /// How many areas it added.
        areas: u32,
    },
    /// Units are not for sale now.
    Blocked {
        /// How many were free before.
        units: u32,
    },
    /// Units are free again.
    Unblocked {
        /// How many were blocked before.
        units: u32,
    },
    /// A unit was exchanged for another.
    Moved(Box<Move>),
    /// Seats are as they were wanted.
    SeatsChanged {
        /// How many are other than they were.
        seats: u32,
    },
    /// A subject may have nothing more of a campaign. Asking again gives the moment of the first time.
    BarSet {
        /// Since when.
        at: Timestamp,
        /// How many live holds of the subject ended.
        holds: u32,
    },
    /// A subject is not barred.
    BarLifted {
        /// Whether it was barred before.
        was_barred: bool,
    },
    /// A campaign is gone, and its name is free.
    Deleted,
    /// The subject waits for units of a pool. Asking again gives the place as it is then.
    Waitlisted {
        /// How many wait in front, whatever they wait for.
        ahead: u32,
        /// How many units the subject waits for.
        quantity: u32,
        /// Whether something of what it wants was free since it joined, but too little.
        passed_over: bool,
    },
    /// Units are set aside for somebody from the waitlist until a deadline: an offer, which is a hold.
    Offered(Box<Holding>),
    /// The subject is not on a waitlist.
    LeftWaitlist {
        /// Whether it was before.
        was_on: bool,
    },
    /// A yes about codes.
    Code(Box<CodeOutcome>),
    /// The rules say no, and nothing changed.
    Refused(Refusal),
    /// The rules say no about a hold or units, and nothing changed.
    RefusedFor(Box<RefusedFor>),
}

impl From<Refusal> for Outcome {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<CodeRefusal> for Refusal {
    fn from(refusal: CodeRefusal) -> Self {
        Self::Code(refusal)
    }
}

impl From<CodeRefusal> for Outcome {
    fn from(refusal: CodeRefusal) -> Self {
        Self::Refused(refusal.into())
    }
}

impl From<CodeOutcome> for Outcome {
    fn from(outcome: CodeOutcome) -> Self {
        Self::Code(Box::new(outcome))
    }
}

impl Outcome {
    /// Returns the stable string.
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
            Self::Raised { .. } => "raised",
            Self::Held(_) => "held",
            Self::AlreadyHeld(_) => "already_held",
            Self::Extended { .. } => "extended",
            Self::Released(_) => "released",
            Self::Confirmed(_) => "confirmed",
            Self::RefundDue(_) => "refund_due",
            Self::Imported { .. } => "imported",
            Self::Blocked { .. } => "blocked",
            Self::Unblocked { .. } => "unblocked",
            Self::Moved(_) => "moved",
            Self::SeatsChanged { .. } => "seats_changed",
            Self::BarSet { .. } => "bar_set",
            Self::BarLifted { .. } => "bar_lifted",
            Self::Deleted => "deleted",
            Self::Waitlisted { .. } => "waitlisted",
            Self::Offered(_) => "offered",
            Self::LeftWaitlist { .. } => "left_waitlist",
            Self::Code(outcome) => outcome.as_str(),
            Self::Refused(refusal) => refusal.as_str(),
            Self::RefusedFor(named) => named.refusal.as_str(),
        }
    }

    /// Every string of an outcome that is not a refusal, once, but those of [`CodeOutcome`].
    pub const YES: [&'static str; 26] = [
        "won",
        "already_won",
        "cancelled",
        "created",
        "changed",
        "unchanged",
        "ticked",
        "settled",
        "raised",
        "held",
        "already_held",
        "extended",
        "released",
        "confirmed",
        "refund_due",
        "imported",
        "blocked",
        "unblocked",
        "moved",
        "seats_changed",
        "bar_set",
        "bar_lifted",
        "deleted",
        "waitlisted",
        "offered",
        "left_waitlist",
    ];

    /// Says whether the rules said no.
    pub fn is_refusal(&self) -> bool {
        self.refusal().is_some()
    }

    /// Returns the refusal, if it is one.
    pub fn refusal(&self) -> Option<Refusal> {
        if let Self::RefusedFor(named) = self {
            return Some(named.refusal);
        }
        if let Self::Refused(refusal) = self { Some(*refusal) } else { None }
    }

    /// Refuses something about units.
    pub(crate) fn refused_for(refusal: Refusal, units: Vec<UnitName>) -> Self {
        Self::RefusedFor(Box::new(RefusedFor { refusal, hold: None, units, seat: None }))
    }
}
