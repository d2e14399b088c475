//! Skipped entries in SQLite: a table that is there once there is one.

use super::durable::execute;
use super::rows;
use super::writer::Writer;
use crate::failure::Failure;
use crate::name::Name;
use firstcome_core::state::Skip;
use rusqlite::{Connection, OptionalExtension};

impl Writer {
    pub(super) fn skip(&mut self, skip: &Skip) -> Result<(), Failure> {
        let position = skip.position;
        let (head, first) = (self.head.position, self.head.first);
        if position > head {
            return Err(Failure::Behind { head, applied: position });
        }
        if position < first {
            return Err(Failure::Trimmed { wanted: position, first });
        }
        let sql = "SELECT max(position) FROM manifest";
        let newest: Option<i64> =
            self.file.connection().query_row(sql, [], |row| row.get(0)).optional()?.flatten();
        if newest.is_some_and(|newest| newest.cast_unsigned() >= position) {
            let who = "whoever wrote the newest snapshot".to_owned();
            return Err(Failure::Applied { position, who });
        }
        let entries = rows::read(self.file.connection(), &self.sealer, position - 1, 1).whole()?;
        let wanted = Name { node: skip.node, number: skip.number };
        let found = entries.first().map_or(Name::default(), |(_, name)| *name);
        if found != wanted {
            return Err(Failure::Forked { position, found, applied: wanted });
        }
        let record = skip.encode();
        self.untidy = true;
        self.file.transaction(
            |connection| {
                connection.execute_batch(include_str!("skips.sql"))?;
                let sql = "INSERT OR REPLACE INTO skip (position, record) VALUES (?1, ?2)";
                execute(connection, sql, (position.cast_signed(), &record))?;
                Ok::<_, Failure>(())
            },
            |connection, ()| {
                let sql = "SELECT record FROM skip WHERE position = ?1";
                let found: Option<Vec<u8>> = connection
                    .query_row(sql, [position.cast_signed()], |row| row.get(0))
                    .optional()?;
                Ok(found.is_some_and(|found| found == record))
            },
        )?;
        self.head.skips = count(self.file.connection())?;
        Ok(())
    }

    pub(super) fn skips(&self) -> Result<Vec<Skip>, Failure> {
        all(self.file.connection())
    }
}

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
