//! Heartbeats of nodes, and who sent one lately, in any store that several nodes share.

use crate::cluster::heartbeat;
use crate::cluster::{GONE_FOR, GONE_NODES, MEMBER_FOR, Membership, NodeStatus};
use crate::error::JournalError;
use crate::journal::Journal;
use crate::transaction::call::JournalCall;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::{Check, Read, Transaction, Write};
use firstcome_core::{NodeId, Timestamp};
use std::cmp::Reverse;

impl Journal {
    /// Sends a heartbeat; gives which nodes sent one lately and where the journal stands. The level of the head follows
    /// that of the space, as of what the node applied, and never goes down.
    ///
    /// # Errors
    ///
    /// [`JournalError::Gone`] and [`JournalError::OtherSpace`] when the store no longer has this space; those
    /// of the store being out of reach.
    pub async fn announce(&self, me: NodeStatus, level: u32) -> Result<Membership, JournalError> {
        let cell = Cell { kind: Kind::Node, key: me.node.0.to_vec(), value: heartbeat::write(&me) };
        let announce = Transaction::new(JournalCall::Announce)
            .frees()
            .check(Check::There)
            // So that an older build refuses the space at once, and need not read on to the entry that raised it.
            .write(Write::Level(level))
            .write(Write::Stamped(cell))
            .read(Read::Cells(Kind::Node));
        let seen = self.commit(announce).await?;
        let head = seen.head()?;
        let found = Heartbeats::of(&me.address, seen.cells, seen.now);
        if !found.forgotten.is_empty() {
            // What cannot be forgotten now is forgotten with another heartbeat.
            drop(self.forget(found.forgotten).await);
        }
        Ok(Membership { head, nodes: found.live, gone: found.gone })
    }

    /// Returns the nodes that sent a heartbeat in the last ten seconds, each with when it last did; it sends none.
    ///
    /// # Errors
    ///
    /// [`JournalError::Gone`] and [`JournalError::OtherSpace`] when the store no longer has this space; those
    /// of the store being out of reach.
    pub async fn members(&self) -> Result<Vec<(NodeStatus, Timestamp)>, JournalError> {
        let look =
            Transaction::new(JournalCall::Look).check(Check::There).read(Read::Cells(Kind::Node));
        let seen = self.commit(look).await?;
        Ok(live(seen.cells, seen.now))
    }

    /// Takes a node out of the membership.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn leave(&self, node: NodeId) -> Result<(), JournalError> {
        let delete = Write::Delete(Kind::Node, node.0.to_vec());
        self.commit(Transaction::new(JournalCall::Leave).frees().write(delete)).await.map(drop)
    }

    /// Removes the heartbeats of nodes, unless one of these has sent another one since.
    async fn forget(&self, nodes: Vec<Cell>) -> Result<(), JournalError> {
        let forget = Transaction::new(JournalCall::Leave).frees();
        let forget = nodes.into_iter().fold(forget, |forget, cell| {
            let delete = Write::Delete(cell.kind, cell.key.clone());
            forget.check(Check::Same(cell)).write(delete)
        });
        self.commit(forget).await.map(drop)
    }
}

/// Returns the nodes that sent a heartbeat in the last ten seconds, each with when it last did.
pub(crate) fn live(cells: Vec<Cell>, now: Timestamp) -> Vec<(NodeStatus, Timestamp)> {
    Heartbeats::of("", cells, now).live
}

/// Heartbeats, told apart by how old they are.
struct Heartbeats {
    /// Of nodes that are there, by node.
    live: Vec<(NodeStatus, Timestamp)>,
    /// Of nodes that went without a word, the last seen first.
    gone: Vec<(NodeStatus, Timestamp)>,
    /// Of nodes that nobody needs to remember.
    forgotten: Vec<Cell>,
}

impl Heartbeats {
    /// Tells them apart, as seen by the node of an address.
    fn of(my_address: &str, mut cells: Vec<Cell>, now: Timestamp) -> Self {
        let (mut live, mut gone, mut forgotten) = (Vec::new(), Vec::new(), Vec::new());
        cells.sort_by(|one, other| one.key.cmp(&other.key));
        for cell in cells {
            let Some((node, seen)) = heartbeat::read(&cell) else {
                // One of a form that is not known counts for nobody, and goes when it is old.
                let said = heartbeat::time(&cell);
                if said.is_none_or(|said| now.micros_since(said) >= GONE_FOR) {
                    forgotten.push(cell);
                }
                continue;
            };
            let age = now.micros_since(seen);
            if age < MEMBER_FOR {
                live.push((node, seen));
            } else if age < GONE_FOR && *node.address != *my_address {
                gone.push((node, seen, cell));
            } else {
                forgotten.push(cell);
            }
        }
        gone.sort_by_key(|(_, seen, _)| Reverse(*seen));
        let oldest = gone.drain(gone.len().min(GONE_NODES)..);
        forgotten.extend(oldest.map(|(.., cell)| cell));
        let gone = gone.into_iter().map(|(node, seen, _)| (node, seen)).collect();
        Self { live, gone, forgotten }
    }
}
