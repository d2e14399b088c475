//! One command that shows what is promised: a flood for a few places, the server killed in the middle, every promise checked.
//!
//! Nothing here is staged inside the server: it is the same program, started as a process of its own on a temporary
//! folder, killed with SIGKILL and started again, and judged by what it answered over HTTP.

mod proofs;
mod stage;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

pub use proofs::Proof;
pub use stage::{StageError, make_private};

use crate::rush::{self, Observer, Pace, Plan, Progress, Report, RushError, Speed, Tally};
use firstcome_client::{Ask, Campaign, Client, Match, OperatorDone, Reply};
use stage::Stage;

/// What the demo is to show.
#[derive(Debug, Clone)]
pub struct DemoPlan {
    /// Places to give out.
    pub places: u64,
    /// People who want one.
    pub subjects: u32,
    /// Requests they send.
    pub requests: u64,
    /// Connections they use.
    pub connections: usize,
    /// Everything random follows from it.
    pub seed: u64,
    /// Leave the folder behind.
    pub keep: bool,
}

/// Tells what happens while it happens.
pub trait Voice: Sync {
    /// Something happened.
    fn say(&self, what: &str);
    /// So long until the opening.
    fn countdown(&self, left: Duration);
    /// The counts of the flood, about ten times a second.
    fn progress(&self, now: &Progress);
}

/// What the demo showed.
#[derive(Debug)]
pub struct Shown {
    /// What the flood found.
    pub report: Report,
    /// Places acknowledged when the server was killed.
    pub acknowledged_before: u64,
    /// How long the server took from its second start until it answered again.
    pub restarted_in: Duration,
    /// Every proof, kept or not.
    pub proofs: Vec<Proof>,
    /// What `audit` said.
    pub audit: Value,
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
            "acknowledged_before_kill": self.acknowledged_before,
            "restarted_in_ms": u64::try_from(self.restarted_in.as_millis()).unwrap_or(u64::MAX),
            "rush": self.report.json(),
            "audit": self.audit,
            "folder": self.folder,
        })
    }
}

/// Why the demo could not be carried to its end.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// The server's process or folder.
    #[error(transparent)]
    Stage(#[from] StageError),
    /// The flood.
    #[error(transparent)]
    Rush(#[from] RushError),
    /// A request of the demo itself.
    #[error(transparent)]
    Client(#[from] firstcome_client::Failure),
    /// A refusal of something the demo needs.
    #[error("the server refused what the demo needs: {0}")]
    Refused(String),
}

/// The campaign everybody wants.
pub const CAMPAIGN: &str = "demo";

/// How long people look at the countdown.
const COUNTDOWN: Duration = Duration::from_secs(3);

/// How long before the opening the first people ask.
const IMPATIENT: Duration = Duration::from_millis(500);

/// How long the first half of the places lasts.
const FIRST_HALF: Duration = Duration::from_secs(2);

/// The share of requests cut off right after sending.
const CUT: f64 = 0.01;

/// Shows it.
///
/// # Errors
///
/// When it cannot be carried to its end. A broken promise is no error: it is in what was [`Shown`].
///
/// # Cancel safety
///
/// Dropping the future kills the server and removes its folder.
pub async fn run(plan: &DemoPlan, voice: &dyn Voice) -> Result<Shown, DemoError> {
    let mut stage = Stage::build(plan.keep).await?;
    voice.say(&format!(
        "started a server on {}, its data in {}",
        stage.server(),
        stage.folder().display()
    ));
    let mut client =
        Client::new(stage.server().clone(), Some(stage.key().clone()), Duration::from_secs(10));
    schedule(&mut client, plan.places).await?;
    voice.say(&format!("{} places, and {} people who want one", plan.places, plan.subjects));
    wait_for_opening(&mut client, voice).await?;

    let rush = rush_plan(plan, &stage);
    let (pace, tally) = (Arc::clone(&rush.pace), Arc::clone(&rush.tally));
    let slowly = slow_rate(plan);
    pace.set(Speed::PerSecond(slowly));
    voice.say(&format!(
        "the doors open slowly, {slowly:.0} requests a second, so that there is a middle to kill the server in"
    ));
    let mut watching = Watching(voice);
    let director = direct(plan, &mut stage, &pace, &tally, voice);
    let (report, directed) = flood(rush::run(rush, &mut watching), director).await;
    let (middle, report) = (directed?, report?);

    settled(&mut client).await?;
    voice.say("recomputing everything from the journal");
    let audit = stage.audit().await?;
    let proofs = proofs::all(&report, &audit, middle.acknowledged_before);
    let folder = stage.close(plan.keep);
    Ok(Shown {
        report,
        acknowledged_before: middle.acknowledged_before,
        restarted_in: middle.restarted_in,
        proofs,
        audit,
        folder,
    })
}

struct Watching<'a>(&'a dyn Voice);

impl Observer for Watching<'_> {
    fn progress(&mut self, now: &Progress) {
        self.0.progress(now);
    }

    fn checking(&mut self) {
        self.0.say("the flood is over: comparing the results with every answer");
    }
}

/// What happened in the middle.
#[derive(Debug, Default)]
struct Middle {
    acknowledged_before: u64,
    restarted_in: Duration,
}

/// Runs the flood and its director together; a director that fails ends the flood.
async fn flood(
    flood: impl Future<Output = Result<Report, RushError>>,
    director: impl Future<Output = Result<Middle, StageError>>,
) -> (Result<Report, DemoError>, Result<Middle, DemoError>) {
    tokio::pin!(flood, director);
    // The director waits for answers that only the flood brings; if the flood ends first, there is nothing to direct.
    tokio::select! {
        report = &mut flood => (report.map_err(DemoError::from), Ok(Middle::default())),
        directed = &mut director => match directed {
            Ok(middle) => (flood.await.map_err(DemoError::from), Ok(middle)),
            Err(error) => {
                let text = error.to_string();
                (Err(DemoError::Refused(text)), Err(error.into()))
            }
        },
    }
}

/// Kills the server when half the places are acknowledged, starts it again, and lets the flood loose.
async fn direct(
    plan: &DemoPlan,
    stage: &mut Stage,
    pace: &Pace,
    tally: &Tally,
    voice: &dyn Voice,
) -> Result<Middle, StageError> {
    let half = wanted(plan) / 2;
    while tally.acknowledged() < half {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Everybody asks at once, so that many claims are under way; never so many that nothing would be left for afterwards.
    let at_once =
        u64::try_from(plan.connections).unwrap_or(u64::MAX).min(plan.places - half).max(1);
    let before = tally.acknowledged();
    pace.burst(u32::try_from(at_once).unwrap_or(u32::MAX));
    let patience = Instant::now() + Duration::from_millis(20);
    while tally.acknowledged() == before && Instant::now() < patience {
        tokio::task::yield_now().await;
    }
    stage.kill().await?;
    // Answers sent before the kill may still lie in the sockets; they count as acknowledged too.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let acknowledged_before = tally.acknowledged();
    voice.say(&format!(
        "killed the server with -9 while {at_once} requests were under way: {acknowledged_before} places were acknowledged before"
    ));
    let began = Instant::now();
    stage.start().await?;
    let restarted_in = began.elapsed();
    voice.say(&format!(
        "started it again on the same folder and port, answering after {:.2} s; now the flood at full speed",
        restarted_in.as_secs_f64()
    ));
    pace.set(Speed::Free);
    Ok(Middle { acknowledged_before, restarted_in })
}

/// The share of requests that bring somebody new.
fn share_of_new(plan: &DemoPlan) -> f64 {
    (f64::from(plan.subjects) / plan.requests as f64).min(1.0)
}

/// How many places will be given out.
fn wanted(plan: &DemoPlan) -> u64 {
    plan.places.min(u64::from(plan.subjects)).min(plan.requests).max(2)
}

/// The rate at which half of the places last as long as they should.
fn slow_rate(plan: &DemoPlan) -> f64 {
    let half = (wanted(plan) / 2) as f64;
    half / share_of_new(plan) / FIRST_HALF.as_secs_f64()
}

fn rush_plan(plan: &DemoPlan, stage: &Stage) -> Plan {
    Plan {
        servers: vec![stage.server().clone()],
        key: Some(stage.key().clone()),
        campaign: CAMPAIGN.to_owned(),
        pool: None,
        requests: plan.requests,
        subjects: plan.subjects,
        prefix: "guest-".to_owned(),
        connections: plan.connections,
        pace: Arc::new(Pace::new(Speed::Stopped)),
        repeat: 1.0 - share_of_new(plan),
        cut: CUT,
        seed: plan.seed,
        duration: None,
        patience: Duration::from_secs(30),
        tally: Arc::new(Tally::default()),
    }
}

/// Makes the campaign, opening after the countdown by the server's own clock.
async fn schedule(client: &mut Client, places: u64) -> Result<(), DemoError> {
    let time: Value = yes(client.ask(Ask::time()).await?)?;
    let now = time["now"].as_str().and_then(|now| now.parse::<jiff::Timestamp>().ok());
    let opens_at = now.and_then(|now| now.checked_add(COUNTDOWN).ok());
    let opens_at =
        opens_at.ok_or_else(|| DemoError::Refused("its time cannot be read".to_owned()))?;
    let settings = json!({
        "title": "The demo",
        "opens_at": opens_at.to_string(),
        "pools": [{"name": "main", "kind": "counted", "capacity": places}],
    });
    let ask = Ask::put_campaign(CAMPAIGN, settings, Match::Nothing, "demo");
    yes::<OperatorDone>(client.ask(ask).await?).map(drop)
}

/// Counts down until the impatient begin to ask.
async fn wait_for_opening(client: &mut Client, voice: &dyn Voice) -> Result<(), DemoError> {
    loop {
        let campaign: Campaign = yes(client.ask(Ask::campaign(CAMPAIGN)).await?)?;
        let left = Duration::from_millis(campaign.opens_in_ms.unwrap_or(0).unsigned_abs());
        voice.countdown(left);
        if left <= IMPATIENT {
            return Ok(());
        }
        tokio::time::sleep((left - IMPATIENT).min(Duration::from_millis(100))).await;
    }
}

/// Waits until the ledger has every result, for as long as a small ledger could need.
async fn settled(client: &mut Client) -> Result<(), DemoError> {
    for _ in 0..200 {
        let campaign: Campaign = yes(client.ask(Ask::campaign(CAMPAIGN)).await?)?;
        if campaign.unsettled.unwrap_or(0) == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

fn yes<T>(reply: Reply<T>) -> Result<T, DemoError> {
    match reply {
        Reply::Yes(answer, _) => Ok(answer),
        Reply::No(problem) => Err(DemoError::Refused(problem.sentence())),
    }
}
