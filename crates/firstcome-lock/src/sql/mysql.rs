//! Locks in MariaDB (MySQL untested).

#[cfg(feature = "permits")]
mod permits;

use std::collections::HashMap;
use std::time::Duration;

use firstcome_store::mysql::{self, MySqlOptions, MySqlPool, bytes, cell, text};

use super::numbers::unsigned;
use super::row::{Row, Rows, Seen, Step};
use crate::error::Error;

/// The tables, as they are made.
pub(super) const CREATE: &str = include_str!("mysql/create.sql");

const LOOK: &str = include_str!("mysql/look.sql");
const ACQUIRE: &str = include_str!("mysql/acquire.sql");
const RELEASE: &str = include_str!("mysql/release.sql");
const PASS: &str = include_str!("mysql/pass.sql");
const UNDO: &str = include_str!("mysql/undo.sql");
const FORCE: &str = include_str!("mysql/force.sql");
const ANNOUNCE: &str = include_str!("mysql/announce.sql");
const RENEW: &str = include_str!("mysql/renew.sql");
const OWNERS: &str = include_str!("mysql/owners.sql");
const GUARD: &str = include_str!("mysql/guard.sql");
const OLD: &str = include_str!("mysql/old.sql");
const SWEEP: &str = include_str!("mysql/sweep.sql");
#[cfg(feature = "permits")]
const OLD_PERMITS: &str = include_str!("mysql/permits_old.sql");
#[cfg(feature = "permits")]
const SWEEP_PERMITS: &str = include_str!("mysql/permits_sweep.sql");
const HELD: &str = include_str!("mysql/held.sql");

/// How many connections there are for what must not wait behind those who wait: giving back and renewing.
const KEEPING: usize = 2;

/// How much of a node's id fits into the row.
const LONGEST_NODE: usize = 255;

/// A database with the table of locks.
#[derive(Debug)]
pub(crate) struct MySqlTable {
    ask: MySqlPool,
    /// A lock whose row somebody else's transaction has may keep every connection of `ask` for a while; what is held has
    /// to be renewed and given back meanwhile.
    keep: MySqlPool,
}

/// Refuses a user who lacks a right to a table: it would show when a lock is given back.
///
/// A table that the user may not even read is one that is not used, but for that of the locks.
async fn check_rights(ask: &MySqlPool) -> Result<(), Error> {
    for table in ["firstcome_locks", "firstcome_guards", "firstcome_permits"] {
        // None of them changes anything.
        let statements = [
            format!("SELECT name FROM {table} WHERE 1 = 0"),
            format!("INSERT INTO {table} SELECT * FROM {table} WHERE 1 = 0"),
            format!("UPDATE {table} SET name = name WHERE 1 = 0"),
            format!("DELETE FROM {table} WHERE 1 = 0"),
        ];
        for (place, statement) in statements.iter().enumerate() {
            match ask.step(statement).await {
                Err(firstcome_store::StoreError::Denied { .. })
                    if place == 0 && table != "firstcome_locks" =>
                {
                    break;
                }
                Err(firstcome_store::StoreError::Denied { code, detail }) => {
                    let detail =
                        format!("{detail}; docs/reference/in-mariadb.md lists what locks need");
                    return Err(firstcome_store::StoreError::Denied { code, detail }.into());
                }
                // Whatever else is wrong passes, or is told to whoever takes a lock.
                Ok(_) | Err(_) => {}
            }
        }
    }
    Ok(())
}

impl MySqlTable {
    /// Connects, and makes the tables where they are missing and may be made.
    pub(crate) async fn connect(options: MySqlOptions, make_tables: bool) -> Result<Self, Error> {
        let ask = MySqlPool::new(options.clone())?;
        let keep = MySqlPool::new(options.connections(KEEPING))?;
        let there = "SELECT count(*) FROM information_schema.tables WHERE table_schema = DATABASE() \
                     AND table_name IN ('firstcome_locks', 'firstcome_guards', 'firstcome_permits')";
        let found = ask.step(there).await?;
        let found = found.first().and_then(|rows| rows.first());
        let found: i64 = found.map_or(Ok(0), |row| cell(row, 0))?;
        if make_tables && found < 3 {
            match ask.step(CREATE).await {
                // The tables that this user cannot see are there, or are none of its business.
                Err(firstcome_store::StoreError::Denied { .. }) if found > 0 => {}
                made => drop(made?),
            }
        }
        check_rights(&ask).await?;
        Ok(Self { ask, keep })
    }

    pub(super) async fn step(
        &self,
        name: &str,
        request: i64,
        step: &Step<'_>,
    ) -> Result<Seen, Error> {
        let mut values = vec![("name", text(name)), ("request", request.to_string())];
        let (pool, sql) = match *step {
            Step::Look => (&self.ask, ""),
            Step::Acquire { owner, lease, not_after, .. } => {
                values.extend([
                    ("owner", text(owner)),
                    ("lease", lease.to_string()),
                    ("not_after", not_after.to_string()),
                ]);
                (&self.ask, ACQUIRE)
            }
            Step::Release { owner, all, lease } => {
                values.extend([
                    ("owner", text(owner)),
                    ("all", i32::from(all).to_string()),
                    ("lease", lease.to_string()),
                ]);
                (&self.keep, RELEASE)
            }
            Step::Pass { owner, next, lease, .. } => {
                values.extend([
                    ("owner", text(owner)),
                    ("next", text(next)),
                    ("lease", lease.to_string()),
                ]);
                (&self.keep, PASS)
            }
            Step::Undo { owner, keep } => {
                values.extend([("owner", text(owner)), ("keep", keep.to_string())]);
                (&self.keep, UNDO)
            }
            Step::Force => (&self.ask, FORCE),
            Step::Announce { owner, term, node } => {
                let node: String = node.chars().take(LONGEST_NODE).collect();
                values.extend([
                    ("owner", text(owner)),
                    ("term", term.to_string()),
                    ("node", text(&node)),
                ]);
                (&self.keep, ANNOUNCE)
            }
        };
        // What changes the row and what looks at it travel together.
        let sets = pool.step(&fill(&[sql, LOOK].concat(), &values)).await?;
        let row =
            sets.last().and_then(|rows| rows.first()).ok_or_else(|| Error::unexpected("a row"))?;
        let there: Option<String> = cell(row, 0)?;
        let found = there.map(|_| lock(row, 0)).transpose()?;
        let carried_out = !matches!(step, Step::Look) && cell(row, 7)?;
        Ok(Seen { row: found, now: cell(row, 6)?, carried_out })
    }

    pub(super) async fn renew(
        &self,
        names: Vec<String>,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<i32>, Error> {
        let asked: Vec<_> = names.into_iter().zip(owners).collect();
        let names: Vec<String> = asked.iter().map(|(name, _)| text(name)).collect();
        let pair = |(name, owner): &(String, String)| format!("({}, {})", text(name), text(owner));
        let pairs: Vec<String> = asked.iter().map(pair).collect();
        let values = [
            ("names", names.join(", ")),
            ("pairs", pairs.join(", ")),
            ("lease", lease.to_string()),
        ];
        let sql = if lease > 0 { [RENEW, OWNERS].concat() } else { OWNERS.to_owned() };
        let sets = self.keep.step(&fill(&sql, &values)).await?;
        let mut held: HashMap<(String, String), i32> = HashMap::new();
        for row in sets.last().into_iter().flatten() {
            held.insert((cell(row, 0)?, cell(row, 1)?), cell(row, 2)?);
        }
        Ok(asked.iter().map(|one| held.get(one).copied().unwrap_or(0)).collect())
    }

    pub(super) async fn guard(
        &self,
        name: &str,
        fence: i64,
        owner: &str,
        value: &[u8],
    ) -> Result<Option<(i64, bool)>, Error> {
        let values = [
            ("name", text(name)),
            ("fence", fence.to_string()),
            ("owner", text(owner)),
            ("value", bytes(value)),
        ];
        let sets = self.ask.step(&fill(GUARD, &values)).await?;
        let row = sets.last().and_then(|rows| rows.first());
        row.map(|row| Ok((cell(row, 0)?, cell(row, 1)?))).transpose()
    }

    pub(super) async fn sweep(
        &self,
        rows: Rows,
        after: String,
        count: i64,
    ) -> Result<Option<String>, Error> {
        let (look, remove) = match rows {
            Rows::Locks => (OLD, SWEEP),
            #[cfg(feature = "permits")]
            Rows::Permits => (OLD_PERMITS, SWEEP_PERMITS),
        };
        let values = [("after", text(&after)), ("count", count.to_string())];
        let sets = self.keep.step(&fill(look, &values)).await?;
        let (mut last, mut old) = (None, Vec::new());
        for row in sets.first().into_iter().flatten() {
            let name: String = cell(row, 0)?;
            if cell(row, 1)? {
                old.push(text(&name));
            }
            last = Some(name);
        }
        if !old.is_empty() {
            self.keep.step(&fill(remove, &[("names", old.join(", "))])).await?;
        }
        Ok(last)
    }

    pub(super) async fn held(
        &self,
        after: String,
        count: i64,
    ) -> Result<Vec<(String, Row, i64)>, Error> {
        let values = [("after", text(&after)), ("count", count.to_string())];
        let sets = self.ask.step(&fill(HELD, &values)).await?;
        let read = |row: &mysql::Row| Ok((cell(row, 0)?, lock(row, 1)?, cell(row, 7)?));
        sets.first().into_iter().flatten().map(read).collect()
    }

    pub(super) fn answer_within(&self) -> Duration {
        self.ask.answer_within()
    }

    pub(super) async fn close(&self) {
        self.ask.close().await;
        self.keep.close().await;
    }
}

/// Writes values, which are numbers, hexadecimal digits and constants, into the placeholders `{…}` of a statement.
fn fill(sql: &str, values: &[(&str, String)]) -> String {
    values
        .iter()
        .fold(sql.to_owned(), |sql, (name, value)| sql.replace(&format!("{{{name}}}"), value))
}

/// Reads a lock from six columns.
fn lock(row: &mysql::Row, first: usize) -> Result<Row, Error> {
    Ok(Row {
        owner: cell(row, first)?,
        holds: unsigned(cell(row, first + 1)?),
        fence: unsigned(cell(row, first + 2)?),
        expires_at: cell(row, first + 3)?,
        request: cell(row, first + 4)?,
        metadata: cell(row, first + 5)?,
    })
}
