//! Trims entries and pieces that no reader needs any more, in small steps.

use super::durable::execute;
use super::rows;
use super::skips;
use super::writer::Writer;
use crate::archive::Archive;
use crate::entry::Entry;
use crate::failure::Failure;
use crate::name::Name;
use firstcome_core::state::Skip;
use rusqlite::OptionalExtension;

/// Entries dropped in one go.
const BITE_ENTRIES: usize = 64;
/// Bytes of entries after which a bite is large enough.
const BITE_BYTES: usize = 1 << 20;
/// Pieces dropped in one go.
const BITE_PIECES: i64 = 16;

/// What one bite left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bite {
    /// The first position kept.
    pub(super) first: u64,
    /// Whether there is more to drop.
    pub(super) more: bool,
}

impl Writer {
    pub(super) fn trim_bite(&mut self, term: u64) -> Result<Bite, Failure> {
        self.check_term(term)?;
        let keep = i64::try_from(self.keep_for.as_micros()).unwrap_or(i64::MAX);
        let cutoff = self.now().as_micros().saturating_sub(keep);
        let entries = self.entries_to_drop(cutoff)?;
        if entries.is_empty() {
            let more = self.drop_pieces(cutoff)?;
            return Ok(Bite { first: self.head.first, more });
        }
        self.drop_entries(&entries)?;
        Ok(Bite { first: self.head.first, more: true })
    }

    /// Gives the first entries that are old enough and lie before the snapshot before the newest.
    fn entries_to_drop(&self, cutoff: i64) -> Result<Vec<(Entry, Name)>, Failure> {
        let sql = "SELECT position FROM manifest ORDER BY position DESC LIMIT 1 OFFSET 1";
        let mut statement = self.file.connection().prepare_cached(sql)?;
        let covered: Option<i64> = statement.query_row([], |row| row.get(0)).optional()?;
        let covered = covered.map_or(0, i64::cast_unsigned);
        let first = self.head.first;
        if covered < first {
            return Ok(Vec::new());
        }
        let limit = BITE_ENTRIES.min(usize::try_from(covered + 1 - first).unwrap_or(BITE_ENTRIES));
        let mut entries =
            rows::read(self.file.connection(), &self.sealer, first - 1, limit).whole()?;
        let mut bytes = 0;
        let bite = entries.iter().take_while(|(entry, _)| {
            let fits = bytes <= BITE_BYTES && entry.at.as_micros() <= cutoff;
            bytes += entry.body.len();
            fits
        });
        let bite = bite.count();
        entries.truncate(bite);
        Ok(entries)
    }

    fn drop_entries(&mut self, entries: &[(Entry, Name)]) -> Result<(), Failure> {
        let Some((last, _)) = entries.last() else { return Ok(()) };
        if self.archived {
            let archive = match &mut self.archive {
                Some(archive) => archive,
                None => {
                    let (path, first) = (self.folder.archive(), self.head.first);
                    let opened = Archive::open(&path, self.sealer, first, |position| {
                        Ok(rows::seal(self.file.connection(), position)?)
                    })?;
                    self.archive.insert(opened)
                }
            };
            let first = entries.first().map_or(0, |(entry, _)| entry.position);
            let gone = |skip: &&Skip| (first..=last.position).contains(&skip.position);
            for skip in skips::all(self.file.connection())?.iter().filter(gone) {
                archive.add_skip(skip)?;
            }
            archive.add(entries)?;
        }
        self.untidy = true;
        let last = last.position;
        let dropped: Result<(), Failure> = self.file.transaction(
            |connection| {
                let sql = "DELETE FROM journal WHERE position <= ?1";
                execute(connection, sql, [last.cast_signed()])?;
                Ok::<_, Failure>(())
            },
            |connection, ()| Ok(rows::first(connection)?.is_some_and(|first| first > last)),
        );
        // If it fails, the archive has some entries already: then it leaves them out the next time.
        dropped?;
        self.head.first = last + 1;
        Ok(())
    }

    /// Drops pieces that nobody has named for long enough; says whether there may be more.
    fn drop_pieces(&mut self, cutoff: i64) -> Result<bool, Failure> {
        let sql = "SELECT name FROM unnamed WHERE since <= ?1 LIMIT ?2";
        let names: Vec<[u8; 16]> = {
            let mut statement = self.file.connection().prepare_cached(sql)?;
            let names = statement.query_map((cutoff, BITE_PIECES), |row| row.get(0))?;
            names.collect::<Result<_, _>>()?
        };
        if names.is_empty() {
            return Ok(false);
        }
        self.untidy = true;
        self.file.transaction(
            |connection| {
                for name in &names {
                    execute(connection, "DELETE FROM piece WHERE name = ?1", [name])?;
                    execute(connection, "DELETE FROM unnamed WHERE name = ?1", [name])?;
                }
                Ok::<_, Failure>(())
            },
            // Doing it again does no harm, so it need not be known.
            |_, ()| Ok(false),
        )?;
        Ok(true)
    }
}
