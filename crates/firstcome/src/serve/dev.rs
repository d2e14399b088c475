//! A server for tests: everything in memory, campaigns from the start, and a clock that is moved forward.

use anyhow::{Context, bail};
use firstcome_api::key::Secret;
use firstcome_client::{Answer, Client, Match, Server};
use firstcome_core::SpaceId;
use firstcome_http::DevClock;
use std::net::SocketAddr;
use std::time::Duration;

/// The identity of its space, the same at each start: so are the codes that it makes.
pub(super) const SPACE: SpaceId = SpaceId(*b"firstcome dev   ");

/// How long one of its campaigns may take until it is there.
const SEED_WITHIN: Duration = Duration::from_secs(10);

/// What a server for tests begins with.
#[derive(Debug, Default)]
pub struct Dev {
    /// Its clock.
    pub clock: DevClock,
    /// Its campaigns: names and settings.
    pub campaigns: Vec<(String, firstcome_client::CampaignRequest)>,
}

impl Dev {
    /// Creates the campaigns, over HTTP as anybody would.
    pub(super) async fn seed(&self, address: SocketAddr, key: Secret) -> anyhow::Result<()> {
        let server = Server::parse(&format!("http://{address}")).map_err(anyhow::Error::msg)?;
        let client = Client::to(server, Some(key), SEED_WITHIN);
        for (name, settings) in &self.campaigns {
            let put = client.put_campaign(name, settings, Match::Nothing).await;
            let about = || format!("cannot create campaign {name}");
            if let Answer::No(_, problem) = put.with_context(about)? {
                bail!("cannot create campaign {name}: {}", problem.detail);
            }
        }
        Ok(())
    }
}
