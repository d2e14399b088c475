//! Rows as the statements that write them.

use super::Identity;
use crate::ledger::Row;
use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_store::mysql::text;
use std::collections::{BTreeMap, BTreeSet};

/// Bytes after which a statement is sent and another one begun: a server takes 1 MiB at least.
const STATEMENT_BYTES: usize = 512 << 10;

const RESULTS: &str = "INSERT INTO ~results (number, rank, at, settled_at, kind, campaign, pool, subject, \
    cancelled_by, reason, who, unit, hold, moved_from, reference, used_by, verdict, issue, import, quantity) VALUES ";
const CLAIMS: &str =
    "INSERT INTO ~claims (rank, at, result, campaign, pool, subject, unit, hold) VALUES ";
/// A claim that is there stays as it is, and is not counted.
const STAYS: &str = " ON DUPLICATE KEY UPDATE result = result";

/// The statements of a batch.
#[derive(Debug, Default)]
pub(super) struct Statements {
    /// Insert its results.
    pub(super) results: Vec<String>,
    /// Insert its claims; each is followed by a count.
    pub(super) claims: Vec<String>,
    /// How many claims, cancels and moved claims there are.
    pub(super) counts: [u64; 3],
    /// Counts for each campaign.
    pub(super) campaigns: Vec<String>,
}

impl Statements {
    pub(super) fn of(rows: &[Row], now: i64) -> Self {
        let mut all = Self::default();
        let mut campaigns: BTreeMap<&str, [u64; 4]> = BTreeMap::new();
        let mut moved = BTreeSet::new();
        let (mut results, mut claims) = (RowList::new(RESULTS, ""), RowList::new(CLAIMS, STAYS));
        for row in rows {
            results.add(result(row, now));
            let [_, last, won, undone] =
                campaigns.entry(&row.campaign).or_insert([row.number, row.number, 0, 0]);
            *last = row.number;
            match row.kind {
                Kind::Claim => {
                    *won += 1;
                    claims.add(claim(row));
                    all.counts[0] += 1;
                }
                Kind::Cancel => {
                    *undone += 1;
                    all.counts[1] += 1;
                }
                Kind::Moved if row.rank > 0 => {
                    moved.insert((&row.campaign, &row.pool, row.rank));
                }
                Kind::Moved
                | Kind::RefundDue
                | Kind::Redeemed
                | Kind::RolledBack
                | Kind::CodeMarked
                | Kind::Unserved => {}
            }
        }
        all.counts[2] = moved.len() as u64;
        let mut list = RowList::new(
            "INSERT INTO ~campaigns VALUES ",
            " ON DUPLICATE KEY UPDATE last_result = VALUES(last_result), claims = claims + VALUES(claims), \
             cancels = cancels + VALUES(cancels)",
        );
        for (campaign, [first, last, won, undone]) in campaigns {
            list.add(format!("({}, {first}, {last}, {won}, {undone})", text(campaign)));
        }
        (all.results, all.claims, all.campaigns) = (results.end(), claims.end(), list.end());
        all
    }
}

/// Statements that insert many rows, each not too long.
struct RowList {
    before: &'static str,
    after: &'static str,
    rows: String,
    done: Vec<String>,
}

impl RowList {
    fn new(before: &'static str, after: &'static str) -> Self {
        Self { before, after, rows: String::new(), done: Vec::new() }
    }

    fn add(&mut self, row: String) {
        if self.rows.len() + row.len() > STATEMENT_BYTES {
            self.finish();
        }
        if !self.rows.is_empty() {
            self.rows.push_str(", ");
        }
        self.rows.push_str(&row);
    }

    fn finish(&mut self) {
        if !self.rows.is_empty() {
            let rows = std::mem::take(&mut self.rows);
            self.done.push(format!("{}{rows}{}", self.before, self.after));
        }
    }

    fn end(mut self) -> Vec<String> {
        self.finish();
        self.done
    }
}

fn result(row: &Row, now: i64) -> String {
    let Row { number, kind, campaign, pool, rank, subject, at, by, reason, who, .. } = row;
    let Row { unit, hold, moved_from, details, .. } = row;
    let details = details.as_deref();
    let columns = [
        number.to_string(),
        rank.to_string(),
        at.as_micros().to_string(),
        now.to_string(),
        text(kind.as_str()),
        text(campaign),
        text(pool),
        text(subject),
        optional(by.map(By::as_str)),
        optional(reason.as_deref()),
        optional(who.as_deref()),
        optional(unit.as_deref()),
        optional(hold.as_deref()),
        optional(moved_from.as_deref()),
        optional(details.and_then(|details| details.reference.as_deref())),
        optional(details.and_then(|details| details.used_by.as_deref())),
        optional(details.and_then(|details| details.verdict.as_deref())),
        number_or_null(details.and_then(|details| details.issue).map(u32::from)),
        optional(details.and_then(|details| details.import.as_deref())),
        number_or_null(details.and_then(|details| details.quantity)),
    ];
    format!("({})", columns.join(", "))
}

fn claim(row: &Row) -> String {
    let Row { number, campaign, pool, rank, subject, at, unit, hold, .. } = row;
    let columns = [
        rank.to_string(),
        at.as_micros().to_string(),
        number.to_string(),
        text(campaign),
        text(pool),
        text(subject),
        optional(unit.as_deref()),
        optional(hold.as_deref()),
    ];
    format!("({})", columns.join(", "))
}

fn optional(value: Option<&str>) -> String {
    value.map_or_else(|| "NULL".to_owned(), text)
}

fn number_or_null(value: Option<u32>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}

/// Marks the claims that results beyond a number undid, the first of several of one claim; counted by `ROW_COUNT`.
pub(super) fn cancel(identity: &Identity, after: u64) -> String {
    identity.sql(&format!(
        "UPDATE ~claims c JOIN (SELECT campaign, pool, rank, MIN(number) AS number FROM ~results \
         WHERE number > {after} AND kind = 'cancel' GROUP BY campaign, pool, rank) f \
         ON c.campaign = f.campaign AND c.pool = f.pool AND c.rank = f.rank \
         JOIN ~results r ON r.number = f.number \
         SET c.cancelled_at = r.at, c.cancelled_by = r.cancelled_by, c.reason = r.reason, c.who = r.who, \
         c.cancel_result = r.number \
         WHERE c.subject = r.subject AND c.result < r.number AND c.cancelled_at IS NULL; \
         SELECT ROW_COUNT()"
    ))
}

/// Gives claims the units they were moved to by results beyond a number, the last of several of one claim, after counting
/// them: one that comes back to the unit it had is not changed, and is there.
pub(super) fn moved(identity: &Identity, after: u64) -> String {
    let joined = format!(
        "~claims c JOIN (SELECT campaign, pool, rank, MAX(number) AS number FROM ~results \
         WHERE number > {after} AND kind = 'moved' AND rank > 0 GROUP BY campaign, pool, rank) l \
         ON c.campaign = l.campaign AND c.pool = l.pool AND c.rank = l.rank \
         JOIN ~results r ON r.number = l.number"
    );
    let fits = "c.subject = r.subject AND c.result < r.number";
    identity.sql(&format!(
        "SELECT COUNT(*) FROM {joined} WHERE {fits}; UPDATE {joined} SET c.unit = r.unit WHERE {fits}"
    ))
}

/// Finds the first result beyond a number that its claim does not fit.
pub(super) fn misfit(identity: &Identity, after: u64) -> String {
    identity.sql(&format!(
        "SELECT MIN(r.number) FROM ~results r WHERE r.number > {after} AND r.rank > 0 \
         AND NOT EXISTS (SELECT 1 FROM ~claims c WHERE c.campaign = r.campaign AND c.pool = r.pool \
         AND c.rank = r.rank AND CASE r.kind WHEN 'claim' THEN r.number = c.result \
         WHEN 'cancel' THEN r.number = c.cancel_result ELSE TRUE END)"
    ))
}
