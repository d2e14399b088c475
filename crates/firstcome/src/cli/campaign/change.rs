//! `campaign change`: read, modify, write back if nobody else did meanwhile.

use clap::Args;
use serde_json::{Value, json};

use super::{IdArgs, pool_from_text, print_put, time_from_text};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use firstcome_client::{Ask, Campaign, Client, Match, OperatorDone};

/// Options of `campaign change`.
#[derive(Debug, Args)]
#[command(after_help = "\
What is not named stays as it is. Places can go up at any time, and down to what is given already: the answer tells \
how far they got. If somebody else changes the campaign at the same moment, nothing is changed and you are told.

Examples:
  firstcome campaign change spring --places 600
  firstcome campaign change spring --closes +2h --title 'Last hours'
  firstcome campaign change gig --pool balcony=150 --closes none")]
pub(in crate::cli) struct ChangeArgs {
    /// The campaign.
    name: String,
    /// What people read.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// Places, where there is one pool.
    #[arg(long, value_name = "COUNT", conflicts_with = "pool")]
    places: Option<u64>,
    /// A pool and its places; a new name is a new pool. May be given several times.
    #[arg(long, value_name = "NAME=COUNT", value_parser = pool_from_text)]
    pool: Vec<(String, u64)>,
    /// When it opens; none makes it a draft.
    #[arg(long, value_name = "TIME")]
    opens: Option<String>,
    /// When it closes; none leaves it open.
    #[arg(long, value_name = "TIME")]
    closes: Option<String>,
    /// Units a subject may have over all pools, held and claimed together; none lifts the limit.
    #[arg(long, value_name = "COUNT", value_parser = limit_from_text)]
    limit: Option<Limit>,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// A limit as typed.
#[derive(Debug, Clone, Copy)]
enum Limit {
    AtMost(u64),
    Lifted,
}

fn limit_from_text(text: &str) -> Result<Limit, String> {
    match (text, text.parse()) {
        ("none", _) => Ok(Limit::Lifted),
        (_, Ok(limit)) => Ok(Limit::AtMost(limit)),
        (_, Err(_)) => Err(format!("`{text}` is neither a number nor none")),
    }
}

pub(super) async fn run(args: ChangeArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let (now, _) = yes(client.ask::<Campaign>(Ask::campaign(&args.name)).await?)?;
    let settings = args.settings(&mut client, &now).await?;
    let ask = Ask::put_campaign(&args.name, settings, Match::Version(now.version), &args.id.get());
    let (answer, raw) = yes(client.ask::<OperatorDone>(ask).await?)?;
    print_put(&args.name, &answer, &raw, json);
    Ok(Exit::Yes)
}

impl ChangeArgs {
    async fn settings(&self, client: &mut Client, now: &Campaign) -> Result<Value, Complaint> {
        let opens_at = match &self.opens {
            Some(text) => time_from_text(client, text).await?,
            None => json!(now.opens_at),
        };
        let closes_at = match &self.closes {
            Some(text) => time_from_text(client, text).await?,
            None => json!(now.closes_at),
        };
        let limit = match self.limit {
            Some(Limit::AtMost(limit)) => Some(limit),
            Some(Limit::Lifted) => None,
            None => now.limits.campaign.map(u64::from),
        };
        Ok(json!({
            "title": self.title.as_ref().unwrap_or(&now.title),
            "opens_at": opens_at,
            "closes_at": closes_at,
            "limits": {"campaign": limit},
            "claim_again": now.claim_again,
            "units_return": now.units_return,
            "pools": self.pools(now)?,
        }))
    }

    fn pools(&self, now: &Campaign) -> Result<Vec<Value>, Complaint> {
        let mut pools: Vec<(String, u64)> =
            now.pools.iter().map(|pool| (pool.name.clone(), u64::from(pool.capacity))).collect();
        if let Some(places) = self.places {
            let [(_, capacity)] = pools.as_mut_slice() else {
                let sentence = format!(
                    "{} has {} pools, so --places does not say which",
                    self.name,
                    pools.len()
                );
                return Err(Complaint::usage(sentence).hint("name the pool: --pool NAME=COUNT"));
            };
            *capacity = places;
        }
        for (name, places) in &self.pool {
            match pools.iter_mut().find(|(known, _)| known == name) {
                Some((_, capacity)) => *capacity = *places,
                None => pools.push((name.clone(), *places)),
            }
        }
        let pools = pools.into_iter();
        Ok(pools
            .map(|(name, capacity)| json!({"name": name, "kind": "counted", "capacity": capacity}))
            .collect())
    }
}
