//! Reading a ledger beside whoever writes it.

use crate::ledger::{Details, LAYOUT, LedgerError, Row, SettledCancel, SettledClaim, Standing};
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_core::{SpaceId, Timestamp};
use firstcome_journal::sqlite::durable::{Form, open_read_only};
use firstcome_journal::worker::Owned;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension};
use std::path::Path;

/// What makes a file a ledger.
pub(super) const FORM: Form = Form {
    application_id: i32::from_be_bytes(*b"FClg"),
    what: "a ledger of firstcome",
    settle: "UPDATE meta SET retried = retried + 1",
};

/// A ledger for reading only. All of it blocks.
#[derive(Debug)]
pub struct Reader {
    connection: Connection,
}

impl Reader {
    /// Opens the ledger of a space for reading, whether somebody writes to it or not.
    ///
    /// # Errors
    ///
    /// There is none, it is of another space, or it is of a layout above this build's.
    pub fn open(path: &Path, space: SpaceId) -> Result<Self, LedgerError> {
        let connection = open_read_only(path, FORM)?;
        check_meta(&connection, space)?;
        Ok(Self { connection })
    }

    /// Returns the number up to which the ledger has results.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn through(&self) -> Result<u64, LedgerError> {
        Ok(standing(&self.connection)?.through)
    }

    /// Returns up to `limit` results beyond a number, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn results(&self, after: u64, limit: usize) -> Result<Vec<Row>, LedgerError> {
        let mut statement = self.connection.prepare_cached(include_str!("results.sql"))?;
        let values = (after.cast_signed(), limit as i64);
        let rows = statement.query_map(values, row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns up to `limit` results of a campaign beyond a number, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn results_of(
        &self,
        campaign: &str,
        after: u64,
        limit: usize,
    ) -> Result<Vec<Row>, LedgerError> {
        let mut statement = self.connection.prepare_cached(include_str!("results_of.sql"))?;
        let from = after.saturating_add(1).cast_signed();
        let rows = statement.query_map((campaign, from, limit as i64), row)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the claim of a rank.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn claim(
        &self,
        campaign: &str,
        pool: &str,
        rank: u32,
    ) -> Result<Option<SettledClaim>, LedgerError> {
        let mut statement = self.connection.prepare_cached(include_str!("claim_of.sql"))?;
        Ok(statement.query_row((campaign, pool, rank), claim).optional()?)
    }

    /// Returns up to `limit` claims of a campaign by pool and rank, beyond this pool and rank.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn claims(
        &self,
        campaign: &str,
        pool: &str,
        rank: u32,
        limit: usize,
    ) -> Result<Vec<SettledClaim>, LedgerError> {
        let mut statement = self.connection.prepare_cached(include_str!("claims.sql"))?;
        let claims = statement.query_map((campaign, pool, rank, limit as i64), claim)?;
        Ok(claims.collect::<Result<_, _>>()?)
    }

    /// Returns how many claims of a pool there are, and how many of them are cancelled.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn claim_counts(&self, campaign: &str, pool: &str) -> Result<(u64, u64), LedgerError> {
        let mut statement = self.connection.prepare_cached(include_str!("counts.sql"))?;
        Ok(statement.query_row((campaign, pool), |row| {
            let number = |column| row.get(column).map(i64::cast_unsigned);
            Ok((number(0)?, number(1)?))
        })?)
    }
}

pub(super) fn check_meta(connection: &Connection, wanted: SpaceId) -> Result<(), LedgerError> {
    let layout = connection.query_row("SELECT layout FROM meta", [], |row| row.get(0))?;
    if layout > LAYOUT {
        return Err(LedgerError::TooNew(layout));
    }
    let found = connection.query_row("SELECT space FROM meta", [], |row| row.get(0))?;
    let found = SpaceId(found);
    if found != wanted {
        return Err(LedgerError::OtherSpace { found, wanted });
    }
    Ok(())
}

pub(super) fn standing(connection: &Connection) -> rusqlite::Result<Standing> {
    let sql = "SELECT through, term FROM settled";
    connection.prepare_cached(sql)?.query_row([], |row| {
        let number = |column| row.get(column).map(i64::cast_unsigned);
        Ok(Standing { through: number(0)?, term: number(1)? })
    })
}

fn row(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        number: row.get(0).map(i64::cast_unsigned)?,
        kind: one_of(&Kind::ALL, Kind::as_str, row.get_ref(1)?.as_str()?)?,
        campaign: text(row, 2)?,
        pool: text(row, 3)?,
        rank: row.get(4)?,
        subject: text(row, 5)?,
        at: Timestamp::from_micros(row.get(6)?),
        by: by(row, 7)?,
        reason: optional(row, 8)?,
        who: optional(row, 9)?,
        unit: optional(row, 10)?,
        hold: optional(row, 11)?,
        moved_from: optional(row, 12)?,
        details: Details {
            reference: optional(row, 13)?,
            used_by: optional(row, 14)?,
            verdict: optional(row, 15)?,
            issue: row.get(16)?,
            import: optional(row, 17)?,
            quantity: row.get(18)?,
        }
        .read(),
    })
}

fn claim(row: &rusqlite::Row<'_>) -> rusqlite::Result<SettledClaim> {
    let cancelled_at: Option<i64> = row.get(5)?;
    let cancel = match (cancelled_at, by(row, 6)?) {
        (Some(at), Some(by)) => Some(SettledCancel {
            at: Timestamp::from_micros(at),
            by,
            reason: optional(row, 7)?,
            who: optional(row, 8)?,
            result: row.get(9).map(i64::cast_unsigned)?,
        }),
        _ => None,
    };
    Ok(SettledClaim {
        pool: text(row, 0)?,
        rank: row.get(1)?,
        subject: text(row, 2)?,
        at: Timestamp::from_micros(row.get(3)?),
        result: row.get(4).map(i64::cast_unsigned)?,
        cancel,
        unit: optional(row, 10)?,
        hold: optional(row, 11)?,
    })
}

fn text(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Box<str>> {
    Ok(row.get_ref(column)?.as_str()?.into())
}

fn optional(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Box<str>>> {
    Ok(row.get_ref(column)?.as_str_or_null()?.map(Into::into))
}

fn by(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<By>> {
    let text = row.get_ref(column)?.as_str_or_null()?;
    text.map(|text| one_of(&[By::Subject, By::Operator], By::as_str, text)).transpose()
}

/// Finds the value that is stored under a text.
fn one_of<T: Copy>(values: &[T], name: fn(T) -> &'static str, text: &str) -> rusqlite::Result<T> {
    let found = values.iter().copied().find(|value| name(*value) == text);
    found.ok_or_else(|| FromSqlError::Other(format!("{text:?} is not known").into()).into())
}

impl Owned for Reader {
    fn is_untidy(&self) -> bool {
        false
    }

    fn tidy(&mut self) {}

    fn end(self) {}
}
