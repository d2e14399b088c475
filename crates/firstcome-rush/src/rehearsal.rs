//! A rehearsal: the campaign of somebody's settings in a space of its own, a crowd for each of its pools, and a check.
//!
//! The server is a child process, as in a demonstration. It has the store that it is given, and of it only a space that
//! nobody else uses. The pools have their crowds one after the other, so that the figures of each are its own.

mod crowd;

use std::path::PathBuf;
use std::time::Duration;

use firstcome_client::{
    Ask, Campaign, CampaignPool, Client, ResultFormat, ResultPage, ResultRange,
};
use serde_json::{Value, json};

use crate::demo::campaign::{ask, client, ledger_complete, schedule};
use crate::demo::{DemoError, Proof, proofs};
use crate::outage::whole_ms;
use crate::server::{ServerProcess, Setup};
use crate::{claims, codes, seats};

/// The name of the campaign in its own space.
pub const CAMPAIGN: &str = "rehearsal";

/// What is to be rehearsed.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The settings of the campaign, in the form of `PUT /v1/campaigns/NAME`. It opens as `before` says, and never closes.
    pub settings: Value,
    /// How long people wait for the opening; with nothing it opens at once.
    pub before: Duration,
    /// The data folder of the server, which must not be there.
    pub folder: PathBuf,
    /// Leave the folder behind.
    pub keep: bool,
    /// The settings of the server, as environment variables: its store and its space.
    pub server: Vec<(&'static str, String)>,
    /// The name of the server's configuration file in its folder, and what is in it.
    pub config: (&'static str, String),
    /// Who comes.
    pub crowd: Crowd,
}

/// Who comes to each pool.
#[derive(Debug, Clone)]
pub struct Crowd {
    /// How many people, 1 to 10,000,000; as many as fit the pool if nothing is said.
    pub subjects: Option<u32>,
    /// Claims in a counted pool: more than one of each person are repeats; three for two people if nothing is said.
    pub requests: Option<u64>,
    /// Their connections.
    pub connections: usize,
    /// Claims, or people, that come in a second; as fast as answers come if nothing is said.
    pub per_second: Option<f64>,
    /// Everything random follows from it; who is first depends on the machine, too.
    pub seed: u64,
}

/// How it is going, in the pool that has its crowd now.
#[derive(Debug, Clone, Copy)]
pub enum Progress<'a> {
    /// Of a counted pool.
    Claims(&'a claims::ClaimsProgress),
    /// Of a pool of seats.
    Seats(&'a seats::Progress),
    /// Of a pool of codes.
    Codes(&'a codes::Progress),
}

/// Is called with what happens while it happens.
pub trait Observer: Send {
    /// Something happened.
    fn say(&mut self, what: &str);
    /// So long until the opening.
    fn countdown(&mut self, left: Duration);
    /// The crowd of a pool comes: so many people, or claims of a counted pool.
    fn begins(&mut self, pool: &CampaignPool, crowd: u64);
    /// Called about ten times a second while the crowd is there.
    fn progress(&mut self, now: Progress<'_>);
    /// The crowd of a pool is gone.
    fn ended(&mut self);
}

/// What the load test of a pool found.
#[derive(Debug)]
pub enum PoolReport {
    /// Of a counted pool.
    Claims(Box<claims::Report>),
    /// Of a pool of seats.
    Seats(Box<seats::Report>),
    /// Of a pool of codes.
    Codes(Box<codes::Report>),
}

impl PoolReport {
    /// Whether every promise was kept, and all of them could be checked.
    fn kept(&self) -> bool {
        match self {
            Self::Claims(report) => report.kept() && report.cut_short.is_none(),
            Self::Seats(report) => report.kept() && report.cut_short.is_none(),
            Self::Codes(report) => report.kept() && report.cut_short.is_none(),
        }
    }

    fn json(&self) -> Value {
        match self {
            Self::Claims(report) => report.json(),
            Self::Seats(report) => report.json(),
            Self::Codes(report) => report.json(),
        }
    }
}

/// What was rehearsed in a pool.
#[derive(Debug)]
pub struct PoolShown {
    /// The pool, as it was at the end.
    pub pool: CampaignPool,
    /// Claims that stand.
    pub claims: u64,
    /// The first and the last rank, if there is one.
    pub ranks: Option<(u64, u64)>,
    /// How long the first claim was before the last one, if nothing was left at the end.
    pub sold_out_after: Option<Duration>,
    /// What the load test found.
    pub report: PoolReport,
}

/// What was rehearsed.
#[derive(Debug)]
pub struct Shown {
    /// Each pool, in the order of the settings.
    pub pools: Vec<PoolShown>,
    /// What the journal and the ledger prove, beside what the load tests found.
    pub proofs: Vec<Proof>,
    /// What `audit` said.
    pub audit: Value,
    /// The folder, where it was kept.
    pub folder: Option<PathBuf>,
}

impl Shown {
    /// Whether every promise was kept and every proof holds.
    pub fn kept(&self) -> bool {
        self.pools.iter().all(|pool| pool.report.kept())
            && self.proofs.iter().all(|proof| proof.kept)
    }

    /// The result for machines.
    pub fn json(&self) -> Value {
        let pool = |shown: &PoolShown| {
            json!({
                "pool": shown.pool.name,
                "kind": shown.pool.kind,
                "capacity": shown.pool.capacity,
                "left": shown.pool.left,
                "claims": shown.claims,
                "first_rank": shown.ranks.map(|(first, _)| first),
                "last_rank": shown.ranks.map(|(_, last)| last),
                "sold_out_after_ms": shown.sold_out_after.map(whole_ms),
                "rush": shown.report.json(),
            })
        };
        json!({
            "kept": self.kept(),
            "pools": self.pools.iter().map(pool).collect::<Vec<_>>(),
            "proofs": self.proofs.iter().map(Proof::json).collect::<Vec<_>>(),
            "audit": self.audit,
            "folder": self.folder,
        })
    }
}

/// Rehearses.
///
/// # Errors
///
/// When it cannot be carried to its end. A broken promise is no error: it is in what was [`Shown`].
///
/// # Cancel safety
///
/// Dropping the future kills the server and removes its folder; what is in a shared store stays there.
pub async fn run(plan: Plan, observer: &mut dyn Observer) -> Result<Shown, DemoError> {
    let Plan { settings, before, folder, keep, server, config, crowd } = plan;
    let setup = Setup { folder, keep, settings: server, config: Some(config) };
    let mut server = ServerProcess::start(setup).await?;
    observer.say(&format!(
        "started a server on {}, its data in {}",
        server.address(),
        server.folder().display()
    ));
    let mut client = client(&server);
    create(&mut client, settings, before).await?;
    wait_for_opening(&mut client, observer).await?;
    let campaign: Campaign = ask(&mut client, Ask::campaign(CAMPAIGN)).await?;
    let mut reports = Vec::new();
    for (index, pool) in campaign.pools.iter().enumerate() {
        let pool = crowd::CrowdPool { pool, index, settings: &campaign };
        reports.push(crowd::comes(&mut client, &server, &pool, &crowd, observer).await?);
    }
    ledger_complete(&mut client, CAMPAIGN).await?;
    observer.say("recomputing everything from the journal");
    let audit = server.audit().await?;
    let proofs = vec![proofs::same_digest(&audit), proofs::equal_ledger(&audit)];
    let pools = shown(&mut client, reports).await?;
    server.stop().await?;
    Ok(Shown { pools, proofs, audit, folder: server.close() })
}

/// Creates the campaign, which opens so long from now.
async fn create(
    client: &mut Client,
    mut settings: Value,
    before: Duration,
) -> Result<(), DemoError> {
    settings["closes_at"] = Value::Null;
    schedule(client, CAMPAIGN, settings, before).await
}

/// Counts down until the campaign is open.
async fn wait_for_opening(
    client: &mut Client,
    observer: &mut dyn Observer,
) -> Result<(), DemoError> {
    loop {
        let campaign: Campaign = ask(client, Ask::campaign(CAMPAIGN)).await?;
        if campaign.state == "open" {
            return Ok(());
        }
        let left = campaign.opens_in_ms.and_then(|left| u64::try_from(left).ok()).unwrap_or(0);
        let left = Duration::from_millis(left);
        observer.countdown(left);
        tokio::time::sleep(left.clamp(Duration::from_millis(5), Duration::from_millis(100))).await;
    }
}

/// The claims of a pool, as the results have them.
#[derive(Debug, Default)]
struct PoolClaims {
    first: Option<PoolClaim>,
    last: Option<PoolClaim>,
    live: u64,
}

#[derive(Debug, Clone, Copy)]
struct PoolClaim {
    rank: u64,
    at: Option<jiff::Timestamp>,
}

/// Reads the results, and adds to each pool how its claims went.
async fn shown(client: &mut Client, reports: Vec<PoolReport>) -> Result<Vec<PoolShown>, DemoError> {
    let campaign: Campaign = ask(client, Ask::campaign(CAMPAIGN)).await?;
    let mut claims: Vec<PoolClaims> =
        campaign.pools.iter().map(|_| PoolClaims::default()).collect();
    let mut after = 0;
    loop {
        let range = ResultRange { after, limit: 10_000 };
        let page: ResultPage =
            ask(client, Ask::results(CAMPAIGN, range, ResultFormat::Json)).await?;
        for line in &page.results {
            let Some(index) = campaign.pools.iter().position(|pool| pool.name == line.pool) else {
                continue;
            };
            let claims = &mut claims[index];
            match &*line.kind {
                "claim" => {
                    let claim = PoolClaim { rank: u64::from(line.rank), at: line.at.parse().ok() };
                    claims.first = claims.first.or(Some(claim));
                    claims.last = Some(claim);
                    claims.live += 1;
                }
                "cancel" => claims.live = claims.live.saturating_sub(1),
                _ => {}
            }
        }
        match page.next {
            Some(next) if next > after => after = next,
            Some(_) | None => break,
        }
    }
    let pools = campaign.pools.into_iter().zip(claims).zip(reports);
    Ok(pools.map(|((pool, claims), report)| pool_shown(pool, &claims, report)).collect())
}

fn pool_shown(pool: CampaignPool, claims: &PoolClaims, report: PoolReport) -> PoolShown {
    let ends = claims.first.zip(claims.last);
    let took = || {
        let (first, last) = ends?;
        Duration::try_from(last.at?.duration_since(first.at?)).ok()
    };
    PoolShown {
        claims: claims.live,
        ranks: ends.map(|(first, last)| (first.rank, last.rank)),
        sold_out_after: if pool.left == 0 { took() } else { None },
        pool,
        report,
    }
}
