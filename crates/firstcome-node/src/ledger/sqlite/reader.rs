//! Reading a ledger beside whoever writes it.

use crate::ledger::row::{by_of, kind_of};
use crate::ledger::{Details, LAYOUT, LedgerError, Row, Standing};
use firstcome_core::{SpaceId, Timestamp};
use firstcome_journal::sqlite::durable::{Form, open_beside_writer, open_read_only};
use firstcome_journal::worker::Owned;
use rusqlite::Connection;
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
    /// Opens the ledger of a space for one look, whether somebody writes to it or not.
    ///
    /// # Errors
    ///
    /// There is none, it is of another space, or it is of a layout above this build's.
    pub fn open(path: &Path, space: SpaceId) -> Result<Self, LedgerError> {
        Self::of(open_read_only(path, FORM)?, space)
    }

    /// Opens the ledger of a space for reading it beside whoever writes it, for as long as wanted.
    pub(super) fn beside_writer(path: &Path, space: SpaceId) -> Result<Self, LedgerError> {
        Self::of(open_beside_writer(path, FORM)?, space)
    }

    fn of(connection: Connection, space: SpaceId) -> Result<Self, LedgerError> {
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
        let sql = include_str!("../sql/results.sql").replace('~', "");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let values = (after.cast_signed(), limit as i64);
        statement.query_and_then(values, row)?.collect()
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
        let sql = include_str!("../sql/results_of.sql").replace('~', "");
        let mut statement = self.connection.prepare_cached(&sql)?;
        let values = (after.cast_signed(), campaign, limit as i64);
        statement.query_and_then(values, row)?.collect()
    }

    /// Returns how many claims of a pool there are, and how many of them are cancelled.
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn claim_counts(&self, campaign: &str, pool: &str) -> Result<(u64, u64), LedgerError> {
        let sql = include_str!("../sql/counts.sql").replace('~', "");
        let mut statement = self.connection.prepare_cached(&sql)?;
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

fn row(row: &rusqlite::Row<'_>) -> Result<Row, LedgerError> {
    Ok(Row {
        number: row.get(0).map(i64::cast_unsigned)?,
        kind: kind_of(row.get(1)?)?,
        campaign: text(row, 2)?,
        pool: text(row, 3)?,
        rank: row.get(4)?,
        subject: text(row, 5)?,
        at: Timestamp::from_micros(row.get(6)?),
        by: by_of(row.get_ref(7)?.as_str_or_null().map_err(rusqlite::Error::from)?)?,
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
        campaign_number: row.get(19)?,
        pool_number: row.get(20)?,
        in_campaign: row.get(21)?,
    })
}

fn text(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Box<str>> {
    Ok(row.get_ref(column)?.as_str()?.into())
}

fn optional(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Option<Box<str>>> {
    Ok(row.get_ref(column)?.as_str_or_null()?.map(Into::into))
}

impl Owned for Reader {
    fn is_untidy(&self) -> bool {
        false
    }

    fn tidy(&mut self) {}

    fn end(self) {}
}
