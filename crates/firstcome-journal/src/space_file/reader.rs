//! Reads a space out of a file, once all of it was found to be what was written.

use super::check::Found;
use super::record::{CHECKSUM_BYTES, FRONT_BYTES};
use super::{About, bad, check, chunk};
use crate::archive::read_entry;
use crate::clock::Clock;
use crate::cluster::Seed;
use crate::entry::{EntryRun, Head, Sealer};
use crate::error::JournalError;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::PieceName;
use firstcome_core::snapshot::Manifest;
use firstcome_core::state::{Skip, Stamp};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// A file that is whole. All of it blocks, so that it is not for asynchronous code.
#[derive(Debug)]
pub struct SpaceFile {
    path: PathBuf,
    about: About,
    found: Box<Found>,
    file: RefCell<Place>,
}

/// The file, and the entry before which it stands; 0 where it stands elsewhere.
#[derive(Debug)]
struct Place {
    file: BufReader<File>,
    before: u64,
}

impl SpaceFile {
    /// Opens a file and checks all of it; `progress` hears how many of its bytes are checked, and how many there are.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`] where it is torn, altered or of another form, which says where; [`JournalError::TooNew`].
    pub fn open(path: &Path, progress: impl FnMut(u64, u64)) -> Result<Self, JournalError> {
        let cannot = |error: io::Error| bad(path, error.to_string());
        let file = File::open(path).map_err(cannot)?;
        let bytes = file.metadata().map_err(cannot)?.len();
        let mut file = BufReader::with_capacity(256 << 10, file);
        let (about, found) = check::check(path, &mut file, bytes, progress)?;
        let file = RefCell::new(Place { file, before: 0 });
        Ok(Self { path: path.to_owned(), about, found: Box::new(found), file })
    }

    /// Returns what its head says.
    pub fn about(&self) -> About {
        self.about
    }

    /// Returns the state that the space goes on after, and the pieces it consists of.
    pub fn seed(&self) -> Seed {
        let stamp = self.found.state.stamp;
        let Stamp { position, at, epoch, level, .. } = stamp;
        // Before the first entry only the head says at which level a space begins.
        let level = level.max(self.about.level);
        let (pieces, manifest) = (self.found.state.pieces.clone(), self.found.state.encode());
        Seed { position, name: stamp.name(), at, epoch, level, manifest, pieces }
    }

    /// Returns the manifest of the snapshot that the entries go on from, where they do not begin with the first.
    pub fn start(&self) -> Option<&Manifest> {
        self.found.start.as_ref()
    }

    /// Returns where the journal stands.
    ///
    /// # Errors
    ///
    /// None.
    pub fn head(&self) -> Result<Head, JournalError> {
        let Seed { position, name, at, epoch, level, .. } = self.seed();
        let About { space, .. } = self.about;
        let skips = u32::try_from(self.found.skips.len()).unwrap_or(u32::MAX);
        let (first, now) = (self.first()?, Clock::system().now());
        Ok(Head { space, level, position, name, at, epoch, first, skips, now })
    }

    /// Returns the position of its first entry.
    ///
    /// # Errors
    ///
    /// None.
    pub fn first(&self) -> Result<u64, JournalError> {
        Ok(self.found.first.unwrap_or(self.found.state.stamp.position + 1))
    }

    /// Returns the manifest of the state behind the last entry.
    ///
    /// # Errors
    ///
    /// None.
    pub fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(Some(self.found.state.encode()))
    }

    /// Returns a piece of one of its two snapshots.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`] when the file was changed since, or cannot be read any more.
    pub fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        let Some((at, length)) = self.found.pieces.get(&name).copied() else { return Ok(None) };
        let mut bytes = vec![0; length];
        let mut place = self.file.borrow_mut();
        place.before = 0;
        let read = place.file.seek(SeekFrom::Start(at));
        let read = read.and_then(|_| place.file.read_exact(&mut bytes));
        read.map_err(|error| bad(&self.path, error.to_string()))?;
        match PieceName::of(&bytes) == name {
            true => Ok(Some(bytes)),
            false => Err(bad(&self.path, format!("piece {name} was changed since it was checked"))),
        }
    }

    /// Returns the names of the pieces that it has.
    ///
    /// # Errors
    ///
    /// None.
    pub fn pieces(&self) -> Result<Vec<PieceName>, JournalError> {
        Ok(self.found.pieces.keys().copied().collect())
    }

    /// Returns the skipped entries, by position.
    ///
    /// # Errors
    ///
    /// None.
    pub fn skips(&self) -> Result<Vec<Skip>, JournalError> {
        Ok(self.found.skips.clone())
    }

    /// Returns how many rows of the ledger it has.
    pub fn row_count(&self) -> u64 {
        self.found.rows.1
    }

    /// Returns the rows of the ledger, in their order.
    ///
    /// # Errors
    ///
    /// [`JournalError::BadFile`] when the file was changed since, or cannot be read any more.
    pub fn rows(&self) -> impl Iterator<Item = Result<Vec<u8>, JournalError>> + '_ {
        let (mut at, count) = self.found.rows;
        (0..count).map(move |_| {
            let row = self.row(at).map_err(|error| bad(&self.path, error.to_string()))?;
            at += (FRONT_BYTES + row.len() + CHECKSUM_BYTES) as u64;
            Ok(row)
        })
    }

    fn row(&self, at: u64) -> io::Result<Vec<u8>> {
        let mut place = self.file.borrow_mut();
        place.before = 0;
        let ahead = i64::try_from(at).unwrap_or(i64::MAX);
        let here = i64::try_from(place.file.stream_position()?).unwrap_or(i64::MAX);
        place.file.seek_relative(ahead - here)?;
        let mut front = [0; FRONT_BYTES];
        place.file.read_exact(&mut front)?;
        let mut row = vec![0; u32::from_le_bytes(chunk(&front, 1)) as usize];
        place.file.read_exact(&mut row)?;
        Ok(row)
    }

    /// Returns what seals entries of the space.
    pub fn sealer(&self) -> Sealer {
        self.about.sealer()
    }

    pub(crate) fn archives(&self) -> &[PathBuf] {
        &[]
    }

    pub(crate) fn last_position(&self) -> Result<u64, JournalError> {
        Ok(self.found.state.stamp.position)
    }

    /// Returns the next entries.
    pub(crate) fn stored(&self, next: u64) -> Result<EntryRun, JournalError> {
        let (Some(first), last) = (self.found.first, self.last_position()?) else {
            return Ok(EntryRun::default());
        };
        if next < first || next > last {
            return Ok(EntryRun::default());
        }
        let mut place = self.file.borrow_mut();
        let run = self.read(&mut place, next, last);
        run.map_err(|error| bad(&self.path, error.to_string()))?.map_err(|failure| {
            bad(&self.path, format!("{failure}: it was changed since it was checked"))
        })
    }

    fn read(
        &self,
        place: &mut Place,
        next: u64,
        last: u64,
    ) -> io::Result<Result<EntryRun, JournalError>> {
        let Place { file, before } = place;
        if *before != next {
            let (at, position) = self.found.mark(next);
            file.seek(SeekFrom::Start(at))?;
            *before = position;
        }
        let mut run = EntryRun::default();
        let mut content = Vec::new();
        while *before <= last && run.good.len() < READ_ENTRIES {
            let mut front = [0; FRONT_BYTES];
            file.read_exact(&mut front)?;
            content.resize(u32::from_le_bytes(chunk(&front, 1)) as usize, 0);
            file.read_exact(&mut content)?;
            file.seek_relative(CHECKSUM_BYTES as i64)?;
            if *before >= next {
                match read_entry(&content, &self.sealer(), *before) {
                    Ok(entry) => run.good.push_back(entry),
                    Err(failure) => return Ok(Err(failure)),
                }
            }
            *before += 1;
        }
        Ok(Ok(run))
    }
}
