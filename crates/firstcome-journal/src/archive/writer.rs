//! Writes entries to archive files.

use super::{ArchivePart, EXTENSION, Frames, HEADER_BYTES, header, parts, trouble, write_entry};
use crate::entry::{Entry, Sealer};
use crate::error::JournalError;
use crate::folder::sync_folder;
use crate::name::Name;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Bytes after which the next file begins.
const FILE_BYTES: u64 = 64 << 20;

/// An archive that takes in what is trimmed.
#[derive(Debug)]
pub struct Archive {
    pub(super) folder: PathBuf,
    sealer: Sealer,
    end: Option<End>,
}

/// Where the archive goes on.
#[derive(Debug)]
struct End {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// The position of the next entry to come.
    next: u64,
    /// The name of the last entry, once there is one in this file.
    name: Option<Name>,
}

impl Archive {
    /// Opens the archive in a folder, for a journal that still has the entries from `kept_from` on.
    ///
    /// A trim that was cut short leaves entries in both, the last of them perhaps torn here: what is
    /// whole is compared with the journal by `seal_of`, which gives the checksum an entry has there,
    /// and what is torn is cut off. Damage before that is left as it is, for the verifier to report,
    /// and a new file will begin after it.
    ///
    /// # Errors
    ///
    /// [`JournalError::Broken`] when the archive has an entry that the journal has otherwise or not at
    /// all; the folder cannot be used, or belongs to another space.
    pub fn open(
        folder: &Path,
        sealer: Sealer,
        kept_from: u64,
        seal_of: impl Fn(u64) -> Result<Option<u64>, JournalError>,
    ) -> Result<Self, JournalError> {
        if !folder.is_dir() {
            std::fs::create_dir(folder).map_err(|error| trouble(folder, &error))?;
            if let Some(parent) = folder.parent() {
                sync_folder(parent).map_err(|error| trouble(parent, &error))?;
            }
        }
        let mut archive = Self { folder: folder.to_owned(), sealer, end: None };
        let parts = parts(folder)?;
        let after = parts.partition_point(|part| part.first <= kept_from);
        for part in &parts[after.saturating_sub(1)..] {
            archive.end = archive.resume(part, kept_from, &seal_of)?;
        }
        Ok(archive)
    }

    /// Takes in entries that follow each other, and answers when they are durable.
    ///
    /// Entries it has already are left out.
    ///
    /// # Errors
    ///
    /// [`JournalError::Full`] and others of the file system; [`JournalError::Broken`] when the first entry
    /// names another one before it than the archive's last. None of the entries counts as taken in.
    pub fn add(&mut self, entries: &[(Entry, Name)]) -> Result<(), JournalError> {
        let next = self.end.as_ref().map_or(0, |end| end.next);
        let known = entries.partition_point(|(entry, _)| entry.position < next);
        let entries = &entries[known..];
        let (Some((first, _)), Some((last, name))) = (entries.first(), entries.last()) else {
            return Ok(());
        };
        if let Some(End { next, name: Some(name), .. }) = &self.end
            && *next == first.position
            && *name != first.before
        {
            return Err(JournalError::Broken(format!(
                "entry {} names {} before it, the archive has {name} there: move the archive away",
                first.position, first.before
            )));
        }
        let goes_on = |end: &&mut End| end.next == first.position && end.bytes < FILE_BYTES;
        let mut bytes = Vec::new();
        for (entry, _) in entries {
            write_entry(&mut bytes, &self.sealer, entry);
        }
        let end = match self.end.as_mut().filter(goes_on) {
            Some(end) => end,
            None => {
                let begun = begin(&self.folder, &self.sealer, first.position)?;
                self.end.insert(begun)
            }
        };
        end.append(&bytes).map_err(|error| trouble(&end.path, &error))?;
        end.next = last.position + 1;
        end.name = Some(*name);
        Ok(())
    }

    /// Reads a file to its end and gives where it goes on; nothing if it is damaged.
    fn resume(
        &self,
        part: &ArchivePart,
        kept_from: u64,
        seal_of: impl Fn(u64) -> Result<Option<u64>, JournalError>,
    ) -> Result<Option<End>, JournalError> {
        let path = part.path.clone();
        let about = |error: io::Error| trouble(&path, &error);
        if std::fs::metadata(&path).map_err(about)?.len() < HEADER_BYTES as u64 {
            // It was being begun, and holds nothing.
            return std::fs::remove_file(&path).map(|()| None).map_err(about);
        }
        let mut frames = Frames::open(part, self.sealer)?;
        let mut last = None;
        loop {
            match frames.next_entry() {
                Ok(Some((entry, name))) => {
                    let here = self.sealer.seal(&entry);
                    if entry.position >= kept_from && seal_of(entry.position)? != Some(here) {
                        return Err(JournalError::Broken(format!(
                            "the archive and the journal do not have the same entry {}: they are not of one piece, move the archive away",
                            entry.position
                        )));
                    }
                    last = Some(name);
                }
                Ok(None) => break,
                Err(JournalError::Damaged { .. }) if frames.next() >= kept_from => break,
                Err(JournalError::Damaged { .. }) => return Ok(None),
                Err(other) => return Err(other),
            }
        }
        let bytes = frames.good();
        let open = || {
            let file = OpenOptions::new().write(true).open(&path)?;
            file.set_len(bytes)?;
            Ok(file)
        };
        let file = open().map_err(about)?;
        Ok(Some(End { file, path, bytes, next: frames.next(), name: last }))
    }
}

fn begin(folder: &Path, sealer: &Sealer, first: u64) -> Result<End, JournalError> {
    let path = folder.join(format!("{first:020}.{EXTENSION}"));
    let create = || {
        let file = OpenOptions::new().write(true).create_new(true).open(&path)?;
        let mut end = End { file, path: path.clone(), bytes: 0, next: first, name: None };
        if let Err(error) = end.append(&header(sealer, first)).and_then(|()| sync_folder(folder)) {
            // The name is free again for the next attempt; if even this fails, that one says so.
            drop(std::fs::remove_file(&path));
            return Err(error);
        }
        Ok(end)
    };
    create().map_err(|error: io::Error| trouble(&path, &error))
}

impl End {
    /// Writes after what is good; what an earlier failure left there is overwritten.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        let write = |file: &mut File| {
            file.seek(SeekFrom::Start(self.bytes))?;
            file.write_all(bytes)?;
            file.sync_data()
        };
        if let Err(error) = write(&mut self.file) {
            // If this fails too, the torn end is cut off when the archive is next opened.
            drop(self.file.set_len(self.bytes));
            return Err(error);
        }
        self.bytes += bytes.len() as u64;
        Ok(())
    }
}
