//! The counts of a campaign and its results, as far as the checks need them.

use firstcome_client::{Ask, ResultFormat, ResultRange};
use serde::Deserialize;

use super::connections::Connections;
use crate::error::LoadError;

/// The campaign as far as the checks need it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct CampaignCounts {
    /// The position of the journal they are as of.
    #[serde(default)]
    pub(crate) position: String,
    #[serde(default)]
    pub(crate) live_holds: u64,
    /// Results that the ledger does not have yet.
    #[serde(default)]
    pub(crate) unsettled: u64,
    pub(crate) pools: Vec<PoolCounts>,
}

/// A pool as far as the checks need it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct PoolCounts {
    pub(crate) name: String,
    pub(crate) capacity: u64,
    pub(crate) left: u64,
    pub(crate) taken: u64,
    /// Held, or offered to those who wait.
    #[serde(default)]
    pub(crate) held: u64,
    #[serde(default)]
    pub(crate) blocked: u64,
}

/// One result as far as the checks need it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct PersonResult {
    pub(crate) number: u64,
    pub(crate) kind: String,
    pub(crate) pool: String,
    pub(crate) rank: u64,
    pub(crate) subject: String,
    /// The seat.
    #[serde(default)]
    pub(crate) unit: Option<String>,
    #[serde(default)]
    pub(crate) hold: Option<String>,
    /// The reference of a redemption.
    #[serde(default)]
    pub(crate) reference: Option<String>,
}

#[derive(Debug, Deserialize)]
struct ResultsPage {
    results: Vec<PersonResult>,
    #[serde(default)]
    next: Option<u64>,
}

/// Reads all results of a campaign.
pub(crate) async fn all_results(
    campaign: &str,
    connections: &Connections,
) -> Result<Vec<PersonResult>, LoadError> {
    let mut results = Vec::new();
    let mut after = 0;
    loop {
        let range = ResultRange { after, limit: 10_000 };
        let page: ResultsPage =
            connections.read(Ask::results(campaign, range, ResultFormat::Json)).await?;
        results.extend(page.results);
        match page.next {
            Some(next) if next > after => after = next,
            Some(_) | None => return Ok(results),
        }
    }
}
