//! Reads the results, the counts of the campaign and every issued code at the end.

use std::sync::Arc;

use firstcome_api::code::{CodeLookUpRequest, CodesFound, IssuedCode};
use firstcome_client::{Ask, ResultFormat, ResultRange};
use serde::Deserialize;
use tokio::task::JoinSet;

use super::plan::Plan;
use super::record::Record;
use crate::failure::LoadError;
use crate::people::Connections;

/// The campaign as far as the check needs it.
#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct CampaignCounts {
    pub(super) pools: Vec<PoolCounts>,
}

#[derive(Debug, Clone, Default, Deserialize)]
pub(super) struct PoolCounts {
    pub(super) name: String,
    pub(super) capacity: u64,
    pub(super) left: u64,
    pub(super) taken: u64,
}

/// One result as far as the check needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct CodeResult {
    pub(super) kind: String,
    pub(super) pool: String,
    pub(super) rank: u64,
    pub(super) subject: String,
    #[serde(default)]
    pub(super) reference: Option<String>,
}

#[derive(Debug, Deserialize)]
struct CodeResults {
    results: Vec<CodeResult>,
    #[serde(default)]
    next: Option<u64>,
}

/// What was read at the end.
#[derive(Debug, Default)]
pub(super) struct Read {
    pub(super) counts: CampaignCounts,
    pub(super) results: Vec<CodeResult>,
    /// Codes as they are looked up, by their holders.
    pub(super) codes: Vec<IssuedCode>,
}

/// Look-ups that are under way at a time.
const AT_ONCE: usize = 16;

/// Reads everything.
pub(super) async fn read(
    plan: &Arc<Plan>,
    connections: &Arc<Connections>,
    record: &Record,
) -> Result<Read, LoadError> {
    let counts = connections.read(Ask::campaign(&plan.campaign)).await?;
    let mut results = Vec::new();
    let mut after = 0;
    loop {
        let range = ResultRange { after, limit: 10_000 };
        let page: CodeResults =
            connections.read(Ask::results(&plan.campaign, range, ResultFormat::Json)).await?;
        results.extend(page.results);
        match page.next {
            Some(next) if next > after => after = next,
            Some(_) | None => break,
        }
    }
    let codes = look_up(plan, connections, record).await?;
    Ok(Read { counts, results, codes })
}

/// Looks up the codes of everybody who has one.
async fn look_up(
    plan: &Arc<Plan>,
    connections: &Arc<Connections>,
    record: &Record,
) -> Result<Vec<IssuedCode>, LoadError> {
    let (mut codes, mut running) = (Vec::new(), JoinSet::new());
    let mut holders = record.issued.iter().map(|issued| issued.subject.clone());
    loop {
        while running.len() < AT_ONCE
            && let Some(holder) = holders.next()
        {
            let (plan, connections) = (Arc::clone(plan), Arc::clone(connections));
            running.spawn(async move {
                let body = CodeLookUpRequest {
                    subject: Some(holder.into()),
                    pool: Some(plan.pool.as_str().into()),
                    ..CodeLookUpRequest::default()
                };
                let ask = Ask::code_step(&plan.campaign, "look-up", body);
                connections.read::<CodesFound>(ask).await
            });
        }
        match running.join_next().await {
            Some(found) => codes.extend(found.expect("a look-up does not panic")?.codes),
            None => return Ok(codes),
        }
    }
}
