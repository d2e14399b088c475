//! Skipped entries: records beside the journal, in any store.

use crate::cluster::MEMBER_FOR;
use crate::cluster::heartbeat;
use crate::error::JournalError;
use crate::journal::Journal;
use crate::name::Name;
use crate::snapshots::TRIES;
use crate::transaction::call::JournalCall;
use crate::transaction::cell::{self, Cell, Kind};
use crate::transaction::{Check, Read, Seen, Transaction, Write};
use firstcome_core::state::Skip;

impl Journal {
    /// Has everybody skip an entry: its commands never run. To be told again what is there already changes nothing.
    ///
    /// # Errors
    ///
    /// [`JournalError::Applied`] where a node that is there or a snapshot is at or past it; [`JournalError::Behind`],
    /// [`JournalError::Trimmed`] and [`JournalError::Forked`] where the entry is not there under that name. Nothing was changed
    /// then. [`JournalError::Moved`] when others went on installing snapshots meanwhile.
    pub async fn skip(&self, skip: Skip) -> Result<(), JournalError> {
        let position = skip.position;
        let name = Name { node: skip.node, number: skip.number };
        let entry = Check::Entry { position, name };
        let key = position.to_string().into_bytes();
        let record = Cell { kind: Kind::Skip, key, value: skip.encode() };
        let mut tries = 1;
        loop {
            let look = Transaction::new(JournalCall::Look)
                .check(Check::There)
                .check(entry.clone())
                .read(Read::Manifests)
                .read(Read::Cells(Kind::Node));
            let seen = self.commit(look).await?;
            if let Some(who) = who_applied(&seen, position) {
                return Err(JournalError::Applied { position, who });
            }
            let positions = seen.manifests.iter().map(|manifest| manifest.position).collect();
            let write = Transaction::new(JournalCall::Skip)
                .check(Check::There)
                .check(entry.clone())
                .check(Check::Positions(positions))
                .check(Check::NotApplied(position))
                .write(Write::Put(record.clone()));
            match self.commit(write).await {
                // Somebody came to it since: the next look says who.
                Err(JournalError::Moved { .. }) if tries < TRIES => tries += 1,
                done => return done.map(drop),
            }
        }
    }

    /// Returns the entries that are skipped, by position. [`Head::skips`](crate::Head::skips) says how many there are.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] when a record is torn or altered; those of the store being out of reach.
    pub async fn skips(&self) -> Result<Vec<Skip>, JournalError> {
        let look = Transaction::new(JournalCall::Look).read(Read::Cells(Kind::Skip));
        cell::skips(&self.commit(look).await?.cells)
    }
}

/// Says who is known to have applied a position.
fn who_applied(seen: &Seen, position: u64) -> Option<String> {
    let nodes = seen.cells.iter().filter_map(heartbeat::read);
    let mut live = nodes.filter(|(_, since)| seen.now.micros_since(*since) < MEMBER_FOR);
    if let Some((node, _)) = live.find(|(node, _)| node.position >= position) {
        return Some(format!("the server at {}", node.address));
    }
    let newest = seen.manifests.first()?;
    (newest.position >= position).then(|| "whoever wrote the newest snapshot".to_owned())
}
