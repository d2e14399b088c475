//! Reads the results and the counts of the campaign at the end.

use std::time::Duration;

use firstcome_client::{Ask, ResultFormat, ResultRange};
use serde::Deserialize;

use super::plan::Plan;
use super::record::Record;
use crate::failure::LoadError;
use crate::people::Connections;

/// The campaign as far as the check needs it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct CampaignCounts {
    /// The position of the journal they are as of.
    #[serde(default)]
    pub(crate) position: String,
    #[serde(default)]
    pub(crate) live_holds: u64,
    pub(crate) pools: Vec<PoolCounts>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct PoolCounts {
    pub(crate) name: String,
    pub(crate) capacity: u64,
    pub(crate) left: u64,
    pub(crate) taken: u64,
    #[serde(default)]
    pub(crate) held: u64,
    #[serde(default)]
    pub(crate) blocked: u64,
}

/// One result as far as the check needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct SeatResult {
    pub(super) number: u64,
    pub(super) kind: String,
    pub(super) pool: String,
    pub(super) rank: u64,
    pub(super) subject: String,
    #[serde(default)]
    pub(super) unit: Option<String>,
    #[serde(default)]
    pub(super) hold: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SeatResults {
    results: Vec<SeatResult>,
    #[serde(default)]
    next: Option<u64>,
}

/// Reads the counts of the campaign, once the last holds are over where nobody else has any, and the results.
pub(super) async fn read(
    plan: &Plan,
    connections: &Connections,
    record: &Record,
) -> Result<(CampaignCounts, Vec<SeatResult>), LoadError> {
    let last = record.holds.iter().map(|held| held.answered).max().unwrap_or_default();
    let over = last + plan.hold + plan.slack;
    let counts = loop {
        let counts: CampaignCounts = connections.read(Ask::campaign(&plan.campaign)).await?;
        let held = counts.pools.iter().any(|pool| pool.name == plan.pool && pool.held > 0);
        if !plan.alone || !held || connections.answers.now() > over {
            break counts;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let mut results = Vec::new();
    let mut after = 0;
    loop {
        let range = ResultRange { after, limit: 10_000 };
        let page: SeatResults =
            connections.read(Ask::results(&plan.campaign, range, ResultFormat::Json)).await?;
        results.extend(page.results);
        match page.next {
            Some(next) if next > after => after = next,
            Some(_) | None => break,
        }
    }
    Ok((counts, results))
}
