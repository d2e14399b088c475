//! Reads what stands beside the entries in SQLite: manifests, pieces, skipped entries.

use crate::error::JournalError;
use crate::snapshots::manifest::{Manifest, check_piece};
use crate::transaction::cell::{Cell, Kind};
use firstcome_core::names::PieceName;
use rusqlite::{Connection, OptionalExtension};

/// Returns the manifests that are kept, the newest first.
pub(super) fn manifests(connection: &Connection) -> rusqlite::Result<Vec<Manifest>> {
    let sql = "SELECT position, pieces, bytes FROM manifest ORDER BY position DESC";
    let mut statement = connection.prepare_cached(sql)?;
    let manifests = statement.query_map([], |row| {
        let (names, _) = row.get_ref(1)?.as_blob()?.as_chunks::<16>();
        let pieces = names.iter().map(|name| PieceName(*name)).collect();
        let position = row.get::<_, i64>(0)?.cast_unsigned();
        Ok(Manifest { position, pieces, bytes: row.get(2)? })
    })?;
    manifests.collect()
}

/// Returns a piece.
pub(super) fn piece(
    connection: &Connection,
    name: PieceName,
) -> Result<Option<Vec<u8>>, JournalError> {
    let mut statement = connection.prepare_cached("SELECT bytes FROM piece WHERE name = ?1")?;
    check_piece(name, statement.query_row([name.0], |row| row.get(0)).optional()?)
}

/// Says whether a piece is stored.
pub(super) fn has_piece(connection: &Connection, name: PieceName) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM piece WHERE name = ?1")?.exists([name.0])
}

/// Returns how many entries are skipped.
pub(super) fn count_skips(connection: &Connection) -> rusqlite::Result<u32> {
    if !has_skips(connection)? {
        return Ok(0);
    }
    connection.query_row("SELECT count(*) FROM skip", [], |row| row.get(0))
}

/// Returns the records of skipped entries, in a table that is there once there is one.
pub(super) fn skips(connection: &Connection) -> rusqlite::Result<Vec<Cell>> {
    if !has_skips(connection)? {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare("SELECT position, record FROM skip")?;
    let skips = statement.query_map([], |row| {
        let key = row.get::<_, i64>(0)?.cast_unsigned().to_string().into_bytes();
        let value = row.get_ref(1)?.as_blob().unwrap_or_default().to_vec();
        Ok(Cell { kind: Kind::Skip, key, value })
    })?;
    skips.collect()
}

fn has_skips(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'skip'";
    connection.prepare_cached(sql)?.exists([])
}
