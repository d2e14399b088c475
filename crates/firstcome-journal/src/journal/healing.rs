//! Repairs after a store lost entries, in any store: backfill, raising the epoch, reseeding.

use crate::cluster::Seed;
use crate::entry::{Entry, Head};
use crate::error::JournalError;
use crate::journal::Journal;
use crate::name::{Name, Tip};
use crate::snapshots::manifest::{Manifest, names};
use crate::transaction::call::JournalCall;
use crate::transaction::{Check, Read, Transaction, Write};
use firstcome_inject::{Mistake, inject};

impl Journal {
    /// Backfills entries whole, store part included, after the entry with this position and name,
    /// if that is the last one.
    ///
    /// The entries follow it and one another. They are stored together or not at all.
    ///
    /// # Errors
    ///
    /// [`JournalError::Moved`] when the journal ends elsewhere; [`JournalError::Damaged`] when they do not follow one another.
    /// Nothing was stored then.
    ///
    /// # Panics
    ///
    /// The first entry does not have the position after that one.
    pub async fn put_back(
        &self,
        head: u64,
        name: Name,
        entries: Vec<Entry>,
    ) -> Result<(), JournalError> {
        let first = entries.first().map(|entry| entry.position);
        assert!(
            first.is_none_or(|first| first == head + 1),
            "entries are backfilled after the head"
        );
        if entries.is_empty() {
            return Ok(());
        }
        check_chain(head, name, &entries)?;
        let mut back = Transaction::new(JournalCall::PutBack).check(Check::There);
        if !inject(Mistake::BackfillAnywhere) {
            back = back.check(Check::End { position: head, name, epoch: None });
        }
        self.commit(back.write(Write::Entries(entries))).await.map(drop)
    }

    /// Raises the epoch by one, if the journal stands where the caller saw it; gives the new one.
    ///
    /// # Errors
    ///
    /// [`JournalError::Moved`] when its head or its epoch changed since.
    pub async fn raise_epoch(&self, seen: Head) -> Result<u32, JournalError> {
        let raise = Transaction::new(JournalCall::RaiseEpoch)
            .check(Check::There)
            .check(still(seen))
            .write(Write::Epoch);
        Ok(self.commit(raise).await?.head()?.epoch)
    }

    /// Has the journal go on after a state, in the place of all entries and snapshots it has, if it
    /// stands where the caller saw it; `None` where the store was seen to have nothing of the space.
    ///
    /// # Errors
    ///
    /// [`JournalError::Moved`] when it changed since; [`JournalError::PieceMissing`]. Nothing was changed then.
    pub async fn reseed(&self, seen: Option<Head>, seed: Seed) -> Result<(), JournalError> {
        let look = Transaction::new(JournalCall::Look).read(Read::Manifests);
        let before = self.commit(look).await?.manifests;
        let Seed { position, name, at, epoch, level, manifest, pieces } = seed;
        let manifest = [Manifest { position, pieces: pieces.clone(), bytes: manifest }];
        let unnamed = names(&before).difference(&names(&manifest)).copied().collect();
        let reseed = Transaction::new(JournalCall::Reseed);
        let reseed = match seen {
            Some(seen) => reseed.check(Check::There).check(still(seen)),
            None => reseed.check(Check::Nothing),
        };
        let reseed = reseed
            .check(Check::Manifests(before))
            .check(Check::Pieces(pieces.clone()))
            .write(Write::Restart { tip: Tip { position, name, at }, epoch, level })
            .write(Write::Manifests(manifest.into()))
            .write(Write::Unnamed(unnamed))
            .write(Write::Named(pieces));
        self.commit(reseed).await.map(drop)
    }

    /// Has a journal that has nothing begin after a state: so a space is brought to another store.
    ///
    /// The pieces of the state are stored already. The space is there with this one step, or not at all.
    ///
    /// # Errors
    ///
    /// [`JournalError::Moved`] when there is something; [`JournalError::PieceMissing`]. Nothing was changed then.
    pub async fn begin_after(&self, seed: Seed) -> Result<(), JournalError> {
        // A SQLite file has a head as soon as it is made.
        let seen = if let Self::Sqlite(_) = self { Some(self.head().await?) } else { None };
        self.reseed(seen, seed).await
    }
}

/// The condition that the journal stands where it was seen.
fn still(seen: Head) -> Check {
    Check::End { position: seen.position, name: seen.name, epoch: Some(seen.epoch) }
}

/// Checks that entries follow one another after an entry.
fn check_chain(head: u64, name: Name, entries: &[Entry]) -> Result<(), JournalError> {
    let (mut position, mut before) = (head, name);
    for entry in entries {
        position += 1;
        if entry.position != position || entry.before != before {
            let why = format!("it does not follow entry {} {before}", position - 1);
            return Err(JournalError::Damaged { position: entry.position, why });
        }
        before = entry.name()?;
    }
    Ok(())
}
