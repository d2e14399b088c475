//! A store that has nothing of the space any more: each node that has the space marks it, so that nobody begins a new one
//! there, and says beside the mark how far it has it. Where servers may put the space back by themselves, the furthest does.

use crate::event::log;
use firstcome_core::names::SpaceId;
use firstcome_core::{NodeId, Timestamp};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::cluster::NodeStatus;
use firstcome_journal::cluster::mark::Mark;
use firstcome_journal::{Emptied, Journal, JournalError};
use std::cmp::Reverse;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;
use tokio::time::Instant;

/// How long after it was first marked a store is put back: so long the nodes that have the space say how far.
const PUT_BACK_AFTER: Duration = Duration::from_secs(5);

/// What servers do about a store that has nothing of the space any more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnEmptied {
    /// They wait for an operator.
    #[default]
    Wait,
    /// The one that has the space furthest writes its state there.
    Reseed,
}

impl FromStr for OnEmptied {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "wait" => Ok(Self::Wait),
            "reseed" => Ok(Self::Reseed),
            _ => Err(format!("must be wait or reseed, not `{text}`")),
        }
    }
}

impl fmt::Display for OnEmptied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Wait => "wait",
            Self::Reseed => "reseed",
        })
    }
}

/// What one node does about it, and what it knows.
#[derive(Debug)]
pub(crate) struct EmptiedStore {
    on_emptied: OnEmptied,
    /// Whether it was said that the store is marked, or that it cannot be.
    said_marked: Option<bool>,
    /// The time in the mark, and when this node first saw it: the store's clock may be set meanwhile.
    seen: Option<(Timestamp, Instant)>,
}

impl EmptiedStore {
    pub(crate) fn new(on_emptied: OnEmptied) -> Self {
        Self { on_emptied, said_marked: None, seen: None }
    }

    /// The store has a space.
    pub(crate) fn is_over(&mut self) {
        *self = Self::new(self.on_emptied);
    }

    /// Marks the store, or says there again how far this node has the space; says whether it is to put it back now.
    pub(crate) async fn mark(
        &mut self,
        journal: &Journal,
        space: SpaceId,
        me: &NodeStatus,
    ) -> bool {
        if inject(Mistake::NoMarkLeft) {
            return false;
        }
        match journal.mark_emptied(space, me).await {
            Ok(Some(emptied)) => {
                self.say(&emptied.mark);
                emptied.mark.space == space && self.is_our_turn(me, &emptied)
            }
            Err(JournalError::Moved { .. } | JournalError::Unavailable(_)) | Ok(None) => false,
            Err(why) => {
                if self.said_marked.replace(false).is_none() {
                    log!(
                        StoreNotMarked,
                        "the emptied store cannot be marked: a server that starts there now begins a new space; {}",
                        why.with_cure()
                    );
                }
                false
            }
        }
    }

    fn is_our_turn(&mut self, me: &NodeStatus, emptied: &Emptied) -> bool {
        let since = emptied.mark.since;
        let seen = self.seen.filter(|(of, _)| *of == since).unwrap_or((since, Instant::now()));
        self.seen = Some(seen);
        let by_store = u64::try_from(emptied.now.micros_since(since)).unwrap_or(0);
        let waited = seen.1.elapsed().max(Duration::from_micros(by_store));
        self.on_emptied == OnEmptied::Reseed
            && waited >= PUT_BACK_AFTER
            && emptied.others.iter().all(|(other, _)| reach(other) < reach(me))
    }

    fn say(&mut self, mark: &Mark) {
        if self.said_marked.replace(true) == Some(true) {
            return;
        }
        let (space, position, server) = (mark.space, mark.position, &*mark.who);
        log!(
            StoreMarked,
            position,
            server,
            "the emptied store is marked: no server begins a new space there; space {space} was there, up to entry {position} \
             at {server}"
        );
    }
}

/// How far a node has the space; of two that have it equally far the lower identity counts as further.
fn reach(node: &NodeStatus) -> ((u32, u64), Reverse<NodeId>) {
    (node.reach(), Reverse(node.node))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::sleep;

    const SPACE: SpaceId = SpaceId([7; 16]);

    fn node(id: u8, epoch: u32, position: u64) -> NodeStatus {
        NodeStatus {
            node: NodeId([id; 16]),
            position,
            durable: position,
            epoch,
            digest: 0,
            level: 1,
            memory: 0,
            since: Timestamp::from_micros(0),
            address: "".into(),
            words: "".into(),
        }
    }

    /// Seen by the store's clock so many seconds after the mark was left.
    fn seen(after: i64, others: &[NodeStatus]) -> Emptied {
        let since = Timestamp::from_micros(9_000_000);
        let now = Timestamp::from_micros(9_000_000 + after * 1_000_000);
        let others = others.iter().map(|node| (node.clone(), now)).collect();
        let mark = Mark { space: SPACE, position: 1, since, who: "".into() };
        Emptied { mark, now, others }
    }

    #[tokio::test(start_paused = true)]
    async fn five_seconds_after_the_first_mark_the_furthest_puts_the_space_back() {
        let me = node(5, 1, 10);
        let turn = |after, others: &[NodeStatus]| {
            EmptiedStore::new(OnEmptied::Reseed).is_our_turn(&me, &seen(after, others))
        };
        assert!(!turn(4, &[]) && turn(5, &[]));
        assert!(turn(5, &[node(4, 1, 9), node(4, 0, 99)]), "an older epoch reaches less far");
        assert!(!turn(60, &[node(6, 1, 11)]) && !turn(60, &[node(6, 2, 1)]));
        assert!(turn(5, &[node(6, 1, 10)]) && !turn(5, &[node(4, 1, 10)]), "one of two does it");
        assert!(!EmptiedStore::new(OnEmptied::Wait).is_our_turn(&me, &seen(60, &[])));
        // The store's clock is set back: then this node's own counts.
        let mut store = EmptiedStore::new(OnEmptied::Reseed);
        assert!(!store.is_our_turn(&me, &seen(-3_600, &[])));
        sleep(PUT_BACK_AFTER).await;
        assert!(store.is_our_turn(&me, &seen(-3_600, &[])));
    }
}
