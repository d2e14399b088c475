//! Has the folder's archive take in entries before they are trimmed.

use super::rows;
use super::writer::Writer;
use crate::archive::Archive;
use crate::error::JournalError;
use firstcome_core::state::Skip;

impl Writer {
    pub(super) fn archive(
        &mut self,
        first: u64,
        last: u64,
        skips: &[Skip],
    ) -> Result<(), JournalError> {
        if !self.archived {
            return Ok(());
        }
        let connection = self.file.connection();
        let count = usize::try_from((last + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        let entries = rows::read(connection, &self.sealer, first - 1, count).whole()?;
        let archive = match &mut self.archive {
            Some(archive) => archive,
            None => {
                let path = self.folder.archive();
                // A trim that was cut short left entries in both: they must be the same.
                let seal_of = |position| Ok(rows::seal(connection, position)?);
                self.archive.insert(Archive::open(&path, self.sealer, first, seal_of)?)
            }
        };
        skips.iter().try_for_each(|skip| archive.add_skip(skip))?;
        archive.add(&entries)
    }
}
