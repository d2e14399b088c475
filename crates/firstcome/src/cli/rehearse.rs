//! `rehearse`: a campaign's settings tried on its store, in a space of its own, by a made-up crowd.

mod place;
mod settings;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use self::place::Place;
use super::complaint::{Complaint, Exit};
use super::demo::proofs;
use super::rush::rate_from_text;
use super::rush::{line_of_codes, line_of_seats, print_claims, print_people};
use super::source::{SpaceArgs, StoreArgs};
use super::terminal::out;
use super::terminal::progress::{LoadProgress, Status};
use crate::config::duration_from_text;
use firstcome_client::CampaignPool;
use firstcome_rush::claims::MOST_SUBJECTS;
use firstcome_rush::rehearsal::{
    self, CAMPAIGN, Crowd, Observer, Plan, PoolReport, PoolShown, Progress, Shown,
};
use firstcome_rush::terminal::{mark, short, thousands};

/// Options of `rehearse`.
#[derive(Debug, Args)]
#[command(after_help = "\
FILE has the settings as JSON, in the form of PUT /v1/campaigns/NAME, as for `campaign check`. A server is started for \
the rehearsal, on a free port of 127.0.0.1. With a data folder it has FOLDER-rehearsal beside it, on the same disk; \
with a store it has the space SPACE-rehearsal in it. Nothing of the campaigns and of the ledger of the real space is \
read or written, but the store and this machine have the load of both.

The campaign opens at once, or after --in, and never closes. Then made-up people come, to one pool after the other: \
ten for each place, two for each seat and code, at least 100. They are those of `rush`, and every answer is checked. \
At the end everything is computed again from the journal, and the server, its folder and its space are removed. A \
rehearsal that was killed is cleared away by the next one.

A hold or an offer that lasts longer than 5 s lasts 5 s, so that some can end: see --hold-ttl. Rate limits, log-in and \
services that decide about people are not rehearsed.

The exit code is 1 if a promise is broken or the space is in use.

Examples:
  firstcome rehearse summer.json
  firstcome rehearse summer.json --in 5s --rate 5000
  firstcome rehearse summer.json --subjects 3000 --keep --json
  firstcome rehearse summer.json --store redis://10.0.0.5:6379")]
pub(super) struct RehearseArgs {
    /// The settings; `-` reads stdin.
    file: PathBuf,
    /// The data folder of the server that will have the campaign.
    #[arg(long, env = "FIRSTCOME_DATA", default_value = "./firstcome-data", value_name = "FOLDER")]
    data: PathBuf,
    #[command(flatten)]
    store: StoreArgs,
    #[command(flatten)]
    space: SpaceArgs,
    /// Where an entry is stored before its answer is sent, as for `serve` [default: auto].
    #[arg(long, env = "FIRSTCOME_DURABILITY", value_name = "LEVEL")]
    durability: Option<String>,
    /// How long people wait for the opening, up to 1h.
    #[arg(long = "in", value_name = "TIME", value_parser = before_from_text, default_value = "0s")]
    before: Duration,
    /// People for each pool [default: as many as fit it].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_SUBJECTS)))]
    subjects: Option<u32>,
    /// Claims in each pool of places [default: three for two people].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..))]
    requests: Option<u64>,
    /// Their connections, each with one open request.
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=2_000))]
    connections: u32,
    /// Claims due per second, or people who come to seats and codes [default: as fast as the server answers].
    #[arg(long, value_name = "PER_SECOND", value_parser = rate_from_text)]
    rate: Option<f64>,
    /// How long a hold lasts [default: that of FILE, at most 5s].
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    hold_ttl: Option<Duration>,
    /// The seed of all random choices [default: random, and printed].
    #[arg(long)]
    seed: Option<u64>,
    /// Keep the data folder, and the space in the store, until the next rehearsal.
    #[arg(long)]
    keep: bool,
}

/// The longest time before the opening.
const BEFORE: Duration = Duration::from_secs(3_600);

fn before_from_text(text: &str) -> Result<Duration, String> {
    let before = duration_from_text(text)?;
    if before <= BEFORE { Ok(before) } else { Err(format!("must be 0s to 1h, not `{text}`")) }
}

pub(super) async fn run(args: RehearseArgs, json: bool) -> Result<Exit, Complaint> {
    let rehearsed = settings::read(&args.file, args.hold_ttl)?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    let file = args.file.display();
    let place = Place::prepare(&args).await?;
    out::talk(format!("rehearsal of {file} in {place}, seed {seed}"));
    rehearsed.notes.iter().for_each(out::talk);
    let mut server = args.store.settings();
    server.extend(place.settings(&args));
    let plan = Plan {
        settings: rehearsed.settings,
        before: args.before,
        folder: place.folder.clone(),
        keep: args.keep,
        server,
        config: place::config(),
        crowd: Crowd {
            subjects: args.subjects,
            requests: args.requests,
            connections: args.connections as usize,
            per_second: args.rate,
            seed,
        },
    };
    let mut printer = RehearsalPrinter::default();
    let (mut interrupt, mut terminate) =
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    // Dropping the rehearsal is what kills its server.
    let ended = tokio::select! {
        ended = rehearsal::run(plan, &mut printer) => Some(ended),
        _ = interrupt.recv() => None,
        _ = terminate.recv() => None,
    };
    printer.ended();
    if args.keep {
        out::talk(place.kept());
    } else {
        match place.remove(&args).await {
            Ok(()) => out::talk(format!("removed {place}")),
            Err(why) => out::talk(format!("note: {place} is still there: {why}")),
        }
    }
    let Some(shown) = ended else { return Ok(Exit::Interrupted) };
    let shown = shown?;
    if json {
        let mut document = shown.json();
        document["space"] = place.space.clone().into();
        document["seed"] = json!(seed);
        out::json(&document);
    } else {
        print(&shown);
    }
    Ok(if shown.kept() { Exit::Yes } else { Exit::Refused })
}

fn listen(kind: SignalKind) -> Result<Signal, Complaint> {
    signal(kind).map_err(|error| Complaint::own(format!("cannot hear signals: {error}")))
}

/// Shows how it is going.
#[derive(Default)]
struct RehearsalPrinter {
    /// Of a counted pool.
    load: Option<LoadProgress>,
    /// Of another pool.
    status: Option<Status>,
    seconds: Option<u64>,
}

impl Observer for RehearsalPrinter {
    fn say(&mut self, what: &str) {
        out::talk(what);
    }

    fn countdown(&mut self, left: Duration) {
        let seconds = u64::try_from(left.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX);
        if seconds > 0 && self.seconds != Some(seconds) {
            self.seconds = Some(seconds);
            out::talk(format!("opens in {seconds}"));
        }
    }

    fn begins(&mut self, pool: &CampaignPool, crowd: u64) {
        let (name, units) = (&pool.name, u64::from(pool.capacity));
        let counted = &*pool.kind == "counted";
        let who = if counted { "claims come" } else { "people come" };
        out::talk(format!("{name}: {} units, {} {who}", thousands(units), thousands(crowd)));
        if counted {
            self.load = Some(LoadProgress::new(crowd, Some(units)));
        } else {
            self.status = Some(Status::new());
        }
    }

    fn progress(&mut self, now: Progress<'_>) {
        match now {
            Progress::Claims(now) => {
                if let Some(load) = &mut self.load {
                    load.show(now);
                }
            }
            Progress::Seats(now) => {
                if let Some(status) = &mut self.status {
                    status.show(now.elapsed, || line_of_seats(now));
                }
            }
            Progress::Codes(now) => {
                if let Some(status) = &mut self.status {
                    status.show(now.elapsed, || line_of_codes(now));
                }
            }
        }
    }

    fn ended(&mut self) {
        if let Some(load) = self.load.take() {
            load.end();
        }
        if let Some(status) = self.status.take() {
            status.end();
        }
    }
}

/// Prints what was rehearsed, for people.
fn print(shown: &Shown) {
    for pool in &shown.pools {
        out::line(format!("\n{}", outcome(pool)));
        match &pool.report {
            PoolReport::Claims(report) => print_claims(report),
            PoolReport::Seats(report) => print_people(report),
            PoolReport::Codes(report) => print_people(report),
        }
    }
    proofs(&shown.proofs).into_iter().for_each(out::line);
    let text = match shown.kept() {
        true => "every promise was kept",
        false => "a promise was broken, or could not be checked: see above",
    };
    out::line(format!("\n{} {text}", mark(shown.kept())));
    if let Some(folder) = &shown.folder {
        let folder = folder.display();
        out::line(format!("its data is in {folder}, the campaign there is {CAMPAIGN}"));
    }
}

/// How a pool went, in a line.
fn outcome(shown: &PoolShown) -> String {
    let pool = &shown.pool;
    let ranks = match shown.ranks {
        Some((first, last)) => format!(", ranks {first} to {}", thousands(last)),
        None => String::new(),
    };
    let left = match shown.sold_out_after {
        Some(took) => format!("sold out {} after the first", short(took)),
        None => format!("{} left", thousands(pool.left.into())),
    };
    format!(
        "{} ({}): {} of {} claimed{ranks}, {left}",
        pool.name,
        pool.kind,
        thousands(shown.claims),
        thousands(pool.capacity.into()),
    )
}
