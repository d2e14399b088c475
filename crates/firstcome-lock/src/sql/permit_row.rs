//! The row of a semaphore or a read/write lock, and the steps about it.

use std::time::Duration;

/// One request about who has permits.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(
    not(feature = "postgres"),
    expect(dead_code, reason = "nobody else says anything to those who wait")
)]
pub(super) enum PermitStep {
    /// Only look.
    Look,
    /// Take one where fewer than `most` are out, and nobody is alone; with 0 where nobody has any, and be alone. `waits`:
    /// record that a waiter wants a message when one is released.
    Acquire { lease: i64, not_after: i64, most: i64, waits: bool },
    /// Give back this owner's.
    Return,
}

/// Who has permits of one name.
#[derive(Debug)]
pub(super) struct Permits {
    /// The fence of the owner who asked, if it has one.
    pub(super) mine: Option<i64>,
    pub(super) count: i64,
    /// Somebody is alone.
    pub(super) alone: bool,
    /// When the first and the last of them end, by the store's clock in µs.
    pub(super) first: Option<i64>,
    pub(super) last: Option<i64>,
    /// The last request that changed it.
    pub(super) request: Option<i64>,
    /// The store's clock in µs.
    pub(super) now: i64,
    /// The step changed the row, even if the row does not show it: see [`Seen`](super::row::Seen).
    pub(super) carried_out: bool,
}

impl Permits {
    /// Tells whether this request, which was to give one back, did.
    pub(super) fn was_changed_by(&self, request: i64) -> bool {
        self.carried_out || self.request == Some(request)
    }

    /// Tells how long it takes at most until there may be one for who wants to be one of `most`; `None` where there is one.
    pub(super) fn taken_for(&self, most: i64) -> Option<Duration> {
        let (free, until) = match most {
            0 => (self.count == 0, self.last),
            most => (self.count < most && !self.alone, self.first),
        };
        let left = until.map_or(0, |until| until.saturating_sub(self.now));
        (!free && self.mine.is_none())
            .then(|| Duration::from_micros(u64::try_from(left).unwrap_or(0)))
    }
}
