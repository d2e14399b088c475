//! The campaign of a demonstration, and the requests that demonstrations and rehearsals send.

use std::time::Duration;

use firstcome_client::{Ask, Campaign, Client, Match, OperatorDone, Reply};
use serde_json::Value;

use crate::error::LoadError;
use crate::server::{ServerError, ServerProcess};

/// Why a demonstration or a rehearsal could not be carried to its end.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The server's process or folder.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The load test.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A request beside those of the load test.
    #[error(transparent)]
    Client(#[from] firstcome_client::Failure),
    /// A refusal of something that is needed.
    #[error("the server refused what this needs: {0}")]
    Refused(String),
}

/// The campaign of every demonstration.
pub const CAMPAIGN: &str = "demo";

/// Its only pool.
pub(crate) const POOL: &str = "main";

/// A client with the key of the server.
pub(crate) fn client(server: &ServerProcess) -> Client {
    Client::to(server.address().clone(), Some(server.key().clone()), Duration::from_secs(10))
}

/// Sends a request that must not be refused.
pub(crate) async fn ask<T: serde::de::DeserializeOwned>(
    client: &mut Client,
    ask: Ask,
) -> Result<T, DemoError> {
    match client.ask(ask).await? {
        Reply::Yes(answer, _) => Ok(answer),
        Reply::No(problem) => Err(DemoError::Refused(problem.sentence())),
    }
}

/// Creates a campaign, opening so long from now by the server's own clock.
pub(crate) async fn schedule(
    client: &mut Client,
    campaign: &str,
    mut settings: Value,
    before: Duration,
) -> Result<(), DemoError> {
    let time: Value = ask(client, Ask::time()).await?;
    let now = time["now"].as_str().and_then(|now| now.parse::<jiff::Timestamp>().ok());
    let opens_at = now.and_then(|now| now.checked_add(before).ok());
    let opens_at =
        opens_at.ok_or_else(|| DemoError::Refused("its time cannot be read".to_owned()))?;
    settings["opens_at"] = opens_at.to_string().into();
    let put = Ask::put_campaign(campaign, settings, Match::Nothing, "demo");
    ask::<OperatorDone>(client, put).await.map(drop)
}

/// How long until a campaign opens, by the server's own clock.
pub(crate) async fn opens_in(client: &mut Client, campaign: &str) -> Result<Duration, DemoError> {
    let campaign: Campaign = ask(client, Ask::campaign(campaign)).await?;
    Ok(Duration::from_millis(campaign.opens_in_ms.unwrap_or(0).unsigned_abs()))
}

/// Waits until the ledger has every result, for as long as a small ledger could need.
pub(crate) async fn ledger_complete(client: &mut Client, campaign: &str) -> Result<(), DemoError> {
    for _ in 0..200 {
        let campaign: Campaign = ask(client, Ask::campaign(campaign)).await?;
        if campaign.unsettled.unwrap_or(0) == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}
