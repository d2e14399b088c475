//! Load on seats that checks the promises: people who look, hold, pay, leave, and pay too late.
//!
//! Each person comes when they are due, whether the server keeps up or not, and lives through an evening of their own:
//! `person`. Everything that is heard is written down: `heard`. At the end the results are read, and all of it is
//! held against the promises: `checker`. It trusts nothing the server says about itself.

mod checker;
mod heard;
mod line;
mod person;
mod report;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tokio::task::JoinSet;

use super::RushError;
use firstcome_api::key::Secret;
use firstcome_client::{Ask, ResultFormat, ResultRange, Server};
use heard::{Heard, Listener};
use line::Line;
use person::Person;
pub use report::{SeatsProgress, SeatsReport};

/// What people do, as shares of all of them, 0 to 1; those who do none of it pay in time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shares {
    /// Choose seats on the map; the others ask for the best.
    pub browse: f64,
    /// Leave without a word while they hold seats.
    pub abandon: f64,
    /// Say that the seats are not wanted.
    pub give_back: f64,
    /// Pay when their hold is over.
    pub late: f64,
    /// Ask for more than one may have.
    pub greedy: f64,
    /// Pay twice.
    pub repeat: f64,
    /// Requests, not people: cut off right after sending, and sent again.
    pub cut: f64,
}

impl Default for Shares {
    fn default() -> Self {
        Self {
            browse: 0.5,
            abandon: 0.1,
            give_back: 0.05,
            late: 0.1,
            greedy: 0.05,
            repeat: 0.2,
            cut: 0.0,
        }
    }
}

/// What a rush on seats is to do; everything random in it follows from the seed.
#[derive(Debug)]
pub struct SeatsPlan {
    /// The servers, all of one space; a connection that loses its server goes on to the next.
    pub servers: Vec<Server>,
    /// The key every request carries.
    pub key: Option<Secret>,
    /// The campaign.
    pub campaign: String,
    /// The seated pool.
    pub pool: String,
    /// The names of its seats by rows, as far as people may choose among them.
    pub rows: Vec<Vec<String>>,
    /// Units one subject may have, if the campaign says so.
    pub limit: Option<u32>,
    /// How long a hold lasts.
    pub hold: Duration,
    /// How many people come.
    pub people: u32,
    /// How many of them come in a second; all at once without.
    pub per_second: Option<f64>,
    /// How long they think before they pay, on average.
    pub think: Duration,
    /// What they do.
    pub shares: Shares,
    /// What every subject's name begins with.
    pub prefix: String,
    /// How many connections they share.
    pub connections: usize,
    /// The seed.
    pub seed: u64,
    /// How long one request is sent again before the rush gives up.
    pub patience: Duration,
    /// How much later than this side can tell a hold may end on the other: journal time may stand still for a while.
    pub slack: Duration,
    /// Whether nobody else asks for these seats, and all of them are for sale: then nothing is held once the last hold
    /// is over, and what is left, taken and blocked is all there is.
    pub alone: bool,
}

/// The campaign as far as the check needs it.
#[derive(Debug, Clone, Default, Deserialize)]
struct Standing {
    pools: Vec<PoolStanding>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct PoolStanding {
    name: String,
    capacity: u64,
    left: u64,
    taken: u64,
    #[serde(default)]
    held: u64,
    #[serde(default)]
    blocked: u64,
}

/// One result as far as the check needs it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct SeatResult {
    number: u64,
    kind: String,
    pool: String,
    rank: u64,
    subject: String,
    #[serde(default)]
    unit: Option<String>,
    #[serde(default)]
    hold: Option<String>,
}

#[derive(Debug, Deserialize)]
struct SeatResults {
    results: Vec<SeatResult>,
    #[serde(default)]
    next: Option<u64>,
}

/// Runs a plan to its end and reports.
///
/// The report holds every broken promise; that it exists does not mean that all were kept: ask [`SeatsReport::kept`].
///
/// # Errors
///
/// When no server answers within the plan's patience, or refuses what a rush needs.
///
/// # Cancel safety
///
/// Dropping the future stops everybody; requests under way may have happened.
pub async fn run(
    plan: SeatsPlan,
    observer: &mut (dyn FnMut(&SeatsProgress) + Send),
) -> Result<SeatsReport, RushError> {
    let began = Instant::now();
    let listener = Arc::new(Listener::new(began));
    let line = Arc::new(Line::new(&plan, Arc::clone(&listener)));
    let plan = Arc::new(plan);
    let mut random = fastrand::Rng::with_seed(plan.seed);
    let mut running = JoinSet::new();
    let mut came = 0;
    let mut clock = tokio::time::interval(Duration::from_millis(2));
    clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    let mut told = Instant::now();
    let mut failed = None;
    while failed.is_none() && (came < plan.people || !running.is_empty()) {
        // Neither arm loses anything when the other is taken: a tick is only a look, and the set keeps who has gone.
        tokio::select! {
            _ = clock.tick() => {
                let due = plan.per_second.map_or(f64::from(plan.people), |rate| began.elapsed().as_secs_f64() * rate);
                while came < plan.people && f64::from(came) < due {
                    let at = plan.per_second.map_or(began, |rate| began + Duration::from_secs_f64(f64::from(came) / rate));
                    let seed = random.u64(..);
                    running.spawn(Person::new(&plan, &line, came, seed).evening(at));
                    came += 1;
                }
            }
            Some(ended) = running.join_next() => {
                failed = ended.expect("a person does not panic").err();
            }
        }
        if told.elapsed() >= Duration::from_millis(100) {
            told = Instant::now();
            observer(&listener.progress(plan.people));
        }
    }
    running.shutdown().await;
    let elapsed = began.elapsed();
    observer(&listener.progress(plan.people));
    let away = listener.away.past();
    // What is read from here on is no part of the load.
    let (mut heard, latency) = listener.end();
    heard.unsure |= failed.is_some();
    let read = match failed {
        Some(reason) => Err(reason),
        None => read(&plan, &line, &heard).await,
    };
    match read {
        Ok((standing, results)) => {
            let breaches = checker::check(&plan, &heard, &standing, &results);
            let mut report = SeatsReport::new(&plan, elapsed, &heard, latency, &results, breaches);
            report.away = away;
            Ok(report)
        }
        // What was seen to be broken stays broken, whether the rest could be read or not.
        Err(reason) => {
            let breaches = checker::by_answers(&plan, &heard);
            if breaches.is_empty() {
                return Err(reason);
            }
            let mut report = SeatsReport::new(&plan, elapsed, &heard, latency, &[], breaches);
            (report.away, report.cut_short) = (away, Some(reason.to_string()));
            Ok(report)
        }
    }
}

/// Reads how the campaign stands, once the last holds are over where nobody else has any, and the results.
async fn read(
    plan: &SeatsPlan,
    line: &Line,
    heard: &Heard,
) -> Result<(Standing, Vec<SeatResult>), RushError> {
    let last = heard.holds.iter().map(|held| held.answered).max().unwrap_or_default();
    let over = last + plan.hold + plan.slack;
    let standing = loop {
        let standing: Standing = line.read(Ask::campaign(&plan.campaign)).await?;
        let held = standing.pools.iter().any(|pool| pool.name == plan.pool && pool.held > 0);
        if !plan.alone || !held || line.listener.now() > over {
            break standing;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let mut results = Vec::new();
    let mut after = 0;
    loop {
        let range = ResultRange { after, limit: 10_000 };
        let page: SeatResults =
            line.read(Ask::results(&plan.campaign, range, ResultFormat::Json)).await?;
        results.extend(page.results);
        match page.next {
            Some(next) if next > after => after = next,
            Some(_) | None => break,
        }
    }
    Ok((standing, results))
}
