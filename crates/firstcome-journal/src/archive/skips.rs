//! Skipped entries in the archive: a file `POSITION.skip` for each, beside the files of entries.

use super::{Archive, trouble, unreadable};
use crate::error::JournalError;
use crate::folder::sync_folder;
use firstcome_core::state::Skip;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

const EXTENSION: &str = "skip";

/// Returns the skipped entries that an archive names, by position; none if there is no such folder.
///
/// # Errors
///
/// [`JournalError::Damaged`] with the position of one whose record is torn or altered; the folder cannot be read.
pub fn skips(folder: &Path) -> Result<Vec<Skip>, JournalError> {
    let listing = match std::fs::read_dir(folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(unreadable(folder, &error)),
    };
    let mut skips = Vec::new();
    for found in listing {
        let path = found.map_err(|error| unreadable(folder, &error))?.path();
        let ours = path.extension().is_some_and(|extension| extension == EXTENSION);
        let position = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok());
        let (true, Some(position)) = (ours, position) else { continue };
        let bytes = std::fs::read(&path).map_err(|error| unreadable(&path, &error))?;
        let why = |why: String| JournalError::Damaged { position, why };
        let skip = Skip::decode(&bytes)
            .map_err(|bad| why(format!("the record in the archive that it is skipped: {bad}")))?;
        if skip.position != position {
            return Err(why(format!("its record in the archive is of entry {}", skip.position)));
        }
        skips.push(skip);
    }
    skips.sort_by_key(|skip| skip.position);
    Ok(skips)
}

impl Archive {
    /// Takes in that an entry is skipped, and answers when that is durable.
    ///
    /// # Errors
    ///
    /// [`JournalError::Full`] and others of the file system.
    pub fn add_skip(&mut self, skip: &Skip) -> Result<(), JournalError> {
        let name = format!("{:020}", skip.position);
        let path = self.folder.join(&name).with_extension(EXTENSION);
        let bytes = skip.encode();
        if std::fs::read(&path).is_ok_and(|found| found == bytes) {
            return Ok(());
        }
        let begun = path.with_extension("skip-begun");
        let write = || {
            let mut file = File::create(&begun)?;
            file.write_all(&bytes)?;
            file.sync_all()?;
            std::fs::rename(&begun, &path)?;
            sync_folder(&self.folder)
        };
        write().map_err(|error| trouble(&path, &error))
    }
}
