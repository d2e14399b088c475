//! Reads entries from archive files.

use super::{
    ArchivePart, BODY_BYTES, FRONT_BYTES, HEADER_BYTES, SEAL_BYTES, parts, read_front,
    refuse_header, unreadable,
};
use crate::entry::{Entry, Sealer};
use crate::error::JournalError;
use crate::name::Name;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};
use std::path::Path;

/// Reads the entries of one file, from its first on.
#[derive(Debug)]
pub struct Frames {
    part: ArchivePart,
    sealer: Sealer,
    file: BufReader<File>,
    next: u64,
    /// Bytes up to the end of the last entry given.
    good: u64,
}

impl Frames {
    /// Opens a file and checks its head.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] with the position of the first entry, when the head is not the one it
    /// should have.
    pub fn open(part: &ArchivePart, sealer: Sealer) -> Result<Self, JournalError> {
        let file = File::open(&part.path).map_err(|error| unreadable(&part.path, &error))?;
        let mut file = BufReader::with_capacity(64 << 10, file);
        let mut head = [0; HEADER_BYTES];
        if let Err(error) = file.read_exact(&mut head) {
            if error.kind() != ErrorKind::UnexpectedEof {
                return Err(unreadable(&part.path, &error));
            }
            let why = "its archive file ends within its head".into();
            return Err(JournalError::Damaged { position: part.first, why });
        }
        refuse_header(&head, &sealer, part.first)?;
        let (part, next) = (part.clone(), part.first);
        Ok(Self { part, sealer, file, next, good: HEADER_BYTES as u64 })
    }

    /// Opens the file that should hold a position; none if the archive begins later.
    ///
    /// # Errors
    ///
    /// As [`Frames::open`].
    pub fn holding(
        folder: &Path,
        position: u64,
        sealer: Sealer,
    ) -> Result<Option<Self>, JournalError> {
        let parts = parts(folder)?;
        let after = parts.partition_point(|part| part.first <= position);
        let Some(part) = after.checked_sub(1).map(|last| &parts[last]) else { return Ok(None) };
        Self::open(part, sealer).map(Some)
    }

    /// Returns the next entry and its name, or nothing at the end.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] with the position of an entry that is torn or altered. Nothing beyond it
    /// is read.
    pub fn next_entry(&mut self) -> Result<Option<(Entry, Name)>, JournalError> {
        let mut front = [0; FRONT_BYTES];
        match self.fill(&mut front)? {
            0 => return Ok(None),
            FRONT_BYTES => {}
            _ => return Err(self.torn()),
        }
        let (length, mut entry) = read_front(&front);
        if length > BODY_BYTES || entry.position != self.next {
            let why = "its length or position in the archive file was altered".into();
            return Err(JournalError::Damaged { position: self.next, why });
        }
        // No more is kept ready than there is: a length may be anything.
        let mut body = Vec::new();
        let mut taken = (&mut self.file).take(length as u64);
        taken.read_to_end(&mut body).map_err(|error| unreadable(&self.part.path, &error))?;
        let mut seal = [0; SEAL_BYTES];
        if body.len() != length || self.fill(&mut seal)? != SEAL_BYTES {
            return Err(self.torn());
        }
        entry.body = body.into();
        let name = self.sealer.check(&entry, u64::from_le_bytes(seal))?;
        self.next += 1;
        self.good += (FRONT_BYTES + length + SEAL_BYTES) as u64;
        Ok(Some((entry, name)))
    }

    /// Returns the position the next entry must have.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Returns how many bytes of the file are good, as far as it was read.
    pub(super) fn good(&self) -> u64 {
        self.good
    }

    fn torn(&self) -> JournalError {
        let why = "its archive file ends within it".into();
        JournalError::Damaged { position: self.next, why }
    }

    /// Reads until the buffer is full or the file ends; gives how much was read.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, JournalError> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(unreadable(&self.part.path, &error)),
            }
        }
        Ok(filled)
    }
}
