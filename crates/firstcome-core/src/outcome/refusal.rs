//! Refusals: why the rules say no, with stable strings and numbers.

use super::CodeRefusal;
use crate::time::Timestamp;

/// What was not found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
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
    /// A pool that would go, or become one of another kind.
    Pools,
}

impl Fixed {
    /// Returns the field's name as it is written in requests.
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
    /// A claim of the subject was cancelled here, and this campaign lets nobody claim again.
    AlreadyCancelled,
    /// An operator barred this subject from the campaign.
    Barred,
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
    /// Units of a seated pool are held first.
    HoldRequired,
    /// The subject has a live hold, and one may have one at a time here.
    HasHold,
    /// The pool has no unit of this name.
    NoSuchUnit,
    /// The unit is not for sale, is blocked, or is only had together with its group.
    NotForSale,
    /// The subject started as many holds in the last hour as one may.
    TooManyHolds,
    /// More units than one hold may have.
    TooManyUnits,
    /// Somebody else has the unit.
    UnitTaken,
    /// A single free seat would be left between taken ones.
    OrphanLeft,
    /// There is no hold of this id, or it was forgotten.
    NoSuchHold,
    /// The hold is another subject's.
    NotYours,
    /// The hold's time is over.
    HoldExpired,
    /// The subject gave the hold back.
    HoldReleased,
    /// The units of the hold are the subject's for good already.
    AlreadyConfirmed,
    /// The unit is not held.
    NotHeld,
    /// The pool has no seats: it is a counted one.
    NotSeated,
    /// A seat or an area that cannot be added.
    BadSeat,
    /// As many subjects are barred from the campaign as may be.
    TooManyBars,
    /// The campaign has results: it can be archived, not deleted.
    HasResults,
    /// The pool has no waitlist.
    NoWaitlist,
    /// As many wait for the pool as may.
    WaitlistFull,
    /// Those who wait for several units want as many different things as they may.
    TooManyWishes,
    /// The hold is an offer, which is taken or left as it is.
    IsOffer,
    /// It is about codes.
    Code(CodeRefusal),
}

impl Refusal {
    /// Every refusal but those of [`CodeRefusal`] once: those of claims first, then from [`Self::HoldRequired`] on those of
    /// holds and waitlists; refusals with content stand with some content.
    pub const ALL: [Self; 40] = [
        Self::NotFound(Missing::Campaign),
        Self::Archived,
        Self::PoolRequired,
        Self::AlreadyCancelled,
        Self::Barred,
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
        Self::HoldRequired,
        Self::HasHold,
        Self::NoSuchUnit,
        Self::NotForSale,
        Self::TooManyHolds,
        Self::TooManyUnits,
        Self::UnitTaken,
        Self::OrphanLeft,
        Self::NoSuchHold,
        Self::NotYours,
        Self::HoldExpired,
        Self::HoldReleased,
        Self::AlreadyConfirmed,
        Self::NotHeld,
        Self::NotSeated,
        Self::BadSeat,
        Self::TooManyBars,
        Self::HasResults,
        Self::NoWaitlist,
        Self::WaitlistFull,
        Self::TooManyWishes,
        Self::IsOffer,
    ];

    /// Returns the stable string.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound(_) => "not_found",
            Self::Archived => "archived",
            Self::PoolRequired => "pool_required",
            Self::AlreadyCancelled => "already_cancelled",
            Self::Barred => "barred",
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
            Self::HoldRequired => "hold_required",
            Self::HasHold => "has_hold",
            Self::NoSuchUnit => "no_such_unit",
            Self::NotForSale => "not_for_sale",
            Self::TooManyHolds => "too_many_holds",
            Self::TooManyUnits => "too_many_units",
            Self::UnitTaken => "unit_taken",
            Self::OrphanLeft => "orphan_left",
            Self::NoSuchHold => "no_such_hold",
            Self::NotYours => "not_yours",
            Self::HoldExpired => "hold_expired",
            Self::HoldReleased => "hold_released",
            Self::AlreadyConfirmed => "already_confirmed",
            Self::NotHeld => "not_held",
            Self::NotSeated => "not_seated",
            Self::BadSeat => "bad_seat",
            Self::TooManyBars => "too_many_bars",
            Self::HasResults => "has_results",
            Self::NoWaitlist => "no_waitlist",
            Self::WaitlistFull => "waitlist_full",
            Self::TooManyWishes => "too_many_wishes",
            Self::IsOffer => "is_offer",
            Self::Code(refusal) => refusal.as_str(),
        }
    }

    /// Returns the stable number the digest and stored outcomes use.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::NotFound(_) => 32,
            Self::Archived => 33,
            Self::PoolRequired => 34,
            Self::AlreadyCancelled => 35,
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
            Self::HoldRequired => 50,
            Self::HasHold => 51,
            Self::NoSuchUnit => 52,
            Self::NotForSale => 53,
            Self::TooManyHolds => 54,
            Self::TooManyUnits => 55,
            Self::UnitTaken => 56,
            Self::OrphanLeft => 57,
            Self::NoSuchHold => 58,
            Self::NotYours => 59,
            Self::HoldExpired => 60,
            Self::HoldReleased => 61,
            Self::AlreadyConfirmed => 62,
            Self::NotHeld => 63,
            Self::NotSeated => 64,
            Self::BadSeat => 65,
            Self::Barred => 66,
            Self::TooManyBars => 67,
            Self::HasResults => 68,
            Self::NoWaitlist => 96,
            Self::WaitlistFull => 97,
            Self::TooManyWishes => 98,
            Self::IsOffer => 99,
            Self::Code(refusal) => refusal.code(),
        }
    }

    /// Returns what the digest takes in beside the number.
    pub(super) fn content(self) -> u64 {
        match self {
            Self::VersionMismatch { version } => u64::from(version),
            Self::NotChangeable(fixed) => fixed as u64,
            Self::Code(refusal) => refusal.content(),
            Self::NotFound(missing) => missing as u64,
            Self::NotOpen { opens_at } => opens_at.map_or(0, |at| at.as_micros() as u64),
            Self::Archived
            | Self::PoolRequired
            | Self::AlreadyCancelled
            | Self::Paused
            | Self::Closed
            | Self::LimitReached
            | Self::SoldOut
            | Self::NoSuchClaim
            | Self::IdReused
            | Self::ClosesTooEarly
            | Self::NotClosed
            | Self::Unsettled
            | Self::BeyondResults
            | Self::HoldRequired
            | Self::HasHold
            | Self::NoSuchUnit
            | Self::NotForSale
            | Self::TooManyHolds
            | Self::TooManyUnits
            | Self::UnitTaken
            | Self::OrphanLeft
            | Self::NoSuchHold
            | Self::NotYours
            | Self::HoldExpired
            | Self::HoldReleased
            | Self::AlreadyConfirmed
            | Self::NotHeld
            | Self::NotSeated
            | Self::BadSeat
            | Self::Barred
            | Self::TooManyBars
            | Self::HasResults
            | Self::NoWaitlist
            | Self::WaitlistFull
            | Self::TooManyWishes
            | Self::IsOffer => 0,
        }
    }
}
