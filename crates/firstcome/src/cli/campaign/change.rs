//! `campaign change`: read, modify, write back if nobody else did meanwhile.

use clap::Args;
use serde_json::{Value, json};

use super::time::{self, PastArgs};
use super::{IdArgs, pool_from_text, print_put, refused};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use firstcome_client::{Ask, Campaign, CampaignPool, Client, Match, OperatorDone, Reply};
use firstcome_core::limits::CAPACITY;

/// Options of `campaign change`.
#[derive(Debug, Args)]
#[command(after_help = "\
Settings that are not named stay. The number of places can be raised at any time, and lowered to the number in use: \
the answer shows the number that was set. If the campaign is changed by another caller at the same moment, the command \
fails and changes nothing.

Examples:
  firstcome campaign change spring --places 600
  firstcome campaign change spring --closes +2h --title 'Last hours'
  firstcome campaign change gig --pool balcony=150 --closes none")]
pub(in crate::cli) struct ChangeArgs {
    /// The campaign.
    name: String,
    /// The title for people.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// The number of places, if there is one pool.
    #[arg(long, value_name = "COUNT", conflicts_with = "pool", value_parser = clap::value_parser!(u64).range(1..=CAPACITY))]
    places: Option<u64>,
    /// A pool and its number of places; a new name adds a pool. May be given several times.
    #[arg(long, value_name = "NAME=COUNT", value_parser = pool_from_text)]
    pool: Vec<(String, u64)>,
    /// The opening time; none makes it a draft.
    #[arg(long, value_name = "TIME")]
    opens: Option<String>,
    /// The closing time; none removes it.
    #[arg(long, value_name = "TIME")]
    closes: Option<String>,
    #[command(flatten)]
    past: PastArgs,
    /// Units of one subject over all pools, held and claimed together; none removes the limit.
    #[arg(long, value_name = "COUNT", value_parser = limit_from_text)]
    limit: Option<Limit>,
    /// Whether everybody may read its counts and its seat map without a key: true or false.
    #[arg(long, value_name = "BOOL")]
    public: Option<bool>,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// A limit as typed.
#[derive(Debug, Clone, Copy)]
enum Limit {
    AtMost(u32),
    Lifted,
}

fn limit_from_text(text: &str) -> Result<Limit, String> {
    match (text, text.parse()) {
        ("none", _) => Ok(Limit::Lifted),
        (_, Ok(0)) => Err("0 would let nobody claim; none lifts the limit".to_owned()),
        (_, Ok(limit)) => Ok(Limit::AtMost(limit)),
        (_, Err(_)) => Err(format!("`{text}` is neither a number nor none")),
    }
}

pub(super) async fn run(args: ChangeArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let (now, _) = yes(client.ask::<Campaign>(Ask::campaign(&args.name)).await?)?;
    let settings = args.settings(&mut client, &now).await?;
    let ask = Ask::put_campaign(&args.name, settings, Match::Version(now.version), &args.id.get());
    let (answer, raw) = match client.ask::<OperatorDone>(ask).await? {
        Reply::Yes(answer, raw) => (answer, raw),
        Reply::No(problem) => return Err(refused(problem)),
    };
    print_put(&args.name, &answer, &raw, json);
    Ok(Exit::Yes)
}

impl ChangeArgs {
    async fn settings(&self, client: &mut Client, now: &Campaign) -> Result<Value, Complaint> {
        let opens_at = match &self.opens {
            Some(text) => time::opening(client, text, &self.past).await?,
            None => json!(now.opens_at),
        };
        let closes_at = match &self.closes {
            Some(text) => time::from_text(client, "--closes", text).await?,
            None => json!(now.closes_at),
        };
        let limit = match self.limit {
            Some(Limit::AtMost(limit)) => Some(limit),
            Some(Limit::Lifted) => None,
            None => now.limits.campaign,
        };
        let mut settings = json!({
            "title": self.title.as_ref().unwrap_or(&now.title),
            "opens_at": opens_at,
            "closes_at": closes_at,
            "limits": {"campaign": limit, "grades": now.limits.grades},
            "claim_again": now.claim_again,
            "units_return": now.units_return,
            "hold_ttl_ms": now.hold_ttl_ms,
            "hold_max_ms": now.hold_max_ms,
            "holds": now.holds,
            "holds_per_hour": now.holds_per_hour,
            "allow_orphans": now.allow_orphans,
            "pools": self.pools(now)?,
        });
        if let Some(time) = now.offer_ms {
            settings["offer_ms"] = time.into();
        }
        if self.public.unwrap_or(now.public) {
            settings["public"] = true.into();
        }
        Ok(settings)
    }

    /// The pools with the places that are named, and everything else of them as it is.
    fn pools(&self, now: &Campaign) -> Result<Vec<Value>, Complaint> {
        let is_counted = |pool: &&CampaignPool| pool.kind == "counted";
        let mut places: Vec<(&str, u64)> = self.pool.iter().map(|(n, p)| (&**n, *p)).collect();
        if let Some(count) = self.places {
            let counted: Vec<&CampaignPool> = now.pools.iter().filter(is_counted).collect();
            let [pool] = counted.as_slice() else {
                let (name, count) = (&self.name, counted.len());
                let sentence = match count {
                    0 => format!("{name} has no counted pool"),
                    _ => format!("{name} has {count} pools, so --places does not say which"),
                };
                return Err(Complaint::usage(sentence).hint("name the pool: --pool NAME=COUNT"));
            };
            places.push((&pool.name, count));
        }
        let of = |name: &str| places.iter().rev().find(|(known, _)| *known == name);
        if let Some(pool) =
            now.pools.iter().find(|pool| !is_counted(pool) && of(&pool.name).is_some())
        {
            let sentence = format!("pool {} has seats: its capacity is their number", pool.name);
            return Err(Complaint::usage(sentence).hint("add seats with `firstcome seats import`"));
        }
        let there = now.pools.iter().map(|pool| {
            let mut value = json!({"name": pool.name, "kind": pool.kind, "limit": pool.limit});
            if is_counted(&pool) {
                let capacity = of(&pool.name).map_or(pool.capacity.into(), |(_, places)| *places);
                value["capacity"] = capacity.into();
            }
            value
        });
        let is_new = |name: &str| now.pools.iter().all(|pool| pool.name != name);
        let new = self.pool.iter().filter(|(name, _)| is_new(name));
        let new = new
            .map(|(name, capacity)| json!({"name": name, "kind": "counted", "capacity": capacity}));
        Ok(there.chain(new).collect())
    }
}
