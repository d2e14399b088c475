//! Terms, pieces and manifests in SQLite.

use super::durable::execute;
use super::writer::Writer;
use crate::failure::Failure;
use firstcome_core::names::PieceName;
use rusqlite::{Connection, OptionalExtension};
use std::collections::BTreeSet;

impl Writer {
    pub(super) fn mint_term(&mut self) -> Result<u64, Failure> {
        let term = self.head.term + 1;
        self.untidy = true;
        self.file.transaction(
            |connection| {
                execute(connection, "UPDATE head SET term = ?1", [term.cast_signed()])?;
                Ok::<_, Failure>(())
            },
            |connection, ()| {
                let found: i64 =
                    connection.query_row("SELECT term FROM head", [], |row| row.get(0))?;
                Ok(found == term.cast_signed())
            },
        )?;
        self.head.term = term;
        Ok(term)
    }

    pub(super) fn check_term(&self, ours: u64) -> Result<(), Failure> {
        if ours < self.head.term {
            return Err(Failure::OldTerm { ours, theirs: self.head.term });
        }
        Ok(())
    }

    pub(super) fn put_piece(&mut self, name: PieceName, bytes: &[u8]) -> Result<(), Failure> {
        let now = self.now().as_micros();
        self.untidy = true;
        self.file.transaction(
            |connection| {
                let sql =
                    "INSERT OR IGNORE INTO piece (name, written_at, bytes) VALUES (?1, ?2, ?3)";
                let is_new = execute(connection, sql, (name.0, now, bytes))? == 1;
                if is_new || !named(connection)?.contains(&name) {
                    // Also when it was there: it is wanted again, so it may stay for as long again.
                    note_unnamed(connection, name, now)?;
                }
                Ok::<_, Failure>(())
            },
            |connection, ()| has_piece(connection, name),
        )
    }

    pub(super) fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, Failure> {
        piece(self.file.connection(), name)
    }

    pub(super) fn install(
        &mut self,
        position: u64,
        manifest: &[u8],
        pieces: &[PieceName],
        term: u64,
    ) -> Result<(), Failure> {
        self.check_term(term)?;
        if position > self.head.position {
            return Err(Failure::Behind { head: self.head.position, applied: position });
        }
        let now = self.now().as_micros();
        self.untidy = true;
        self.file.transaction(
            |connection| {
                for name in pieces {
                    if !has_piece(connection, *name)? {
                        return Err(Failure::PieceMissing(*name));
                    }
                }
                let before = named(connection)?;
                let names: Vec<u8> = pieces.iter().flat_map(|name| name.0).collect();
                let values = (position.cast_signed(), term.cast_signed(), now, &names, manifest);
                execute(connection, include_str!("install.sql"), values)?;
                execute(connection, include_str!("keep_two.sql"), [])?;
                let after = named(connection)?;
                for name in before.difference(&after) {
                    note_unnamed(connection, *name, now)?;
                }
                for name in after.difference(&before) {
                    execute(connection, "DELETE FROM unnamed WHERE name = ?1", [name.0])?;
                }
                Ok(())
            },
            |connection, ()| Ok(newest(connection)?.is_some_and(|found| found == manifest)),
        )
    }

    pub(super) fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, Failure> {
        Ok(newest(self.file.connection())?)
    }
}

pub(super) fn newest(connection: &Connection) -> rusqlite::Result<Option<Vec<u8>>> {
    let sql = "SELECT bytes FROM manifest ORDER BY position DESC LIMIT 1";
    connection.prepare_cached(sql)?.query_row([], |row| row.get(0)).optional()
}

pub(super) fn piece(connection: &Connection, name: PieceName) -> Result<Option<Vec<u8>>, Failure> {
    let mut statement = connection.prepare_cached("SELECT bytes FROM piece WHERE name = ?1")?;
    let bytes: Option<Vec<u8>> = statement.query_row([name.0], |row| row.get(0)).optional()?;
    match bytes {
        Some(bytes) if PieceName::of(&bytes) != name => Err(Failure::Broken(format!(
            "piece {name} of a snapshot is torn or altered: its bytes give another name"
        ))),
        found => Ok(found),
    }
}

/// Gives the names in the manifests that are kept.
pub(super) fn named(connection: &Connection) -> rusqlite::Result<BTreeSet<PieceName>> {
    let mut statement = connection.prepare_cached("SELECT pieces FROM manifest")?;
    let mut names = BTreeSet::new();
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (found, _) = row.get_ref(0)?.as_blob()?.as_chunks::<16>();
        names.extend(found.iter().map(|name| PieceName(*name)));
    }
    Ok(names)
}

fn note_unnamed(connection: &Connection, name: PieceName, since: i64) -> rusqlite::Result<usize> {
    let sql = "INSERT OR REPLACE INTO unnamed (name, since) VALUES (?1, ?2)";
    execute(connection, sql, (name.0, since))
}

fn has_piece(connection: &Connection, name: PieceName) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached("SELECT 1 FROM piece WHERE name = ?1")?;
    statement.exists([name.0])
}
