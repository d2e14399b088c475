//! Answers about holds and seats. Fields a later server adds are ignored.

use serde::Deserialize;

use super::HeldClaim;

/// A unit of a hold; places of an area and units of a counted pool come with their quantity.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct HeldUnit {
    /// The pool.
    pub pool: String,
    /// The seat.
    #[serde(default)]
    pub unit: Option<String>,
    /// The area.
    #[serde(default)]
    pub area: Option<String>,
    /// How many, where they are not told apart.
    #[serde(default)]
    pub quantity: Option<u64>,
    /// What became of it, where a hold is shown.
    #[serde(default)]
    pub state: Option<String>,
    /// Its rank, once it is confirmed.
    #[serde(default)]
    pub rank: Option<u64>,
    /// Its grade.
    #[serde(default)]
    pub grade: Option<String>,
    /// The price of one, in the smallest unit of its currency.
    #[serde(default)]
    pub price_minor: Option<i64>,
    /// Three capital letters.
    #[serde(default)]
    pub currency: Option<String>,
}

/// Units set aside, now or before.
#[derive(Debug, Clone, Deserialize)]
pub struct Held {
    /// `held` or `already_held`; `confirmed` of an id whose hold was confirmed.
    pub outcome: String,
    /// The hold's id.
    pub hold: String,
    /// Everything it has set aside.
    pub units: Vec<HeldUnit>,
    /// When they are free again.
    #[serde(default)]
    pub expires_at: Option<String>,
}

/// A hold as it stands.
#[derive(Debug, Clone, Deserialize)]
pub struct Hold {
    /// The hold's id.
    pub hold: String,
    /// The campaign.
    pub campaign: String,
    /// Whose it is.
    pub subject: String,
    /// `live`, `confirmed`, `expired`, `released` or `refund_due`.
    pub state: String,
    /// When it began.
    pub started_at: String,
    /// When its units are free again, while it is live.
    #[serde(default)]
    pub expires_at: Option<String>,
    /// How many units it has set aside.
    pub held: u64,
    /// All its units, whatever became of them.
    pub units: Vec<HeldUnit>,
}

/// What a subject has over all campaigns that the key is for.
#[derive(Debug, Clone, Deserialize)]
pub struct Subject {
    /// Who.
    pub subject: String,
    /// The campaigns in which it has something.
    pub campaigns: Vec<SubjectIn>,
}

/// What a subject has in one campaign.
#[derive(Debug, Clone, Deserialize)]
pub struct SubjectIn {
    /// The campaign.
    pub campaign: String,
    /// Its live holds, in the order they began.
    pub holds: Vec<Hold>,
    /// Its claims, the latest first in each pool.
    pub claims: Vec<HeldClaim>,
}

/// A hold that lasts longer.
#[derive(Debug, Clone, Deserialize)]
pub struct Extended {
    /// `extended`.
    pub outcome: String,
    /// The hold's id.
    pub hold: String,
    /// When its units are free again.
    pub expires_at: String,
}

/// Units confirmed or released.
#[derive(Debug, Clone, Deserialize)]
pub struct Ended {
    /// `confirmed` or `released`.
    pub outcome: String,
    /// The hold's id.
    pub hold: String,
    /// The units asked about.
    pub units: Vec<HeldUnit>,
    /// Whether the hold had expired and its units were free to be taken again.
    #[serde(default)]
    pub retaken: bool,
    /// How many units it has set aside still.
    pub left: u64,
}

/// What an import added.
#[derive(Debug, Clone, Deserialize)]
pub struct Imported {
    /// Seats that were new.
    pub seats: u64,
    /// Areas that were new.
    pub areas: u64,
    /// All units of the pool now.
    pub capacity: u64,
}

/// Units blocked or unblocked.
#[derive(Debug, Clone, Deserialize)]
pub struct SeatsBlocked {
    /// `blocked` or `unblocked`.
    pub outcome: String,
    /// How many units it changed.
    pub units: u64,
}

/// A seat exchanged for another.
#[derive(Debug, Clone, Deserialize)]
pub struct SeatsMoved {
    /// The seat that is free now.
    pub from: String,
    /// The seat in its place.
    pub to: String,
    /// The rank of its claim, if it is confirmed.
    #[serde(default)]
    pub rank: Option<u64>,
}
