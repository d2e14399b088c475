//! Reading beside the writer.

use super::{PostgresLedger, opening};
use crate::ledger::row::{by_of, fitting, kind_of};
use crate::ledger::{Details, LedgerError, Row, StoredWebhook};
use firstcome_core::Timestamp;
use firstcome_store::postgres::{self, Access, ToSql, Type};

impl PostgresLedger {
    pub(in crate::ledger) async fn results(
        &self,
        after: u64,
        limit: usize,
        campaign: Option<&str>,
    ) -> Result<Vec<Row>, LedgerError> {
        let (after, limit) = (i64::try_from(after).unwrap_or(i64::MAX), limit as i64);
        let rows = match campaign {
            None => {
                let values: [(&(dyn ToSql + Sync), Type); 2] =
                    [(&after, Type::INT8), (&limit, Type::INT8)];
                self.read(include_str!("../sql/results.sql"), &values).await?
            }
            Some(campaign) => {
                let values: [(&(dyn ToSql + Sync), Type); 3] =
                    [(&after, Type::INT8), (&campaign, Type::TEXT), (&limit, Type::INT8)];
                self.read(include_str!("../sql/results_of.sql"), &values).await?
            }
        };
        rows.iter().map(row).collect()
    }

    pub(in crate::ledger) async fn claim_counts(
        &self,
        campaign: &str,
        pool: &str,
    ) -> Result<(u64, u64), LedgerError> {
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&campaign, Type::TEXT), (&pool, Type::TEXT)];
        let rows = self.read(include_str!("../sql/counts.sql"), &values).await?;
        let number =
            |column| rows.first().map_or(0, |row| row.get::<_, i64>(column).cast_unsigned());
        Ok((number(0), number(1)))
    }

    pub(in crate::ledger) async fn webhooks(&self) -> Result<Vec<StoredWebhook>, LedgerError> {
        let rows = self.read("SELECT id, version, document FROM webhooks ORDER BY id", &[]).await?;
        let row = |row: &postgres::Row| StoredWebhook {
            id: row.get(0),
            version: row.get::<_, i64>(1).cast_unsigned(),
            document: row.get(2),
        };
        Ok(rows.iter().map(row).collect())
    }

    /// Writes a row beside the writer: nothing else is compared with it.
    pub(in crate::ledger) async fn put_webhook(
        &self,
        row: &StoredWebhook,
    ) -> Result<bool, LedgerError> {
        let StoredWebhook { id, version, document } = row;
        let version = version.cast_signed();
        let values: [(&(dyn ToSql + Sync), Type); 3] =
            [(id, Type::TEXT), (&version, Type::INT8), (document, Type::TEXT)];
        let sql = match version {
            1 => "INSERT INTO webhooks VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
            _ => {
                "UPDATE webhooks SET version = $2, document = $3 WHERE id = $1 AND version = $2 - 1"
            }
        };
        self.change(sql, &values).await
    }

    pub(in crate::ledger) async fn remove_webhook(&self, id: &str) -> Result<bool, LedgerError> {
        self.change("DELETE FROM webhooks WHERE id = $1", &[(&id, Type::TEXT)]).await
    }

    /// Changes at most one row in a transaction of its own; says whether it did. Whose ledger it is, is looked at there.
    async fn change(
        &self,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<bool, LedgerError> {
        let mut session = self.reader.session().await?;
        let work = session.begin(Access::Usual).await?;
        let changed = match opening::check(&work, &self.identity).await {
            Ok(()) => work.execute(sql, values).await.map_err(LedgerError::from),
            Err(failure) => Err(failure),
        };
        match changed {
            Ok(rows) => {
                work.commit().await?;
                Ok(rows == 1)
            }
            Err(failure) => {
                work.roll_back().await;
                Err(failure)
            }
        }
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

    /// Reads in a transaction of its own, with a statement in which `~` may stand before the names of tables. Nothing that fails here changed anything.
    pub(super) async fn read(
        &self,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<postgres::Row>, LedgerError> {
        let mut session = self.reader.session().await?;
        let work = session.begin(Access::ReadOnly).await?;
        let rows = work.query(&sql.replace('~', ""), values).await?;
        work.roll_back().await;
        Ok(rows)
    }
}

fn row(found: &postgres::Row) -> Result<Row, LedgerError> {
    Ok(Row {
        number: found.get::<_, i64>(0).cast_unsigned(),
        kind: kind_of(found.get(1))?,
        campaign: text(found, 2),
        pool: text(found, 3),
        rank: fitting(found.get(4))?,
        subject: text(found, 5),
        at: Timestamp::from_micros(found.get(6)),
        by: by_of(found.get(7))?,
        reason: optional(found, 8),
        who: optional(found, 9),
        unit: optional(found, 10),
        hold: optional(found, 11),
        moved_from: optional(found, 12),
        details: Details {
            reference: optional(found, 13),
            used_by: optional(found, 14),
            verdict: optional(found, 15),
            issue: found.get::<_, Option<i64>>(16).map(fitting).transpose()?,
            import: optional(found, 17),
            quantity: found.get::<_, Option<i64>>(18).map(fitting).transpose()?,
        }
        .read(),
        campaign_number: fitting(found.get(19))?,
        pool_number: fitting(found.get(20))?,
        in_campaign: fitting(found.get(21))?,
    })
}

fn text(found: &postgres::Row, column: usize) -> Box<str> {
    found.get::<_, &str>(column).into()
}

fn optional(found: &postgres::Row, column: usize) -> Option<Box<str>> {
    found.get::<_, Option<&str>>(column).map(Into::into)
}
