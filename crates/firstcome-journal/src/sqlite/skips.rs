//! Reads the skipped entries in SQLite: a table that is there once there is one.

use crate::failure::Failure;
use firstcome_core::state::Skip;
use rusqlite::Connection;

/// Gives how many entries are skipped.
pub(super) fn count(connection: &Connection) -> rusqlite::Result<u32> {
    if !is_there(connection)? {
        return Ok(0);
    }
    connection.query_row("SELECT count(*) FROM skip", [], |row| row.get(0))
}

/// Gives the skipped entries, by position.
pub(super) fn all(connection: &Connection) -> Result<Vec<Skip>, Failure> {
    if !is_there(connection)? {
        return Ok(Vec::new());
    }
    let mut statement =
        connection.prepare("SELECT position, record FROM skip ORDER BY position")?;
    let mut rows = statement.query([])?;
    let mut skips = Vec::new();
    while let Some(row) = rows.next()? {
        let position = row.get::<_, i64>(0)?.cast_unsigned();
        let skip = Skip::decode(row.get_ref(1)?.as_blob().unwrap_or_default());
        skips.push(skip.map_err(|bad| {
            let why = format!("the record that it is skipped: {bad}");
            Failure::Damaged { position, why }
        })?);
    }
    Ok(skips)
}

fn is_there(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'skip'";
    connection.prepare_cached(sql)?.exists([])
}
