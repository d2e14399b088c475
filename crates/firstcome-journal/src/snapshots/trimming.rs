//! Trims entries and pieces that no reader needs any more, in small steps, in any store.
//!
//! What may go is decided here: entries that the snapshot before the newest covers and that are old enough, and
//! pieces that no kept manifest has named for as long. Where there is an archive, entries are in it first.

use crate::error::JournalError;
use crate::journal::Journal;
use crate::snapshots::manifest::{Manifest, names};
use crate::transaction::call::JournalCall;
use crate::transaction::cell::{self, Kind};
use crate::transaction::{Check, IDLE_PIECES, Read, Seen, Transaction, Write};
use firstcome_core::Timestamp;
use firstcome_inject::{Mistake, inject};

/// What a trim rests on.
struct Ground {
    term: u64,
    /// The positions of the kept manifests.
    positions: Vec<u64>,
    /// The last position that the snapshot before the newest covers.
    covered: u64,
    /// What is younger stays.
    cutoff: Timestamp,
}

impl Journal {
    /// Drops entries and pieces that no reader needs any more; gives the first position still kept.
    ///
    /// Entries are kept back to the snapshot before the newest and for at least ten minutes, pieces
    /// until no kept manifest has named them for ten minutes. Where there is an archive, what goes is
    /// in it first. Appends go in between; a snapshot that is installed meanwhile ends it early.
    ///
    /// # Errors
    ///
    /// [`JournalError::OldTerm`] when a later term was minted; those of the store and of the archive's folder.
    pub async fn trim(&self, term: u64) -> Result<u64, JournalError> {
        let look = Transaction::new(JournalCall::Look).check(Check::There).check(Check::Term(term));
        let seen = self.commit(look.read(Read::Manifests)).await?;
        let head = seen.head()?;
        let keep = i64::try_from(self.keep_for().as_micros()).unwrap_or(i64::MAX);
        let cutoff = head.at.max(seen.now).plus_micros(-keep);
        let covered = seen.manifests.get(1).map_or(0, |before| before.position);
        let covered = if inject(Mistake::TrimPastSnapshot) { head.position } else { covered };
        let positions = seen.manifests.iter().map(|manifest| manifest.position).collect();
        let ground = Ground { term, positions, covered, cutoff };
        let first = self.trim_entries(&ground, head.first).await?;
        self.trim_pieces(&ground, &seen.manifests).await?;
        Ok(first)
    }

    async fn trim_entries(&self, ground: &Ground, mut first: u64) -> Result<u64, JournalError> {
        let look = |step: Transaction| {
            let through = ground.covered;
            step.check(Check::There)
                .check(Check::Term(ground.term))
                .read(Read::Old { through, cutoff: ground.cutoff })
                .read(Read::Cells(Kind::Skip))
        };
        if ground.covered < first {
            return Ok(first);
        }
        let mut seen = self.commit(look(Transaction::new(JournalCall::Look))).await?;
        loop {
            first = seen.head()?.first;
            let Some(last) = seen.old else { return Ok(first) };
            self.put_in_archive(first, last, &seen).await?;
            let trim = look(Transaction::new(JournalCall::Trim).frees())
                .check(Check::Positions(ground.positions.clone()))
                .write(Write::Trim(last));
            seen = match self.commit(trim).await {
                Err(JournalError::Moved { .. }) => return Ok(first),
                trimmed => trimmed?,
            };
        }
    }

    async fn put_in_archive(&self, first: u64, last: u64, seen: &Seen) -> Result<(), JournalError> {
        let mut skips = cell::skips(&seen.cells)?;
        skips.retain(|skip| (first..=last).contains(&skip.position));
        self.archive(first, last, skips).await
    }

    async fn trim_pieces(
        &self,
        ground: &Ground,
        manifests: &[Manifest],
    ) -> Result<(), JournalError> {
        let at_once = inject(Mistake::PiecesDroppedAtOnce);
        loop {
            let mut trim = Transaction::new(JournalCall::Trim)
                .frees()
                .check(Check::There)
                .check(Check::Term(ground.term));
            if at_once {
                let newest = names(&manifests[..manifests.len().min(1)]);
                let others = names(manifests).difference(&newest).copied().collect();
                trim = trim.write(Write::Unnamed(others));
            }
            let idle_since = if at_once { Timestamp::from_micros(i64::MAX) } else { ground.cutoff };
            let seen = self.commit(trim.write(Write::DropIdle(idle_since))).await?;
            if seen.dropped < IDLE_PIECES {
                return Ok(());
            }
        }
    }
}
