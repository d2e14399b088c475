//! The demonstration for a browser: the page of a campaign, and a flood behind it.
//!
//! Nothing is proved here: what somebody does in a browser is not among the answers that a load test knows. It ends when
//! it is stopped.

use std::convert::Infallible;
use std::future::pending;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use firstcome_client::{Ask, Client, Minted};
use serde_json::{Value, json};

use super::campaign::{CAMPAIGN, DemoError, POOL, ask, client, opens_in, schedule};
use super::claims::{Observer, wait_for_opening};
use crate::claims::{self, ClaimsProgress, Pace, Speed, Tally};
use crate::outage::whole_ms;
use crate::seats::{self, Shares};
use crate::server::{ServerProcess, Setup};
use crate::venue::{self, VenueSeat};

/// What the demonstration is to show.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Places to give out.
    pub places: u64,
    /// Seats of a venue in place of them: 40 to 2,000.
    pub seats: Option<u32>,
    /// How long the page counts down.
    pub before: Duration,
    /// Everything random follows from it.
    pub seed: u64,
    /// Leave the folder behind.
    pub keep: bool,
}

/// How long the places or seats last: long enough for somebody to look, and to click.
const LASTS: Duration = Duration::from_secs(45);

/// How long a hold lasts here.
const HOLD: Duration = Duration::from_secs(60);

/// What the crowd does with seats: most people look first, some leave without a word.
const SHARES: Shares =
    Shares { browse: 0.5, abandon: 0.1, give_back: 0.1, late: 0.0, greedy: 0.0, repeat: 0.1 };

/// Opens the page, says its address to `opened`, and lets the crowd come. It serves until it is dropped.
///
/// # Errors
///
/// When it cannot be carried to its end.
///
/// # Cancel safety
///
/// Dropping the future kills the server and removes its folder.
pub async fn run(
    plan: &Plan,
    observer: &dyn Observer,
    opened: &dyn Fn(&str),
) -> Result<Infallible, DemoError> {
    let secret = format!("{:032x}", fastrand::u128(..));
    let settings = vec![("FIRSTCOME_TOKEN_SECRET", secret)];
    let server = ServerProcess::start(Setup::temporary(plan.keep, settings)).await?;
    let mut client = client(&server);
    let seats = plan.seats.map(venue::venue);
    create(&mut client, plan, seats.as_deref()).await?;
    // Until tomorrow: who looks for long is not sent away.
    let minted: Minted = ask(&mut client, Ask::mint(CAMPAIGN, "you", 86_400, false)).await?;
    let authority = server.address().authority();
    opened(&format!("http://{authority}/c/{CAMPAIGN}#token={}", minted.token));
    observer.say("open that page in a browser; the crowd comes with the opening; Ctrl-C ends it");
    match seats {
        None => {
            wait_for_opening(&mut client, observer).await?;
            let report = claims::run(crowd(plan, &server), &mut PageWatching(observer)).await?;
            observer.say(&format!("the crowd is gone: {} claims", report.counts.acknowledged));
        }
        Some(seats) => {
            let opens = Instant::now() + opens_in(&mut client, CAMPAIGN).await?;
            tokio::time::sleep_until(opens.into()).await;
            observer.say("it is open");
            let mut over = |_: &seats::Progress| match opens.elapsed() > LASTS * 2 {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            let report = seats::run(audience(plan, &server, &seats), &mut over).await?;
            observer.say(&format!("the crowd is gone: {} people came", report.people));
        }
    }
    observer.say("the page stays as it is until Ctrl-C");
    pending().await
}

/// Creates the campaign, with its seats if it has some.
async fn create(
    client: &mut Client,
    plan: &Plan,
    seats: Option<&[VenueSeat]>,
) -> Result<(), DemoError> {
    let Some(seats) = seats else {
        let settings = json!({
            "title": "The demo", "public": true,
            "pools": [{"name": POOL, "kind": "counted", "capacity": plan.places}],
        });
        return schedule(client, CAMPAIGN, settings, plan.before).await;
    };
    let settings = json!({
        "title": "The venue", "public": true, "hold_ttl_ms": whole_ms(HOLD), "allow_orphans": true,
        "pools": [{"name": POOL, "kind": "seated"}],
    });
    schedule(client, CAMPAIGN, settings, plan.before).await?;
    let seats: Vec<Value> = seats.iter().map(VenueSeat::json).collect();
    ask::<Value>(client, Ask::import_seats(CAMPAIGN, POOL, seats.into())).await.map(drop)
}

struct PageWatching<'a>(&'a dyn Observer);

impl claims::Observer for PageWatching<'_> {
    fn progress(&mut self, now: &ClaimsProgress) {
        self.0.progress(now);
    }

    fn checking(&mut self) {
        self.0.say("the places are gone");
    }
}

/// People who claim, each a few times, so fast that the places last as long as they should.
fn crowd(plan: &Plan, server: &ServerProcess) -> claims::Plan {
    let subjects = u32::try_from(plan.places.saturating_mul(2)).unwrap_or(u32::MAX);
    let requests = u64::from(subjects) * 2;
    let per_second = requests as f64 / 2.0 / LASTS.as_secs_f64();
    claims::Plan {
        servers: vec![server.address().clone()],
        key: Some(server.key().clone()),
        campaign: CAMPAIGN.to_owned(),
        pool: None,
        requests,
        subjects,
        prefix: "guest-".to_owned(),
        connections: 32,
        pace: Arc::new(Pace::new(Speed::PerSecond(per_second))),
        repeat: 0.5,
        cut: 0.0,
        seed: plan.seed,
        duration: None,
        patience: Duration::from_secs(30),
        tally: Arc::new(Tally::default()),
    }
}

/// People who take seats.
fn audience(plan: &Plan, server: &ServerProcess, seats: &[VenueSeat]) -> seats::Plan {
    let rows = seats.chunk_by(|a, b| (a.section, &a.row) == (b.section, &b.row));
    seats::Plan {
        servers: vec![server.address().clone()],
        key: Some(server.key().clone()),
        campaign: CAMPAIGN.to_owned(),
        pool: POOL.to_owned(),
        people: u32::MAX,
        per_second: Some(seats.len() as f64 / 2.0 / LASTS.as_secs_f64()),
        think: Duration::from_secs(2),
        prefix: "guest-".to_owned(),
        connections: 32,
        seed: plan.seed,
        patience: Duration::from_secs(30),
        slack: Duration::from_secs(2),
        alone: false,
        visit: seats::Seats {
            rows: rows.map(|row| row.iter().map(|seat| seat.name.clone()).collect()).collect(),
            limit: None,
            hold: HOLD,
            shares: SHARES,
            all_pay_after: Some(LASTS),
            hall: None,
        },
        cut: 0.0,
    }
}
