//! Results: what was decided for good, by number.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One result.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ResultView))]
pub struct ResultLine {
    /// 1, 2, 3 over all campaigns of the shard; a campaign's own have gaps.
    pub number: u64,
    /// `claim`, `cancel`, `refund_due` or `moved`.
    pub kind: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// 0 where it is about no claim.
    pub rank: u32,
    /// Whose result it is.
    pub subject: String,
    /// When it happened.
    pub at: String,
    /// On whose word a claim was undone: `subject` or `operator`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Cow<'static, str>>,
    /// Why a claim was undone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The unit of a seated pool; of a move the new one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The id of the hold it came from, if it came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Of a move the old unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
}

/// The columns of results as a table, wherever one is written.
pub const RESULT_COLUMNS: [&str; 12] = [
    "number",
    "kind",
    "campaign",
    "pool",
    "rank",
    "subject",
    "at",
    "by",
    "reason",
    "unit",
    "hold",
    "moved_from",
];

impl ResultLine {
    /// Gives the cells of its row, by [`RESULT_COLUMNS`].
    pub fn cells(self) -> [String; 12] {
        [
            self.number.to_string(),
            self.kind.into_owned(),
            self.campaign,
            self.pool,
            self.rank.to_string(),
            self.subject,
            self.at,
            self.by.unwrap_or_default().into_owned(),
            self.reason.unwrap_or_default(),
            self.unit.unwrap_or_default(),
            self.hold.unwrap_or_default(),
            self.moved_from.unwrap_or_default(),
        ]
    }
}

/// A run of results.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ResultsView))]
pub struct ResultPage {
    /// The results, by number.
    pub results: Vec<ResultLine>,
    /// What to give as `after` to go on; null when these were the last so far.
    pub next: Option<u64>,
    /// The number of the last result of the shard.
    pub last: u64,
    /// The position this is as of.
    pub position: String,
    /// Whether these are known to be as durable as answers to commands are; in the other formats
    /// the header `firstcome-durable: false` says that they are not.
    pub durable: bool,
}

/// Gives a cell of CSV that no spreadsheet takes for a formula.
///
/// Subjects and hold ids are chosen by clients. A cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return is
/// given with a `'` before it, by which a spreadsheet takes it for text.
pub fn without_formula(mut cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        cell.insert(0, '\'');
    }
    cell
}
