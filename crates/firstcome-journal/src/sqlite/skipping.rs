//! Has an entry skipped, in SQLite.

use super::durable::execute;
use super::rows;
use super::skips;
use super::writer::Writer;
use crate::failure::Failure;
use crate::name::Name;
use firstcome_core::state::Skip;
use rusqlite::OptionalExtension;

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
        self.head.skips = skips::count(self.file.connection())?;
        Ok(())
    }

    pub(super) fn skips(&self) -> Result<Vec<Skip>, Failure> {
        skips::all(self.file.connection())
    }
}
