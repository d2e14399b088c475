//! The routes a client uses, one request each.

use serde_json::{Value, json};

use super::Ask;
use super::address::encode_segment;

/// What a PUT expects to find.
#[derive(Debug, Clone, Copy)]
pub enum Match {
    /// No campaign of that name.
    Nothing,
    /// This version of it.
    Version(u64),
}

/// A cancel as asked for.
#[derive(Debug, Clone)]
pub struct CancelAsk {
    /// The campaign.
    pub campaign: String,
    /// Whose claim.
    pub subject: String,
    /// The pool, where there are several.
    pub pool: Option<String>,
    /// The claim's rank, so that a repeated cancel cannot hit a newer claim.
    pub rank: u64,
    /// Why; required of an operator.
    pub reason: Option<String>,
    /// Whether an operator passes on the subject's own wish.
    pub by_subject: bool,
}

/// Which results.
#[derive(Debug, Clone, Copy)]
pub struct ResultRange {
    /// Results with a greater number.
    pub after: u64,
    /// At most so many.
    pub limit: u64,
}

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormat {
    /// One document.
    Json,
    /// A document a line.
    Ndjson,
    /// RFC 4180.
    Csv,
}

pub(super) fn campaign_path(campaign: &str) -> String {
    format!("/v1/campaigns/{}", encode_segment(campaign))
}

impl Ask {
    /// Reads a campaign.
    pub fn campaign(campaign: &str) -> Self {
        Self::get(campaign_path(campaign))
    }

    /// Reads all campaigns.
    pub fn campaigns() -> Self {
        Self::get("/v1/campaigns")
    }

    /// Creates or changes a campaign.
    pub fn put_campaign(campaign: &str, settings: Value, expect: Match, id: &str) -> Self {
        let mut ask = Self::change("PUT", campaign_path(campaign));
        ask.body = Some(settings);
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask.headers.push(match expect {
            Match::Nothing => ("if-none-match", "*".to_owned()),
            Match::Version(version) => ("if-match", format!("\"{version}\"")),
        });
        ask
    }

    /// Pauses, resumes, closes or archives a campaign.
    pub fn operate(campaign: &str, verb: &str, body: Option<Value>, id: &str) -> Self {
        let mut ask = Self::change("POST", format!("{}/{verb}", campaign_path(campaign)));
        ask.body = body;
        ask.headers.push(("idempotency-key", id.to_owned()));
        ask
    }

    /// Claims a unit for a subject.
    pub fn claim(campaign: &str, subject: &str, pool: Option<&str>) -> Self {
        let mut ask = Self::change("POST", format!("{}/claims", campaign_path(campaign)));
        let mut body = json!({"subject": subject});
        if let Some(pool) = pool {
            body["pool"] = pool.into();
        }
        ask.body = Some(body);
        ask
    }

    /// Reads what a subject has.
    pub fn claims_of(campaign: &str, subject: &str) -> Self {
        Self::get(format!("{}/claims/{}", campaign_path(campaign), encode_segment(subject)))
    }

    /// Undoes a claim.
    pub fn cancel(cancel: &CancelAsk) -> Self {
        let path = campaign_path(&cancel.campaign);
        let mut path =
            format!("{path}/claims/{}?rank={}", encode_segment(&cancel.subject), cancel.rank);
        if let Some(pool) = &cancel.pool {
            path.push_str(&format!("&pool={}", encode_segment(pool)));
        }
        if let Some(reason) = &cancel.reason {
            path.push_str(&format!("&reason={}", encode_segment(reason)));
        }
        if cancel.by_subject {
            path.push_str("&by=subject");
        }
        Self::change("DELETE", path)
    }

    /// Reads results.
    pub fn results(campaign: &str, range: ResultRange, format: ResultFormat) -> Self {
        let path = campaign_path(campaign);
        let mut ask =
            Self::get(format!("{path}/results?after={}&limit={}", range.after, range.limit));
        let accept = match format {
            ResultFormat::Json => "application/json",
            ResultFormat::Ndjson => "application/x-ndjson",
            ResultFormat::Csv => "text/csv",
        };
        ask.headers.push(("accept", accept.to_owned()));
        ask
    }

    /// Reads the server's clock.
    pub fn time() -> Self {
        Self::get("/v1/time")
    }

    /// Reads the nodes of the space.
    pub fn nodes() -> Self {
        Self::get("/v1/nodes")
    }

    /// Has the server write its state into a store that has nothing of the space any more.
    pub fn reseed() -> Self {
        Self::change("POST", "/v1/reseed")
    }
}
