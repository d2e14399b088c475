//! What the writing thread does.

use super::reader::{FORM, check_meta, standing};
use crate::ledger::{Batch, Details, LAYOUT, LedgerError, Row, Standing};
use firstcome_core::SpaceId;
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_journal::Clock;
use firstcome_journal::sqlite::durable::{Durable, execute};
use firstcome_journal::worker::Owned;
use rusqlite::{CachedStatement, Connection, ErrorCode, params};
use std::collections::BTreeMap;
use std::path::Path;

/// The one connection that changes the ledger.
#[derive(Debug)]
pub(super) struct Writer {
    file: Durable,
    clock: Clock,
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
        Ok(Self { file, clock: Clock::system(), untidy: true })
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
        let now = self.clock.now().as_micros();
        self.untidy = true;
        self.file.transaction(
            |connection| {
                let values = (through.cast_signed(), after.cast_signed(), term.cast_signed());
                if execute(connection, include_str!("settle.sql"), values)? != 1 {
                    return Err(refusal(standing(connection)?, *after, *term));
                }
                Insert::new(connection, now)?.all(rows)?;
                Ok(Standing { through, term: *term })
            },
            |connection, done| Ok(standing(connection)? == *done),
        )
    }
}

/// Says why a batch does not go on from where the ledger stands.
fn refusal(found: Standing, after: u64, term: u64) -> LedgerError {
    if found.term != term {
        return LedgerError::OldTerm { ours: term, theirs: found.term };
    }
    LedgerError::Moved { after, through: found.through }
}

/// The statements that write rows, compiled once for the whole batch.
struct Insert<'a> {
    connection: &'a Connection,
    now: i64,
    result: CachedStatement<'a>,
    claim: CachedStatement<'a>,
    cancel: CachedStatement<'a>,
    moved: CachedStatement<'a>,
}

/// What a batch has of one campaign.
struct Share {
    first: u64,
    last: u64,
    claims: u64,
    cancels: u64,
}

impl<'a> Insert<'a> {
    fn new(connection: &'a Connection, now: i64) -> Result<Self, LedgerError> {
        Ok(Self {
            connection,
            now,
            result: connection.prepare_cached(include_str!("result.sql"))?,
            claim: connection.prepare_cached(include_str!("claim.sql"))?,
            cancel: connection.prepare_cached(include_str!("cancel.sql"))?,
            moved: connection.prepare_cached(include_str!("move.sql"))?,
        })
    }

    fn all(mut self, rows: &[Row]) -> Result<(), LedgerError> {
        let mut shares: BTreeMap<&str, Share> = BTreeMap::new();
        for row in rows {
            if !self.one(row).map_err(|error| about(row, error))? {
                let what = if row.kind == Kind::Moved { "move" } else { "cancel" };
                let why = format!("there is no such claim to {what}");
                return Err(LedgerError::Differs { number: row.number, why });
            }
            let number = row.number;
            let begin = || Share { first: number, last: number, claims: 0, cancels: 0 };
            let share = shares.entry(&row.campaign).or_insert_with(begin);
            share.last = number;
            share.claims += u64::from(row.kind == Kind::Claim);
            share.cancels += u64::from(row.kind == Kind::Cancel);
        }
        for (campaign, share) in shares {
            let (first, last) = (share.first.cast_signed(), share.last.cast_signed());
            let (claims, cancels) = (share.claims.cast_signed(), share.cancels.cast_signed());
            let values = (campaign, first, last, claims, cancels);
            execute(self.connection, include_str!("campaign.sql"), values)?;
        }
        Ok(())
    }

    /// Writes one row; says no if it cancels or moves a claim that is not there or was cancelled before.
    fn one(&mut self, row: &Row) -> rusqlite::Result<bool> {
        let Row { number, kind, campaign, pool, rank, subject, at, by, reason, who, .. } = row;
        let Row { unit, hold, moved_from, .. } = row;
        let (number, at, by) = (number.cast_signed(), at.as_micros(), by.map(By::as_str));
        let now = self.now;
        let (campaign, pool, subject) = (&**campaign, &**pool, &**subject);
        let kind_name = kind.as_str();
        let none = Details::default();
        let more = row.details.as_deref().unwrap_or(&none);
        self.result.execute(params![
            number,
            kind_name,
            campaign,
            pool,
            rank,
            subject,
            at,
            by,
            reason,
            who,
            now,
            unit,
            hold,
            moved_from,
            more.reference,
            more.used_by,
            more.verdict,
            more.issue,
            more.import,
            more.quantity
        ])?;
        match kind {
            Kind::Claim => {
                let values = (campaign, pool, rank, subject, at, number, unit, hold);
                self.claim.execute(values)?;
                Ok(true)
            }
            Kind::Cancel => {
                let values = (at, by, reason, who, number, campaign, pool, rank, subject);
                Ok(self.cancel.execute(values)? == 1)
            }
            Kind::Moved if *rank > 0 => {
                Ok(self.moved.execute((unit, campaign, pool, rank, subject))? == 1)
            }
            // Nothing of a claim changes.
            Kind::Moved
            | Kind::RefundDue
            | Kind::Redeemed
            | Kind::RolledBack
            | Kind::CodeMarked
            | Kind::Unserved => Ok(true),
        }
    }
}

/// Tells a result that contradicts what is there from a database that does not work.
fn about(row: &Row, error: rusqlite::Error) -> LedgerError {
    if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) {
        return LedgerError::Differs { number: row.number, why: error.to_string() };
    }
    error.into()
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
