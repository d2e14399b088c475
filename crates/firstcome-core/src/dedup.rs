//! The dedup window: the last batch of each node, and ids of operator commands.

use crate::limits::{COMMAND_MEMORY, COMMAND_MEMORY_US, NODE_MEMORY_US};
use crate::names::{Name, NodeId};
use crate::outcome::Outcome;
use std::collections::{BTreeMap, VecDeque};

/// The last batch number of each node.
///
/// A node that lost an answer sends the same batch again, so two copies may be in the journal: the
/// second has a number that is not greater and does not run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Batches {
    pub(crate) last: BTreeMap<NodeId, LastBatch>,
    /// Service time at which the forgotten are next looked for.
    pub(crate) sweep_at: i64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastBatch {
    pub(crate) number: u64,
    pub(crate) used: i64,
}

impl Batches {
    /// Notes a batch and says whether it was there before.
    pub(crate) fn is_copy(&mut self, batch: Name, service: i64) -> bool {
        let Name { node, number } = batch;
        self.sweep(service);
        let last = self.last.entry(node).or_insert(LastBatch { number: 0, used: service });
        last.used = service;
        if number <= last.number {
            return true;
        }
        last.number = number;
        false
    }

    /// Forgets, once a minute, what was not used for an hour.
    ///
    /// It counts service time: a clock that jumps an hour forward must not make a node's second copy new.
    fn sweep(&mut self, service: i64) {
        if service < self.sweep_at {
            return;
        }
        self.sweep_at = service + 60_000_000;
        self.last.retain(|_, last| service - last.used < NODE_MEMORY_US);
    }
}

/// The yes that an operator command with an id got.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answered {
    pub(crate) content: u64,
    pub(crate) outcome: Outcome,
    pub(crate) service: i64,
}

/// What an id means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// It was not seen, or was said no to.
    No,
    /// It was said yes to, with this.
    Same(Outcome),
    /// It was said yes to with other content.
    Other,
}

/// Operator commands that were said yes to, by id, for 24 h of service time: those of each key apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Orders {
    pub(crate) by_key: BTreeMap<Box<str>, OrdersOfKey>,
}

/// Operator commands of one key that were said yes to.
#[derive(Clone, Debug, Default)]
pub(crate) struct OrdersOfKey {
    pub(crate) by_id: BTreeMap<Box<str>, Answered>,
    pub(crate) oldest_first: VecDeque<Box<str>>,
}

impl Orders {
    /// Says what an id of a key means.
    pub(crate) fn look_up(&self, who: &str, id: &str, content: u64) -> Known {
        match self.by_key.get(who).and_then(|orders| orders.by_id.get(id)) {
            None => Known::No,
            Some(known) if known.content == content => Known::Same(known.outcome.clone()),
            Some(_) => Known::Other,
        }
    }

    /// Remembers an id of a key; beyond the number remembered for each its oldest goes first.
    pub(crate) fn remember(&mut self, who: &str, id: &str, answered: Answered) {
        if !self.by_key.contains_key(who) {
            self.by_key.insert(who.into(), OrdersOfKey::default());
        }
        let Some(orders) = self.by_key.get_mut(who) else { return };
        if orders.oldest_first.len() == COMMAND_MEMORY {
            orders.forget_oldest();
        }
        orders.oldest_first.push_back(id.into());
        orders.by_id.insert(id.into(), answered);
    }

    /// Forgets what was answered 24 h ago or earlier.
    pub(crate) fn forget(&mut self, service: i64) {
        self.by_key.retain(|_, orders| {
            orders.forget(service);
            !orders.by_id.is_empty()
        });
    }
}

impl OrdersOfKey {
    fn forget(&mut self, service: i64) {
        while let Some(oldest) = self.oldest_first.front().and_then(|id| self.by_id.get(id)) {
            if service - oldest.service < COMMAND_MEMORY_US {
                return;
            }
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(id) = self.oldest_first.pop_front() {
            self.by_id.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looking_an_id_up_forgets_nothing() {
        let mut orders = Orders::default();
        let answered = |service| Answered { content: 1, outcome: Outcome::Ticked, service };
        for n in 0..COMMAND_MEMORY {
            orders.remember("", &n.to_string(), answered(n as i64));
        }
        orders.forget(COMMAND_MEMORY as i64);
        assert_eq!(orders.look_up("", "0", 1), Known::Same(Outcome::Ticked));
        orders.remember("", "one more", answered(COMMAND_MEMORY as i64));
        assert_eq!(orders.look_up("", "0", 1), Known::No);
        assert_eq!(orders.look_up("", "1", 1), Known::Same(Outcome::Ticked));
        let kept = &orders.by_key[""];
        assert_eq!((kept.by_id.len(), kept.oldest_first.len()), (COMMAND_MEMORY, COMMAND_MEMORY));
        // Another key has ids of its own, and room of its own.
        orders.remember("desk", "1", answered(COMMAND_MEMORY as i64));
        assert_eq!(orders.look_up("desk", "1", 1), Known::Same(Outcome::Ticked));
        assert_eq!(orders.look_up("ops", "1", 1), Known::No);
        orders.forget(COMMAND_MEMORY_US + 1);
        assert_eq!(
            (orders.look_up("", "1", 1), orders.look_up("", "2", 7)),
            (Known::No, Known::Other)
        );
    }
}
