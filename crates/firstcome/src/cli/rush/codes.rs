//! `rush --codes`: people with coupon codes.

use std::ops::ControlFlow;
use std::time::Duration;

use serde_json::json;

use super::RushArgs;
use super::interrupt::Interrupt;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{watched, yes};
use crate::cli::out;
use crate::cli::progress::Status;
use firstcome_api::key::Secret;
use firstcome_client::{Ask, Campaign, CampaignPool, Client, Match, OperatorDone, Server};
use firstcome_rush::codes::{self, Plan, Progress, Report, Shares};
use firstcome_rush::terminal::{self, thousands};

/// How long a reservation lasts that a person of a load test asks for.
const RESERVATION: Duration = Duration::from_secs(5);

/// How much later than asked for one may end: after a restart the time nobody was there counts as 15 s at most.
const SLACK: Duration = Duration::from_secs(10);

/// People, where nothing is said.
const PEOPLE: u32 = 2_000;

/// How often somebody asks again for a code when there is none.
const TRIES: u32 = 3;

/// How long somebody waits for a code on average before they leave the waitlist.
const WAITS: Duration = Duration::from_secs(4);

/// How long an offer lasts in a campaign that is made for the load test.
const OFFER_MS: u32 = 5_000;

pub(super) async fn run(
    args: RushArgs,
    servers: Vec<Server>,
    key: Option<Secret>,
    seed: u64,
    json: bool,
) -> Result<Exit, Complaint> {
    let client = Client::to(servers[0].clone(), key.clone(), Duration::from_secs(10));
    let mut client = watched(client, args.verbose);
    let (campaign, pool) = match args.create {
        Some(count) => create(&args, &mut client, count, seed).await?,
        None => existing(&args, &mut client).await?,
    };
    let made = (args.create.is_some() && !args.keep).then(|| campaign.clone());
    let plan = Plan {
        servers,
        key,
        campaign,
        uses: pool.codes.as_ref().map_or(1, |codes| codes.uses),
        pool: pool.name,
        reservation: RESERVATION,
        people: args.subjects.unwrap_or(PEOPLE),
        per_second: args.rate,
        think: args.think,
        tries: TRIES,
        waits: WAITS,
        shares: Shares {
            abandon: args.abandon,
            roll_back: args.roll_back,
            wrong: args.wrong,
            wait: args.wait,
            cut: args.cut,
            ..Shares::default()
        },
        prefix: format!("rush-{seed}-"),
        connections: args.connections as usize,
        seed,
        patience: args.patience,
        slack: SLACK,
        alone: args.create.is_some(),
    };
    out::talk(format!(
        "rush on the {} codes of {}/{}:\n{} people on {} connections, a reservation lasts {}, seed {seed}",
        thousands(pool.capacity.into()),
        plan.campaign,
        plan.pool,
        thousands(u64::from(plan.people)),
        plan.connections,
        terminal::short(plan.reservation)
    ));
    let mut interrupt = Interrupt::listen()?;
    let stopped = interrupt.heard();
    let mut status = Status::new();
    let (mut outage, mut last) = (None, None);
    let mut observer = |now: &Progress| {
        if let (Some(length), None) = (outage, now.outage) {
            status.say(format!("server back after {}", terminal::short(length)));
        }
        outage = now.outage;
        status.show(now.elapsed, || line(now));
        last = Some(now.clone());
        match stopped.is_cancelled() {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let report = interrupt.during(codes::run(plan, &mut observer), || {}).await;
    status.end();
    if let Some(made) = made {
        super::put_away(&mut client, &made).await;
    }
    let Some(report) = report else {
        out::line(last.as_ref().map(line).unwrap_or_default());
        return Ok(Exit::Interrupted);
    };
    let report = report?;
    if json {
        out::json(&report.json());
    } else {
        print(&report);
    }
    Ok(interrupt.exit(report.kept() && report.cut_short.is_none()))
}

/// How it is going, in a line.
pub(in crate::cli) fn line(now: &Progress) -> String {
    let away = now.outage.map_or_else(String::new, |length| {
        format!("server away for {:.1} s, ", length.as_secs_f64())
    });
    format!(
        "{away}{} of {} people gone: {} codes, {} redeemed, {} rolled back, {} cancelled",
        thousands(u64::from(now.gone)),
        thousands(u64::from(now.people)),
        thousands(now.issued),
        thousands(now.redeemed),
        thousands(now.rolled_back),
        thousands(now.cancelled)
    )
}

/// Creates a campaign of so many generated codes.
async fn create(
    args: &RushArgs,
    client: &mut Client,
    count: u64,
    seed: u64,
) -> Result<(String, CampaignPool), Complaint> {
    let drawn = || format!("rush-{seed}-{:08x}", fastrand::u32(..));
    let name = args.campaign.clone().unwrap_or_else(drawn);
    let pool = args.pool.as_deref().unwrap_or("main");
    let codes = json!({"uses": args.uses, "only_by_holder": true});
    let settings = json!({
        "title": "made by rush", "opens_at": "now", "offer_ms": OFFER_MS,
        "pools": [{"name": pool, "kind": "coded", "capacity": count, "codes": codes}],
    });
    let id = format!("rush-{:032x}", fastrand::u128(..));
    let put = Ask::put_campaign(&name, settings, Match::Nothing, &id);
    yes(client.ask::<OperatorDone>(put).await?)?;
    let (campaign, _) = yes(client.ask::<Campaign>(Ask::campaign(&name)).await?)?;
    let pool = campaign.pools.into_iter().next();
    Ok((name, pool.ok_or_else(|| Complaint::own("the new campaign has no pool"))?))
}

/// Finds the coded pool of a campaign that is open and, unless --force is given, untouched.
async fn existing(
    args: &RushArgs,
    client: &mut Client,
) -> Result<(String, CampaignPool), Complaint> {
    let name = args.campaign.clone().unwrap_or_default();
    let (campaign, _) = yes(client.ask::<Campaign>(Ask::campaign(&name)).await?)?;
    let coded = |pool: &CampaignPool| {
        pool.kind == "coded" && args.pool.as_ref().is_none_or(|asked| *asked == pool.name)
    };
    let mut pools = campaign.pools.into_iter().filter(coded);
    let (Some(pool), None) = (pools.next(), pools.next()) else {
        let complaint = Complaint::usage(format!("{name} has no pool with codes, or several"));
        return Err(complaint.hint("name it with --pool"));
    };
    if pool.last_rank.unwrap_or(0) > 0 && !args.force {
        let sentence = format!("{name} already has claims of others");
        return Err(Complaint::new(Exit::Refused, sentence)
            .hint("use --create CODES for a new campaign, or --force to use this one"));
    }
    Ok((name, pool))
}

/// Prints a report for people.
pub(in crate::cli) fn print(report: &Report) {
    let seconds = report.elapsed.as_secs_f64().max(1e-9);
    let answers =
        report.answers.iter().map(|(answer, count)| format!("{answer} {}", thousands(*count)));
    let head = format!(
        "{} people, {} requests answered in {:.1} s, {}/s: ",
        thousands(u64::from(report.people)),
        thousands(report.answered()),
        seconds,
        thousands((report.answered() as f64 / seconds) as u64),
    );
    out::list(&head, answers);
    if !report.again.is_empty() {
        let again = report.again.iter().map(|(why, count)| format!("{} {why}", thousands(*count)));
        out::list("sent again until answered: ", again);
    }
    super::print_waiting(&report.outages, &report.latency);
    out::line("");
    super::print_promises(&report.promises, report.cut_short.as_deref());
}
