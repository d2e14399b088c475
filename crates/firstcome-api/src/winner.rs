//! Winners: the current claims, by rank.

use crate::hidden::Hidden;
use serde::{Deserialize, Serialize};

/// A live claim.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WinnerView))]
pub struct WinnerLine {
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// The rank in the pool.
    pub rank: u32,
    /// Its owner.
    pub subject: String,
    /// The current unit of the subject in a seated pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// When it was won.
    pub at: String,
    /// The id of its hold, if it was confirmed from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// Its code in a coded pool, if `with_codes` asks for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schema(value_type = Option<String>))]
    pub code: Option<Hidden<String>>,
}

/// The columns of winners as a table, wherever one is written without codes.
pub const WINNER_COLUMNS: [&str; 7] = ["campaign", "pool", "rank", "subject", "unit", "at", "hold"];

/// The columns of winners as a table with codes.
pub const WINNER_COLUMNS_WITH_CODES: [&str; 8] =
    ["campaign", "pool", "rank", "subject", "unit", "at", "hold", "code"];

impl WinnerLine {
    /// Returns the cells of its row, by [`WINNER_COLUMNS_WITH_CODES`].
    pub fn cells_with_code(mut self) -> [String; 8] {
        let code = self.code.take().unwrap_or_default().0;
        let [campaign, pool, rank, subject, unit, at, hold] = self.cells();
        [campaign, pool, rank, subject, unit, at, hold, code]
    }

    /// Returns the cells of its row, by [`WINNER_COLUMNS`].
    pub fn cells(self) -> [String; 7] {
        [
            self.campaign,
            self.pool,
            self.rank.to_string(),
            self.subject,
            self.unit.unwrap_or_default(),
            self.at,
            self.hold.unwrap_or_default(),
        ]
    }
}

/// A page of winners of one pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WinnersView))]
pub struct WinnerPage {
    /// The winners, by rank. Cancelled claims are left out.
    pub winners: Vec<WinnerLine>,
    /// The `after` of the next page; null if this is the last one so far.
    pub next: Option<u64>,
    /// The last rank given in the pool, cancelled or not.
    pub last_rank: u32,
    /// The position to which this answer belongs.
    pub position: String,
    /// Whether this data is known to be durable; in the other formats the header `firstcome-durable: false` says that it is
    /// not.
    pub durable: bool,
}
