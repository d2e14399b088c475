//! The statements of ShedLock's table on PostgreSQL.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::settings::Table;

/// The text of each step. `$1` is the name, `$2` the holder, `$3` a duration in ms, `$4` the client's clock in ms since
/// 1970.
#[derive(Debug)]
pub(crate) struct Statements {
    pub(crate) create: &'static str,
    pub(crate) take: &'static str,
    pub(crate) extend: &'static str,
    pub(crate) unlock: &'static str,
    pub(crate) undo: &'static str,
}

impl Statements {
    /// Returns the statements for a table. They stay for the life of the process, once for each name and mode: each
    /// connection remembers what it has prepared by its text.
    pub(crate) fn of(table: &Table) -> &'static Self {
        static KNOWN: LazyLock<Mutex<HashMap<(String, bool), &'static Statements>>> =
            LazyLock::new(Mutex::default);
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry((table.name.clone(), table.client_time))
            .or_insert_with(|| Box::leak(Box::new(Self::new(table))))
    }

    fn new(Table { name: table, client_time, .. }: &Table) -> Self {
        let now = match client_time {
            true => "(timestamp '1970-01-01 00:00:00' + $4 * interval '1 millisecond')".to_owned(),
            false => "timezone('utc', CURRENT_TIMESTAMP)".to_owned(),
        };
        let later = "make_interval(secs => $3::float8 / 1000)";
        // Both modes have the same unlock in Java, but for whose clock it is and since when at-least-for counts: from
        // the row's locked_at by the database's clock, from the last extension by the client's.
        let at_least_until = match client_time {
            true => format!("({now} + {later})"),
            false => format!("(held.locked_at + {later})"),
        };
        let kept = |text: String| -> &'static str { Box::leak(text.into_boxed_str()) };
        Self {
            create: kept(format!(
                "CREATE TABLE IF NOT EXISTS {table} (name VARCHAR(64) NOT NULL, \
                 lock_until TIMESTAMP NOT NULL, locked_at TIMESTAMP NOT NULL, \
                 locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))"
            )),
            take: kept(format!(
                "INSERT INTO {table} AS held (name, lock_until, locked_at, locked_by) \
                 VALUES ($1, {now} + {later}, {now}, $2) ON CONFLICT (name) DO UPDATE \
                 SET lock_until = EXCLUDED.lock_until, locked_at = EXCLUDED.locked_at, \
                 locked_by = EXCLUDED.locked_by \
                 WHERE held.lock_until <= EXCLUDED.locked_at RETURNING true"
            )),
            extend: kept(format!(
                "UPDATE {table} AS held SET lock_until = {now} + {later} \
                 WHERE held.name = $1 AND held.locked_by = $2 AND held.lock_until > {now} RETURNING true"
            )),
            unlock: kept(format!(
                "UPDATE {table} AS held SET lock_until = GREATEST({at_least_until}, {now}) \
                 WHERE held.name = $1 AND held.locked_by = $2 RETURNING true"
            )),
            // An insert, so that it waits for a row that was made and not committed yet: it is about an answer that
            // was lost. Where there was no row, it leaves a free one, and took nothing back.
            undo: kept(format!(
                "INSERT INTO {table} AS held (name, lock_until, locked_at, locked_by) \
                 VALUES ($1, {now}, {now}, $2) \
                 ON CONFLICT (name) DO UPDATE SET lock_until = EXCLUDED.lock_until \
                 WHERE held.locked_by = $2 AND held.lock_until > EXCLUDED.lock_until \
                 RETURNING held.lock_until > held.locked_at"
            )),
        }
    }
}
