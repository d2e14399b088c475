//! Reading beside the writer.

use super::{MySqlLedger, opening};
use crate::ledger::{Details, LedgerError, Row, SettledCancel, SettledClaim};
use crate::ledger::{one_of, rank_of, small};
use firstcome_core::Timestamp;
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_store::mysql::{self, FromValue, cell, text};

const RESULT: &str = "SELECT r.number, r.kind, r.campaign, r.pool, r.rank, r.subject, r.at, r.cancelled_by, r.reason, \
    r.who, r.unit, r.hold, r.moved_from, r.reference, r.used_by, r.verdict, r.issue, r.import, r.quantity";
const CLAIM: &str = "SELECT pool, rank, subject, at, result, cancelled_at, cancelled_by, reason, who, cancel_result, \
    unit, hold FROM ~claims";

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
        let after = after.min(i64::MAX.cast_unsigned());
        let sql = match campaign {
            None => format!(
                "{RESULT} FROM ~results r WHERE r.number > {after} ORDER BY r.number LIMIT {limit}"
            ),
            Some(campaign) => format!(
                "{RESULT} FROM ~campaigns c JOIN ~results r \
                 ON r.number BETWEEN GREATEST({after} + 1, c.first_result) AND c.last_result \
                 AND r.campaign = c.campaign WHERE c.campaign = {} ORDER BY r.number LIMIT {limit}",
                text(campaign)
            ),
        };
        self.read(&sql).await?.iter().map(row).collect()
    }

    pub(in crate::ledger) async fn claim(
        &self,
        campaign: &str,
        pool: &str,
        rank: u32,
    ) -> Result<Option<SettledClaim>, LedgerError> {
        let (campaign, pool) = (text(campaign), text(pool));
        let sql =
            format!("{CLAIM} WHERE campaign = {campaign} AND pool = {pool} AND rank = {rank}");
        self.read(&sql).await?.first().map(claim).transpose()
    }

    pub(in crate::ledger) async fn claims(
        &self,
        campaign: &str,
        after: Option<(&str, u32)>,
        limit: usize,
    ) -> Result<Vec<SettledClaim>, LedgerError> {
        let (pool, rank) = after.unwrap_or(("", 0));
        let (campaign, pool) = (text(campaign), text(pool));
        let sql = format!(
            "{CLAIM} WHERE campaign = {campaign} AND (pool > {pool} OR (pool = {pool} AND rank > {rank})) \
             ORDER BY pool, rank LIMIT {limit}"
        );
        self.read(&sql).await?.iter().map(claim).collect()
    }

    pub(in crate::ledger) async fn claim_counts(
        &self,
        campaign: &str,
        pool: &str,
    ) -> Result<(u64, u64), LedgerError> {
        let (campaign, pool) = (text(campaign), text(pool));
        let sql = format!(
            "SELECT COUNT(*), COUNT(cancelled_at) FROM ~claims WHERE campaign = {campaign} AND pool = {pool}"
        );
        let rows = self.read(&sql).await?;
        let Some(row) = rows.first() else { return Ok((0, 0)) };
        Ok((cell::<u64>(row, 0)?, cell::<u64>(row, 1)?))
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
    let kind: String = get(found, 1)?;
    Ok(Row {
        number: get(found, 0)?,
        kind: one_of(&Kind::ALL, Kind::as_str, &kind)?,
        campaign: words(found, 2)?,
        pool: words(found, 3)?,
        rank: rank_of(get(found, 4)?)?,
        subject: words(found, 5)?,
        at: Timestamp::from_micros(get(found, 6)?),
        by: by(found, 7)?,
        reason: optional(found, 8)?,
        who: optional(found, 9)?,
        unit: optional(found, 10)?,
        hold: optional(found, 11)?,
        moved_from: optional(found, 12)?,
        details: Details {
            reference: optional(found, 13)?,
            used_by: optional(found, 14)?,
            verdict: optional(found, 15)?,
            issue: small(get(found, 16)?)?,
            import: optional(found, 17)?,
            quantity: small(get(found, 18)?)?,
        }
        .read(),
    })
}

fn claim(found: &mysql::Row) -> Result<SettledClaim, LedgerError> {
    let number = |column| get::<Option<i64>>(found, column);
    let cancel = match (number(5)?, by(found, 6)?, number(9)?) {
        (Some(at), Some(by), Some(result)) => Some(SettledCancel {
            at: Timestamp::from_micros(at),
            by,
            reason: optional(found, 7)?,
            who: optional(found, 8)?,
            result: result.cast_unsigned(),
        }),
        _ => None,
    };
    Ok(SettledClaim {
        pool: words(found, 0)?,
        rank: rank_of(get(found, 1)?)?,
        subject: words(found, 2)?,
        at: Timestamp::from_micros(get(found, 3)?),
        result: get(found, 4)?,
        cancel,
        unit: optional(found, 10)?,
        hold: optional(found, 11)?,
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

fn by(found: &mysql::Row, column: usize) -> Result<Option<By>, LedgerError> {
    let text: Option<String> = get(found, column)?;
    text.map(|text| one_of(&[By::Subject, By::Operator], By::as_str, &text)).transpose()
}
