//! The one task that changes the ledger.

use super::rows::{filled, known, statements};
use super::{Identity, opening};
use crate::ledger::queue::LedgerWrite;
use crate::ledger::row::fitting;
use crate::ledger::share::{Share, Shares, are_about_claims, misfit, shares};
use crate::ledger::{Batch, LedgerError, Standing};
use firstcome_store::StoreError;
use firstcome_store::mysql::{MySqlPool, Row, Work, cell};
use std::sync::Arc;

/// What a row says that is there already.
const UNIQUE: &str = "23000";
const STANDING: &str = "SELECT through, term FROM ~settled WHERE one = 1 FOR UPDATE";
const MINT_TERM: &str = "UPDATE ~settled SET term = term + 1 WHERE one = 1; \
    SELECT through, term FROM ~settled WHERE one = 1";

pub(super) struct Writer {
    pool: MySqlPool,
    identity: Arc<Identity>,
    /// Whether the ledger was seen to be there.
    known: bool,
}

impl Writer {
    pub(super) fn new(pool: MySqlPool, identity: Arc<Identity>) -> Self {
        Self { pool, identity, known: false }
    }

    /// Begins a transaction with statements, after looking whose ledger it is; gives what they gave.
    async fn begin(&mut self, sql: &str) -> Result<(Work<'_>, Vec<Vec<Row>>), LedgerError> {
        if !self.known {
            opening::open(&self.pool, &self.identity).await?;
            self.known = true;
        }
        let sql = format!("{}; {sql}", opening::OWNER);
        let sql = self.identity.sql(&sql);
        let (work, mut found) = match self.pool.begin(&sql).await {
            Ok(begun) => begun,
            Err(failure) => {
                // They were made before: the next call looks again.
                self.known &= !opening::is_missing(&failure);
                return Err(failure.into());
            }
        };
        let owner = (!found.is_empty()).then(|| found.remove(0));
        let Some(owner) = owner.as_ref().and_then(|rows| rows.first()) else {
            work.roll_back().await;
            self.known = false;
            return Err(LedgerError::Unavailable("its tables were made anew meanwhile".to_owned()));
        };
        match opening::check(owner, &self.identity) {
            Ok(()) => Ok((work, found)),
            Err(failure) => {
                work.roll_back().await;
                Err(failure)
            }
        }
    }

    async fn one_row(&mut self, sql: &str) -> Result<Standing, LedgerError> {
        let (work, found) = self.begin(sql).await?;
        let Some(row) = found.first().and_then(|rows| rows.first()) else {
            work.roll_back().await;
            return Err(LedgerError::Broken("the row of `settled` is gone".to_owned()));
        };
        let number = |column| cell::<i64>(row, column).map(i64::cast_unsigned);
        let standing = Standing { through: number(0)?, term: number(1)? };
        work.commit("").await?;
        Ok(standing)
    }
}

impl LedgerWrite for Writer {
    async fn mint_term(&mut self) -> Result<Standing, LedgerError> {
        self.one_row(MINT_TERM).await
    }

    async fn standing(&mut self) -> Result<Standing, LedgerError> {
        self.one_row(STANDING).await
    }

    async fn settle(&mut self, batch: &Batch) -> Result<Standing, LedgerError> {
        let Batch { after, term, rows } = batch;
        let Some(last) = rows.last() else {
            let found = self.standing().await?;
            let stands = found == Standing { through: *after, term: *term };
            return if stands { Ok(found) } else { Err(found.refusal(*after, *term)) };
        };
        let through = last.number;
        let identity = Arc::clone(&self.identity);
        let shares = shares(rows)?;
        let statements = statements(rows, &shares);
        let moved = [through, *after, *term].map(|number| number.to_string());
        let moved = filled(include_str!("settle.sql"), &moved);
        let sql = format!("{moved}; SELECT ROW_COUNT(); {}", known(&shares));
        let (work, found) = self.begin(&sql).await?;
        if number(&found)? != Some(1) {
            work.roll_back().await;
            return Err(self.standing().await?.refusal(*after, *term));
        }
        if let Err(failure) = compare(found.get(1).map_or(&[], Vec::as_slice), &shares) {
            work.roll_back().await;
            return Err(failure);
        }
        write(work, &identity, batch, &statements).await?;
        Ok(Standing { through, term: *term })
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

/// Refuses shares that do not go on from what was found of their pools.
fn compare(found: &[Row], shares: &Shares<'_>) -> Result<(), LedgerError> {
    for known in found {
        let number = |column| cell::<i64>(known, column);
        let (campaign, pool) = (cell::<String>(known, 2)?, cell::<String>(known, 3)?);
        match shares.get(&(fitting(number(0)?)?, fitting(number(1)?)?)) {
            Some(share) => share.goes_on((&campaign, &pool), number(4)?)?,
            None => {
                let named = |share: &&Share<'_>| (share.campaign, share.pool) == (&campaign, &pool);
                let first = shares.values().find(named).map_or(0, |share| share.first_result);
                let why = format!("its pool {campaign}/{pool} has other numbers there");
                return Err(LedgerError::Differs { number: first, why });
            }
        }
    }
    Ok(())
}

/// Writes the rows and commits; undoes all of it if one does not fit.
async fn write(
    mut work: Work<'_>,
    identity: &Identity,
    batch: &Batch,
    statements: &[String],
) -> Result<(), LedgerError> {
    for sql in statements {
        match work.ask(&identity.sql(sql)).await {
            Ok(_) => {}
            Err(StoreError::Statement { code, detail }) if code == UNIQUE => {
                let number = batch.rows.first().map_or(batch.after, |row| row.number);
                return Err(LedgerError::Differs { number, why: detail });
            }
            Err(failure) => return Err(failure.into()),
        }
    }
    if are_about_claims(&batch.rows) {
        let sql = filled(include_str!("../sql/misfit.sql"), &[batch.after.to_string()]);
        if let Some(number) = number(&work.ask(&identity.sql(&sql)).await?)? {
            work.roll_back().await;
            return Err(misfit(number));
        }
    }
    work.commit("").await?;
    Ok(())
}

/// Returns the number in the first row of the first list; nothing where it is null.
fn number(found: &[Vec<Row>]) -> Result<Option<u64>, LedgerError> {
    let Some(row) = found.first().and_then(|rows| rows.first()) else { return Ok(None) };
    Ok(cell::<Option<i64>>(row, 0)?.map(i64::cast_unsigned))
}
