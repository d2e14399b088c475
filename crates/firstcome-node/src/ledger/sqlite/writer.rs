//! What the writing thread does.

use super::reader::{FORM, check_meta, standing};
use crate::ledger::share::{Shares, are_about_claims, misfit, shares};
use crate::ledger::{Batch, Details, LAYOUT, LedgerError, Row, Standing, StoredWebhook};
use firstcome_core::SpaceId;
use firstcome_core::outcome::By;
use firstcome_journal::sqlite::durable::{Durable, execute};
use firstcome_journal::worker::Owned;
use rusqlite::{Connection, ErrorCode, OptionalExtension, Statement, ToSql, params};
use std::path::Path;

/// How many rows a statement inserts: as many as fit, then the rest with smaller ones.
const ROWS_A_STATEMENT: [usize; 4] = [64, 16, 4, 1];
const RESULTS: &str = "INSERT INTO results (number, campaign_number, pool_number, in_campaign, rank, kind_number, at, subject, \
    unit, hold) VALUES ";
/// The values of a row.
const RESULT: [&str; 10] = ["?"; 10];

/// The one connection that changes the ledger.
#[derive(Debug)]
pub(super) struct Writer {
    file: Durable,
    untidy: bool,
}

impl Writer {
    pub(super) fn open(path: &Path, space: SpaceId) -> Result<Self, LedgerError> {
        let file = Durable::open(path, FORM, |connection| {
            connection.execute_batch(include_str!("schema.sql"))?;
            let sql = "INSERT INTO meta (one, layout, space, id, retried) \
                 VALUES (1, ?1, ?2, randomblob(16), 0)";
            execute(connection, sql, (LAYOUT, space.0))?;
            execute(connection, "INSERT INTO settled (one, through, term) VALUES (1, 0, 0)", [])?;
            Ok::<_, LedgerError>(())
        })?;
        check_meta(file.connection(), space)?;
        Ok(Self { file, untidy: true })
    }

    pub(super) fn id(&self) -> Result<u128, LedgerError> {
        let id = self.file.connection().query_row("SELECT id FROM meta", [], |row| row.get(0))?;
        Ok(u128::from_be_bytes(id))
    }

    pub(super) fn standing(&self) -> Result<Standing, LedgerError> {
        Ok(standing(self.file.connection())?)
    }

    pub(super) fn mint_term(&mut self) -> Result<Standing, LedgerError> {
        self.untidy = true;
        self.file.transaction(
            |connection| {
                let mut statement = connection.prepare_cached(include_str!("mint_term.sql"))?;
                Ok(statement.query_row([], |row| {
                    let number = |column| row.get(column).map(i64::cast_unsigned);
                    Ok(Standing { through: number(0)?, term: number(1)? })
                })?)
            },
            |connection, minted| Ok(standing(connection)? == *minted),
        )
    }

    pub(super) fn settle(&mut self, batch: &Batch) -> Result<Standing, LedgerError> {
        let Batch { after, term, rows } = batch;
        let through = rows.last().map_or(*after, |row| row.number);
        let shares = shares(rows)?;
        self.untidy = true;
        self.file.transaction(
            |connection| {
                let values = (through.cast_signed(), after.cast_signed(), term.cast_signed());
                if execute(connection, include_str!("settle.sql"), values)? != 1 {
                    return Err(standing(connection)?.refusal(*after, *term));
                }
                compare(connection, &shares)?;
                insert(connection, rows, &shares).map_err(|error| about(rows, error))?;
                if let Some(number) = first_misfit(connection, *after, rows)? {
                    return Err(misfit(number));
                }
                Ok(Standing { through, term: *term })
            },
            |connection, done| Ok(standing(connection)? == *done),
        )
    }
}

impl Writer {
    pub(super) fn webhooks(&self) -> Result<Vec<StoredWebhook>, LedgerError> {
        let sql = "SELECT id, version, document FROM webhooks ORDER BY id";
        let mut statement = self.file.connection().prepare_cached(sql)?;
        let row = |row: &rusqlite::Row<'_>| {
            let version = row.get(1).map(i64::cast_unsigned)?;
            Ok(StoredWebhook { id: row.get(0)?, version, document: row.get(2)? })
        };
        Ok(statement.query_map([], row)?.collect::<rusqlite::Result<_>>()?)
    }

    pub(super) fn put_webhook(&mut self, row: &StoredWebhook) -> Result<bool, LedgerError> {
        let StoredWebhook { id, version, document } = row;
        let (new, old) = (version.cast_signed(), version.cast_signed() - 1);
        self.untidy = true;
        self.file.transaction(
            |connection| {
                let written = match old {
                    0 => {
                        let sql = "INSERT OR IGNORE INTO webhooks VALUES (?1, 1, ?2)";
                        execute(connection, sql, (id, document))?
                    }
                    _ => {
                        let sql = "UPDATE webhooks SET version = ?1, document = ?2 WHERE id = ?3 AND version = ?4";
                        execute(connection, sql, (new, document, id, old))?
                    }
                };
                Ok::<_, LedgerError>(written == 1)
            },
            |connection, written| {
                let sql = "SELECT version = ?1 AND document = ?2 FROM webhooks WHERE id = ?3";
                let is_so = connection.query_row(sql, (new, document, id), |row| row.get(0));
                Ok(is_so.optional()?.unwrap_or(false) == *written)
            },
        )
    }

    pub(super) fn remove_webhook(&mut self, id: &str) -> Result<bool, LedgerError> {
        self.untidy = true;
        self.file.transaction(
            |connection| {
                let removed = execute(connection, "DELETE FROM webhooks WHERE id = ?1", [id])?;
                Ok::<_, LedgerError>(removed == 1)
            },
            |connection, _| {
                let sql = "SELECT NOT EXISTS (SELECT 1 FROM webhooks WHERE id = ?1)";
                connection.query_row(sql, [id], |row| row.get(0))
            },
        )
    }
}

/// Refuses shares that do not go on from what is there of their pools.
fn compare(connection: &Connection, shares: &Shares<'_>) -> Result<(), LedgerError> {
    let sql = "SELECT campaign, pool, last_rank FROM pools WHERE campaign_number = ?1 AND pool_number = ?2";
    let mut found = connection.prepare_cached(sql)?;
    for (numbers, share) in shares {
        let known = found.query_row(*numbers, |row| {
            let names = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
            Ok(share.goes_on(names, row.get(2)?))
        });
        known.optional()?.transpose()?;
    }
    Ok(())
}

fn insert(connection: &Connection, rows: &[Row], shares: &Shares<'_>) -> rusqlite::Result<()> {
    for ((campaign, pool), share) in shares {
        let (first, last) = (share.first_result.cast_signed(), share.last_result.cast_signed());
        let cancels = share.cancels.cast_signed();
        let names = (share.campaign, share.pool);
        let values =
            params![campaign, pool, names.0, names.1, first, last, share.last_rank, cancels];
        execute(connection, include_str!("pool.sql"), values)?;
    }
    let mut rest = rows;
    for count in ROWS_A_STATEMENT {
        let (now, later) = rest.split_at(rest.len() - rest.len() % count);
        rest = later;
        if now.is_empty() {
            continue;
        }
        let row = format!("({})", RESULT.join(", "));
        let sql = format!("{RESULTS}{}", vec![row; count].join(", "));
        let mut statement = connection.prepare_cached(&sql)?;
        for rows in now.chunks_exact(count) {
            for (row, first) in rows.iter().zip((1..).step_by(RESULT.len())) {
                bind(&mut statement, first, row)?;
            }
            statement.raw_execute()?;
        }
    }
    for row in rows.iter().filter(|row| row.has_details()) {
        let Row { number, by, reason, who, moved_from, details, .. } = row;
        let (number, by) = (number.cast_signed(), by.map(By::as_str));
        let none = Details::default();
        let Details { reference, used_by, verdict, issue, import, quantity } =
            details.as_deref().unwrap_or(&none);
        let values = params![
            number, by, reason, who, moved_from, reference, used_by, verdict, issue, import,
            quantity
        ];
        execute(
            connection,
            "INSERT INTO details VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            values,
        )?;
    }
    Ok(())
}

/// Gives a statement the values of a row, the first of them in this place.
fn bind(statement: &mut Statement<'_>, first: usize, row: &Row) -> rusqlite::Result<()> {
    let Row { campaign_number, pool_number, in_campaign, rank, subject, unit, hold, .. } = row;
    let values: [&dyn ToSql; RESULT.len()] = [
        &row.number.cast_signed(),
        campaign_number,
        pool_number,
        in_campaign,
        rank,
        &row.kind.code(),
        &row.at.as_micros(),
        subject,
        unit,
        hold,
    ];
    let mut places = first..;
    values
        .into_iter()
        .zip(&mut places)
        .try_for_each(|(value, place)| statement.raw_bind_parameter(place, value))
}

/// Finds the first of the rows, which are written, that is about a claim that is not there.
fn first_misfit(
    connection: &Connection,
    after: u64,
    rows: &[Row],
) -> Result<Option<u64>, LedgerError> {
    if !are_about_claims(rows) {
        return Ok(None);
    }
    let sql = include_str!("../sql/misfit.sql").replace('~', "");
    let mut statement = connection.prepare_cached(&sql)?;
    let number: Option<i64> = statement.query_row([after.cast_signed()], |row| row.get(0))?;
    Ok(number.map(i64::cast_unsigned))
}

/// Tells rows that contradict what is there from a database that does not work.
fn about(rows: &[Row], error: rusqlite::Error) -> LedgerError {
    match rows.first() {
        Some(row) if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) => {
            LedgerError::Differs { number: row.number, why: error.to_string() }
        }
        Some(_) | None => error.into(),
    }
}

impl Owned for Writer {
    fn is_untidy(&self) -> bool {
        self.untidy
    }

    fn tidy(&mut self) {
        self.file.checkpoint();
        self.untidy = false;
    }

    fn end(self) {
        self.file.close();
    }
}
