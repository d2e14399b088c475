//! `campaign show` and `campaign list`.

use clap::Args;

use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, table, yes};
use crate::cli::out;
use firstcome_client::{Ask, Campaign, CampaignList};
use firstcome_rush::terminal;

/// Options of `campaign show`.
#[derive(Debug, Args)]
pub(in crate::cli) struct ShowArgs {
    /// The campaign.
    name: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// How wide a bar of places is, in characters.
const BAR: usize = 40;

pub(super) async fn run(args: ShowArgs, json: bool) -> Result<Exit, Complaint> {
    let (campaign, raw) =
        yes(args.server.client()?.ask::<Campaign>(Ask::campaign(&args.name)).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    out::line(match campaign.title.as_str() {
        "" => campaign.campaign.clone(),
        title => format!("{}: {title}", campaign.campaign),
    });
    out::line(format!(
        "  {}{}",
        state(&campaign),
        if campaign.stale { " (this may be old)" } else { "" }
    ));
    if let Some(closes_at) = &campaign.closes_at {
        out::line(format!("  closes at {closes_at}"));
    }
    if let Some(limit) = campaign.limits.campaign {
        out::line(format!("  at most {limit} per subject"));
    }
    let widest = campaign.pools.iter().map(|pool| pool.name.len()).max().unwrap_or(0);
    for pool in &campaign.pools {
        let drawn = terminal::bar(f64::from(pool.left) / f64::from(pool.capacity.max(1)), BAR);
        let cancelled = match pool.cancelled {
            None | Some(0) => String::new(),
            Some(cancelled) => format!(", {cancelled} cancelled"),
        };
        let (name, left, capacity) = (&pool.name, pool.left, pool.capacity);
        let last = pool.last_rank.unwrap_or(0);
        out::line(format!(
            "  {name:widest$} {drawn} {left} of {capacity} left, last rank {last}{cancelled}"
        ));
    }
    out::line(format!(
        "  version {}, {} results not settled yet",
        campaign.version,
        campaign.unsettled.unwrap_or(0)
    ));
    Ok(Exit::Yes)
}

fn state(campaign: &Campaign) -> String {
    match (&*campaign.state, campaign.opens_in_ms, &campaign.opens_at) {
        ("scheduled", Some(wait), Some(opens_at)) => {
            format!("opens in {:.1} s, at {opens_at}", wait as f64 / 1_000.0)
        }
        ("draft", ..) => "draft: it has no opening time yet".to_owned(),
        (state, _, Some(opens_at)) => format!("{state}, since its opening at {opens_at}"),
        (state, _, None) => state.to_owned(),
    }
}

pub(super) async fn list(server: ServerArgs, json: bool) -> Result<Exit, Complaint> {
    let (list, raw) = yes(server.client()?.ask::<CampaignList>(Ask::campaigns()).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let mut table = table(&["campaign", "state", "left", "places", "opens at", "title"]);
    for campaign in &list.campaigns {
        let places: u64 = campaign.pools.iter().map(|pool| u64::from(pool.capacity)).sum();
        table.add_row([
            campaign.campaign.clone(),
            campaign.state.to_string(),
            campaign.left.to_string(),
            places.to_string(),
            campaign.opens_at.clone().unwrap_or_default(),
            campaign.title.clone(),
        ]);
    }
    for gone in list.archived {
        let archived = format!("archived {}", gone.archived_at);
        let none = String::new;
        table.add_row([gone.campaign, archived, none(), none(), none(), gone.title]);
    }
    out::line(table);
    Ok(Exit::Yes)
}
