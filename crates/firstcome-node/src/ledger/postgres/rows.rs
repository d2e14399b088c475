//! Rows as columns, the way they are sent.

use crate::ledger::{Details, Row};
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_store::StoreError;
use firstcome_store::postgres::{ToSql, Type, Work};
use std::collections::{BTreeMap, BTreeSet};

/// A batch, column by column.
#[derive(Default)]
pub(super) struct Columns<'a> {
    all: Share<'a>,
    kinds: Vec<&'static str>,
    details: DetailColumns<'a>,
    cancelled: Share<'a>,
    /// Moves of units that are claimed.
    moved: Share<'a>,
    campaigns: BTreeMap<&'a str, [i64; 4]>,
}

/// The columns of results of any kind.
#[derive(Default)]
struct Share<'a> {
    numbers: Vec<i64>,
    campaigns: Vec<&'a str>,
    pools: Vec<&'a str>,
    ranks: Vec<i64>,
    subjects: Vec<&'a str>,
    at: Vec<i64>,
    by: Vec<Option<&'static str>>,
    reasons: Vec<Option<&'a str>>,
    who: Vec<Option<&'a str>>,
    units: Vec<Option<&'a str>>,
    holds: Vec<Option<&'a str>>,
    moved_from: Vec<Option<&'a str>>,
}

/// The columns of details of all results.
#[derive(Default)]
struct DetailColumns<'a> {
    references: Vec<Option<&'a str>>,
    used_by: Vec<Option<&'a str>>,
    verdicts: Vec<Option<&'a str>>,
    issues: Vec<Option<i64>>,
    imports: Vec<Option<&'a str>>,
    quantities: Vec<Option<i64>>,
}

impl<'a> DetailColumns<'a> {
    fn push(&mut self, details: Option<&'a Details>) {
        self.references.push(details.and_then(|details| details.reference.as_deref()));
        self.used_by.push(details.and_then(|details| details.used_by.as_deref()));
        self.verdicts.push(details.and_then(|details| details.verdict.as_deref()));
        self.issues.push(details.and_then(|details| details.issue).map(i64::from));
        self.imports.push(details.and_then(|details| details.import.as_deref()));
        self.quantities.push(details.and_then(|details| details.quantity).map(i64::from));
    }
}

impl<'a> Share<'a> {
    fn push(&mut self, row: &'a Row) {
        let Row { number, kind: _, campaign, pool, rank, subject, at, by, reason, who, .. } = row;
        let Row { unit, hold, moved_from, .. } = row;
        self.numbers.push(number.cast_signed());
        self.campaigns.push(campaign);
        self.pools.push(pool);
        self.ranks.push(i64::from(*rank));
        self.subjects.push(subject);
        self.at.push(at.as_micros());
        self.by.push(by.map(By::as_str));
        self.reasons.push(reason.as_deref());
        self.who.push(who.as_deref());
        self.units.push(unit.as_deref());
        self.holds.push(hold.as_deref());
        self.moved_from.push(moved_from.as_deref());
    }
}

impl<'a> Columns<'a> {
    pub(super) fn of(rows: &'a [Row]) -> Self {
        let mut columns = Self::default();
        for row in rows {
            let number = row.number.cast_signed();
            columns.all.push(row);
            columns.kinds.push(row.kind.as_str());
            columns.details.push(row.details.as_deref());
            let [_, last, claims, cancels] =
                columns.campaigns.entry(&row.campaign).or_insert([number, number, 0, 0]);
            *last = number;
            match row.kind {
                Kind::Claim => *claims += 1,
                Kind::Cancel => {
                    *cancels += 1;
                    columns.cancelled.push(row);
                }
                Kind::Moved if row.rank > 0 => columns.moved.push(row),
                Kind::Moved
                | Kind::RefundDue
                | Kind::Redeemed
                | Kind::RolledBack
                | Kind::CodeMarked
                | Kind::Unserved => {}
            }
        }
        columns
    }

    /// How many claims there are.
    pub(super) fn claims(&self) -> u64 {
        self.kinds.iter().filter(|kind| **kind == Kind::Claim.as_str()).count() as u64
    }

    /// How many cancels there are.
    pub(super) fn cancels(&self) -> u64 {
        self.cancelled.numbers.len() as u64
    }

    /// Writes the results and their claims; gives how many claims.
    pub(super) async fn insert(&self, work: &Work<'_>, now: &i64) -> Result<u64, StoreError> {
        let (all, details) = (&self.all, &self.details);
        let values: [(&(dyn ToSql + Sync), Type); 20] = [
            (now, Type::INT8),
            (&all.numbers, Type::INT8_ARRAY),
            (&self.kinds, Type::TEXT_ARRAY),
            (&all.campaigns, Type::TEXT_ARRAY),
            (&all.pools, Type::TEXT_ARRAY),
            (&all.ranks, Type::INT8_ARRAY),
            (&all.subjects, Type::TEXT_ARRAY),
            (&all.at, Type::INT8_ARRAY),
            (&all.by, Type::TEXT_ARRAY),
            (&all.reasons, Type::TEXT_ARRAY),
            (&all.who, Type::TEXT_ARRAY),
            (&all.units, Type::TEXT_ARRAY),
            (&all.holds, Type::TEXT_ARRAY),
            (&all.moved_from, Type::TEXT_ARRAY),
            (&details.references, Type::TEXT_ARRAY),
            (&details.used_by, Type::TEXT_ARRAY),
            (&details.verdicts, Type::TEXT_ARRAY),
            (&details.issues, Type::INT8_ARRAY),
            (&details.imports, Type::TEXT_ARRAY),
            (&details.quantities, Type::INT8_ARRAY),
        ];
        work.execute(include_str!("insert.sql"), &values).await
    }

    /// Marks the claims that were undone; gives how many.
    pub(super) async fn cancel(&self, work: &Work<'_>) -> Result<u64, StoreError> {
        let undone = &self.cancelled;
        if undone.numbers.is_empty() {
            return Ok(0);
        }
        let values: [(&(dyn ToSql + Sync), Type); 9] = [
            (&undone.numbers, Type::INT8_ARRAY),
            (&undone.campaigns, Type::TEXT_ARRAY),
            (&undone.pools, Type::TEXT_ARRAY),
            (&undone.ranks, Type::INT8_ARRAY),
            (&undone.subjects, Type::TEXT_ARRAY),
            (&undone.at, Type::INT8_ARRAY),
            (&undone.by, Type::TEXT_ARRAY),
            (&undone.reasons, Type::TEXT_ARRAY),
            (&undone.who, Type::TEXT_ARRAY),
        ];
        work.execute(include_str!("cancel.sql"), &values).await
    }

    /// How many claims got another unit.
    pub(super) fn moves(&self) -> u64 {
        let Share { campaigns, pools, ranks, .. } = &self.moved;
        let claims = campaigns.iter().zip(pools).zip(ranks);
        claims.collect::<BTreeSet<_>>().len() as u64
    }

    /// Gives claims the units they were moved to; gives how many.
    pub(super) async fn moved(&self, work: &Work<'_>) -> Result<u64, StoreError> {
        let moved = &self.moved;
        if moved.numbers.is_empty() {
            return Ok(0);
        }
        let values: [(&(dyn ToSql + Sync), Type); 6] = [
            (&moved.numbers, Type::INT8_ARRAY),
            (&moved.campaigns, Type::TEXT_ARRAY),
            (&moved.pools, Type::TEXT_ARRAY),
            (&moved.ranks, Type::INT8_ARRAY),
            (&moved.subjects, Type::TEXT_ARRAY),
            (&moved.units, Type::TEXT_ARRAY),
        ];
        work.execute(include_str!("move.sql"), &values).await
    }

    /// Counts for each campaign.
    pub(super) async fn count(&self, work: &Work<'_>) -> Result<u64, StoreError> {
        let names: Vec<&str> = self.campaigns.keys().copied().collect();
        let figures = |place: usize| -> Vec<i64> {
            self.campaigns.values().map(|figures| figures[place]).collect()
        };
        let (first, last, claims, cancels) = (figures(0), figures(1), figures(2), figures(3));
        let values: [(&(dyn ToSql + Sync), Type); 5] = [
            (&names, Type::TEXT_ARRAY),
            (&first, Type::INT8_ARRAY),
            (&last, Type::INT8_ARRAY),
            (&claims, Type::INT8_ARRAY),
            (&cancels, Type::INT8_ARRAY),
        ];
        work.execute(include_str!("campaigns.sql"), &values).await
    }
}
