//! Rows as columns, the way they are sent.

use crate::ledger::row::fitting;
use crate::ledger::share::Shares;
use crate::ledger::{LedgerError, Row};
use firstcome_core::outcome::By;
use firstcome_store::StoreError;
use firstcome_store::postgres::{ToSql, Type, Work};
use futures_util::future::join;

/// A column of texts, some of which may be missing.
type Texts<'a> = Vec<Option<&'a str>>;
/// A value of a statement, and its type.
type Value<'v> = (&'v (dyn ToSql + Sync), Type);

/// Results, column by column.
#[derive(Default)]
pub(super) struct Columns<'a> {
    numbers: Vec<i64>,
    campaigns: Vec<i64>,
    pools: Vec<i64>,
    in_campaign: Vec<i64>,
    ranks: Vec<i64>,
    kinds: Vec<i64>,
    at: Vec<i64>,
    subjects: Vec<&'a str>,
    units: Texts<'a>,
    holds: Texts<'a>,
    details: DetailColumns<'a>,
}

/// The columns of those results that have details.
#[derive(Default)]
struct DetailColumns<'a> {
    numbers: Vec<i64>,
    by: Texts<'a>,
    reasons: Texts<'a>,
    who: Texts<'a>,
    moved_from: Texts<'a>,
    references: Texts<'a>,
    used_by: Texts<'a>,
    verdicts: Texts<'a>,
    issues: Vec<Option<i64>>,
    imports: Texts<'a>,
    quantities: Vec<Option<i64>>,
}

impl<'a> DetailColumns<'a> {
    fn push(&mut self, row: &'a Row) {
        let details = row.details.as_deref();
        self.numbers.push(row.number.cast_signed());
        self.by.push(row.by.map(By::as_str));
        self.reasons.push(row.reason.as_deref());
        self.who.push(row.who.as_deref());
        self.moved_from.push(row.moved_from.as_deref());
        self.references.push(details.and_then(|details| details.reference.as_deref()));
        self.used_by.push(details.and_then(|details| details.used_by.as_deref()));
        self.verdicts.push(details.and_then(|details| details.verdict.as_deref()));
        self.issues.push(details.and_then(|details| details.issue).map(i64::from));
        self.imports.push(details.and_then(|details| details.import.as_deref()));
        self.quantities.push(details.and_then(|details| details.quantity).map(i64::from));
    }

    async fn insert(&self, work: &Work<'_>) -> Result<(), StoreError> {
        if self.numbers.is_empty() {
            return Ok(());
        }
        let values: [Value<'_>; 11] = [
            (&self.numbers, Type::INT8_ARRAY),
            (&self.by, Type::TEXT_ARRAY),
            (&self.reasons, Type::TEXT_ARRAY),
            (&self.who, Type::TEXT_ARRAY),
            (&self.moved_from, Type::TEXT_ARRAY),
            (&self.references, Type::TEXT_ARRAY),
            (&self.used_by, Type::TEXT_ARRAY),
            (&self.verdicts, Type::TEXT_ARRAY),
            (&self.issues, Type::INT8_ARRAY),
            (&self.imports, Type::TEXT_ARRAY),
            (&self.quantities, Type::INT8_ARRAY),
        ];
        work.execute(include_str!("details.sql"), &values).await.map(drop)
    }
}

impl<'a> Columns<'a> {
    pub(super) fn of(rows: &'a [Row]) -> Self {
        let mut columns = Self::default();
        for row in rows {
            columns.numbers.push(row.number.cast_signed());
            columns.campaigns.push(row.campaign_number.into());
            columns.pools.push(row.pool_number.into());
            columns.in_campaign.push(row.in_campaign.into());
            columns.ranks.push(row.rank.into());
            columns.kinds.push(row.kind.code().into());
            columns.at.push(row.at.as_micros());
            columns.subjects.push(&row.subject);
            columns.units.push(row.unit.as_deref());
            columns.holds.push(row.hold.as_deref());
            if row.has_details() {
                columns.details.push(row);
            }
        }
        columns
    }

    /// Writes the results.
    pub(super) async fn insert(&self, work: &Work<'_>) -> Result<(), StoreError> {
        let (units, holds) = (filled(&self.units), filled(&self.holds));
        let values: [Value<'_>; 10] = [
            (&self.numbers, Type::INT8_ARRAY),
            (&self.campaigns, Type::INT8_ARRAY),
            (&self.pools, Type::INT8_ARRAY),
            (&self.in_campaign, Type::INT8_ARRAY),
            (&self.ranks, Type::INT8_ARRAY),
            (&self.kinds, Type::INT8_ARRAY),
            (&self.at, Type::INT8_ARRAY),
            (&self.subjects, Type::TEXT_ARRAY),
            (&units, Type::TEXT_ARRAY),
            (&holds, Type::TEXT_ARRAY),
        ];
        let results = work.execute(include_str!("insert.sql"), &values);
        let (results, details) = join(results, self.details.insert(work)).await;
        results?;
        details
    }
}

/// Returns a column if there is anything in it; what is not sent is null in each row.
fn filled<'t>(texts: &'t Texts<'t>) -> Option<&'t Texts<'t>> {
    texts.iter().any(Option::is_some).then_some(texts)
}

/// Refuses shares that do not go on from what is there of their pools.
pub(super) async fn compare(work: &Work<'_>, shares: &Shares<'_>) -> Result<(), LedgerError> {
    let (campaigns, pools) = numbers(shares);
    let values: [Value<'_>; 2] = [(&campaigns, Type::INT8_ARRAY), (&pools, Type::INT8_ARRAY)];
    for known in work.query(include_str!("known.sql"), &values).await? {
        let number = |column| known.get::<_, i64>(column);
        if let Some(share) = shares.get(&(fitting(number(0))?, fitting(number(1))?)) {
            share.goes_on((known.get(2), known.get(3)), number(4))?;
        }
    }
    Ok(())
}

/// Notes what the batch has of each pool.
pub(super) async fn note_pools(work: &Work<'_>, shares: &Shares<'_>) -> Result<(), StoreError> {
    let (campaigns, pools) = numbers(shares);
    let names: (Vec<_>, Vec<_>) = shares.values().map(|share| (share.campaign, share.pool)).unzip();
    let first: Vec<_> = shares.values().map(|share| share.first_result.cast_signed()).collect();
    let last: Vec<_> = shares.values().map(|share| share.last_result.cast_signed()).collect();
    let ranks: Vec<_> = shares.values().map(|share| i64::from(share.last_rank)).collect();
    let cancels: Vec<_> = shares.values().map(|share| share.cancels.cast_signed()).collect();
    let values: [Value<'_>; 8] = [
        (&campaigns, Type::INT8_ARRAY),
        (&pools, Type::INT8_ARRAY),
        (&names.0, Type::TEXT_ARRAY),
        (&names.1, Type::TEXT_ARRAY),
        (&first, Type::INT8_ARRAY),
        (&last, Type::INT8_ARRAY),
        (&ranks, Type::INT8_ARRAY),
        (&cancels, Type::INT8_ARRAY),
    ];
    work.execute(include_str!("pools.sql"), &values).await.map(drop)
}

fn numbers(shares: &Shares<'_>) -> (Vec<i64>, Vec<i64>) {
    shares.keys().map(|(campaign, pool)| (i64::from(*campaign), i64::from(*pool))).unzip()
}
