//! The mark of an emptied store: leaving it, reading it, removing it.

use crate::cluster::mark::Mark;
use crate::cluster::membership::live;
use crate::cluster::{NodeStatus, heartbeat};
use crate::error::JournalError;
use crate::journal::Journal;
use crate::name::Name;
use crate::snapshots::manifest::names;
use crate::transaction::call::JournalCall;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::{Check, Read, Seen, Transaction, Write};
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;

/// What an emptied store has: a mark, and who has the space that was there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emptied {
    pub mark: Mark,
    /// The store's clock.
    pub now: Timestamp,
    /// The other nodes that said there in the last ten seconds that they have the space, each with when it last did.
    pub others: Vec<(NodeStatus, Timestamp)>,
}

impl Journal {
    /// Leaves a mark where the store has nothing of the space, so that nobody makes a new one there unasked, and a heartbeat
    /// beside it. Returns what is there then: the mark is of whoever has the space furthest, and says since when there is
    /// one; `None` where the store has a space.
    ///
    /// # Errors
    ///
    /// [`JournalError::Moved`] when somebody else wrote a space there meanwhile; those of the store being out of reach, or of a
    /// user without the right to make its tables. Nothing was changed then.
    pub async fn mark_emptied(
        &self,
        space: SpaceId,
        me: &NodeStatus,
    ) -> Result<Option<Emptied>, JournalError> {
        let seen = self.commit(look()).await?;
        if seen.head.is_some() {
            return Ok(None);
        }
        let found = read(&seen)?;
        let since = found.as_ref().map_or(seen.now, |mark| mark.since);
        let ours = Mark { space, position: me.position, since, who: me.address.clone() };
        let stays = |mark: &Mark| mark.space != space || mark.position >= me.position;
        let (mut mark, is_ours) = found.filter(stays).map_or((ours, true), |mark| (mark, false));
        let mut step = Transaction::new(JournalCall::Mark).check(Check::Nothing);
        if is_ours {
            step = step.write(Write::Mark(mark.write()));
        }
        let cell = Cell { kind: Kind::Node, key: me.node.0.to_vec(), value: heartbeat::write(me) };
        let marked = self.commit(step.write(Write::Stamped(cell)).frees()).await?;
        // A store without tables could not say what time it is.
        if mark.since.as_micros() == 0 {
            mark.since = marked.now;
            let step = Transaction::new(JournalCall::Mark).check(Check::Nothing);
            self.commit(step.write(Write::Mark(mark.write())).frees()).await?;
        }
        let mut emptied = Emptied::of(mark, Seen { now: marked.now, ..seen });
        emptied.others.retain(|(node, _)| node.node != me.node);
        Ok(Some(emptied))
    }

    /// Returns what an emptied store has, if it is marked.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach; [`JournalError::Broken`] for a mark that cannot be read.
    pub async fn emptied(&self) -> Result<Option<Emptied>, JournalError> {
        let seen = self.commit(look()).await?;
        Ok(read(&seen)?.map(|mark| Emptied::of(mark, seen)))
    }

    /// Has the store forget a space that an entry has ended, with all that belongs to it, and leaves the mark of another one
    /// in its place, which may be put back there then. Nothing behind that entry is ever applied, so nothing can come between.
    ///
    /// # Errors
    ///
    /// [`JournalError::OtherSpace`] and [`JournalError::Gone`] where the space is not there any more;
    /// [`JournalError::Moved`] when a snapshot was stored meanwhile; those of the store being out of reach.
    pub async fn vacate(
        &self,
        (position, name): (u64, Name),
        (space, reached, who): (SpaceId, u64, &str),
    ) -> Result<(), JournalError> {
        let kinds = [Kind::Node, Kind::Report, Kind::Skip];
        let look = Transaction::new(JournalCall::Look).check(Check::There).read(Read::Manifests);
        let look = kinds.into_iter().fold(look, |look, kind| look.read(Read::Keys(kind)));
        let seen = self.commit(look).await?;
        let mark = Mark { space, position: reached, since: seen.now, who: who.into() };
        let unnamed = names(&seen.manifests).into_iter().collect();
        let step = Transaction::new(JournalCall::Mark)
            .check(Check::There)
            .check(Check::Entry { position, name })
            .check(Check::Manifests(seen.manifests))
            .write(Write::Manifests(Vec::new()))
            .write(Write::Unnamed(unnamed));
        let cells = seen.cells.into_iter().map(|cell| Write::Delete(cell.kind, cell.key));
        let step = cells.fold(step, Transaction::write).write(Write::Vacate(mark.write()));
        self.commit(step.frees()).await.map(drop)
    }

    /// Removes the mark of an emptied store, if it is of that space: the next server that starts there makes a new space.
    /// Returns what the mark said.
    ///
    /// # Errors
    ///
    /// [`JournalError::HasSpace`] where there is a space; [`JournalError::NotMarked`] where there is no mark of that space;
    /// [`JournalError::StillThere`] where servers said in the last ten seconds that they have it; those of the store being out
    /// of reach.
    pub async fn forget_emptied(&self, space: SpaceId) -> Result<Mark, JournalError> {
        let seen = self.commit(look()).await?;
        if let Some(head) = seen.head {
            return Err(JournalError::HasSpace(head.space));
        }
        let found = read(&seen)?;
        let Some(mark) = found.filter(|mark| mark.space == space) else {
            return Err(JournalError::NotMarked(space));
        };
        let running = live(seen.cells.clone(), seen.now);
        if !running.is_empty() {
            let servers: Vec<&str> = running.iter().map(|(node, _)| &*node.address).collect();
            return Err(JournalError::StillThere { space, servers: servers.join(", ") });
        }
        let step = Transaction::new(JournalCall::Mark).check(Check::Nothing).write(Write::Unmark);
        // The next space has other nodes.
        let nodes = seen.cells.into_iter().map(|cell| Write::Delete(cell.kind, cell.key));
        let step = nodes.fold(step, Transaction::write);
        self.commit(step.frees()).await.map(|_| mark)
    }
}

impl Emptied {
    fn of(mark: Mark, seen: Seen) -> Self {
        Self { mark, now: seen.now, others: live(seen.cells, seen.now) }
    }
}

fn look() -> Transaction {
    Transaction::new(JournalCall::Look).read(Read::Cells(Kind::Node))
}

fn read(seen: &Seen) -> Result<Option<Mark>, JournalError> {
    seen.mark.as_deref().map(Mark::read).transpose()
}
