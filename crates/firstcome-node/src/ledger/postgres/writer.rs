//! The one task that changes the ledger.

use super::rows::{Columns, compare, note_pools};
use super::{Identity, opening};
use crate::ledger::queue::LedgerWrite;
use crate::ledger::share::{Shares, are_about_claims, misfit, shares};
use crate::ledger::{Batch, LedgerError, Row, Standing};
use firstcome_store::StoreError;
use firstcome_store::postgres::{Access, PostgresPool, Session, Type, Work};
use futures_util::future::join5;
use std::sync::Arc;

/// What a row says that is there already.
const UNIQUE: &str = "23505";

pub(super) struct Writer {
    pool: PostgresPool,
    identity: Arc<Identity>,
    /// The number of the connection on which the ledger was seen to be ours; 0 if there is none.
    known: u64,
}

impl Writer {
    pub(super) fn new(pool: PostgresPool, identity: Arc<Identity>) -> Self {
        Self { pool, identity, known: 0 }
    }

    /// Begins a transaction on a connection on which the ledger was seen to be ours.
    async fn begin<'s>(&mut self, session: &'s mut Session) -> Result<Work<'s>, LedgerError> {
        if self.known == 0 {
            opening::open(session, &self.identity).await?;
            self.known = session.connection().unwrap_or(0);
        }
        let work = session.begin(Access::Usual).await?;
        let connection = work.connection();
        if connection != self.known {
            // Until it was looked at, and for the next call if it cannot be.
            self.known = 0;
            opening::check(&work, &self.identity).await?;
            self.known = connection;
        }
        Ok(work)
    }

    async fn one_row(&mut self, sql: &str) -> Result<Standing, LedgerError> {
        let mut session = self.pool.session().await?;
        let work = self.begin(&mut session).await?;
        let rows = work.query(sql, &[]).await?;
        work.commit().await?;
        let gone = || LedgerError::Broken("the row of `settled` is gone".to_owned());
        let row = rows.first().ok_or_else(gone)?;
        let number = |column| row.get::<_, i64>(column).cast_unsigned();
        Ok(Standing { through: number(0), term: number(1) })
    }
}

impl LedgerWrite for Writer {
    async fn mint_term(&mut self) -> Result<Standing, LedgerError> {
        self.one_row(include_str!("mint_term.sql")).await
    }

    async fn standing(&mut self) -> Result<Standing, LedgerError> {
        self.one_row(include_str!("standing.sql")).await
    }

    async fn settle(&mut self, batch: &Batch) -> Result<Standing, LedgerError> {
        let (columns, shares) = (Columns::of(&batch.rows), shares(&batch.rows)?);
        let mut session = self.pool.session().await?;
        let work = self.begin(&mut session).await?;
        let compare = self.identity.compare();
        match write(&work, &compare, batch, (&columns, &shares)).await {
            Ok(Some(standing)) => {
                work.commit().await?;
                Ok(standing)
            }
            Ok(None) => {
                work.roll_back().await;
                drop(session);
                Err(self.standing().await?.refusal(batch.after, batch.term))
            }
            Err(failure) => {
                work.roll_back().await;
                Err(failure)
            }
        }
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

/// Sends the comparison and the rows together; what it gives may be committed. Nothing, if the ledger stands elsewhere.
async fn write(
    work: &Work<'_>,
    sql: &str,
    batch: &Batch,
    (columns, shares): (&Columns<'_>, &Shares<'_>),
) -> Result<Option<Standing>, LedgerError> {
    let Batch { after, term, rows } = batch;
    let through = rows.last().map_or(*after, |row| row.number);
    let (old, new) = (after.cast_signed(), through.cast_signed());
    let values =
        [(&new as _, Type::INT8), (&old as _, Type::INT8), (&term.cast_signed() as _, Type::INT8)];
    // In this order, without waiting in between; the server stops at the first that fails.
    let (moved, compared, noted, inserted, first_misfit) = join5(
        work.execute(sql, &values),
        compare(work, shares),
        note_pools(work, shares),
        columns.insert(work),
        first_misfit(work, &old, rows),
    )
    .await;
    if moved? != 1 {
        return Ok(None);
    }
    compared?;
    for written in [noted, inserted] {
        if let Err(StoreError::Statement { code, detail }) = &written
            && code == UNIQUE
        {
            let number = rows.first().map_or(through, |row| row.number);
            return Err(LedgerError::Differs { number, why: detail.clone() });
        }
        written?;
    }
    if let Some(number) = first_misfit? {
        return Err(misfit(number));
    }
    Ok(Some(Standing { through, term: *term }))
}

/// Finds the first of the rows, which are written, that is about a claim that is not there.
async fn first_misfit(
    work: &Work<'_>,
    after: &i64,
    rows: &[Row],
) -> Result<Option<u64>, StoreError> {
    if !are_about_claims(rows) {
        return Ok(None);
    }
    let sql = include_str!("../sql/misfit.sql").replace('~', "");
    let found = work.query(&sql, &[(after, Type::INT8)]).await?;
    let number = found.first().and_then(|row| row.get::<_, Option<i64>>(0));
    Ok(number.map(i64::cast_unsigned))
}
