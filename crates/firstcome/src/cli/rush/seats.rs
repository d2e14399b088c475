//! `rush --seats`: people on seats.

use std::time::Duration;

use serde_json::json;

use super::RushArgs;
use super::people::{self, away};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{watched, yes};
use crate::cli::terminal::out;
use firstcome_api::key::Secret;
use firstcome_client::{Ask, Campaign, Client, Match, OperatorDone, SeatMap, Server};
use firstcome_rush::people::Observer;
use firstcome_rush::seats::{self, Plan, Progress, Report, Seats, SeatsDone, Shares};
use firstcome_rush::terminal::{self, thousands};
use firstcome_rush::venue;

/// How long a hold lasts in a campaign that is made for a rush.
const HOLD: Duration = Duration::from_secs(3);

/// Units one person may have in a campaign that is made for a rush.
const LIMIT: u32 = 4;

/// How much later than asked for a hold may end: after a restart the time nobody was there counts as 15 s at most.
const SLACK: Duration = Duration::from_secs(10);

/// The longest hold for which a user of the load test waits without a note.
const LONG: Duration = Duration::from_secs(20);

/// People, where nothing is said.
const PEOPLE: u32 = 2_000;

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
        Some(seats) => create(&args, &mut client, seats, seed).await?,
        None => existing(&args, &mut client).await?,
    };
    let (_, raw) = yes(client.ask::<Campaign>(Ask::campaign(&campaign)).await?)?;
    let hold = raw["hold_ttl_ms"].as_u64().map_or(Duration::from_secs(480), Duration::from_millis);
    let limit = raw["limits"]["campaign"].as_u64().and_then(|limit| u32::try_from(limit).ok());
    let (map, _) = yes(client.ask::<SeatMap>(Ask::seats(&campaign, &pool, false)).await?)?;
    let rows: Vec<_> = map.rows.iter().map(|row| row.seat_names()).collect();
    let made = (args.create.is_some() && !args.keep).then(|| campaign.clone());
    let plan = Plan {
        servers,
        key,
        campaign,
        pool,
        people: args.subjects.unwrap_or(PEOPLE),
        per_second: args.rate,
        think: args.think,
        prefix: format!("rush-{seed}-"),
        connections: args.connections as usize,
        seed,
        patience: args.patience,
        slack: SLACK,
        alone: args.create.is_some(),
        visit: Seats {
            rows: rows.into_iter().filter(|row| !row.is_empty()).collect(),
            limit,
            hold,
            all_pay_after: None,
            hall: None,
            shares: Shares {
                browse: args.browse,
                abandon: args.abandon,
                late: args.late,
                ..Shares::default()
            },
        },
        cut: args.cut,
    };
    out::talk(format!(
        "rush on the {} seats of {}/{}:\n{} people on {} connections, a hold lasts {}, seed {seed}",
        thousands(map.standing.len() as u64),
        plan.campaign,
        plan.pool,
        thousands(u64::from(plan.people)),
        plan.connections,
        terminal::short(plan.visit.hold)
    ));
    if args.late > 0.0 && hold > LONG {
        out::talk(
            "late payers wait until their hold has ended, so the test takes that long; --late 0 leaves them out",
        );
    }
    let json = json.then_some(Report::json);
    let load = async |observer: &mut Observer<'_, SeatsDone>| seats::run(plan, observer).await;
    people::run(load, (&mut client, made), line, json).await
}

pub(in crate::cli) fn line(now: &Progress) -> String {
    let answers =
        now.answers.iter().map(|(answer, count)| format!("{answer} {}", thousands(*count)));
    let away = away(now);
    format!(
        "{away}{} of {} people gone, {} seats confirmed: {}",
        thousands(u64::from(now.gone)),
        thousands(u64::from(now.people)),
        thousands(now.done.confirmed),
        answers.collect::<Vec<_>>().join(", ")
    )
}

/// Creates a sample venue of so many seats.
async fn create(
    args: &RushArgs,
    client: &mut Client,
    seats: u64,
    seed: u64,
) -> Result<(String, String), Complaint> {
    let few = u32::try_from(seats).ok().filter(|seats| (venue::LEAST..=50_000).contains(seats));
    let Some(seats) = few else {
        return Err(Complaint::usage(format!(
            "--create {seats}: a venue has {} to 50,000 seats",
            venue::LEAST
        )));
    };
    let drawn = || format!("rush-{seed}-{:08x}", fastrand::u32(..));
    let name = args.campaign.clone().unwrap_or_else(drawn);
    let pool = args.pool.clone().unwrap_or_else(|| "main".to_owned());
    let settings = json!({
        "title": "made by rush", "opens_at": "now", "limits": {"campaign": LIMIT},
        "hold_ttl_ms": u64::try_from(HOLD.as_millis()).unwrap_or(u64::MAX),
        "pools": [{"name": pool, "kind": "seated"}],
    });
    let id = format!("rush-{:032x}", fastrand::u128(..));
    yes(client
        .ask::<OperatorDone>(Ask::put_campaign(&name, settings, Match::Nothing, &id))
        .await?)?;
    for part in venue::venue(seats).chunks(2_000) {
        let part: Vec<_> = part.iter().map(venue::VenueSeat::json).collect();
        yes(client.ask::<serde_json::Value>(Ask::import_seats(&name, &pool, part.into())).await?)?;
    }
    Ok((name, pool))
}

/// Finds the seated pool of a campaign that is open and, unless --force is given, untouched.
async fn existing(args: &RushArgs, client: &mut Client) -> Result<(String, String), Complaint> {
    let name = args.campaign.clone().unwrap_or_default();
    let (campaign, _) = yes(client.ask::<Campaign>(Ask::campaign(&name)).await?)?;
    let seated = |pool: &&firstcome_client::CampaignPool| {
        pool.kind == "seated" && args.pool.as_ref().is_none_or(|p| *p == pool.name)
    };
    let mut pools = campaign.pools.iter().filter(seated);
    let (Some(pool), None) = (pools.next(), pools.next()) else {
        let complaint = Complaint::usage(format!("{name} has no seated pool, or several"));
        return Err(complaint.hint("name it with --pool"));
    };
    if (pool.last_rank.unwrap_or(0) > 0 || pool.taken > 0) && !args.force {
        let sentence = format!("{name} already has claims or holds of others");
        return Err(Complaint::new(Exit::Refused, sentence)
            .hint("use --create SEATS for a new campaign, or --force to use this one"));
    }
    Ok((name, pool.name.clone()))
}
