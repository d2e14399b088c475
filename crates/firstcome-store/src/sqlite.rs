//! SQLite: one file that several processes on one machine share.
//!
//! Everything runs on a thread of its own, one piece of work at a time. Where another process has the file, the work is
//! undone and tried again after a short random pause, until a deadline: SQLite's own waiting has no order and no limit
//! that fits everybody, and it looks at fixed times.

mod error_code;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

#[doc(hidden)]
pub use rusqlite;
use rusqlite::{Connection, ErrorCode, TransactionBehavior};
use tokio::sync::oneshot;

use crate::error::StoreError;
use crate::store_errors::{Meaning, Store};

/// The longest pause before work that found the file in use is tried again.
const PAUSE_US: u64 = 8_000;

/// The form of an address.
const FORM: &str = "write sqlite://FILE, as in sqlite:///var/lib/app/locks.db, or sqlite://locks.db for one in this folder";

/// Where the file is, and how long to wait for it.
///
/// # Examples
///
/// ```
/// let options = firstcome_store::sqlite::SqliteOptions::from_url("sqlite:///tmp/locks.db").unwrap();
/// assert_eq!(options.path(), std::path::Path::new("/tmp/locks.db"));
/// ```
#[derive(Debug, Clone)]
pub struct SqliteOptions {
    path: PathBuf,
    answer_within: Duration,
}

impl SqliteOptions {
    /// Begins with a file, which is made where it is missing.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), answer_within: Duration::from_secs(3) }
    }

    /// Begins with a URL: `sqlite://` and a path, absolute or from the working folder on; `%` escapes are resolved.
    ///
    /// # Errors
    ///
    /// [`StoreError::Address`].
    pub fn from_url(url: &str) -> Result<Self, StoreError> {
        let wrong = |reason: &str| StoreError::Address { reason: reason.to_owned(), form: FORM };
        let path = url.strip_prefix("sqlite://").ok_or_else(|| wrong("it has no sqlite://"))?;
        if path.contains('?') {
            return Err(wrong("it takes no parameters; write %3F for a question mark"));
        }
        let path = crate::percent::decode(path).map_err(wrong)?;
        Ok(Self::new(path.ok_or_else(|| wrong("it names no file"))?))
    }

    /// Sets the longest wait for an answer, also if other processes lock the file or the disk stalls, default 3 s.
    #[must_use]
    pub fn answer_within(mut self, time: Duration) -> Self {
        self.answer_within = time;
        self
    }

    /// Returns the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// What the thread is to do with its connection.
type SqliteJob = Box<dyn FnOnce(&mut Connection) + Send>;

/// An open file. Its thread ends when this is dropped.
#[derive(Debug)]
pub struct Sqlite {
    // Not bounded: each job is somebody who waits for its answer.
    jobs: mpsc::Sender<SqliteJob>,
    place: String,
    answer_within: Duration,
}

impl Sqlite {
    /// Opens the file, or makes it, in write-ahead mode.
    ///
    /// # Errors
    ///
    /// Why it cannot be opened: see [`StoreError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn open(options: SqliteOptions) -> Result<Self, StoreError> {
        let (jobs, work) = mpsc::channel::<SqliteJob>();
        let (opened, is_open) = oneshot::channel();
        let place = options.path.display().to_string();
        let (path, limit) = (options.path, options.answer_within);
        let thread = std::thread::Builder::new().name("firstcome-sqlite".to_owned());
        let spawned = thread.spawn(move || {
            let mut connection = match open(&path, limit) {
                Ok(connection) => connection,
                // Whoever asked may have gone.
                Err(failure) => return drop(opened.send(Err(failure))),
            };
            drop(opened.send(Ok(())));
            while let Ok(job) = work.recv() {
                job(&mut connection);
            }
        });
        let no_thread = |error: std::io::Error| StoreError::Unreachable {
            place: place.clone(),
            reason: error.to_string(),
        };
        spawned.map_err(no_thread)?;
        let opened = tokio::time::timeout(limit, is_open).await;
        let late = || StoreError::Unreachable {
            place: place.clone(),
            reason: format!("the file was not open within {limit:?}"),
        };
        opened.map_err(|_| late())?.unwrap_or(Err(StoreError::Closed))?;
        Ok(Self { jobs, place, answer_within: options.answer_within })
    }

    /// Returns how long an answer is waited for.
    #[must_use]
    pub fn answer_within(&self) -> Duration {
        self.answer_within
    }

    /// Does `work` in a transaction that has the file for itself (BEGIN IMMEDIATE), and commits it.
    ///
    /// It may be called several times: whatever found the file in use was undone before.
    ///
    /// # Errors
    ///
    /// [`StoreError::Held`] where others had the file for all of [`SqliteOptions::answer_within`], or what was asked for before took
    /// that long; see [`StoreError`]. Nothing was carried out, unless it is [`StoreError::Unknown`], as where the disk stood
    /// still in the middle of it.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: it is carried out all the same, or not.
    pub async fn write<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = self.place.clone();
        self.on_thread(move |connection, deadline| write(connection, &place, deadline, &mut work))
            .await
    }

    /// Does `look`, which only reads and takes nothing from anybody, and, where that gives nothing, `work` as
    /// [`Sqlite::write`] does.
    ///
    /// # Errors
    ///
    /// As [`Sqlite::write`].
    ///
    /// # Cancel safety
    ///
    /// As [`Sqlite::write`].
    pub async fn look_or_write<T: Send + 'static>(
        &self,
        mut look: impl FnMut(&Connection) -> rusqlite::Result<Option<T>> + Send + 'static,
        mut work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = self.place.clone();
        self.on_thread(move |connection, deadline| {
            if let Some(found) = until(&place, deadline, || look(connection))? {
                return Ok(found);
            }
            write(connection, &place, deadline, &mut work)
        })
        .await
    }

    /// Does `work`, which only reads.
    ///
    /// # Errors
    ///
    /// As [`Sqlite::write`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn read<T: Send + 'static>(
        &self,
        mut work: impl FnMut(&Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let place = self.place.clone();
        self.on_thread(move |connection, deadline| until(&place, deadline, || work(connection)))
            .await
    }

    /// Does `work` on the thread, which has to be done with it by the deadline that it is given, a little before the answer
    /// is not waited for any more.
    async fn on_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection, Instant) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (done, mut answer) = oneshot::channel();
        let deadline = Instant::now() + self.answer_within - self.answer_within / 20;
        let begun = Arc::new(AtomicBool::new(false));
        let begins = Arc::clone(&begun);
        let job: SqliteJob = Box::new(move |connection| {
            // Nobody waits for it any more, or it is too late: then it certainly is not done.
            if !done.is_closed() && !begins.swap(true, Ordering::AcqRel) {
                drop(done.send(work(connection, deadline)));
            }
        });
        self.jobs.send(job).map_err(|_| StoreError::Closed)?;
        if let Ok(answered) = tokio::time::timeout(self.answer_within, &mut answer).await {
            return answered.unwrap_or(Err(StoreError::Closed));
        }
        let (place, limit) = (self.place.clone(), self.answer_within);
        if begun.swap(true, Ordering::AcqRel) {
            // The disk stands still in the middle of it, or the answer has just come.
            let unknown =
                StoreError::Unknown { place, reason: format!("no answer within {limit:?}") };
            return answer.try_recv().unwrap_or(Err(unknown));
        }
        let detail = format!("what came before took all of {limit:?}, so this was not begun");
        Err(StoreError::Held { place, detail })
    }
}

fn open(path: &Path, limit: Duration) -> Result<Connection, StoreError> {
    let place = path.display().to_string();
    let connection = Connection::open(path).map_err(|error| failure(&place, &error))?;
    until(&place, Instant::now() + limit, || {
        connection.busy_timeout(Duration::ZERO)?;
        let mode: String =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0))?;
        drop(mode);
        // What a crash of the machine may undo is held by processes that it ended, too.
        connection.pragma_update(None, "synchronous", "normal")
    })?;
    Ok(connection)
}

fn write<T>(
    connection: &mut Connection,
    place: &str,
    deadline: Instant,
    work: &mut impl FnMut(&Connection) -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    until(place, deadline, || {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // An error drops the transaction, which undoes it.
        let done = work(&transaction)?;
        transaction.commit()?;
        Ok(done)
    })
}

/// Tries until the file is free for it, or the time is over.
fn until<T>(
    place: &str,
    deadline: Instant,
    mut work: impl FnMut() -> rusqlite::Result<T>,
) -> Result<T, StoreError> {
    loop {
        let error = match work() {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        let pause = Duration::from_micros(fastrand::u64(200..=PAUSE_US));
        let in_use = matches!(
            error.sqlite_error_code(),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
        );
        if !in_use || Instant::now() + pause >= deadline {
            return Err(failure(place, &error));
        }
        std::thread::sleep(pause);
    }
}

fn failure(place: &str, error: &rusqlite::Error) -> StoreError {
    let (place, detail) = (place.to_owned(), error.to_string());
    let Some(code) = error_code::of(error) else { return StoreError::Unexpected { detail } };
    // Nobody knows whether a commit that failed half-way is found in the file later.
    if error.sqlite_error_code() == Some(ErrorCode::SystemIoFailure) {
        return StoreError::Unknown { place, reason: detail };
    }
    let code = code.to_owned();
    match Store::Sqlite.meaning(&code) {
        Some(Meaning::InUse) => StoreError::Held { place, detail },
        Some(Meaning::NoAccess | Meaning::ReadOnly) => StoreError::Denied { code, detail },
        Some(Meaning::NoRoom) => StoreError::Full { place, detail },
        Some(Meaning::NoDatabase) => StoreError::NoDatabase { place, detail },
        Some(Meaning::WrongKind) => StoreError::WrongKind { detail },
        Some(Meaning::NotReady) => StoreError::Unreachable { place, reason: detail },
        None => StoreError::Statement { code, detail },
    }
}
