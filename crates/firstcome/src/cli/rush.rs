//! `rush`: load against running servers that checks the promises.

mod codes;
mod interrupt;
mod people;
mod seats;

pub(super) use self::codes::line as line_of_codes;
pub(super) use self::people::print as print_people;
pub(super) use self::seats::line as line_of_seats;

use std::sync::Arc;
use std::time::{Duration, Instant};

use clap::{ArgGroup, Args};
use serde_json::json;

use self::interrupt::Interrupt;
use super::complaint::{Complaint, Exit};
use super::connect::{FolderArgs, watched, yes};
use super::terminal::out;
use super::terminal::progress::LoadProgress;
use crate::config::duration_from_text;
use firstcome_api::key::Secret;
use firstcome_client::{Ask, Campaign, Client, Match, OperatorDone, Reply, Server};
use firstcome_rush::claims::{
    self, ClaimsProgress, Kind, Observer, Pace, Plan, Report, Speed, Tally,
};
use firstcome_rush::error::LoadError;
use firstcome_rush::latency::Latency;
use firstcome_rush::promise::Promise;
use firstcome_rush::terminal::{self, thousands};

/// Options of `rush`.
#[derive(Debug, Args)]
#[command(group(ArgGroup::new("people").args(["seats", "codes"])))]
#[command(after_help = "\
Sends claims and checks every answer against all earlier answers: no more winners than places, ranks without gaps, \
no subject wins twice, every repeated answer is identical, every acknowledged claim is in the results. Claims that \
were cut off, or got `unknown`, are sent again until they get an answer. If the server restarts, the test waits.

If a promise is broken, the exit code is 1.

With --rate, requests are due at equal intervals, and latency counts from then, so it includes the queue of a slow \
server. Without it every connection sends its next request after the last answer.

With --seats people read the map, hold the best seats or chosen ones, and pay, leave, or pay too late. The promises: \
no seat has two owners, no hold is incomplete, confirmed seats stay, every seat named as taken was taken, limits are \
kept, late payers get the same seats or a refund. --subjects is the number of people, --rate how many per second.

With --codes people claim coupon codes or wait for one, reserve them, redeem them, some for several orders at once, \
cancel, leave, roll back, and try codes that do not count. The promises: each code has one subject, no code is used \
more often than it may, a reservation never refuses its own order, repeated requests get their first answer, what was \
acknowledged is in the results and in the look-ups, what comes free goes to who is next, the ledger has exactly the \
results. --create is the number of codes.

Ctrl-C ends it early: the measurements are checked and printed, and the exit code is 130. A second Ctrl-C does not \
wait for the check.

Examples:
  firstcome rush --create 500
  firstcome rush --create 10000 --requests 50000 --subjects 20000 --rate 5000
  firstcome rush --seats --create 1000 --subjects 3000 --rate 300
  firstcome rush --codes --create 500 --subjects 2000 --uses 2
  firstcome rush --campaign spring --cut 0.01 \\
    --url http://10.0.0.7:8080 --url http://10.0.0.8:8080")]
pub(super) struct RushArgs {
    /// A server of the space. May be given several times: a lost connection then uses the next one.
    #[arg(long, env = "FIRSTCOME_URL", value_name = "URL", value_delimiter = ',')]
    url: Vec<String>,
    /// Create a campaign with this number of places.
    #[arg(long, value_name = "PLACES", required_unless_present = "campaign")]
    create: Option<u64>,
    /// The campaign; with --create, its name.
    #[arg(long, value_name = "NAME")]
    campaign: Option<String>,
    /// The pool, if there are several.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Use a campaign that has claims already.
    #[arg(long)]
    force: bool,
    /// Test seats: people who read the map, hold, pay, leave, and pay too late.
    #[arg(long, conflicts_with_all = ["requests", "repeat", "duration"])]
    seats: bool,
    /// Test coupon codes: people who claim, reserve, redeem, cancel, leave, and roll back.
    #[arg(long, conflicts_with_all = ["requests", "repeat", "duration", "browse", "late"])]
    codes: bool,
    /// With --codes and --create: how many times each code can be redeemed.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=5), default_value = "1", requires_all = ["codes", "create"])]
    uses: u32,
    /// With --codes: the share of people who roll their redemption back.
    #[arg(long, value_name = "SHARE", value_parser = share_from_text, default_value = "0.1", requires = "codes")]
    roll_back: f64,
    /// With --codes: the share of people who try a code that was made up.
    #[arg(long, value_name = "SHARE", value_parser = share_from_text, default_value = "0.1", requires = "codes")]
    wrong: f64,
    /// With --codes: the share of people who join the waitlist when all codes are gone.
    #[arg(long, value_name = "SHARE", value_parser = share_from_text, default_value = "0.2", requires = "codes")]
    wait: f64,
    /// With --seats: the share of people who choose on the map, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share_from_text, default_value = "0.5", requires = "seats")]
    browse: f64,
    /// With --seats and --codes: the share of people who leave without releasing their seats or their reservation.
    #[arg(long, value_name = "SHARE", value_parser = share_from_text, default_value = "0.1", requires = "people")]
    abandon: f64,
    /// With --seats: the share of people who pay after their hold has ended.
    #[arg(long, value_name = "SHARE", value_parser = share_from_text, default_value = "0.1", requires = "seats")]
    late: f64,
    /// With --seats and --codes: how long people think before they pay, on average.
    #[arg(long, value_name = "TIME", value_parser = duration_from_text, default_value = "500ms", requires = "people")]
    think: Duration,
    /// Requests to send.
    #[arg(long, value_name = "COUNT", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..))]
    requests: u64,
    /// Different subjects [default: 30000; 2000 people with --seats and --codes].
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(claims::MOST_SUBJECTS)))]
    subjects: Option<u32>,
    /// Connections, each with one open request.
    #[arg(long, value_name = "COUNT", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    connections: u32,
    /// Requests due per second, also if the server is slower [default: as fast as it answers].
    #[arg(long, value_name = "PER_SECOND", value_parser = rate_from_text)]
    rate: Option<f64>,
    /// The share of requests that repeat a subject, 0 to 1 [default: every subject claims at least once].
    #[arg(long, value_name = "SHARE", value_parser = share_from_text)]
    repeat: Option<f64>,
    /// The share of requests that are cut off directly after sending, and sent again, 0 to 1.
    #[arg(long, value_name = "SHARE", value_parser = share_from_text, default_value = "0")]
    cut: f64,
    /// The seed of all random choices [default: random, and printed].
    #[arg(long)]
    seed: Option<u64>,
    /// Stop sending after this time.
    #[arg(long, value_name = "TIME", value_parser = duration_from_text)]
    duration: Option<Duration>,
    /// Keep the campaign of --create; otherwise it is closed and archived at the end.
    #[arg(long, requires = "create")]
    keep: bool,
    /// How long to wait for a server that does not answer.
    #[arg(long, value_name = "TIME", value_parser = duration_from_text, default_value = "60s")]
    patience: Duration,
    /// Write on stderr each request that makes, looks at or ends the campaign, with the status of its answer and how long
    /// it took; the requests of the load are only counted.
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    folder: FolderArgs,
}

/// Subjects, where nothing is said.
const SUBJECTS: u32 = 30_000;

pub(super) fn rate_from_text(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix("/s").unwrap_or(text).parse::<f64>().ok();
    number.filter(|rate| (0.1..=10_000_000.0).contains(rate)).ok_or_else(|| {
        format!("`{text}` is no rate: write requests per second, such as 5000 or 5000/s")
    })
}

pub(super) fn share_from_text(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    number.ok_or_else(|| format!("`{text}` is no share: write a number from 0 to 1"))
}

struct RushWatching {
    progress: LoadProgress,
}

impl Observer for RushWatching {
    fn progress(&mut self, now: &ClaimsProgress) {
        self.progress.show(now);
    }

    fn checking(&mut self) {
        self.progress.end();
        out::talk("reading the results and comparing them with every answer");
    }
}

/// Refuses an address with TLS, or below a path: the load test writes its requests itself.
fn plain(server: Server) -> Result<Server, String> {
    if server.is_secure() {
        Err(format!(
            "`{server}` asks for TLS, which rush does not speak: use the server's http:// address"
        ))
    } else if !server.path().is_empty() {
        Err(format!("`{server}` has a path: rush needs the address of the server itself"))
    } else {
        Ok(server)
    }
}

pub(super) async fn run(args: RushArgs, json: bool) -> Result<Exit, Complaint> {
    let servers = match args.url.as_slice() {
        [] => vec![args.folder.server()?],
        urls => urls
            .iter()
            .map(|url| Server::parse(url).and_then(plain))
            .collect::<Result<_, _>>()
            .map_err(Complaint::usage)?,
    };
    let key = args.folder.key(&servers)?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..1_000_000));
    if args.seats {
        return seats::run(args, servers, key, seed, json).await;
    }
    if args.codes {
        return codes::run(args, servers, key, seed, json).await;
    }
    let client = Client::to(servers[0].clone(), key.clone(), Duration::from_secs(10));
    let mut client = watched(client, args.verbose);
    let campaign = ready_campaign(&args, &mut client, seed).await?;
    let places = campaign.left;
    let plan = plan(&args, servers, key, &campaign.campaign, seed);
    out::talk(format!(
        "rush on campaign {}:\n{} requests of {} subjects on {} connections, seed {seed}",
        plan.campaign,
        thousands(plan.requests),
        thousands(u64::from(plan.subjects)),
        plan.connections
    ));
    let (pace, tally) = (Arc::clone(&plan.pace), Arc::clone(&plan.tally));
    let mut watching = RushWatching { progress: LoadProgress::new(plan.requests, Some(places)) };
    let (mut interrupt, began) = (Interrupt::listen()?, Instant::now());
    // Dropping the rush is what stops it at once.
    let report = interrupt.during(claims::run(plan, &mut watching), || pace.finish()).await;
    watching.progress.end();
    if args.create.is_some() && !args.keep {
        put_away(&mut client, &campaign.campaign).await;
    }
    let Some(report) = report else {
        print_counts(&tally.progress(began.elapsed(), None));
        return Ok(Exit::Interrupted);
    };
    let report = report?;
    if json {
        out::json(&report.json());
    } else {
        print_claims(&report);
    }
    Ok(interrupt.exit(report.kept()))
}

/// How long results may take to reach the ledger before a campaign that was made for a load test leaves without that.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);

/// Closes and archives a campaign that was made for a load test; a reason that prevents it is printed.
async fn put_away(client: &mut Client, name: &str) {
    let id = || format!("rush-{:032x}", fastrand::u128(..));
    let begun = tokio::time::Instant::now();
    let mut asked = client.ask::<OperatorDone>(Ask::operate(name, "close", None, &id())).await;
    let mut valid = false;
    while let Ok(Reply::Yes(..)) = asked {
        let late = valid || begun.elapsed() > SETTLES_WITHIN;
        let body = late.then(|| json!({"drop_unsettled": true}));
        asked = client.ask::<OperatorDone>(Ask::operate(name, "archive", body, &id())).await;
        match &asked {
            Ok(Reply::Yes(..)) => return out::talk(format!("closed and archived campaign {name}")),
            Ok(Reply::No(problem)) if problem.outcome == "unsettled" && !late => {
                tokio::time::sleep(Duration::from_millis(200)).await;
                asked = client.ask(Ask::operate(name, "close", None, &id())).await;
            }
            // Its codes do not expire, and nobody is to redeem them.
            Ok(Reply::No(problem)) if problem.outcome == "codes_valid" && !late => {
                valid = true;
                until_settled(client, name).await;
                asked = client.ask(Ask::operate(name, "close", None, &id())).await;
            }
            Ok(Reply::No(_)) | Err(_) => {}
        }
    }
    let why = match asked {
        Ok(Reply::No(problem)) => problem.sentence(),
        Ok(Reply::Yes(..)) => return,
        Err(failure) => failure.to_string(),
    };
    out::talk(format!("note: campaign {name} is still there: {why}"));
}

/// Waits until the ledger has every result of a campaign, for a while.
async fn until_settled(client: &mut Client, name: &str) {
    let begun = tokio::time::Instant::now();
    while begun.elapsed() < SETTLES_WITHIN {
        match client.ask::<Campaign>(Ask::campaign(name)).await {
            Ok(Reply::Yes(campaign, _)) if campaign.unsettled.unwrap_or(0) > 0 => {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            Ok(_) | Err(_) => return,
        }
    }
}

/// Makes or checks the campaign, and waits for its opening.
async fn ready_campaign(
    args: &RushArgs,
    client: &mut Client,
    seed: u64,
) -> Result<Campaign, Complaint> {
    if let Some(places) = args.create {
        let drawn = || format!("rush-{seed}-{:08x}", fastrand::u32(..));
        let name = args.campaign.clone().unwrap_or_else(drawn);
        let pool = args.pool.as_deref().unwrap_or("main");
        let settings = json!({"title": "made by rush", "opens_at": "now", "pools": [{"name": pool, "kind": "counted", "capacity": places}]});
        let ask = Ask::put_campaign(
            &name,
            settings,
            Match::Nothing,
            &format!("rush-{:032x}", fastrand::u128(..)),
        );
        yes(client.ask::<OperatorDone>(ask).await?)?;
        return Ok(yes(client.ask::<Campaign>(Ask::campaign(&name)).await?)?.0);
    }
    let name = args.campaign.as_deref().unwrap_or_default();
    let (campaign, _) = yes(client.ask::<Campaign>(Ask::campaign(name)).await?)?;
    let refused = |sentence: String| Err(Complaint::new(Exit::Refused, sentence));
    if campaign.pools.len() > 1 && args.pool.is_none() {
        return Err(
            Complaint::usage(format!("{name} has several pools")).hint("name one with --pool")
        );
    }
    if campaign.pools.iter().any(|pool| pool.last_rank.unwrap_or(0) > 0) && !args.force {
        let complaint =
            Complaint::new(Exit::Refused, format!("{name} already has claims of others"));
        return Err(
            complaint.hint("use --create PLACES for a new campaign, or --force to use this one")
        );
    }
    match (&*campaign.state, campaign.opens_in_ms) {
        ("open", _) => {}
        ("scheduled", Some(wait)) => {
            let wait = Duration::from_millis(wait.unsigned_abs());
            out::talk(format!("{name} opens in {}: waiting", terminal::short(wait)));
            tokio::time::sleep(wait).await;
        }
        (state, _) => return refused(format!("{name} is {state}, so nobody can claim")),
    }
    Ok(campaign)
}

fn plan(
    args: &RushArgs,
    servers: Vec<Server>,
    key: Option<Secret>,
    campaign: &str,
    seed: u64,
) -> Plan {
    let subjects = args.subjects.unwrap_or(SUBJECTS);
    let all_get_a_turn = 1.0 - (f64::from(subjects) / args.requests as f64).min(1.0);
    Plan {
        servers,
        key,
        campaign: campaign.to_owned(),
        pool: args.pool.clone(),
        requests: args.requests,
        subjects,
        prefix: format!("rush-{seed}-"),
        connections: args.connections as usize,
        pace: Arc::new(Pace::new(args.rate.map_or(Speed::Free, Speed::PerSecond))),
        repeat: args.repeat.unwrap_or(all_get_a_turn),
        cut: args.cut,
        seed,
        duration: args.duration,
        patience: args.patience,
        tally: Arc::new(Tally::default()),
    }
}

impl From<LoadError> for Complaint {
    fn from(error: LoadError) -> Self {
        let sentence = error.to_string();
        match error {
            LoadError::NoAnswer(failure) => failure.into(),
            LoadError::Refused(_) => Self::new(Exit::Refused, sentence),
            LoadError::Strange { .. } => {
                Self::new(Exit::Unknown, sentence).hint("is this address a Firstcome server?")
            }
        }
    }
}

/// Prints a report for people.
pub(super) fn print_claims(report: &Report) {
    print_load(report);
    out::line("");
    print_promises(&report.promises, report.cut_short.as_deref());
}

fn print_promises(promises: &[Promise], cut_short: Option<&str>) {
    for promise in promises {
        out::paragraph(&format!("{} ", terminal::mark(promise.kept())), &promise.words);
        if let Some(evidence) = &promise.evidence {
            out::line(format!("    broken {} times, first: {evidence}", promise.broken));
        }
    }
    if let Some(reason) = cut_short {
        out::line(format!(
            "{} cut short, not everything could be checked: {reason}",
            terminal::mark(false)
        ));
    }
}

/// Prints what was asked and answered, and how long it took.
pub(super) fn print_load(report: &Report) {
    print_counts(&report.counts);
    print_waiting(&report.outages, &report.latency);
}

fn print_counts(counts: &ClaimsProgress) {
    let seconds = counts.elapsed.as_secs_f64();
    let rate = counts.answered as f64 / seconds.max(1e-9);
    let answers = Kind::ALL.into_iter().filter(|&kind| counts.of(kind) > 0);
    let answers = answers.map(|kind| format!("{} {}", kind.as_str(), thousands(counts.of(kind))));
    let head = format!(
        "{} requests answered in {:.1} s, {}/s: ",
        thousands(counts.answered),
        seconds,
        thousands(rate as u64),
    );
    out::list(&head, answers);
    let again = [
        (counts.cut, "cut off on purpose"),
        (counts.unknown, "answered unknown"),
        (counts.busy, "answered not now"),
        (counts.broken, "broken off"),
    ];
    let again: Vec<String> = again
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, why)| format!("{} {why}", thousands(count)))
        .collect();
    if !again.is_empty() {
        out::list("sent again until answered: ", again);
    }
}

/// How long a server was away: after a `kill -9` that is some milliseconds.
fn away(outage: Duration) -> String {
    format!("server away for {}", terminal::short(outage))
}

/// Prints how long servers were away, and how long answers took.
fn print_waiting(outages: &[Duration], latency: &Latency) {
    for outage in outages {
        out::line(away(*outage));
    }
    out::line("\ntime from when a request was due to its final answer");
    for line in terminal::latency(latency) {
        out::line(line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_was_away_for_a_moment_was_away() {
        assert_eq!(away(Duration::from_millis(43)), "server away for 43 ms");
        assert_eq!(away(Duration::from_millis(2_500)), "server away for 2.5 s");
    }
}
