//! Requests to a store, and its answers.

use std::borrow::Cow;
use std::time::Duration;

use crate::keys::{LockKeys, prefixed};

/// The answer to an acquire.
#[derive(Debug)]
pub(crate) enum AcquireAnswer {
    /// Held, `holds` times, under `fence`.
    Yes { holds: u64, fence: u64 },
    /// Somebody else holds it; without a time it has no expiry.
    Held { remaining: Option<Duration> },
    /// The store's clock says the request came too late; nothing changed.
    Late,
}

/// The answer to an acquire of several locks.
#[derive(Debug)]
pub(crate) enum TogetherAnswer {
    /// All are held, each once, under these fences.
    Yes { fences: Vec<u64> },
    /// Somebody else holds this one; without a time it has no expiry.
    Held { at: usize, remaining: Option<Duration> },
    /// As [`AcquireAnswer::Late`].
    Late,
}

/// Until when, on the store's clock in µs, an acquire that got no answer may still take effect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NotAfter(pub(crate) i64);

/// A request to give back one hold. It may be sent again, as the same request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ReleaseRequest<'a> {
    pub(crate) keys: &'a LockKeys,
    pub(crate) owner: &'a str,
    /// The owner may hold it several times.
    pub(crate) reentrant: bool,
    /// How long the holds that remain last.
    pub(crate) lease: Duration,
    /// How long the lease still runs, at most.
    pub(crate) remaining: Duration,
    pub(crate) request: u128,
    /// It has been sent before, and nobody knows what became of that.
    pub(crate) again: bool,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReleaseAnswer {
    /// The owner held nothing.
    Nothing,
    /// The owner still holds it so many times.
    Holds(u64),
    /// It is free, and this number of subscribers got a message, including this client; 0 if the store does not count them.
    Free { receivers: u64 },
}

/// The answer to an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UndoAnswer {
    /// Something was held, and is not any more.
    TakenBack,
    /// Nothing is held, and nothing can arrive any more.
    Nothing,
    /// The acquire may still arrive for this long.
    MayArrive(Duration),
}

#[cfg(feature = "sql")]
impl UndoAnswer {
    /// Says that there is nothing `now`, by the store's clock in µs, which may still come until `not_after`.
    pub(crate) fn nothing_by(now: i64, not_after: NotAfter) -> Self {
        let left = not_after.0.saturating_sub(now);
        match left < 0 {
            true => Self::Nothing,
            false => Self::MayArrive(Duration::from_micros(left.unsigned_abs() + 1)),
        }
    }
}

/// One hold to renew: the lock and its owner.
pub(crate) type RenewalRequest<'a> = (&'a LockKeys, &'a str);

/// The answer to the renewal of one hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RenewalAnswer {
    /// It is held, and renewed where that was asked for.
    Yes,
    /// It is held no more.
    Gone,
    /// It is still held, but another transaction prevented its renewal.
    #[cfg_attr(not(feature = "sql"), expect(dead_code, reason = "only rows can be in use"))]
    NotRenewed,
}

impl From<bool> for RenewalAnswer {
    fn from(held: bool) -> Self {
        if held { Self::Yes } else { Self::Gone }
    }
}

/// What can be listened to.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Topic<'a> {
    /// The releases of a lock.
    Lock(&'a LockKeys),
    /// The turn of this owner, who stands in the line of a fair lock.
    Turn(&'a LockKeys, &'a str),
    /// The changes of who leads in the election of this name.
    Leader(&'a str),
}

impl Topic<'_> {
    /// Returns the channel in a store that has channels.
    pub(crate) fn channel(&self) -> Cow<'_, str> {
        match self {
            Self::Lock(keys) => Cow::Borrowed(&keys.channel),
            Self::Turn(keys, owner) => Cow::Owned(format!("{}:{owner}", keys.channel)),
            Self::Leader(name) => Cow::Owned(prefixed("fc:leader", name)),
        }
    }
}

/// Who leads, as the store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) node: String,
    pub(crate) term: u64,
}
