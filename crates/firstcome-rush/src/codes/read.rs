//! Reads the results, the counts of the campaign and every issued code at the end.

use std::sync::Arc;
use std::time::{Duration, Instant};

use firstcome_api::code::{CodeLookUpRequest, CodesFound, IssuedCode};
use firstcome_api::node::Settling;
use firstcome_client::Ask;
use tokio::task::JoinSet;

use super::Plan;
use super::record::Record;
use crate::error::LoadError;
use crate::people::{CampaignCounts, Connections, PersonResult, all_results};

/// The results once more, as the ledger has them.
#[derive(Debug, Default)]
pub(super) enum Ledger {
    /// There is none.
    #[default]
    None,
    /// It did not have all of them in time.
    Late,
    /// These.
    Read(Vec<PersonResult>),
}

/// What was read at the end.
#[derive(Debug, Default)]
pub(crate) struct Read {
    pub(super) counts: CampaignCounts,
    pub(super) results: Vec<PersonResult>,
    pub(super) ledger: Ledger,
    /// Codes as they are looked up, by their holders.
    pub(super) codes: Vec<IssuedCode>,
}

/// How long results may take to reach the ledger before they are not compared with it.
const SETTLES_WITHIN: Duration = Duration::from_secs(20);

/// Look-ups that are under way at a time.
const AT_ONCE: usize = 16;

/// Reads everything.
pub(super) async fn read(
    plan: &Arc<Plan>,
    connections: &Arc<Connections>,
    record: &Record,
) -> Result<Read, LoadError> {
    let counts = connections.read(Ask::campaign(&plan.campaign)).await?;
    let results = all_results(&plan.campaign, connections).await?;
    let codes = look_up(plan, connections, record).await?;
    let ledger = from_ledger(plan, connections).await?;
    Ok(Read { counts, results, ledger, codes })
}

/// Reads the results again once the ledger has all of them: a server then reads them there.
async fn from_ledger(
    plan: &Arc<Plan>,
    connections: &Arc<Connections>,
) -> Result<Ledger, LoadError> {
    let settling: Settling = connections.read(Ask::get("/v1/settling")).await?;
    if settling.ledger == "none" {
        return Ok(Ledger::None);
    }
    let until = Instant::now() + SETTLES_WITHIN;
    loop {
        let counts: CampaignCounts = connections.read(Ask::campaign(&plan.campaign)).await?;
        if counts.unsettled == 0 {
            return Ok(Ledger::Read(all_results(&plan.campaign, connections).await?));
        }
        if Instant::now() >= until {
            return Ok(Ledger::Late);
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Looks up the codes of everybody who has one.
async fn look_up(
    plan: &Arc<Plan>,
    connections: &Arc<Connections>,
    record: &Record,
) -> Result<Vec<IssuedCode>, LoadError> {
    let (mut codes, mut running) = (Vec::new(), JoinSet::new());
    let mut holders = record.answers.issued.iter().map(|issued| issued.subject.clone());
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
