//! Values in statements, and rows as the statements that write them.

use crate::ledger::Row;
use crate::ledger::share::{Share, Shares};
use firstcome_core::outcome::By;
use firstcome_store::mysql::text;

/// Bytes after which a statement is sent and another one begun: a server takes 1 MiB at least.
const STATEMENT_BYTES: usize = 512 << 10;

const POOLS: &str = "INSERT INTO ~pools (campaign_number, pool_number, campaign, pool, first_result, last_result, last_rank, \
    cancels) VALUES ";
const NOTED: &str = " ON DUPLICATE KEY UPDATE last_result = VALUES(last_result), \
    last_rank = GREATEST(last_rank, VALUES(last_rank)), cancels = cancels + VALUES(cancels)";
const RESULTS: &str = "INSERT INTO ~results (number, campaign_number, pool_number, in_campaign, rank, kind_number, at, \
    subject, unit, hold) VALUES ";
const DETAILS: &str = "INSERT INTO ~details (number, cancelled_by, reason, who, moved_from, reference, used_by, verdict, \
    issue, import, quantity) VALUES ";

/// Returns the statements that write a batch.
pub(super) fn statements(rows: &[Row], shares: &Shares<'_>) -> Vec<String> {
    let mut pools = RowList::new(POOLS, NOTED);
    for ((campaign_number, pool_number), share) in shares {
        let (campaign, pool) = (text(share.campaign), text(share.pool));
        pools.add(&format!(
            "({campaign_number}, {pool_number}, {campaign}, {pool}, {}, {}, {}, {})",
            share.first_result, share.last_result, share.last_rank, share.cancels
        ));
    }
    let (mut results, mut details) = (RowList::new(RESULTS, ""), RowList::new(DETAILS, ""));
    for row in rows {
        results.add(&result(row));
        if row.has_details() {
            details.add(&details_of(row));
        }
    }
    [pools, results, details].into_iter().flat_map(RowList::end).collect()
}

/// Asks what is there of the pools that a batch is about, by their numbers and by their names: written under other numbers, a
/// pool of the same names would be taken for it.
pub(super) fn known(shares: &Shares<'_>) -> String {
    let one = |((campaign, pool), share): (&(u32, u16), &Share<'_>)| {
        let names = (text(share.campaign), text(share.pool));
        format!(
            "campaign_number = {campaign} AND pool_number = {pool} OR campaign = {} AND pool = {}",
            names.0, names.1
        )
    };
    let pools: Vec<String> = shares.iter().map(one).collect();
    let columns = "campaign_number, pool_number, campaign, pool, last_rank";
    format!("SELECT {columns} FROM ~pools WHERE {}", pools.join(" OR "))
}

/// Puts values, which are written as SQL, into a statement.
pub(super) fn filled(sql: &str, values: &[String]) -> String {
    let put =
        |sql: String, (place, value): (usize, &String)| sql.replace(&format!("${place}"), value);
    (1..).zip(values).fold(sql.to_owned(), put)
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

    fn add(&mut self, row: &str) {
        if self.rows.len() + row.len() > STATEMENT_BYTES {
            self.finish();
        }
        if !self.rows.is_empty() {
            self.rows.push_str(", ");
        }
        self.rows.push_str(row);
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

fn result(row: &Row) -> String {
    let Row { number, campaign_number, pool_number, in_campaign, rank, kind, at, .. } = row;
    let (kind, at, subject) = (kind.code(), at.as_micros(), text(&row.subject));
    let (unit, hold) = (optional(row.unit.as_deref()), optional(row.hold.as_deref()));
    format!(
        "({number}, {campaign_number}, {pool_number}, {in_campaign}, {rank}, {kind}, {at}, {subject}, {unit}, {hold})"
    )
}

fn details_of(row: &Row) -> String {
    let Row { number, by, reason, who, moved_from, details, .. } = row;
    let details = details.as_deref();
    let columns = [
        number.to_string(),
        optional(by.map(By::as_str)),
        optional(reason.as_deref()),
        optional(who.as_deref()),
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

fn optional(value: Option<&str>) -> String {
    value.map_or_else(|| "NULL".to_owned(), text)
}

fn number_or_null(value: Option<u32>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| value.to_string())
}
