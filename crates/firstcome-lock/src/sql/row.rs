//! The row of a lock, and the steps about it.

use std::time::Duration;

use crate::backend::holder::Holder;

/// One request about one row.
#[derive(Debug)]
#[cfg_attr(
    not(feature = "postgres"),
    expect(dead_code, reason = "nobody else says anything to those who wait")
)]
pub(super) enum Step<'a> {
    /// Only look.
    Look,
    /// Take it, if it is free or this owner's; `waits`: record that a waiter wants a message about its release.
    Acquire { owner: &'a str, lease: i64, not_after: i64, waits: bool },
    /// Give back one hold, or all.
    Release { owner: &'a str, all: bool, lease: i64 },
    /// Pass it from an owner who has it once to the next one, with word of those who still wait.
    Pass { owner: &'a str, next: &'a str, lease: i64, more_wait: bool },
    /// Take back holds, down to `keep`.
    Undo { owner: &'a str, keep: i64 },
    /// Free it, whoever has it.
    Force,
    /// Record which node leads.
    Announce { owner: &'a str, term: i64, node: &'a str },
}

/// Rows of which old ones are removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rows {
    Locks,
    #[cfg(feature = "permits")]
    Permits,
}

/// A row as it stands.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) owner: String,
    pub(super) holds: u64,
    pub(super) fence: u64,
    /// In µs, by the store's clock.
    pub(super) expires_at: i64,
    /// The last request that changed it.
    pub(super) request: i64,
    pub(super) metadata: Option<String>,
}

/// What a step found, or left behind.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) row: Option<Row>,
    /// The store's clock in µs.
    pub(super) now: i64,
    /// The step changed the row, even if the row does not show it: where the look is a statement of its own, somebody else
    /// may have come in between.
    pub(super) carried_out: bool,
}

impl Seen {
    /// Returns the row if it was this request that changed it last; requests are even, and one that took a lock once more
    /// may have left the next number.
    pub(super) fn changed_by(&self, request: i64) -> Option<&Row> {
        self.row.as_ref().filter(|row| row.request & !1 == request)
    }

    /// Returns the row if it has an owner.
    pub(super) fn held(&self) -> Option<&Row> {
        self.row.as_ref().filter(|row| row.holds > 0 && row.expires_at > self.now)
    }
}

impl Row {
    pub(super) fn remaining(&self, now: i64) -> Duration {
        Duration::from_micros(u64::try_from(self.expires_at.saturating_sub(now)).unwrap_or(0))
    }

    pub(super) fn holder(&self, now: i64) -> Holder {
        Holder {
            owner: self.owner.clone(),
            holds: self.holds,
            remaining: Some(self.remaining(now)),
            last_fence: Some(self.fence),
        }
    }
}
