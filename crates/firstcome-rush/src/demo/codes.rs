//! The demonstration of coupon codes: many more people than codes, from the opening until the last of them has gone.
//!
//! They come by the load test of [`crate::codes`]. Some of those who find all codes gone wait: what others cancel is
//! offered to them, in order.

mod proofs;
mod secrecy;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use firstcome_client::{Campaign, Client};
use serde_json::{Value, json};

use super::campaign::{
    CAMPAIGN, DemoError, POOL, ask, client, ledger_complete, opens_in, schedule,
};
use super::proofs::Proof;
use crate::codes::{self, Progress, Report, Shares};
use crate::outage::whole_ms;
use crate::server::{ServerError, ServerProcess, Setup};
use firstcome_client::Ask;

/// What the demonstration is to show.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Codes of the campaign: 20 to 10,000.
    pub codes: u32,
    /// Everything random follows from it; who is first depends on the machine, too.
    pub seed: u64,
    /// Leave the folder behind.
    pub keep: bool,
}

/// How many people come for each code.
pub const PEOPLE_A_CODE: u32 = 20;

/// Is told how it goes.
pub trait Observer: Sync {
    /// A sentence.
    fn say(&self, what: &str);
    /// Called about ten times a second.
    fn progress(&self, now: &Progress);
}

/// What the demonstration showed.
#[derive(Debug)]
pub struct Shown {
    /// What the load test found.
    pub report: Report,
    /// Codes in stock at the end.
    pub left: u64,
    /// Codes that somebody was offered and has not taken, at the end.
    pub offered: u64,
    /// Every proof, kept or not.
    pub proofs: Vec<Proof>,
    /// The folder, where it was kept.
    pub folder: Option<PathBuf>,
}

impl Shown {
    /// Whether every proof holds.
    pub fn kept(&self) -> bool {
        self.proofs.iter().all(|proof| proof.kept)
    }

    /// The result for machines.
    pub fn json(&self) -> Value {
        json!({
            "kept": self.kept(),
            "proofs": self.proofs.iter().map(Proof::json).collect::<Vec<_>>(),
            "seed": self.report.seed,
            "took_ms": whole_ms(self.report.elapsed),
            "people": self.report.people,
            "left": self.left,
            "offered": self.offered,
            "totals": self.report.totals.json(),
            "answers": self.report.answers,
            "folder": self.folder,
        })
    }
}

/// How long before the campaign opens: nobody is to come too early.
const BEFORE: Duration = Duration::from_millis(500);

/// Over how long a time people come.
const CROWD: Duration = Duration::from_secs(8);

/// How many may wait: not all who would like to.
const WAITLIST: u32 = 500;

/// How long an offer lasts.
const OFFER: Duration = Duration::from_secs(2);

/// How long people wait for a code on average before they leave the list.
const WAITS: Duration = Duration::from_secs(4);

/// What people do.
const SHARES: Shares = Shares {
    cancel: 0.1,
    abandon: 0.1,
    release: 0.05,
    roll_back: 0.15,
    direct: 0.3,
    crowd: 0.2,
    repeat: 0.3,
    wrong: 0.05,
    wait: 0.1,
    let_go: 0.15,
};

/// Shows it.
///
/// # Errors
///
/// When it cannot be carried to its end. A broken promise is no error: it is in what was [`Shown`].
///
/// # Cancel safety
///
/// Dropping the future kills the server and removes its folder.
pub async fn run(plan: &Plan, observer: &dyn Observer) -> Result<Shown, DemoError> {
    let server = ServerProcess::start(Setup::temporary(plan.keep, Vec::new())).await?;
    let mut client = client(&server);
    create(&mut client, plan.codes).await?;
    let load = load_plan(plan, &server);
    observer.say(&format!(
        "{} codes, each for one use, and {} people; a reservation lasts {:.0} s; a server on {}, its data in {}",
        plan.codes,
        load.people,
        load.visit.reservation.as_secs_f64(),
        server.address(),
        server.folder().display()
    ));
    let opens_at = Instant::now() + opens_in(&mut client, CAMPAIGN).await?;
    tokio::time::sleep_until(opens_at.into()).await;
    let mut progress = |now: &Progress| {
        observer.progress(now);
        ControlFlow::Continue(())
    };
    let report = codes::run(load, &mut progress).await?;
    observer.say("computing everything again from the journal, and looking for codes in the files");
    let campaign: Campaign = ask(&mut client, Ask::campaign(CAMPAIGN)).await?;
    ledger_complete(&mut client, CAMPAIGN).await?;
    let mut audit = server.audit().await?;
    for _ in 0..10 {
        if super::proofs::has_whole_ledger(&audit) {
            break;
        }
        // The last offers end by themselves, while it reads.
        ledger_complete(&mut client, CAMPAIGN).await?;
        audit = server.audit().await?;
    }
    let traces = secrecy::search(server.folder(), &report.totals.codes)
        .map_err(|why| DemoError::Server(ServerError::Process(why)))?;
    let proofs = proofs::all(&proofs::Found {
        report: &report,
        codes: plan.codes.into(),
        left: campaign.left,
        offered: offered(&campaign),
        traces: &traces,
        audit: &audit,
    });
    let folder = server.close();
    Ok(Shown { report, left: campaign.left, offered: offered(&campaign), proofs, folder })
}

/// How many codes are offered.
fn offered(campaign: &Campaign) -> u64 {
    campaign.pools.iter().filter_map(|pool| pool.held).map(u64::from).sum()
}

async fn create(client: &mut Client, codes: u32) -> Result<(), DemoError> {
    let settings = json!({
        "title": "Vouchers",
        "offer_ms": whole_ms(OFFER),
        "pools": [{
            "name": POOL, "kind": "coded", "capacity": codes, "waitlist": WAITLIST, "codes": {"uses": 1},
        }],
    });
    schedule(client, CAMPAIGN, settings, BEFORE).await
}

fn load_plan(plan: &Plan, server: &ServerProcess) -> codes::Plan {
    let people = plan.codes * PEOPLE_A_CODE;
    codes::Plan {
        servers: vec![server.address().clone()],
        key: Some(server.key().clone()),
        campaign: CAMPAIGN.to_owned(),
        pool: POOL.to_owned(),
        people,
        per_second: Some(f64::from(people) / CROWD.as_secs_f64()),
        think: Duration::from_millis(400),
        prefix: "guest-".to_owned(),
        connections: 64,
        seed: plan.seed,
        patience: Duration::from_secs(30),
        slack: Duration::from_secs(2),
        alone: true,
        visit: codes::CodesPlan {
            uses: 1,
            reservation: Duration::from_secs(2),
            tries: 2,
            waits: WAITS,
            shares: SHARES,
        },
        cut: 0.01,
    }
}
