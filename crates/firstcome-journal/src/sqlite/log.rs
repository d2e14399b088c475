//! The write-ahead log of a SQLite file: when it is written into the file, by whom, and how long it is.

use parking_lot::Mutex;
use rusqlite::Connection;
use rusqlite::hooks::Wal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// Pages of the log after which it is written into the file: 16 MiB. Most of them are pages that appends changed again
/// and again, so little is to be written.
pub(super) const CHECKPOINT_PAGES: u32 = 4_096;
/// The same where a [`Checkpointer`] does it and pieces are stored: 4 MiB. All of them are to be written.
pub(super) const CHECKPOINT_PAGES_OF_PIECES: u32 = 1_024;
/// Pages of the log after which a commit writes it into the file itself where that is left to a [`Checkpointer`]:
/// 256 MiB. It happens only if that one does not come to it, or somebody reads the file for long.
pub(super) const PAGES_BY_COMMIT: u32 = 65_536;

/// How the write-ahead log of a journal's file is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteAheadLog {
    /// Bytes of its pages after the last commit; 0 once all of it is written into the file, which happens each 16 MiB and
    /// in pauses. It begins anew then, unless somebody still reads the file as it was before.
    pub bytes: u64,
    /// Why it could not be written into the file the last time that was tried.
    pub trouble: Option<String>,
}

/// Writes the log of a file into the file, while another connection commits.
#[derive(Debug)]
pub(super) struct Checkpointer {
    connection: Connection,
    observed: Arc<ObservedLog>,
}

/// What the connections of a file know of its log.
#[derive(Debug)]
pub(super) struct ObservedLog {
    /// Pages after the commit before.
    pages: AtomicU32,
    page_bytes: u32,
    /// Why the last checkpoint failed.
    trouble: Mutex<Option<String>>,
}

impl Checkpointer {
    /// Takes a connection of its own to the file.
    pub(super) fn new(connection: Connection) -> rusqlite::Result<Self> {
        let page_bytes = connection.pragma_query_value(None, "page_size", |row| row.get(0))?;
        let observed =
            ObservedLog { pages: AtomicU32::new(0), page_bytes, trouble: Mutex::default() };
        Ok(Self { connection, observed: Arc::new(observed) })
    }

    /// Returns what the connection that commits calls after each commit, with the pages that the log has then.
    pub(super) fn after_commits(
        &self,
    ) -> impl FnMut(&mut Wal, i32) -> rusqlite::Result<()> + use<> {
        let observed = Arc::clone(&self.observed);
        move |log, pages| {
            let pages = u32::try_from(pages).unwrap_or(0);
            observed.pages.store(pages, Ordering::Relaxed);
            if pages >= PAGES_BY_COMMIT {
                // The commit is durable already: what does not work now is done by a later one.
                observed.tried(log.checkpoint().map(drop));
            }
            Ok(())
        }
    }

    /// Returns what is known of the log.
    pub(super) fn observed(&self) -> Arc<ObservedLog> {
        Arc::clone(&self.observed)
    }

    /// Writes what is in the log into the file, as far as no reader needs it.
    pub(super) fn checkpoint(&self) {
        let done = checkpoint(&self.connection);
        if let Ok(true) = done {
            // The next commit begins it anew; one that came meanwhile is counted with the next.
            self.observed.pages.store(0, Ordering::Relaxed);
        }
        self.observed.tried(done.map(drop));
    }
}

impl ObservedLog {
    /// Returns how the log is.
    pub(super) fn log(&self) -> WriteAheadLog {
        let pages = u64::from(self.pages.load(Ordering::Relaxed));
        WriteAheadLog {
            bytes: pages * u64::from(self.page_bytes),
            trouble: self.trouble.lock().clone(),
        }
    }

    fn tried(&self, done: rusqlite::Result<()>) {
        *self.trouble.lock() = done.err().map(|error| error.to_string());
    }
}

/// When the log is to be written into the file.
pub(super) struct Due {
    observed: Arc<ObservedLog>,
    /// Pages when it was last to be written into the file.
    tried: u32,
}

impl Due {
    pub(super) fn new(observed: Arc<ObservedLog>) -> Self {
        Self { observed, tried: 0 }
    }

    /// Says whether it is time to write the log into the file; once each time that so many pages came to it.
    ///
    /// A reader may keep the log from being written whole, for as long as it reads.
    pub(super) fn is_due(&mut self, after: u32) -> bool {
        let pages = self.observed.pages.load(Ordering::Relaxed);
        if pages < self.tried {
            // It has begun anew.
            self.tried = 0;
        }
        let due = pages - self.tried >= after;
        if due {
            self.tried = pages;
        }
        due
    }
}

/// Writes what is in the log of a file into the file, as far as no reader needs it; says whether that was all of it.
pub(super) fn checkpoint(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        let (busy, pages, written): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(busy == 0 && pages == written)
    })
}

#[cfg(test)]
mod tests {
    use super::{Checkpointer, Due, ObservedLog, WriteAheadLog};
    use crate::entry::Append;
    use crate::folder::DataFolder;
    use crate::name::Name;
    use crate::sqlite::options::Options;
    use crate::sqlite::writer::Writer;
    use firstcome_core::NodeId;
    use firstcome_core::command::{BodyWriter, Command};
    use firstcome_core::names::SpaceId;
    use parking_lot::Mutex;
    use std::path::PathBuf;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    /// A writer without its thread: nothing is written into the file unless somebody says so.
    struct Alone {
        path: PathBuf,
        folder: DataFolder,
        writer: Writer,
        checkpointer: Checkpointer,
    }

    impl Alone {
        fn new(name: &str) -> Self {
            let path =
                std::env::temp_dir().join(format!("firstcome-{name}-{}", std::process::id()));
            let folder = DataFolder::take(&path).unwrap();
            let (writer, checkpointer) =
                Writer::open(&folder, &Options::new(SpaceId([7; 16]))).unwrap();
            checkpointer.checkpoint();
            Self { path, folder, writer, checkpointer }
        }

        /// Appends 100 entries of about 256 KiB: more pages than a connection leaves in the log by itself.
        fn append_much(&mut self) {
            let node = NodeId([b'a'; 16]);
            let mut before = Name::default();
            for number in 1..=100 {
                let name = Name { node, number };
                let mut body = BodyWriter::new(node, number, 0);
                for claim in 0..4_000 {
                    let subject = format!("{number:032}-{claim:024}");
                    assert!(body.push(&Command::claim("spring", None, &subject)));
                }
                let body = body.finish().into();
                let append = Append { body, name, applied: number - 1, applied_name: before };
                self.writer.append(append, tokio::time::Instant::now()).unwrap();
                before = name;
            }
        }

        fn bytes_of_the_file(&self) -> u64 {
            std::fs::metadata(self.folder.journal()).unwrap().len()
        }
    }

    impl Drop for Alone {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.path));
        }
    }

    #[test]
    fn a_commit_leaves_the_log_to_the_checkpointer() {
        let mut alone = Alone::new("leaves-the-log");
        let before = alone.bytes_of_the_file();
        alone.append_much();
        assert_eq!(alone.bytes_of_the_file(), before, "a commit wrote into the file");
        let WriteAheadLog { bytes, trouble } = alone.checkpointer.observed().log();
        assert!(bytes > 20 << 20, "the log has {bytes} bytes");
        assert_eq!(trouble, None);
        alone.checkpointer.checkpoint();
        assert!(alone.bytes_of_the_file() > 20 << 20, "the log was not written into the file");
        assert_eq!(alone.checkpointer.observed().log().bytes, 0, "nothing is left to be written");
    }

    /// What a connection does by itself: a commit writes the log into the file.
    #[test]
    fn twin_a_commit_without_a_checkpointer_writes_the_log_into_the_file() {
        let mut alone = Alone::new("writes-the-log");
        let connection = alone.writer.file.connection();
        connection.pragma_update(None, "wal_autocheckpoint", super::CHECKPOINT_PAGES).unwrap();
        alone.append_much();
        assert!(alone.bytes_of_the_file() > 8 << 20);
    }

    fn observed(pages: u32) -> Arc<ObservedLog> {
        let pages = AtomicU32::new(pages);
        Arc::new(ObservedLog { pages, page_bytes: 4_096, trouble: Mutex::default() })
    }

    #[test]
    fn it_is_due_once_for_so_many_pages_and_anew_when_the_log_begins_anew() {
        let observed = observed(99);
        let mut due = Due::new(Arc::clone(&observed));
        let mut after = |pages| {
            observed.pages.store(pages, Ordering::Relaxed);
            due.is_due(100)
        };
        let dues = [99, 100, 101, 199, 200, 5, 100, 105].map(&mut after);
        assert_eq!(dues, [false, true, false, false, true, false, true, false]);
    }

    #[test]
    fn a_checkpoint_that_failed_is_told_until_one_works() {
        let observed = observed(3);
        observed.tried(Err(rusqlite::Error::InvalidQuery));
        let told = observed.log();
        assert_eq!(told.bytes, 12_288);
        assert_eq!(told.trouble, Some(rusqlite::Error::InvalidQuery.to_string()));
        observed.tried(Ok(()));
        assert_eq!(observed.log().trouble, None);
    }
}
