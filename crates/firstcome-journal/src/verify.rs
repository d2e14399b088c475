//! Checks everything that is stored, from the first entry to the last.

use crate::error::JournalError;
use crate::sqlite::ReadOnly;

/// Entries between two calls of the progress callback.
const STEP: u64 = 256;

/// How far a check has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifyProgress {
    /// The first position looked at.
    pub from: u64,
    /// The last position found good; 0 before the first.
    pub through: u64,
    /// Where the journal ended when the check began.
    pub head: u64,
}

/// What a check found good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verified {
    /// The first position looked at: 1, or where the archive begins.
    pub from: u64,
    /// The last position looked at.
    pub through: u64,
    /// How many entries.
    pub entries: u64,
    /// How many bytes their bodies have.
    pub bytes: u64,
    /// How many pieces of snapshots.
    pub pieces: u64,
}

/// A check of a journal, its archive and its snapshots.
///
/// Checks of each entry both checksums, that its position follows, that it names the entry before
/// it, and that time does not go back; and of each piece of a kept snapshot that it is there and has
/// the bytes its name says. It does not run the rules.
#[derive(Debug)]
pub struct Verify<'a> {
    journal: &'a ReadOnly,
    from: Option<u64>,
}

impl<'a> Verify<'a> {
    /// Begins with the first entry there is.
    pub fn new(journal: &'a ReadOnly) -> Self {
        Self { journal, from: None }
    }

    /// Begins with the entry at a position.
    #[must_use]
    pub fn from(self, position: u64) -> Self {
        Self { from: Some(position), ..self }
    }

    /// Looks at everything and tells `progress` about it every 256 entries.
    ///
    /// # Errors
    ///
    /// The first damage found: [`JournalError::Damaged`] with the position and what is wrong there, or
    /// [`JournalError::Broken`] for a piece. Nothing beyond it was looked at.
    pub fn run(self, mut progress: impl FnMut(VerifyProgress)) -> Result<Verified, JournalError> {
        let from = match self.from {
            Some(position) => position.max(1),
            None => self.journal.first()?,
        };
        let head = self.journal.head()?.position;
        let mut so_far = VerifyProgress { from, through: 0, head };
        let mut verified = Verified { from, ..Verified::default() };
        progress(so_far);
        for found in self.journal.entries(from) {
            let (entry, _) = found?;
            verified.through = entry.position;
            verified.entries += 1;
            verified.bytes += entry.body.len() as u64;
            so_far.through = entry.position;
            if verified.entries.is_multiple_of(STEP) {
                progress(so_far);
            }
        }
        progress(so_far);
        for name in self.journal.pieces()? {
            if self.journal.piece(name)?.is_none() && self.journal.pieces()?.contains(&name) {
                return Err(JournalError::Broken(format!("piece {name} of a snapshot is missing")));
            }
            verified.pieces += 1;
        }
        Ok(verified)
    }
}
