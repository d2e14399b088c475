//! Reading beside the writer.

use super::rows::filled;
use super::{MySqlLedger, opening};
use crate::ledger::row::{by_of, fitting, kind_of};
use crate::ledger::{Details, LedgerError, Row, StoredWebhook};
use firstcome_core::Timestamp;
use firstcome_store::mysql::{self, FromValue, cell, text};

impl MySqlLedger {
    /// Returns the id.
    pub(in crate::ledger) async fn id(&self) -> Result<u128, LedgerError> {
        let rows = self.read("SELECT id FROM ~meta").await?;
        let id = rows.first().map(|row| cell::<Vec<u8>>(row, 0)).transpose()?;
        let id = id.and_then(|id| <[u8; 16]>::try_from(id).ok()).map(u128::from_be_bytes);
        id.ok_or_else(|| opening::broken(&self.identity, "`meta` has no id"))
    }

    pub(in crate::ledger) async fn results(
        &self,
        after: u64,
        limit: usize,
        campaign: Option<&str>,
    ) -> Result<Vec<Row>, LedgerError> {
        let after = after.min(i64::MAX.cast_unsigned()).to_string();
        let limit = limit.to_string();
        let sql = match campaign {
            None => filled(include_str!("../sql/results.sql"), &[after, limit]),
            Some(campaign) => {
                let values = [after, text(campaign), limit];
                filled(include_str!("../sql/results_of.sql"), &values)
            }
        };
        self.read(&sql).await?.iter().map(row).collect()
    }

    pub(in crate::ledger) async fn claim_counts(
        &self,
        campaign: &str,
        pool: &str,
    ) -> Result<(u64, u64), LedgerError> {
        let (campaign, pool) = (text(campaign), text(pool));
        let sql = filled(include_str!("../sql/counts.sql"), &[campaign, pool]);
        let rows = self.read(&sql).await?;
        let Some(row) = rows.first() else { return Ok((0, 0)) };
        Ok((cell::<u64>(row, 0)?, cell::<u64>(row, 1)?))
    }

    pub(in crate::ledger) async fn webhooks(&self) -> Result<Vec<StoredWebhook>, LedgerError> {
        let rows = self.read("SELECT id, version, document FROM ~webhooks ORDER BY id").await?;
        let row = |row: &mysql::Row| {
            Ok(StoredWebhook { id: get(row, 0)?, version: get(row, 1)?, document: get(row, 2)? })
        };
        rows.iter().map(row).collect()
    }

    /// Writes a row beside the writer: nothing else is compared with it.
    pub(in crate::ledger) async fn put_webhook(
        &self,
        row: &StoredWebhook,
    ) -> Result<bool, LedgerError> {
        let StoredWebhook { id, version, document } = row;
        let (id, document, old) = (text(id), text(document), version.saturating_sub(1));
        let table = self.identity.sql("~webhooks");
        let sql = match old {
            0 => format!("INSERT IGNORE INTO {table} VALUES ({id}, 1, {document})"),
            _ => format!(
                "UPDATE {table} SET version = {version}, document = {document} WHERE id = {id} AND version = {old}"
            ),
        };
        self.change(&sql).await
    }

    pub(in crate::ledger) async fn remove_webhook(&self, id: &str) -> Result<bool, LedgerError> {
        let table = self.identity.sql("~webhooks");
        self.change(&format!("DELETE FROM {table} WHERE id = {}", text(id))).await
    }

    /// Changes at most one row, after looking whose ledger it is; says whether it did.
    async fn change(&self, sql: &str) -> Result<bool, LedgerError> {
        let (owner, count) = (self.identity.sql(opening::OWNER), "SELECT ROW_COUNT()");
        let (work, found) = self.reader.begin(&format!("{owner}; {sql}; {count}")).await?;
        let owner = found.first().and_then(|rows| rows.first());
        let none = || opening::broken(&self.identity, "`meta` is empty");
        match owner.ok_or_else(none).and_then(|owner| opening::check(owner, &self.identity)) {
            Ok(()) => {
                let count = found.last().and_then(|rows| rows.first());
                let changed = count.map(|row| cell::<i64>(row, 0)).transpose()? == Some(1);
                work.commit("").await?;
                Ok(changed)
            }
            Err(failure) => {
                work.roll_back().await;
                Err(failure)
            }
        }
    }

    /// Returns the number up to which it has results; nothing if it is not there. Makes nothing.
    pub(in crate::ledger) async fn through(&self) -> Result<Option<u64>, LedgerError> {
        if !opening::is_there(&self.reader, &self.identity).await? {
            return Ok(None);
        }
        let rows = self.read("SELECT through FROM ~settled").await?;
        Ok(rows.first().map(|row| cell::<u64>(row, 0)).transpose()?)
    }

    /// Reads with one statement. Nothing that fails here changed anything.
    async fn read(&self, sql: &str) -> Result<Vec<mysql::Row>, LedgerError> {
        let found = self.reader.step(&self.identity.sql(sql)).await;
        let found = found.map_err(|failure| {
            let failure = LedgerError::from(failure);
            if let LedgerError::Unknown(text) = failure {
                return LedgerError::Unavailable(text);
            }
            failure
        });
        Ok(found?.into_iter().next().unwrap_or_default())
    }
}

fn row(found: &mysql::Row) -> Result<Row, LedgerError> {
    let by: Option<String> = get(found, 7)?;
    Ok(Row {
        number: get(found, 0)?,
        kind: kind_of(get(found, 1)?)?,
        campaign: words(found, 2)?,
        pool: words(found, 3)?,
        rank: fitting(get(found, 4)?)?,
        subject: words(found, 5)?,
        at: Timestamp::from_micros(get(found, 6)?),
        by: by_of(by.as_deref())?,
        reason: optional(found, 8)?,
        who: optional(found, 9)?,
        unit: optional(found, 10)?,
        hold: optional(found, 11)?,
        moved_from: optional(found, 12)?,
        details: Details {
            reference: optional(found, 13)?,
            used_by: optional(found, 14)?,
            verdict: optional(found, 15)?,
            issue: get::<Option<i64>>(found, 16)?.map(fitting).transpose()?,
            import: optional(found, 17)?,
            quantity: get::<Option<i64>>(found, 18)?.map(fitting).transpose()?,
        }
        .read(),
        campaign_number: fitting(get(found, 19)?)?,
        pool_number: fitting(get(found, 20)?)?,
        in_campaign: fitting(get(found, 21)?)?,
    })
}

fn get<T: FromValue>(found: &mysql::Row, column: usize) -> Result<T, LedgerError> {
    Ok(cell(found, column)?)
}

fn words(found: &mysql::Row, column: usize) -> Result<Box<str>, LedgerError> {
    get::<String>(found, column).map(Into::into)
}

fn optional(found: &mysql::Row, column: usize) -> Result<Option<Box<str>>, LedgerError> {
    Ok(get::<Option<String>>(found, column)?.map(Into::into))
}
