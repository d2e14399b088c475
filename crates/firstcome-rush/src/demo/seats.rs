//! The demonstration of seats: a small venue from its opening until it is sold out.
//!
//! People hold seats and pay, leave, or pay too late, by the load test of [`crate::seats`]; meanwhile the seat map is
//! read from the server about ten times a second, so that it can be drawn as it fills.

mod frame;
mod proofs;
mod watch;

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use firstcome_client::{Ask, Client, Picks};
use serde_json::{Value, json};

use super::campaign::{
    CAMPAIGN, DemoError, POOL, ask, client, ledger_complete, opens_in, schedule,
};
use super::proofs::Proof;
use crate::outage::whole_ms;
use crate::seats::{self, Progress, Report, Shares};
use crate::server::{ServerProcess, Setup};
use crate::venue::{self, VenueSeat};
pub use frame::{Frame, Observer, SeatCounts};
use watch::VenueWatch;

/// What the demonstration is to show.
#[derive(Debug, Clone)]
pub struct Plan {
    /// Seats of the venue: 40 to 2,000.
    pub seats: u32,
    /// Everything random follows from it; who is first depends on the machine, too.
    pub seed: u64,
    /// Leave the folder behind.
    pub keep: bool,
}

/// What the demonstration showed.
#[derive(Debug)]
pub struct Shown {
    /// How long it took from the opening until it was sold out.
    pub took: Duration,
    /// The venue at the end.
    pub last: Frame,
    /// What the load test found.
    pub report: Report,
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
        let SeatCounts { free, held, confirmed, blocked } = self.last.counts;
        let totals = &self.report.totals;
        json!({
            "kept": self.kept(),
            "proofs": self.proofs.iter().map(Proof::json).collect::<Vec<_>>(),
            "seed": self.report.seed,
            "sold_out_in_ms": whole_ms(self.took),
            "seats": {"free": free, "held": held, "confirmed": confirmed, "blocked": blocked},
            "totals": {
                "guests": self.report.people,
                "answers": self.report.answers,
                "left_without_a_word": totals.abandoned,
                "late_with_seats": totals.late_with_seats,
                "late_with_refund": totals.late_with_refund,
            },
            "folder": self.folder,
        })
    }
}

/// How long a hold lasts: minutes in a shop, moments here.
const HOLD: Duration = Duration::from_secs(2);

/// How long the empty venue is shown before it opens.
const BEFORE: Duration = Duration::from_millis(1_200);

/// How long before the opening the first people ask.
const IMPATIENT: Duration = Duration::from_millis(300);

/// How long people leave, give back and pay late; after that everybody who comes pays, so that the seats run out.
const CROWD: Duration = Duration::from_secs(8);

/// When nobody else comes, sold out or not: no venue takes so long.
const LONGEST: Duration = Duration::from_secs(60);

/// What people do.
const SHARES: Shares =
    Shares { browse: 0.5, abandon: 0.15, give_back: 0.05, late: 0.2, greedy: 0.0, repeat: 0.3 };

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
    let seats = venue::venue(plan.seats);
    let kept_back = kept_back(&seats);
    create(&mut client, &seats, &kept_back).await?;
    observer.say(&format!(
        "{} seats, {} of them kept back; a hold lasts {:.0} s; a server on {}, its data in {}",
        seats.len(),
        kept_back.len(),
        HOLD.as_secs_f64(),
        server.address(),
        server.folder().display()
    ));
    let opens_at = Instant::now() + opens_in(&mut client, CAMPAIGN).await?;
    let mut watch = VenueWatch::new(client, opens_at).await?;
    let load = load_plan(plan, &server, &seats, &kept_back);
    let report = sell(load, &mut watch, opens_at, observer).await?;

    let mut last = watch.look_at_rest().await?;
    last.guests = report.people;
    observer.frame(&last);
    let sold_out = watch.sold_out();
    let (mut client, looks) = watch.end();
    ledger_complete(&mut client, CAMPAIGN).await?;
    let audit = server.audit().await?;
    let counts = last.counts;
    let proofs = proofs::all(&proofs::Found {
        report: &report,
        counts,
        looks: &looks,
        sold_out: sold_out.is_some(),
        audit: &audit,
    });
    let folder = server.close();
    Ok(Shown { took: sold_out.unwrap_or(LONGEST), last, report, proofs, folder })
}

/// Lets people come until the venue is sold out and the last of them has gone, and shows it meanwhile.
async fn sell(
    load: seats::Plan,
    watch: &mut VenueWatch,
    opens_at: Instant,
    observer: &dyn Observer,
) -> Result<Report, DemoError> {
    let (came, over) = (AtomicU32::new(0), AtomicBool::new(false));
    observer.frame(&watch.look(0).await?);
    let people = async {
        tokio::time::sleep_until((opens_at - IMPATIENT).into()).await;
        let mut progress = |now: &Progress| {
            came.store(now.came, Ordering::Relaxed);
            let over = over.load(Ordering::Relaxed) || opens_at.elapsed() > LONGEST;
            if over { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        seats::run(load, &mut progress).await
    };
    // The watch never ends by itself; what it is doing when the last person has gone is not needed.
    tokio::select! {
        report = people => Ok(report?),
        failed = watch.follow(&came, &over, observer) => Err(failed),
    }
}

/// Seats that are not sold: the two outermost of the last row on either side.
fn kept_back(seats: &[VenueSeat]) -> Vec<String> {
    let last = seats.last().map_or("", |seat| &*seat.row);
    let of = |section: &str| {
        let row = seats.iter().filter(|seat| seat.row == last && seat.section == section);
        row.map(|seat| seat.name.clone()).collect::<Vec<_>>()
    };
    let (left, right) = (of("A"), of("C"));
    left.iter().take(2).chain(right.iter().rev().take(2)).cloned().collect()
}

/// Creates the campaign with its seats, and blocks those that are kept back.
async fn create(
    client: &mut Client,
    seats: &[VenueSeat],
    kept_back: &[String],
) -> Result<(), DemoError> {
    let settings = json!({
        "title": "The venue",
        "hold_ttl_ms": whole_ms(HOLD),
        "pools": [{"name": POOL, "kind": "seated"}],
    });
    schedule(client, CAMPAIGN, settings, BEFORE).await?;
    let seats: Vec<Value> = seats.iter().map(VenueSeat::json).collect();
    ask::<Value>(client, Ask::import_seats(CAMPAIGN, POOL, seats.into())).await?;
    let picks = Picks { units: kept_back.to_vec(), ..Picks::default() };
    let body = json!({"picks": picks.requests(), "reason": "for the press"});
    let block = Ask::operate_seats(CAMPAIGN, POOL, "block", body, "demo-block");
    ask::<Value>(client, block).await.map(drop)
}

fn load_plan(
    plan: &Plan,
    server: &ServerProcess,
    seats: &[VenueSeat],
    kept_back: &[String],
) -> seats::Plan {
    let for_sale = seats.iter().filter(|seat| !kept_back.contains(&seat.name)).collect::<Vec<_>>();
    let rows = for_sale.chunk_by(|a, b| (a.section, &a.row) == (b.section, &b.row));
    seats::Plan {
        servers: vec![server.address().clone()],
        key: Some(server.key().clone()),
        campaign: CAMPAIGN.to_owned(),
        pool: POOL.to_owned(),
        people: u32::MAX,
        per_second: Some(seats.len() as f64 / 15.0),
        think: Duration::from_millis(650),
        prefix: "guest-".to_owned(),
        connections: 64,
        seed: plan.seed,
        patience: Duration::from_secs(30),
        slack: Duration::from_secs(2),
        alone: true,
        visit: seats::Seats {
            rows: rows.map(|row| row.iter().map(|seat| seat.name.clone()).collect()).collect(),
            limit: None,
            hold: HOLD,
            shares: SHARES,
            all_pay_after: Some(CROWD + IMPATIENT),
            hall: None,
        },
        cut: 0.0,
    }
}
