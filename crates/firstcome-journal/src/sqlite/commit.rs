//! Atomic steps in SQLite, each a transaction of the file: see [`Transaction`].

use super::durable::execute;
use super::rows;
use super::stored;
use super::writer::{CachedHead, Writer};
use crate::entry::{Entry, Head, Sealer};
use crate::error::JournalError;
use crate::name::Tip;
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::conditions::{self, Stored};
use crate::transaction::{IDLE_PIECES, Seen, Transaction, Write};
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;
use rusqlite::Connection;

/// The file within one transaction, and where the journal stands in it.
struct Step<'a> {
    connection: &'a Connection,
    sealer: &'a Sealer,
    head: CachedHead,
    /// The journal's time, which never goes back.
    journal_time: Timestamp,
    /// The clock as it is.
    now: Timestamp,
}

impl Writer {
    pub(super) fn commit(&mut self, transaction: &Transaction) -> Result<Seen, JournalError> {
        let (journal_time, now) = (self.now(), self.clock.now());
        let Self { file, sealer, head, untidy, .. } = self;
        let sealer = &*sealer;
        let mut dropped = 0;
        if transaction.writes.is_empty() {
            let step =
                Step { connection: file.connection(), sealer, head: *head, journal_time, now };
            conditions::check(&step, &transaction.checks)?;
        } else {
            *untidy = true;
            let done = file.transaction(
                |connection| {
                    let mut step = Step { connection, sealer, head: *head, journal_time, now };
                    conditions::check(&step, &transaction.checks)?;
                    let mut dropped = 0;
                    for write in &transaction.writes {
                        dropped += step.write(write)?;
                    }
                    Ok::<_, JournalError>((step.head, dropped))
                },
                |connection, (head, _)| happened(connection, &transaction.writes, head),
            )?;
            (*head, dropped) = done;
        }
        let step = Step { connection: file.connection(), sealer, head: *head, journal_time, now };
        conditions::see(&step, &transaction.reads, dropped)
    }
}

impl Stored for Step<'_> {
    fn head(&self) -> Result<Head, JournalError> {
        Ok(self.head.head(self.sealer, self.now))
    }

    fn mark(&self) -> Option<Vec<u8>> {
        // A file has a head as soon as it is made.
        None
    }

    fn term(&self) -> u64 {
        self.head.term
    }

    fn now(&self) -> Timestamp {
        self.now
    }

    fn entries(&self, from: u64, limit: usize) -> Result<Vec<Entry>, JournalError> {
        let entries = rows::read(self.connection, self.sealer, from - 1, limit).whole()?;
        Ok(entries.into_iter().map(|(entry, _)| entry).collect())
    }

    fn manifests(&self) -> Result<Vec<Manifest>, JournalError> {
        Ok(stored::manifests(self.connection)?)
    }

    fn has_piece(&self, name: PieceName) -> Result<bool, JournalError> {
        Ok(stored::has_piece(self.connection, name)?)
    }

    fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        stored::piece(self.connection, name)
    }

    fn cells(&self, kind: Kind) -> Result<Vec<Cell>, JournalError> {
        match kind {
            Kind::Skip => Ok(stored::skips(self.connection)?),
            // Of several nodes only.
            Kind::Node | Kind::Report => Ok(Vec::new()),
        }
    }
}

impl Step<'_> {
    /// Does one change; gives how many pieces it dropped.
    fn write(&mut self, write: &Write) -> Result<usize, JournalError> {
        let connection = self.connection;
        match write {
            Write::Term => {
                self.head.term += 1;
                let term = self.head.term.cast_signed();
                execute(connection, "UPDATE head SET term = ?1", [term])?;
            }
            Write::Trim(through) => {
                let sql = "DELETE FROM journal WHERE position <= ?1";
                execute(connection, sql, [through.cast_signed()])?;
                self.head.first = self.head.first.max(through + 1);
            }
            Write::Manifests(manifests) => self.keep_manifests(manifests)?,
            Write::Piece(name, bytes) => self.put_piece(*name, bytes)?,
            Write::Named(names) => {
                for name in names {
                    execute(connection, "DELETE FROM unnamed WHERE name = ?1", [name.0])?;
                }
            }
            Write::Unnamed(names) => {
                for name in names {
                    self.note_unnamed(*name)?;
                }
            }
            Write::DropIdle(since) => return self.drop_idle(*since),
            Write::Put(Cell { kind: Kind::Skip, key, value }) => {
                connection.execute_batch(include_str!("skips.sql"))?;
                let sql = "INSERT OR REPLACE INTO skip (position, record) VALUES (?1, ?2)";
                execute(connection, sql, (position_of(key)?.cast_signed(), value))?;
                self.head.skips = stored::count_skips(connection)?;
            }
            Write::Restart { tip, epoch, level } if self.head.position == 0 => {
                let sql = "UPDATE head SET epoch = ?1, level = ?2";
                execute(connection, sql, (epoch, level))?;
                let Tip { position, name, at } = *tip;
                let (epoch, level) = (*epoch, *level);
                let first = position + 1;
                self.head = CachedHead { position, name, at, epoch, level, first, ..self.head };
            }
            Write::Epoch
            | Write::Level(_)
            | Write::Entries(_)
            | Write::Restart { .. }
            | Write::Put(_)
            | Write::Stamped(_)
            | Write::Delete(..)
            | Write::Mark(_)
            | Write::Unmark
            | Write::Vacate(_) => {
                let why = "a journal in a SQLite file has one node: it is not repaired by others";
                return Err(JournalError::Unavailable(why.to_owned()));
            }
        }
        Ok(0)
    }

    fn keep_manifests(&self, manifests: &[Manifest]) -> Result<(), JournalError> {
        let stored = stored::manifests(self.connection)?;
        for other in &stored {
            if !manifests.iter().any(|manifest| manifest.position == other.position) {
                let sql = "DELETE FROM manifest WHERE position = ?1";
                execute(self.connection, sql, [other.position.cast_signed()])?;
            }
        }
        for manifest in manifests.iter().filter(|manifest| !stored.contains(manifest)) {
            let names: Vec<u8> = manifest.pieces.iter().flat_map(|name| name.0).collect();
            let (position, term) = (manifest.position.cast_signed(), self.head.term.cast_signed());
            let values = (position, term, self.journal_time.as_micros(), &names, &manifest.bytes);
            execute(self.connection, include_str!("install.sql"), values)?;
        }
        Ok(())
    }

    fn put_piece(&self, name: PieceName, bytes: &[u8]) -> Result<(), JournalError> {
        let sql = "INSERT OR IGNORE INTO piece (name, written_at, bytes) VALUES (?1, ?2, ?3)";
        let values = (name.0, self.journal_time.as_micros(), bytes);
        let is_new = execute(self.connection, sql, values)? == 1;
        let named = stored::manifests(self.connection)?;
        if is_new || !named.iter().any(|manifest| manifest.pieces.contains(&name)) {
            // Also when it was there: it is wanted again, so it may stay for as long again.
            self.note_unnamed(name)?;
        }
        Ok(())
    }

    fn note_unnamed(&self, name: PieceName) -> Result<(), JournalError> {
        let sql = "INSERT OR REPLACE INTO unnamed (name, since) VALUES (?1, ?2)";
        execute(self.connection, sql, (name.0, self.journal_time.as_micros()))?;
        Ok(())
    }

    fn drop_idle(&self, since: Timestamp) -> Result<usize, JournalError> {
        let sql = "SELECT name FROM unnamed WHERE since <= ?1 LIMIT ?2";
        let mut statement = self.connection.prepare_cached(sql)?;
        let names = statement
            .query_map((since.as_micros(), IDLE_PIECES as i64), |row| row.get::<_, [u8; 16]>(0))?;
        let names: Vec<_> = names.collect::<Result<_, _>>()?;
        for name in &names {
            execute(self.connection, "DELETE FROM piece WHERE name = ?1", [name])?;
            execute(self.connection, "DELETE FROM unnamed WHERE name = ?1", [name])?;
        }
        Ok(names.len())
    }
}

/// Looks whether changes are there, after a commit that failed: the first that can be seen speaks for all.
///
/// Of others it need not be known: doing them again does no harm.
fn happened(
    connection: &Connection,
    writes: &[Write],
    after: &CachedHead,
) -> rusqlite::Result<bool> {
    for write in writes {
        if let Write::Term = write {
            let sql = "SELECT term FROM head";
            let term: i64 = connection.query_row(sql, [], |row| row.get(0))?;
            return Ok(term.cast_unsigned() == after.term);
        } else if let Write::Trim(through) = write {
            return Ok(rows::first(connection)?.is_some_and(|first| first > *through));
        } else if let Write::Manifests(manifests) = write {
            return Ok(stored::manifests(connection)? == *manifests);
        } else if let Write::Piece(name, _) = write {
            return stored::has_piece(connection, *name);
        } else if let Write::Put(cell) = write {
            return Ok(stored::skips(connection)?.contains(cell));
        }
    }
    Ok(false)
}

fn position_of(key: &[u8]) -> Result<u64, JournalError> {
    let position = std::str::from_utf8(key).ok().and_then(|key| key.parse().ok());
    position.ok_or_else(|| JournalError::Broken("a skipped entry has no position".to_owned()))
}
