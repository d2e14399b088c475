//! The demonstration of claims: a flood for a few places, the server killed in the middle, every promise proved.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use firstcome_client::Client;
use serde_json::{Value, json};

use super::campaign::{CAMPAIGN, DemoError, POOL, client, ledger_complete, opens_in, schedule};
use super::proofs::{self, Proof};
use crate::claims::{self, ClaimsProgress, Kind, Pace, Report, Speed, Tally};
use crate::error::LoadError;
use crate::outage::whole_ms;
use crate::server::{ServerError, ServerProcess, Setup};

/// What the demonstration is to show.
#[derive(Debug, Clone)]
pub struct Plan {
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

/// Is called with what happens while it happens.
pub trait Observer: Sync {
    /// Something happened.
    fn say(&self, what: &str);
    /// So long until the opening.
    fn countdown(&self, left: Duration);
    /// The counts of the load test, about ten times a second.
    fn progress(&self, now: &ClaimsProgress);
}

/// What the demonstration showed.
#[derive(Debug)]
pub struct Shown {
    /// What the load test found.
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
            "restarted_in_ms": whole_ms(self.restarted_in),
            "rush": self.report.json(),
            "audit": self.audit,
            "folder": self.folder,
        })
    }
}

/// How long people look at the countdown.
const COUNTDOWN: Duration = Duration::from_millis(1_500);

/// How long before the opening the first people ask.
const IMPATIENT: Duration = Duration::from_millis(500);

/// How long the first half of the places lasts.
const FIRST_HALF: Duration = Duration::from_secs(1);

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
pub async fn run(plan: &Plan, observer: &dyn Observer) -> Result<Shown, DemoError> {
    let mut server = ServerProcess::start(Setup::temporary(plan.keep, Vec::new())).await?;
    observer.say(&format!(
        "started a server on {}, its data in {}",
        server.address(),
        server.folder().display()
    ));
    let mut client = client(&server);
    let settings = json!({
        "title": "The demo",
        "pools": [{"name": POOL, "kind": "counted", "capacity": plan.places}],
    });
    schedule(&mut client, CAMPAIGN, settings, COUNTDOWN).await?;
    observer.say(&format!("{} places, and {} people who want one", plan.places, plan.subjects));
    wait_for_opening(&mut client, observer).await?;

    let load = load_plan(plan, &server);
    let (pace, tally) = (Arc::clone(&load.pace), Arc::clone(&load.tally));
    let slowly = slow_rate(plan);
    pace.set(Speed::PerSecond(slowly));
    observer.say(&format!(
        "the doors open slowly, {slowly:.0} requests a second, so that there is a middle to kill the server in"
    ));
    let mut watching = Watching(observer);
    let director = direct(plan, &mut server, &pace, &tally, observer);
    let (report, directed) = together(claims::run(load, &mut watching), director).await;
    let (middle, report) = (directed?, report?);

    ledger_complete(&mut client, CAMPAIGN).await?;
    observer.say("recomputing everything from the journal");
    let audit = server.audit().await?;
    let proofs = all_proofs(&report, &audit, middle.acknowledged_before);
    let folder = server.close();
    Ok(Shown {
        report,
        acknowledged_before: middle.acknowledged_before,
        restarted_in: middle.restarted_in,
        proofs,
        audit,
        folder,
    })
}

struct Watching<'a>(&'a dyn Observer);

impl claims::Observer for Watching<'_> {
    fn progress(&mut self, now: &ClaimsProgress) {
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

/// Runs the load test and its director together; a director that fails ends the load test.
async fn together(
    load: impl Future<Output = Result<Report, LoadError>>,
    director: impl Future<Output = Result<Middle, ServerError>>,
) -> (Result<Report, DemoError>, Result<Middle, DemoError>) {
    tokio::pin!(load, director);
    // The director waits for answers that only the load test brings; if it ends first, there is nothing to direct.
    tokio::select! {
        report = &mut load => (report.map_err(DemoError::from), Ok(Middle::default())),
        directed = &mut director => match directed {
            Ok(middle) => (load.await.map_err(DemoError::from), Ok(middle)),
            Err(error) => {
                let text = error.to_string();
                (Err(DemoError::Refused(text)), Err(error.into()))
            }
        },
    }
}

/// Kills the server when half the places are acknowledged, starts it again, and sends the rest at full speed.
async fn direct(
    plan: &Plan,
    server: &mut ServerProcess,
    pace: &Pace,
    tally: &Tally,
    observer: &dyn Observer,
) -> Result<Middle, ServerError> {
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
    server.kill().await?;
    // Answers sent before the kill may still lie in the sockets; they count as acknowledged too.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let acknowledged_before = tally.acknowledged();
    observer.say(&format!(
        "killed the server with -9 while {at_once} requests were under way: {acknowledged_before} places were acknowledged before"
    ));
    let began = Instant::now();
    server.restart().await?;
    let restarted_in = began.elapsed();
    observer.say(&format!(
        "started it again on the same folder and port, answering after {:.2} s; now the flood at full speed",
        restarted_in.as_secs_f64()
    ));
    pace.set(Speed::Free);
    Ok(Middle { acknowledged_before, restarted_in })
}

/// The share of requests with a new subject.
fn share_of_new(plan: &Plan) -> f64 {
    (f64::from(plan.subjects) / plan.requests as f64).min(1.0)
}

/// How many places will be given out.
fn wanted(plan: &Plan) -> u64 {
    plan.places.min(u64::from(plan.subjects)).min(plan.requests).max(2)
}

/// The rate at which half of the places last as long as they should.
fn slow_rate(plan: &Plan) -> f64 {
    let half = (wanted(plan) / 2) as f64;
    half / share_of_new(plan) / FIRST_HALF.as_secs_f64()
}

fn load_plan(plan: &Plan, server: &ServerProcess) -> claims::Plan {
    claims::Plan {
        servers: vec![server.address().clone()],
        key: Some(server.key().clone()),
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

/// Counts down until the impatient begin to ask.
pub(super) async fn wait_for_opening(
    client: &mut Client,
    observer: &dyn Observer,
) -> Result<(), DemoError> {
    loop {
        let left = opens_in(client, CAMPAIGN).await?;
        observer.countdown(left);
        if left <= IMPATIENT {
            return Ok(());
        }
        tokio::time::sleep((left - IMPATIENT).min(Duration::from_millis(100))).await;
    }
}

/// Compares the answers, the results and the audit with what was promised.
fn all_proofs(report: &Report, audit: &Value, acknowledged_before: u64) -> Vec<Proof> {
    let mut proofs: Vec<Proof> = report
        .promises
        .iter()
        .map(|promise| Proof::new(promise.name, promise.words.clone(), promise.evidence.clone()))
        .collect();
    for proof in &mut proofs {
        match proof.name {
            "places" => sold_out_means_sold_out(proof, report),
            "kept" => survived(proof, acknowledged_before, report),
            _ => {}
        }
    }
    proofs.push(proofs::same_digest(audit));
    proofs.push(proofs::equal_ledger(audit));
    if let Some(reason) = &report.cut_short {
        let words = "everything could be checked".to_owned();
        proofs.push(Proof::new("complete", words, Some(reason.clone())));
    }
    proofs
}

/// Nobody cancels in the demo, so "sold out" with places left would be wrong too.
fn sold_out_means_sold_out(proof: &mut Proof, report: &Report) {
    if report.winners < report.places && report.counts.of(Kind::SoldOut) > 0 {
        proof.kept = false;
        let left = report.places - report.winners;
        proof.evidence = Some(format!("people were told sold_out with {left} places left"));
    }
}

fn survived(proof: &mut Proof, before: u64, report: &Report) {
    proof.words = format!(
        "nothing acknowledged before the kill is missing: {before} then, {} in all",
        report.counts.acknowledged
    );
    if before == 0 {
        proof.kept = false;
        proof.evidence = Some("the flood was over before the server could be killed".to_owned());
    }
}
