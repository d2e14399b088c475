//! What is sent of a result. It is the same, byte for byte, however often it is sent.

use firstcome_core::outcome::By;
use firstcome_core::results::Kind;
use firstcome_node::ledger::{Details, Row};
use serde::Serialize;

/// Every type of event, with the kind of result that it says.
pub const TYPES: [(&str, Kind); 8] = [
    ("claim.won", Kind::Claim),
    ("claim.cancelled", Kind::Cancel),
    ("refund.due", Kind::RefundDue),
    ("seat.moved", Kind::Moved),
    ("code.redeemed", Kind::Redeemed),
    ("code.rolled_back", Kind::RolledBack),
    ("code.marked", Kind::CodeMarked),
    ("waitlist.unserved", Kind::Unserved),
];

/// Digits of a ledger's id that ids of events begin with.
const SHORT: usize = 8;
/// The type of the event that an operator asks for.
pub(crate) const TEST: &str = "webhook.test";

/// An event as it travels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Event {
    /// The same each time it is sent: the ledger's short id, the campaign's number, and the result's number in it.
    pub(crate) id: String,
    /// JSON.
    pub(crate) body: String,
}

#[derive(Serialize)]
struct Body<'a, D> {
    #[serde(rename = "type")]
    kind: &'a str,
    timestamp: String,
    data: D,
}

/// What a result says. What it does not have is left out.
#[derive(Serialize)]
struct Data<'a> {
    number: u64,
    in_campaign: u32,
    campaign: &'a str,
    pool: &'a str,
    rank: u32,
    subject: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    hold: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    moved_from: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    who: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reference: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    used_by: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    issue: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    import: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    quantity: Option<u32>,
}

impl Event {
    /// Returns what is sent of a result of the ledger of this id.
    pub(crate) fn of(row: &Row, ledger: &str) -> Self {
        let none = Details::default();
        let details = row.details.as_deref().unwrap_or(&none);
        let data = Data {
            number: row.number,
            in_campaign: row.in_campaign,
            campaign: &row.campaign,
            pool: &row.pool,
            rank: row.rank,
            subject: &row.subject,
            unit: row.unit.as_deref(),
            hold: row.hold.as_deref(),
            moved_from: row.moved_from.as_deref(),
            by: row.by.map(By::as_str),
            reason: row.reason.as_deref(),
            who: row.who.as_deref(),
            reference: details.reference.as_deref(),
            used_by: details.used_by.as_deref(),
            verdict: details.verdict.as_deref(),
            issue: details.issue,
            import: details.import.as_deref(),
            quantity: details.quantity,
        };
        let short = ledger.get(..SHORT).unwrap_or(ledger);
        let id = format!("{short}_{}_{:06}", row.campaign_number, row.in_campaign);
        Self { id, body: body(type_of(row.kind), row.at.as_micros(), data) }
    }

    /// Returns an event that says nothing.
    pub(crate) fn test(at: i64) -> Self {
        let body = body(TEST, at, serde_json::Map::new());
        Self { id: format!("test_{:016x}", fastrand::u64(..)), body }
    }
}

/// Returns the type of the event of a kind of result.
pub(crate) fn type_of(kind: Kind) -> &'static str {
    let found = TYPES.iter().find(|(_, of)| *of == kind);
    found.map_or("", |(name, _)| name)
}

fn body(kind: &str, at: i64, data: impl Serialize) -> String {
    let timestamp = jiff::Timestamp::from_microsecond(at).unwrap_or_default();
    let timestamp = format!("{timestamp:.6}");
    serde_json::to_string(&Body { kind, timestamp, data }).expect("an event can be written as JSON")
}
