//! A SQLite file whose commits are durable when they return.

use super::log::{CHECKPOINT_PAGES, Checkpointer, checkpoint};
use super::trouble::{Trouble, is_full};
use rusqlite::{Connection, OpenFlags, Params};
use std::path::Path;
use std::time::Duration;

/// Statements kept compiled.
const STATEMENTS: usize = 64;

/// What makes a file this program's own, and how to tell.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// The number in the file's header that says whose it is.
    pub application_id: i32,
    /// What the file is called in messages.
    pub what: &'static str,
    /// A statement that changes something of no meaning: run to know that a failed commit is gone.
    pub settle: &'static str,
}

/// A SQLite file opened for writing.
#[derive(Debug)]
pub struct Durable {
    connection: Connection,
    form: Form,
}

impl Durable {
    /// Opens a file, made if it is not there, and has `create` fill it if it is new.
    ///
    /// # Errors
    ///
    /// It cannot be written to, is something else, is damaged, or does not take the settings that
    /// make commits durable.
    pub fn open<E: From<Trouble>>(
        path: &Path,
        form: Form,
        create: impl FnOnce(&Connection) -> Result<(), E>,
    ) -> Result<Self, E> {
        let (connection, is_new) =
            connect(path, form).map_err(|trouble| E::from(trouble.about(path)))?;
        let mut file = Self { connection, form };
        if is_new {
            file.transaction::<(), E>(
                |connection| {
                    let id = form.application_id;
                    if application_id(connection).map_err(Trouble::from)? == id {
                        // Another process made it since.
                        return Ok(());
                    }
                    create(connection)?;
                    Ok(connection
                        .pragma_update(None, "application_id", id)
                        .map_err(Trouble::from)?)
                },
                |connection, ()| Ok(application_id(connection)? == form.application_id),
            )?;
        }
        Ok(file)
    }

    /// Returns the connection, for reading.
    pub fn connection(&self) -> &Connection {
        &self.connection
    }

    /// Does some work in one transaction and answers when it is durable.
    ///
    /// `happened` looks whether it is there; it is asked when the commit itself fails.
    ///
    /// # Errors
    ///
    /// What the work gives, or the [`Trouble`] of beginning and committing. Nothing was changed,
    /// unless it is [`Trouble::Unknown`].
    pub fn transaction<R, E: From<Trouble>>(
        &mut self,
        work: impl FnOnce(&Connection) -> Result<R, E>,
        happened: impl FnOnce(&Connection, &R) -> rusqlite::Result<bool>,
    ) -> Result<R, E> {
        self.roll_back();
        run(&self.connection, "BEGIN IMMEDIATE").map_err(Trouble::from)?;
        match work(&self.connection) {
            Ok(done) => match run(&self.connection, "COMMIT") {
                Ok(()) => Ok(done),
                Err(error) => self.resolve_failed_commit(error, done, happened),
            },
            Err(failure) => {
                self.roll_back();
                Err(failure)
            }
        }
    }

    /// Writes what is in the log into the file, as far as no reader needs it.
    pub fn checkpoint(&self) {
        // What does not work now is done by a later one or by the next start.
        drop(checkpoint(&self.connection));
    }

    /// Leaves it to somebody else to write the log into the file: no commit waits for that any more.
    ///
    /// # Errors
    ///
    /// The file cannot be opened once more.
    pub(super) fn checkpoint_beside(&mut self, path: &Path) -> Result<Checkpointer, Trouble> {
        let (connection, _) = connect(path, self.form).map_err(|trouble| trouble.about(path))?;
        let checkpointer = Checkpointer::new(connection)?;
        self.connection.wal_hook(Some(checkpointer.after_commits()))?;
        Ok(checkpointer)
    }

    /// Closes the file and, if nobody reads it, its log.
    pub fn close(self) {
        drop(self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())));
        // What is committed is durable: a close that fails leaves it to the next start.
        drop(self.connection.close());
    }

    /// Finds out whether a commit that failed has happened.
    ///
    /// It was not seen to happen, but its bytes may stand in the log, and would count after a crash.
    /// Only the next commit, which takes their place, makes sure that they are gone. A full disk is
    /// the exception: the mark that ends a commit is written last, and was not.
    fn resolve_failed_commit<R, E: From<Trouble>>(
        &mut self,
        error: rusqlite::Error,
        done: R,
        happened: impl FnOnce(&Connection, &R) -> rusqlite::Result<bool>,
    ) -> Result<R, E> {
        self.roll_back();
        let unknown = |error: &rusqlite::Error| Trouble::Unknown(error.to_string());
        if !self.connection.is_autocommit() {
            return Err(unknown(&error).into());
        }
        match happened(&self.connection, &done) {
            Ok(true) => return Ok(done),
            Ok(false) if is_full(&error) => return Err(Trouble::from(error).into()),
            Ok(false) => {}
            Err(_) => return Err(unknown(&error).into()),
        }
        let replaced = run(&self.connection, "BEGIN IMMEDIATE")
            .and_then(|()| run(&self.connection, self.form.settle))
            .and_then(|()| run(&self.connection, "COMMIT"));
        match replaced {
            Ok(()) => Err(Trouble::from(error).into()),
            Err(_) => {
                self.roll_back();
                Err(unknown(&error).into())
            }
        }
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit() {
            // If it cannot be rolled back, beginning the next transaction fails and says so.
            drop(run(&self.connection, "ROLLBACK"));
        }
    }
}

/// Runs a statement that is kept compiled.
fn run(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    execute(connection, sql, []).map(drop)
}

/// Runs a statement that is kept compiled; gives how many rows it changed.
///
/// # Errors
///
/// Those of SQLite.
pub fn execute(connection: &Connection, sql: &str, values: impl Params) -> rusqlite::Result<usize> {
    connection.prepare_cached(sql)?.execute(values)
}

/// Opens a file for one look at what is in it, while somebody writes to it or not.
///
/// # Errors
///
/// It is not there, is something else, or cannot be read.
pub fn open_read_only(path: &Path, form: Form) -> Result<Connection, Trouble> {
    open_to_read(path, form, true)
}

/// Opens a file for reading it again and again, beside somebody who writes to it: what they write later is seen.
///
/// # Errors
///
/// It is not there, is something else, or cannot be read, also because the disk is full: SQLite coordinates with files.
pub fn open_beside_writer(path: &Path, form: Form) -> Result<Connection, Trouble> {
    open_to_read(path, form, false)
}

fn open_to_read(path: &Path, form: Form, is_one_look: bool) -> Result<Connection, Trouble> {
    let open = || {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.set_prepared_statement_cache_capacity(STATEMENTS);
        match application_id(&connection) {
            Ok(id) => Ok((connection, id)),
            // In a folder that cannot be written to, SQLite cannot make the files it coordinates
            // with. Without a log there is nobody to coordinate with.
            Err(_) if is_one_look && !has_log(path) => {
                let connection = Connection::open_with_flags(
                    immutable(path),
                    flags | OpenFlags::SQLITE_OPEN_URI,
                )?;
                let id = application_id(&connection)?;
                Ok((connection, id))
            }
            Err(error) => Err(error),
        }
    };
    match std::fs::File::open(path) {
        Ok(_) => {}
        Err(why) if why.kind() == std::io::ErrorKind::NotFound => {
            return Err(Trouble::Missing(path.display().to_string()));
        }
        // SQLite would only say that it cannot open the file.
        Err(why) => return Err(Trouble::Unreadable(why.to_string()).about(path)),
    }
    match open() {
        Ok((connection, id)) if id == form.application_id => Ok(connection),
        Ok(_) => Err(Trouble::Broken(format!("it is not {}", form.what)).about(path)),
        Err(error) => Err(Trouble::from(error).about(path)),
    }
}

fn has_log(path: &Path) -> bool {
    let mut log = path.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).is_ok_and(|found| found.len() > 0)
}

fn immutable(path: &Path) -> String {
    let text = path.to_string_lossy();
    let escaped = text.replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{escaped}?immutable=1")
}

fn application_id(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

/// How often a file is asked to keep a log while another process makes it do so.
const LOOKS: u32 = 500;
/// How long is waited between two such looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Has a file keep a write-ahead log, and gives what it keeps.
///
/// This one change SQLite does not wait for, where another process is about to make it as well.
fn write_ahead(connection: &Connection) -> rusqlite::Result<String> {
    let mut looks = 1;
    loop {
        let changed =
            connection.pragma_update_and_check(None, "journal_mode", "wal", |row| row.get(0));
        let busy = |error: &rusqlite::Error| {
            error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy)
        };
        match changed {
            Err(error) if busy(&error) && looks < LOOKS => {
                looks += 1;
                std::thread::sleep(LOOK_EVERY);
            }
            changed => return changed,
        }
    }
}

/// Opens the file, says whether it is new, and makes its commits durable.
fn connect(path: &Path, form: Form) -> Result<(Connection, bool), Trouble> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    if connection.is_readonly(rusqlite::MAIN_DB)? {
        return Err(Trouble::ReadOnly("the file is read-only".into()));
    }
    // In one transaction: between two another process may make the file.
    let reading = connection.unchecked_transaction()?;
    let id = application_id(&reading)?;
    let tables: u32 =
        reading.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
    reading.commit()?;
    let is_new = id == 0 && tables == 0;
    if !is_new && id != form.application_id {
        return Err(Trouble::Broken(format!("it is not {}", form.what)));
    }
    let mode = write_ahead(&connection)?;
    connection.pragma_update(None, "synchronous", "full")?;
    // Only where there is such a call: elsewhere a sync may stop at the disk's own cache.
    connection.pragma_update(None, "fullfsync", true)?;
    connection.pragma_update(None, "checkpoint_fullfsync", true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    let synchronous: u32 = connection.pragma_query_value(None, "synchronous", |row| row.get(0))?;
    if mode != "wal" || synchronous != 2 {
        return Err(Trouble::Unavailable(format!(
            "SQLite does not make commits durable there: journal_mode={mode}, synchronous={synchronous}"
        )));
    }
    Ok((connection, is_new))
}
