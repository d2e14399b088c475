//! Answers as the server writes them. Fields a later server adds are ignored.

use serde::Deserialize;
use serde_json::Value;

/// A refusal or failure as the server tells it (RFC 9457).
#[derive(Debug, Clone)]
pub struct Problem {
    /// The HTTP status.
    pub status: u16,
    /// The outcome's stable name, such as `sold_out`.
    pub outcome: String,
    /// One sentence for people.
    pub detail: String,
    /// Whether the same request may be answered otherwise later.
    pub retry: bool,
    /// `no`, or `unknown` where the request may have changed something.
    pub changed: String,
    /// The whole document.
    pub raw: Value,
}

impl Problem {
    /// Reads a problem document.
    ///
    /// # Errors
    ///
    /// When the body is none.
    pub fn read(status: u16, body: &[u8]) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Document {
            outcome: String,
            #[serde(default)]
            title: String,
            #[serde(default)]
            detail: String,
            #[serde(default)]
            retry: bool,
            #[serde(default = "no")]
            changed: String,
        }
        fn no() -> String {
            "no".to_owned()
        }
        let raw: Value = serde_json::from_slice(body)?;
        let read: Document = serde_json::from_value(raw.clone())?;
        let detail = if read.detail.is_empty() { read.title } else { read.detail };
        Ok(Self {
            status,
            outcome: read.outcome,
            detail,
            retry: read.retry,
            changed: read.changed,
            raw,
        })
    }

    /// The outcome and its sentence in one line.
    pub fn sentence(&self) -> String {
        if self.detail.is_empty() {
            self.outcome.clone()
        } else {
            format!("{}: {}", self.outcome, self.detail)
        }
    }
}

/// A campaign as a page needs it.
#[derive(Debug, Clone, Deserialize)]
pub struct Campaign {
    /// Its name.
    pub campaign: String,
    /// What people read.
    #[serde(default)]
    pub title: Option<String>,
    /// `draft`, `scheduled`, `open`, `paused` or `closed`.
    pub state: String,
    /// Grows with every change; travels in `If-Match`.
    pub version: u64,
    /// When it opens.
    #[serde(default)]
    pub opens_at: Option<String>,
    /// When it closes.
    #[serde(default)]
    pub closes_at: Option<String>,
    /// Milliseconds to the opening, 0 once open.
    #[serde(default)]
    pub opens_in_ms: Option<u64>,
    /// The server's clock.
    #[serde(default)]
    pub now: Option<String>,
    /// How many a subject may have.
    #[serde(default)]
    pub limits: Limits,
    /// Whether a subject may claim again after cancelling.
    #[serde(default)]
    pub claim_again: bool,
    /// Whether a cancelled unit returns to its pool.
    #[serde(default = "yes")]
    pub units_return: bool,
    /// Its pools.
    pub pools: Vec<CampaignPool>,
    /// Units left over all pools.
    #[serde(default)]
    pub left: u64,
    /// Results the ledger does not have yet.
    #[serde(default)]
    pub unsettled: u64,
    /// Whether the answer may be old.
    #[serde(default)]
    pub stale: bool,
}

fn yes() -> bool {
    true
}

/// Limits of a campaign.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Limits {
    /// Units a subject may have over all pools, held and claimed together.
    #[serde(default)]
    pub campaign: Option<u64>,
}

/// One pool of a campaign.
#[derive(Debug, Clone, Deserialize)]
pub struct CampaignPool {
    /// Its name.
    pub name: String,
    /// Its kind.
    #[serde(default)]
    pub kind: Option<String>,
    /// Units in all.
    pub capacity: u64,
    /// Units left.
    pub left: u64,
    /// Units that are somebody's.
    pub taken: u64,
    /// The newest rank given.
    #[serde(default)]
    pub last_rank: u64,
    /// Claims undone.
    #[serde(default)]
    pub cancelled: u64,
}

/// All campaigns.
#[derive(Debug, Clone, Deserialize)]
pub struct CampaignList {
    /// Those in memory.
    pub campaigns: Vec<Campaign>,
    /// Those that left it.
    #[serde(default)]
    pub archived: Vec<Value>,
}

/// An operator's command, done.
#[derive(Debug, Clone, Deserialize)]
pub struct OperatorDone {
    /// `created`, `changed` or `unchanged`.
    pub outcome: String,
    /// The campaign's version afterwards.
    #[serde(default)]
    pub version: u64,
    /// Capacities that could not go as far down as asked.
    #[serde(default)]
    pub clamped: Vec<Clamped>,
}

/// A capacity that stopped at what is given already.
#[derive(Debug, Clone, Deserialize)]
pub struct Clamped {
    /// The pool.
    pub pool: String,
    /// Its capacity now.
    pub capacity: u64,
}

/// A claim won, now or before.
#[derive(Debug, Clone, Deserialize)]
pub struct Won {
    /// `won` or `already_won`.
    pub outcome: String,
    /// The campaign.
    pub campaign: String,
    /// The pool.
    pub pool: String,
    /// Who.
    pub subject: String,
    /// The final place in the order, from 1.
    pub rank: u64,
    /// When it was decided.
    pub at: String,
}

/// What a subject has in a campaign.
#[derive(Debug, Clone, Deserialize)]
pub struct SubjectClaims {
    /// Live and cancelled claims, oldest first.
    pub claims: Vec<HeldClaim>,
}

/// One claim of a subject.
#[derive(Debug, Clone, Deserialize)]
pub struct HeldClaim {
    /// The pool.
    pub pool: String,
    /// The rank.
    pub rank: u64,
    /// When and by whom it was cancelled, if it was.
    #[serde(default)]
    pub cancelled: Option<Value>,
}

/// A claim undone.
#[derive(Debug, Clone, Deserialize)]
pub struct Cancelled {
    /// `cancelled`.
    pub outcome: String,
    /// The pool.
    pub pool: String,
    /// Whose claim.
    pub subject: String,
    /// Its rank, which nobody else will get.
    pub rank: u64,
    /// `subject` or `operator`.
    pub by: String,
}

/// A subject token.
#[derive(Debug, Clone, Deserialize)]
pub struct Minted {
    /// What its bearer sends.
    pub token: String,
    /// From when on it is not good any more.
    pub expires_at: String,
}

/// One page of results.
#[derive(Debug, Clone, Deserialize)]
pub struct ResultPage {
    /// The results, by number.
    pub results: Vec<ResultLine>,
    /// Where the next page begins, if there is one.
    #[serde(default)]
    pub next: Option<u64>,
}

/// One result.
#[derive(Debug, Clone, Deserialize)]
pub struct ResultLine {
    /// Its number; numbers run over all campaigns.
    pub number: u64,
    /// `claim`, `cancel`, `refund_due` or `moved`.
    pub kind: String,
    /// The pool.
    pub pool: String,
    /// The rank.
    pub rank: u64,
    /// Whose.
    pub subject: String,
    /// When.
    pub at: String,
    /// Who cancelled.
    #[serde(default)]
    pub by: Option<String>,
    /// Why it was cancelled.
    #[serde(default)]
    pub reason: Option<String>,
    /// The unit of a seated pool; of a move the new one.
    #[serde(default)]
    pub unit: Option<String>,
    /// The id of the hold it came from.
    #[serde(default)]
    pub hold: Option<String>,
}
