//! Locks in a SQLite file that several processes share.

#[cfg(feature = "permits")]
mod permits;

use std::time::Duration;

use firstcome_store::sqlite::rusqlite::{self, Connection, OptionalExtension as _, params};
use firstcome_store::sqlite::{Sqlite, SqliteOptions};

use super::numbers::unsigned;
use super::row::{Row, Rows, Seen, Step};
use crate::error::Error;

/// The tables, as they are made.
pub(super) const CREATE: &str = include_str!("sqlite/create.sql");

const LOOK: &str = include_str!("sqlite/look.sql");
const ACQUIRE: &str = include_str!("sqlite/acquire.sql");
const RELEASE: &str = include_str!("sqlite/release.sql");
const PASS: &str = include_str!("sqlite/pass.sql");
const UNDO: &str = include_str!("sqlite/undo.sql");
const FORCE: &str = include_str!("sqlite/force.sql");
const ANNOUNCE: &str = include_str!("sqlite/announce.sql");
const RENEW: &str = include_str!("sqlite/renew.sql");
const GUARD: &str = include_str!("sqlite/guard.sql");
const SWEEP: &str = include_str!("sqlite/sweep.sql");
#[cfg(feature = "permits")]
const SWEEP_PERMITS: &str = include_str!("sqlite/permits_sweep.sql");
const HELD: &str = include_str!("sqlite/held.sql");

/// The last of the next rows in the order of their names.
const LOCKS_PAGE_END: &str = "SELECT max(name) FROM \
    (SELECT name FROM firstcome_locks WHERE name > ?1 ORDER BY name LIMIT ?2)";
#[cfg(feature = "permits")]
const PERMITS_PAGE_END: &str = "SELECT max(name) FROM \
    (SELECT name FROM firstcome_permits WHERE name > ?1 ORDER BY name LIMIT ?2)";

/// A file with the table of locks.
#[derive(Debug)]
pub(crate) struct SqliteTable {
    file: Sqlite,
}

impl SqliteTable {
    /// Opens the file, and makes the tables where they are missing and may be made.
    pub(crate) async fn open(options: SqliteOptions, make_tables: bool) -> Result<Self, Error> {
        let file = Sqlite::open(options).await?;
        if make_tables {
            file.write(|connection| connection.execute_batch(CREATE)).await?;
        }
        Ok(Self { file })
    }

    pub(super) async fn step(
        &self,
        name: &str,
        request: i64,
        step: &Step<'_>,
    ) -> Result<Seen, Error> {
        let name = name.to_owned();
        let (sql, values) = match *step {
            Step::Look => return Ok(self.file.read(move |file| look(file, &name)).await?),
            Step::Acquire { owner, lease, not_after, .. } => {
                (ACQUIRE, vec![text(owner), number(lease), number(not_after), number(request)])
            }
            Step::Release { owner, all, lease } => {
                (RELEASE, vec![text(owner), number(request), number(i64::from(all)), number(lease)])
            }
            Step::Pass { owner, next, lease, .. } => {
                (PASS, vec![text(owner), text(next), number(lease), number(request)])
            }
            Step::Undo { owner, keep } => (UNDO, vec![text(owner), number(keep), number(request)]),
            Step::Force => (FORCE, vec![number(request)]),
            Step::Announce { owner, term, node } => {
                (ANNOUNCE, vec![text(owner), number(term), text(node)])
            }
        };
        let mut all = vec![text(&name)];
        all.extend(values);
        let asks = match step {
            Step::Acquire { owner, .. } => Some((*owner).to_owned()),
            Step::Look
            | Step::Release { .. }
            | Step::Pass { .. }
            | Step::Undo { .. }
            | Step::Force
            | Step::Announce { .. } => None,
        };
        let looked_for = name.clone();
        let done = self.file.look_or_write(
            move |file| {
                // Most of those who ask in vain need not have the file for themselves.
                let Some(owner) = &asks else { return Ok(None) };
                let seen = look(file, &looked_for)?;
                Ok(Some(seen).filter(|seen| seen.held().is_some_and(|row| row.owner != *owner)))
            },
            move |file| {
                file.prepare_cached(sql)?.execute(rusqlite::params_from_iter(&all))?;
                look(file, &name)
            },
        );
        Ok(done.await?)
    }

    pub(super) async fn renew(
        &self,
        names: Vec<String>,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<i32>, Error> {
        let asked: Vec<_> = names.into_iter().zip(owners).collect();
        if lease == 0 {
            let looked = self.file.read(move |file| {
                let held = |(name, owner): &(String, String)| {
                    let seen = look(file, name)?;
                    Ok(i32::from(seen.held().is_some_and(|row| row.owner == *owner)))
                };
                asked.iter().map(held).collect()
            });
            return Ok(looked.await?);
        }
        let renewed = self.file.write(move |file| {
            let mut statement = file.prepare_cached(RENEW)?;
            let mut renew = |(name, owner): &(String, String)| {
                let changed = statement.execute(params![name, owner, lease])?;
                Ok(if changed == 1 { 2 } else { 0 })
            };
            asked.iter().map(&mut renew).collect()
        });
        Ok(renewed.await?)
    }

    pub(super) async fn guard(
        &self,
        name: &str,
        fence: i64,
        owner: &str,
        value: &[u8],
    ) -> Result<Option<(i64, bool)>, Error> {
        let (name, owner, value) = (name.to_owned(), owner.to_owned(), value.to_vec());
        let written = self.file.write(move |file| {
            let written = file.execute(GUARD, params![name, fence, owner, value])? == 1;
            let there = "SELECT fence FROM firstcome_guards WHERE name = ?1";
            let highest = file.query_row(there, [&name], |row| row.get(0)).optional()?;
            Ok(highest.map(|highest| (highest, written)))
        });
        Ok(written.await?)
    }

    pub(super) async fn sweep(
        &self,
        rows: Rows,
        after: String,
        count: i64,
    ) -> Result<Option<String>, Error> {
        let (bite, sweep) = match rows {
            Rows::Locks => (LOCKS_PAGE_END, SWEEP),
            #[cfg(feature = "permits")]
            Rows::Permits => (PERMITS_PAGE_END, SWEEP_PERMITS),
        };
        let swept = self.file.write(move |file| {
            let last: Option<String> =
                file.query_row(bite, params![after, count], |row| row.get(0))?;
            if let Some(last) = &last {
                file.execute(sweep, params![after, last])?;
            }
            Ok(last)
        });
        Ok(swept.await?)
    }

    pub(super) async fn held(
        &self,
        after: String,
        count: i64,
    ) -> Result<Vec<(String, Row, i64)>, Error> {
        let held = self.file.read(move |file| {
            let mut statement = file.prepare_cached(HELD)?;
            let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, lock(row, 1)?, row.get(7)?));
            statement.query_map(params![after, count], read)?.collect()
        });
        Ok(held.await?)
    }

    pub(super) fn answer_within(&self) -> Duration {
        self.file.answer_within()
    }
}

fn text(value: &str) -> rusqlite::types::Value {
    rusqlite::types::Value::Text(value.to_owned())
}

fn number(value: i64) -> rusqlite::types::Value {
    rusqlite::types::Value::Integer(value)
}

fn look(file: &Connection, name: &str) -> rusqlite::Result<Seen> {
    file.prepare_cached(LOOK)?.query_row([name], |row| {
        let there: Option<String> = row.get(0)?;
        let found = there.map(|_| lock(row, 0)).transpose()?;
        Ok(Seen { row: found, now: row.get(6)?, carried_out: false })
    })
}

/// Reads a lock from six columns.
fn lock(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Row> {
    Ok(Row {
        owner: row.get(first)?,
        holds: unsigned(row.get(first + 1)?),
        fence: unsigned(row.get(first + 2)?),
        expires_at: row.get(first + 3)?,
        request: row.get(first + 4)?,
        metadata: row.get(first + 5)?,
    })
}
