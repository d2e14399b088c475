//! Results: final decisions, by number.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// One result.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ResultView))]
pub struct ResultLine {
    /// 1, 2, 3 over all campaigns of the space; those of one campaign have gaps.
    pub number: u64,
    /// `claim`, `cancel`, `refund_due`, `moved`, `redeemed`, `rolled_back`, `code_marked` or `unserved`.
    pub kind: Cow<'static, str>,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// The rank; 0 if there is no claim.
    pub rank: u32,
    /// The subject of the result.
    pub subject: String,
    /// When it happened.
    pub at: String,
    /// Who cancelled a claim: `subject` or `operator`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Cow<'static, str>>,
    /// Why a claim was undone, a seat moved or a code marked; for `unserved` `ended`, `not_taken` or `limit_reached`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The unit of a seated pool; the new one for a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// The id of its hold, if it was confirmed from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// The old unit of a move.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub moved_from: Option<String>,
    /// For `redeemed` and `rolled_back`, the reference: an order or a payment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// Who used the code, if that is not its holder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used_by: Option<String>,
    /// For `code_marked`, `revoke`, `suspend`, `restore` or `reissue`; for `rolled_back` `expired` if the use did not come
    /// back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Cow<'static, str>>,
    /// For `code_marked` of one code, its issue number from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issue: Option<u32>,
    /// For `code_marked` of a whole import, its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub import: Option<String>,
    /// For `unserved`, how many units the subject waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quantity: Option<u32>,
}

/// The columns of results as a table, wherever one is written.
pub const RESULT_COLUMNS: [&str; 18] = [
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
    "reference",
    "used_by",
    "verdict",
    "issue",
    "import",
    "quantity",
];

impl ResultLine {
    /// Returns the cells of its row, by [`RESULT_COLUMNS`].
    pub fn cells(self) -> [String; RESULT_COLUMNS.len()] {
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
            self.reference.unwrap_or_default(),
            self.used_by.unwrap_or_default(),
            self.verdict.unwrap_or_default().into_owned(),
            self.issue.map(|issue| issue.to_string()).unwrap_or_default(),
            self.import.unwrap_or_default(),
            self.quantity.map(|quantity| quantity.to_string()).unwrap_or_default(),
        ]
    }
}

/// A page of results.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = ResultsView))]
pub struct ResultPage {
    /// The results, by number.
    pub results: Vec<ResultLine>,
    /// The `after` of the next page; null if this is the last one so far.
    pub next: Option<u64>,
    /// The number of the last result of the space.
    pub last: u64,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this data is known to be durable; in the other formats the header `firstcome-durable: false` says that it is
    /// not.
    pub durable: bool,
}

/// Returns a cell of CSV that no spreadsheet takes for a formula.
///
/// Subjects and hold ids are chosen by clients. A cell that begins with `=`, `+`, `-`, `@`, a tab or a carriage return is
/// given with a `'` before it, by which a spreadsheet takes it for text.
pub fn without_formula(mut cell: String) -> String {
    if cell.starts_with(['=', '+', '-', '@', '\t', '\r']) {
        cell.insert(0, '\'');
    }
    cell
}
