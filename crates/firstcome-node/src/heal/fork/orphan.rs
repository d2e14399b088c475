//! An entry of an abandoned branch that the store's branch lacks.

use crate::heal::retransmit::Buffered;
use firstcome_core::limits::{NODE_MEMORY_US, SERVICE_STEP_US};
use firstcome_journal::Name;

/// An entry that the store's branch lacks.
#[derive(Clone, Debug)]
pub(super) struct Orphan {
    pub(super) kept: Buffered,
    /// The batch that it has.
    pub(super) batch: Name,
    /// The service time at which it was applied, on its own branch.
    service: i64,
}

impl Orphan {
    /// Returns entries without a gap, the last of which was applied at this service time.
    pub(super) fn of(kept: Vec<Buffered>, mut service: i64) -> Vec<Self> {
        let mut orphans: Vec<Self> = Vec::with_capacity(kept.len());
        for kept in kept.into_iter().rev() {
            if let Some(after) = orphans.last() {
                let step = after.kept.entry.at.micros_since(kept.entry.at);
                service -= step.min(SERVICE_STEP_US);
            }
            let batch = kept.entry.open().map_or(kept.name, |(stamp, _)| stamp.batch());
            orphans.push(Self { kept, batch, service });
        }
        orphans.reverse();
        orphans
    }

    /// Says whether another node may have re-proposed this so long ago that the rules forgot it: they do after
    /// `NODE_MEMORY_US`.
    ///
    /// A branch that got no entry for long counts little of that time, so this node's own clock has a say;
    /// and a node that read this late from a store that others had left must go by their branch.
    pub(super) fn is_too_old(&self, service: i64) -> bool {
        let here = i64::try_from(self.kept.since.elapsed().as_micros()).unwrap_or(i64::MAX);
        here.max(service - self.service) >= NODE_MEMORY_US / 6 * 5
    }
}
