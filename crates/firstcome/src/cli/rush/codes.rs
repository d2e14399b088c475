//! `rush --codes`: people with coupon codes.

use std::time::Duration;

use serde_json::json;

use super::RushArgs;
use super::people::{self, away};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{watched, yes};
use crate::cli::terminal::out;
use firstcome_api::key::Secret;
use firstcome_client::{Ask, Campaign, CampaignPool, Client, Match, OperatorDone, Server};
use firstcome_rush::codes::{self, CodesDone, CodesPlan, Plan, Progress, Report, Shares};
use firstcome_rush::people::Observer;
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
        pool: pool.name,
        people: args.subjects.unwrap_or(PEOPLE),
        per_second: args.rate,
        think: args.think,
        prefix: format!("rush-{seed}-"),
        connections: args.connections as usize,
        seed,
        patience: args.patience,
        slack: SLACK,
        alone: args.create.is_some(),
        visit: CodesPlan {
            uses: pool.codes.as_ref().map_or(1, |codes| codes.uses),
            reservation: RESERVATION,
            tries: TRIES,
            waits: WAITS,
            shares: Shares {
                abandon: args.abandon,
                roll_back: args.roll_back,
                wrong: args.wrong,
                wait: args.wait,
                ..Shares::default()
            },
        },
        cut: args.cut,
    };
    out::talk(format!(
        "rush on the {} codes of {}/{}:\n{} people on {} connections, a reservation lasts {}, seed {seed}",
        thousands(pool.capacity.into()),
        plan.campaign,
        plan.pool,
        thousands(u64::from(plan.people)),
        plan.connections,
        terminal::short(plan.visit.reservation)
    ));
    let json = json.then_some(Report::json);
    let load = async |observer: &mut Observer<'_, CodesDone>| codes::run(plan, observer).await;
    people::run(load, (&mut client, made), line, json).await
}

/// How it is going, in a line.
pub(in crate::cli) fn line(now: &Progress) -> String {
    let away = away(now);
    format!(
        "{away}{} of {} people gone: {} codes, {} redeemed, {} rolled back, {} cancelled",
        thousands(u64::from(now.gone)),
        thousands(u64::from(now.people)),
        thousands(now.done.issued),
        thousands(now.done.redeemed),
        thousands(now.done.rolled_back),
        thousands(now.done.cancelled)
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
