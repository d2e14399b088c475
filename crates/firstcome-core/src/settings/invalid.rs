//! Why settings are refused.

use crate::limits::{CAPACITY, GRADE_LIMITS, HOLDS_PER_HOUR_MOST, POOLS, WAITLIST_MOST};
use crate::names::BadName;

/// Why settings are not acceptable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadSettings {
    /// The title is not acceptable.
    #[error("title: {0}")]
    Title(BadName),
    /// The name of a pool is not acceptable.
    #[error("name of pool {number}: {why}")]
    PoolName {
        /// Which pool, counted from 1.
        number: usize,
        /// What is wrong with its name.
        why: BadName,
    },
    /// Two pools have the same name.
    #[error("two pools are named {0:?}")]
    PoolTwice(Box<str>),
    /// No pool at all.
    #[error("there is no pool")]
    NoPool,
    /// Too many pools.
    #[error("{0} pools, at most {POOLS} are allowed")]
    TooManyPools(usize),
    /// A capacity outside 1 to [`CAPACITY`].
    #[error("capacity of pool {pool:?}: {capacity} is outside 1 to {CAPACITY}")]
    Capacity {
        pool: Box<str>,
        /// The capacity given.
        capacity: u64,
    },
    /// A limit of 0 would let nobody claim.
    #[error("limits.campaign: 0 would let nobody claim")]
    ZeroLimit,
    /// A limit of 0 for one pool would let nobody have anything of it.
    #[error("limit of pool {0:?}: 0 would let nobody claim")]
    ZeroPoolLimit(Box<str>),
    /// More may wait than [`WAITLIST_MOST`].
    #[error("waitlist of pool {0:?}: at most {WAITLIST_MOST} can wait; 0 is no waitlist")]
    Waitlist(Box<str>),
    /// An offer of a time outside 1 s to 24 h.
    #[error("offer_ttl: {0} us is outside 1 s to 24 h")]
    OfferTime(i64),
    /// A capacity for a seated pool, which has as many units as seats are added.
    #[error("capacity of pool {0:?}: a seated pool has as many units as seats are added to it")]
    SeatedCapacity(Box<str>),
    /// A time outside 1 s to 24 h, or a hold that lasts longer than it can be extended.
    #[error(
        "hold_ttl {ttl_us} us and hold_max {max_us} us: both are 1 s to 24 h, and hold_ttl is not longer"
    )]
    HoldTimes {
        /// How long a hold lasts.
        ttl_us: i64,
        /// How long after its start it can be extended to.
        max_us: i64,
    },
    /// Holds in an hour outside 1 to [`HOLDS_PER_HOUR_MOST`].
    #[error("holds_per_hour: {0} is outside 1 to {HOLDS_PER_HOUR_MOST}")]
    HoldsPerHour(u32),
    /// A grade with a limit that is not acceptable.
    #[error("limits.grades: {0}")]
    Grade(BadName),
    /// Two limits for the same grade, or a limit of 0.
    #[error("limits.grades: {0:?} has two limits, or one of 0")]
    GradeLimit(Box<str>),
    /// Codes that are not acceptable.
    #[error("pool {pool:?}: {what}")]
    Codes {
        pool: Box<str>,
        /// What is wrong, and what is acceptable.
        what: &'static str,
    },
    /// Too many grades with limits.
    #[error("limits.grades: {0} grades, at most {GRADE_LIMITS} are allowed")]
    TooManyGrades(usize),
}
