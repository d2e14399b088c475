//! Writes a space into a file.

use super::record::{Kind, checksum, front};
use super::{About, bad};
use crate::archive::write_entry;
use crate::entry::Entry;
use crate::error::JournalError;
use crate::folder::sync_folder;
use firstcome_core::names::PieceName;
use firstcome_core::snapshot::Manifest;
use firstcome_core::state::Skip;
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that is being written, in the order of its records. It has the name that was asked for once it is whole; before,
/// and where the writer ended early, `.part` stands behind the name.
#[derive(Debug)]
pub struct SpaceWriter {
    file: BufWriter<File>,
    path: PathBuf,
    part: PathBuf,
    about: About,
    /// The checksum of the record before.
    checksum: u64,
    records: u64,
    pieces: BTreeSet<PieceName>,
    /// Which of the two snapshots pieces are of now.
    piece: Kind,
}

impl SpaceWriter {
    /// Begins a file. One that was left unfinished under the name is begun anew.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`]: there is a file of the name, or it cannot be made.
    pub fn create(path: &Path, about: About) -> Result<Self, JournalError> {
        if path.exists() {
            return Err(bad(path, "it is there already, and nothing is written over"));
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        // It has all that the store has: it is for its owner only.
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let cannot = |error: io::Error| bad(&part, error.to_string());
        let mut file = BufWriter::with_capacity(256 << 10, options.open(&part).map_err(cannot)?);
        file.write_all(&about.encode()).map_err(cannot)?;
        Ok(Self {
            file,
            path: path.to_owned(),
            part,
            about,
            checksum: about.checksum(),
            records: 0,
            pieces: BTreeSet::new(),
            piece: Kind::StartPiece,
        })
    }

    /// Writes the manifest of the snapshot that the entries go on from, under the id of the file's space; its pieces come next.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`]: the file cannot be written.
    pub fn start(&mut self, mut manifest: Manifest) -> Result<(), JournalError> {
        manifest.space = self.about.space;
        self.write(Kind::Start, &[&manifest.encode()])
    }

    /// Writes a piece of one of the two snapshots, unless it is there already.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`]: the file cannot be written.
    pub fn piece(&mut self, name: PieceName, bytes: &[u8]) -> Result<(), JournalError> {
        if !self.pieces.insert(name) {
            return Ok(());
        }
        self.write(self.piece, &[&name.0, bytes])
    }

    /// Writes the record of a skipped entry.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`]: the file cannot be written.
    pub fn skip(&mut self, skip: &Skip) -> Result<(), JournalError> {
        self.write(Kind::Skip, &[&skip.encode()])
    }

    /// Writes an entry.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`]: the file cannot be written.
    pub fn entry(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let mut bytes = Vec::with_capacity(entry.body.len() + 64);
        write_entry(&mut bytes, &self.about.sealer(), entry);
        self.write(Kind::Entry, &[&bytes])
    }

    /// Says that all entries are written: the pieces that come from here on are those of the state behind them.
    pub fn entries_end(&mut self) {
        self.piece = Kind::Piece;
    }

    /// Writes the manifest of the state behind the last entry, under the id of the file's space. The pieces are there already.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`]: the file cannot be written.
    pub fn state(&mut self, mut manifest: Manifest) -> Result<(), JournalError> {
        manifest.space = self.about.space;
        self.write(Kind::State, &[&manifest.encode()])
    }

    /// Writes a row of the ledger into a backup, behind the state.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`]: the file cannot be written.
    pub fn row(&mut self, row: &[u8]) -> Result<(), JournalError> {
        self.write(Kind::Row, &[row])
    }

    /// Ends the file: it is on the disk then, and has its name.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`]: the file cannot be written, or there is one of its name by now.
    pub fn finish(mut self) -> Result<(), JournalError> {
        let records = self.records.to_le_bytes();
        self.write(Kind::End, &[&records])?;
        let Self { file, path, part, .. } = self;
        let done = || {
            file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
            // Other than a rename, this refuses a name that is taken.
            std::fs::hard_link(&part, &path)?;
            std::fs::remove_file(&part)?;
            match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                Some(parent) => sync_folder(parent),
                None => sync_folder(Path::new(".")),
            }
        };
        done().map_err(|error: io::Error| bad(&path, error.to_string()))
    }

    fn write(&mut self, kind: Kind, content: &[&[u8]]) -> Result<(), JournalError> {
        let length: usize = content.iter().map(|part| part.len()).sum();
        let length = u32::try_from(length).map_err(|_| bad(&self.part, "a record is too long"))?;
        let front = front(kind, length);
        self.checksum = checksum(self.checksum, &front, content);
        self.records += 1;
        let mut write = || {
            self.file.write_all(&front)?;
            content.iter().try_for_each(|part| self.file.write_all(part))?;
            self.file.write_all(&self.checksum.to_le_bytes())
        };
        write().map_err(|error: io::Error| bad(&self.part, error.to_string()))
    }
}
