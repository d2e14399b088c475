//! Winners: who has what now, by rank.

use serde::{Deserialize, Serialize};

/// A claim that stands.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WinnerView))]
pub struct WinnerLine {
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// The rank in the pool.
    pub rank: u32,
    /// Who has it.
    pub subject: String,
    /// The unit of a seated pool that the subject has now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// When it was won.
    pub at: String,
    /// The id of the hold it came from, if it came from one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
}

/// The columns of winners as a table, wherever one is written.
pub const WINNER_COLUMNS: [&str; 7] = ["campaign", "pool", "rank", "subject", "unit", "at", "hold"];

impl WinnerLine {
    /// Gives the cells of its row, by [`WINNER_COLUMNS`].
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

/// A run of winners of one pool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema), schema(as = WinnersView))]
pub struct WinnerPage {
    /// The winners, by rank. Cancelled claims are left out.
    pub winners: Vec<WinnerLine>,
    /// What to give as `after` to go on; null when these were the last so far.
    pub next: Option<u64>,
    /// The last rank given in the pool, cancelled or not.
    pub last_rank: u32,
    /// The position this is as of.
    pub position: String,
    /// Whether these are known to be as durable as answers to commands are; in the other formats
    /// the header `firstcome-durable: false` says that they are not.
    pub durable: bool,
}
