//! `demo`: the output of the demo, and its end.

mod codes;
mod seats;

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use clap::Args;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::complaint::{Complaint, Exit};
use super::terminal::out;
use super::terminal::progress::LoadProgress;
use super::terminal::screen::width;
use firstcome_rush::claims::{ClaimsProgress, Kind, MOST_SUBJECTS};
use firstcome_rush::demo::claims::{self, Observer, Plan, Shown};
use firstcome_rush::demo::{
    CAMPAIGN, DemoError, Proof, codes as codes_demo, page, seats as seats_demo,
};
use firstcome_rush::terminal::{self, thousands};

/// Options of `demo`.
#[derive(Debug, Args)]
#[command(after_help = "\
Starts a server on a temporary folder and a free port, opens a campaign with a countdown, and sends many claims over \
real HTTP, with repeats, and with some requests cut off and sent again. When half of the places are acknowledged, the \
server is killed with -9 and started again. Then everything is checked: places = winners, ranks without gaps, no \
subject twice, repeated answers identical, nothing acknowledged is missing, journal and ledger compared.

With --seats: a small venue from its opening until it is sold out, drawn while it fills. Some people hold seats and \
pay, some leave without releasing them, some pay too late; a hold lasts 2 s. Then: no seat twice, no incomplete hold, \
every late payer has the same seats or gets the money back, free + held + confirmed + blocked = all seats, journal and \
ledger compared.

With --page: prints the address of a page to open in a browser. It counts down, then a crowd comes for the places, or with \
--seats for the seats, and you are among them. It stays until Ctrl-C, and proves nothing.

The exit code is 0 only if every proof holds. The server and its folder are removed unless --keep is given.

Examples:
  firstcome demo
  firstcome demo --seats
  firstcome demo --codes
  firstcome demo --page
  firstcome demo --page --seats
  firstcome demo --places 5000 --requests 50000 --subjects 20000 --seed 7 --json")]
pub(super) struct DemoArgs {
    /// The number of places.
    #[arg(long, value_name = "COUNT", default_value_t = 500, value_parser = clap::value_parser!(u64).range(2..=1_000_000))]
    places: u64,
    /// The number of people who want one.
    #[arg(long, value_name = "COUNT", default_value_t = 30_000, value_parser = clap::value_parser!(u32).range(2..=i64::from(MOST_SUBJECTS)))]
    subjects: u32,
    /// The number of their requests.
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(2..))]
    requests: u64,
    /// The number of their connections.
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Show a venue with this number of seats instead, 40 to 2,000 [default: 300].
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "300", value_parser = clap::value_parser!(u32).range(40..=2_000), conflicts_with_all = ["places", "subjects", "requests", "connections"])]
    seats: Option<u32>,
    /// Show this number of coupon codes instead, 20 to 10,000 [default: 1000], and twenty people for each.
    #[arg(long, value_name = "COUNT", num_args = 0..=1, default_missing_value = "1000", value_parser = clap::value_parser!(u32).range(20..=10_000), conflicts_with_all = ["seats", "places", "subjects", "requests", "connections"])]
    codes: Option<u32>,
    /// Open a page for a browser, and a crowd behind it.
    #[arg(long, conflicts_with_all = ["codes", "subjects", "requests", "connections"])]
    page: bool,
    /// Seconds that the page counts down, 3 to 3600.
    #[arg(long, value_name = "SECONDS", requires = "page", default_value_t = 20, value_parser = clap::value_parser!(u64).range(3..=3_600))]
    opens_in: u64,
    /// The seed of all random choices [default: random, and printed].
    #[arg(long)]
    seed: Option<u64>,
    /// Keep the data folder.
    #[arg(long)]
    keep: bool,
}

struct Printer {
    progress: Mutex<LoadProgress>,
    seconds: Mutex<Option<u64>>,
}

impl Printer {
    fn lock(&self) -> MutexGuard<'_, LoadProgress> {
        self.progress.lock().expect("printing does not panic")
    }
}

impl Observer for Printer {
    fn say(&self, what: &str) {
        self.lock().say(what);
    }

    fn countdown(&self, left: Duration) {
        let seconds = left.as_millis().div_ceil(1_000) as u64;
        let mut said = self.seconds.lock().expect("printing does not panic");
        if seconds > 0 && *said != Some(seconds) {
            *said = Some(seconds);
            self.say(&format!("opens in {seconds}"));
        }
    }

    fn progress(&self, now: &ClaimsProgress) {
        self.lock().show(now);
    }
}

pub(super) async fn run(args: DemoArgs, json: bool) -> Result<Exit, Complaint> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    if args.page {
        return run_page(&args, seed, json).await;
    }
    if let Some(seats) = args.seats {
        let plan = seats_demo::Plan { seats, seed, keep: args.keep };
        return unless_stopped(args.keep, || {}, seats::run(&plan, json)).await;
    }
    if let Some(codes) = args.codes {
        let plan = codes_demo::Plan { codes, seed, keep: args.keep };
        return unless_stopped(args.keep, || {}, codes::run(&plan, json)).await;
    }
    let plan = Plan {
        places: args.places,
        subjects: args.subjects,
        requests: args.requests,
        connections: args.connections as usize,
        seed,
        keep: args.keep,
    };
    let printer = Printer {
        progress: Mutex::new(LoadProgress::new(plan.requests, Some(plan.places))),
        seconds: Mutex::new(None),
    };
    let end = || printer.lock().end();
    unless_stopped(args.keep, end, async {
        let shown = claims::run(&plan, &printer).await;
        end();
        let shown = shown?;
        if json {
            out::json(&shown.json());
        } else {
            print(&shown);
        }
        Ok(if shown.kept() { Exit::Yes } else { Exit::Refused })
    })
    .await
}

/// Opens the page, and serves it until a signal comes.
async fn run_page(args: &DemoArgs, seed: u64, json: bool) -> Result<Exit, Complaint> {
    let (places, seats, keep) = (args.places, args.seats, args.keep);
    let before = Duration::from_secs(args.opens_in);
    let plan = page::Plan { places, seats, before, seed, keep };
    let printer = Printer {
        progress: Mutex::new(LoadProgress::new(places.saturating_mul(4), Some(places))),
        seconds: Mutex::new(None),
    };
    let opened = |link: &str| match json {
        true => out::json(&serde_json::json!({ "page": link })),
        false => out::line(link),
    };
    unless_stopped(keep, || printer.lock().end(), async {
        match page::run(&plan, &printer, &opened).await {
            Ok(never) => match never {},
            Err(error) => Err(error.into()),
        }
    })
    .await
}

/// Runs a demonstration until it ends or a signal comes; then its server is killed and its folder removed.
async fn unless_stopped(
    keep: bool,
    before_leaving: impl FnOnce(),
    demo: impl Future<Output = Result<Exit, Complaint>>,
) -> Result<Exit, Complaint> {
    let (mut interrupt, mut terminate) =
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    // Dropping the demonstration is what kills its server.
    let ended = tokio::select! {
        ended = demo => Some(ended),
        _ = interrupt.recv() => None,
        _ = terminate.recv() => None,
    };
    ended.unwrap_or_else(|| {
        before_leaving();
        let folder = if keep { "kept" } else { "removed" };
        out::talk(format!("stopped: the server is gone and its folder {folder}"));
        Ok(Exit::Interrupted)
    })
}

fn listen(kind: SignalKind) -> Result<Signal, Complaint> {
    signal(kind).map_err(|error| Complaint::own(format!("cannot hear signals: {error}")))
}

impl From<DemoError> for Complaint {
    fn from(error: DemoError) -> Self {
        match error {
            DemoError::Load(error) => error.into(),
            DemoError::Client(failure) => failure.into(),
            refused @ DemoError::Refused(_) => Self::new(Exit::Refused, refused.to_string()),
            server @ DemoError::Server(_) => Self::own(server.to_string()),
        }
    }
}

fn print(shown: &Shown) {
    let report = &shown.report;
    out::line("\nthe first and the last");
    for line in &report.first {
        out::line(format!("{:>7}  {}  {}", line.rank, line.subject, line.at));
    }
    if report.winners > report.first.len() as u64 {
        out::line(format!("{:>7}", if terminal::speaks_unicode() { "⋮" } else { "..." }));
        for line in &report.last {
            out::line(format!("{:>7}  {}  {}", line.rank, line.subject, line.at));
        }
    }
    out::line("");
    super::rush::print_load(report);
    proofs(&shown.proofs).into_iter().for_each(out::line);
    out::line("");
    let seed = format!(
        "seed {}; {} places were acknowledged before the kill, and it answered again {} after its start",
        report.seed,
        thousands(shown.acknowledged_before),
        terminal::short(shown.restarted_in)
    );
    out::paragraph("", &seed);
    // Who first hears of a place in a repeated answer had won it with an answer that never came.
    let unheard = report.counts.acknowledged.saturating_sub(report.counts.of(Kind::Won));
    if unheard > 0 {
        let given = "places given while the answer was cut off, and confirmed when asked again:";
        out::paragraph("", &format!("{given} {}", thousands(unheard)));
    }
    try_next(shown);
}

/// The proofs for people: each with a mark, and with what speaks against it.
pub(super) fn proofs(proofs: &[Proof]) -> Vec<String> {
    let mut lines = vec!["\nthe proofs".to_owned()];
    for proof in proofs {
        let head = format!("{} ", terminal::mark(proof.kept));
        lines.extend(out::wrapped(&head, &proof.words, width(std::io::stdout())));
        lines.extend(proof.evidence.as_ref().map(|why| format!("    against it: {why}")));
    }
    lines
}

fn try_next(shown: &Shown) {
    out::line("\ntry next");
    match &shown.folder {
        Some(folder) => {
            let folder = folder.display();
            out::line(format!("  firstcome serve --data {folder}"));
            out::line(format!("  firstcome results {CAMPAIGN} --data {folder} --limit 10"));
            out::line(format!("  firstcome audit --data {folder}"));
        }
        None => {
            out::line("  firstcome serve --data ./firstcome-data");
            out::line("  firstcome campaign create spring --places 500 --opens now");
            out::line("  firstcome claim spring ann");
            out::line("  firstcome rush --create 500");
        }
    }
}
