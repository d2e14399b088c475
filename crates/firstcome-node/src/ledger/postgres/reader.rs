//! Reading beside the writer.

use super::{PostgresLedger, opening};
use crate::ledger::{Details, LedgerError, Row, SettledCancel, SettledClaim};
use crate::ledger::{one_of, rank_of, small};
use firstcome_core::Timestamp;
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_store::postgres::{self, Access, ToSql, Type};

impl PostgresLedger {
    pub(in crate::ledger) async fn results(
        &self,
        after: u64,
        limit: usize,
        campaign: Option<&str>,
    ) -> Result<Vec<Row>, LedgerError> {
        let limit = limit as i64;
        let rows = match campaign {
            None => {
                let after = i64::try_from(after).unwrap_or(i64::MAX);
                let values: [(&(dyn ToSql + Sync), Type); 2] =
                    [(&after, Type::INT8), (&limit, Type::INT8)];
                self.read(include_str!("results.sql"), &values).await?
            }
            Some(campaign) => {
                let from = i64::try_from(after.saturating_add(1)).unwrap_or(i64::MAX);
                let values: [(&(dyn ToSql + Sync), Type); 3] =
                    [(&campaign, Type::TEXT), (&from, Type::INT8), (&limit, Type::INT8)];
                self.read(include_str!("results_of.sql"), &values).await?
            }
        };
        rows.iter().map(row).collect()
    }

    pub(in crate::ledger) async fn claim(
        &self,
        campaign: &str,
        pool: &str,
        rank: u32,
    ) -> Result<Option<SettledClaim>, LedgerError> {
        let rank = i64::from(rank);
        let values: [(&(dyn ToSql + Sync), Type); 3] =
            [(&campaign, Type::TEXT), (&pool, Type::TEXT), (&rank, Type::INT8)];
        let rows = self.read(include_str!("claim_of.sql"), &values).await?;
        rows.first().map(claim).transpose()
    }

    pub(in crate::ledger) async fn claims(
        &self,
        campaign: &str,
        after: Option<(&str, u32)>,
        limit: usize,
    ) -> Result<Vec<SettledClaim>, LedgerError> {
        let (pool, rank) = after.unwrap_or(("", 0));
        let (rank, limit) = (i64::from(rank), limit as i64);
        let values: [(&(dyn ToSql + Sync), Type); 4] = [
            (&campaign, Type::TEXT),
            (&pool, Type::TEXT),
            (&rank, Type::INT8),
            (&limit, Type::INT8),
        ];
        self.read(include_str!("claims.sql"), &values).await?.iter().map(claim).collect()
    }

    pub(in crate::ledger) async fn claim_counts(
        &self,
        campaign: &str,
        pool: &str,
    ) -> Result<(u64, u64), LedgerError> {
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&campaign, Type::TEXT), (&pool, Type::TEXT)];
        let rows = self.read(include_str!("counts.sql"), &values).await?;
        let number =
            |column| rows.first().map_or(0, |row| row.get::<_, i64>(column).cast_unsigned());
        Ok((number(0), number(1)))
    }

    /// Returns the number up to which it has results; nothing if it is not there. Makes nothing.
    pub(in crate::ledger) async fn through(&self) -> Result<Option<u64>, LedgerError> {
        let mut session = self.reader.session().await?;
        let work = session.begin(Access::ReadOnly).await?;
        if !opening::is_there(&work, &self.identity).await? {
            return Ok(None);
        }
        let rows = work.query("SELECT through FROM settled", &[]).await?;
        work.roll_back().await;
        Ok(rows.first().map(|row| row.get::<_, i64>(0).cast_unsigned()))
    }

    /// Reads in a transaction of its own. Nothing that fails here changed anything.
    pub(super) async fn read(
        &self,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<postgres::Row>, LedgerError> {
        let mut session = self.reader.session().await?;
        let work = session.begin(Access::ReadOnly).await?;
        let rows = work.query(sql, values).await?;
        work.roll_back().await;
        Ok(rows)
    }
}

fn row(found: &postgres::Row) -> Result<Row, LedgerError> {
    Ok(Row {
        number: found.get::<_, i64>(0).cast_unsigned(),
        kind: one_of(&Kind::ALL, Kind::as_str, found.get(1))?,
        campaign: text(found, 2),
        pool: text(found, 3),
        rank: rank_of(found.get(4))?,
        subject: text(found, 5),
        at: Timestamp::from_micros(found.get(6)),
        by: by(found, 7)?,
        reason: optional(found, 8),
        who: optional(found, 9),
        unit: optional(found, 10),
        hold: optional(found, 11),
        moved_from: optional(found, 12),
        details: Details {
            reference: optional(found, 13),
            used_by: optional(found, 14),
            verdict: optional(found, 15),
            issue: small(found.get(16))?,
            import: optional(found, 17),
            quantity: small(found.get(18))?,
        }
        .read(),
    })
}

fn claim(found: &postgres::Row) -> Result<SettledClaim, LedgerError> {
    let number = |column| found.get::<_, Option<i64>>(column);
    let cancel = match (number(5), by(found, 6)?, number(9)) {
        (Some(at), Some(by), Some(result)) => Some(SettledCancel {
            at: Timestamp::from_micros(at),
            by,
            reason: optional(found, 7),
            who: optional(found, 8),
            result: result.cast_unsigned(),
        }),
        _ => None,
    };
    Ok(SettledClaim {
        pool: text(found, 0),
        rank: rank_of(found.get(1))?,
        subject: text(found, 2),
        at: Timestamp::from_micros(found.get(3)),
        result: found.get::<_, i64>(4).cast_unsigned(),
        cancel,
        unit: optional(found, 10),
        hold: optional(found, 11),
    })
}

fn text(found: &postgres::Row, column: usize) -> Box<str> {
    found.get::<_, &str>(column).into()
}

fn optional(found: &postgres::Row, column: usize) -> Option<Box<str>> {
    found.get::<_, Option<&str>>(column).map(Into::into)
}

fn by(found: &postgres::Row, column: usize) -> Result<Option<By>, LedgerError> {
    let text: Option<&str> = found.get(column);
    text.map(|text| one_of(&[By::Subject, By::Operator], By::as_str, text)).transpose()
}
