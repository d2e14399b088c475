//! `campaign show` and `campaign list`.

use clap::Args;

use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::terminal::out;
use crate::cli::terminal::table::{Column, Table, TableArgs, seconds};
use firstcome_client::{Ask, Campaign, CampaignList, Client};
use firstcome_rush::terminal;
use serde_json::Value;

/// Options of `campaign show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  firstcome campaign show spring")]
pub(in crate::cli) struct ShowArgs {
    /// The campaign.
    name: String,
    #[command(flatten)]
    server: ServerArgs,
}

/// How wide a bar of places is, in characters.
const BAR: usize = 24;

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
        if campaign.stale { " (may be out of date)" } else { "" }
    ));
    if let Some(closes_at) = &campaign.closes_at {
        out::line(format!("  closes at {}", seconds(closes_at)));
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
        let offered = pool.offered.unwrap_or(0);
        if pool.waiting > 0 || offered > 0 {
            out::line(format!("  {:widest$} {} wait, {offered} have an offer", "", pool.waiting));
        }
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
            format!("opens in {:.1} s, at {}", wait as f64 / 1_000.0, seconds(opens_at))
        }
        ("draft", ..) => "draft: it has no opening time yet".to_owned(),
        (state, _, Some(opens_at)) => {
            format!("{state}, since its opening at {}", seconds(opens_at))
        }
        (state, _, None) => state.to_owned(),
    }
}

/// Options of `campaign list`.
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  firstcome campaign list\n  firstcome campaign list --wide")]
pub(in crate::cli) struct ListArgs {
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
}

const TABLE: [Column; 7] = [
    Column::new("campaign").least(12),
    Column::new("state"),
    Column::number("left"),
    Column::number("places"),
    Column::new("opens at").spare(1),
    Column::new("archived at").spare(2),
    Column::new("title").least(10).spare(3),
];

/// Reads all campaigns, page by page: as they are, and as one document.
pub(in crate::cli) async fn all(client: &Client) -> Result<(CampaignList, Value), Complaint> {
    let ask = Ask::campaigns("");
    let (mut all, mut document) = yes(client.ask::<CampaignList>(ask).await?)?;
    while let Some(after) = all.next.take() {
        let ask = Ask::campaigns(&after);
        let (page, mut more) = yes(client.ask::<CampaignList>(ask).await?)?;
        for name in ["campaigns", "archived"] {
            if let (Some(lines), Some(more)) =
                (document[name].as_array_mut(), more[name].as_array_mut())
            {
                lines.append(more);
            }
        }
        all.campaigns.extend(page.campaigns);
        all.archived.extend(page.archived);
        (all.next, all.position) = (page.next, page.position);
        all.durable &= page.durable;
        document["position"] = all.position.clone().into();
        document["durable"] = all.durable.into();
    }
    document["next"] = Value::Null;
    Ok((all, document))
}

pub(super) async fn list(args: ListArgs, json: bool) -> Result<Exit, Complaint> {
    let (list, raw) = all(&args.server.client()?).await?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let mut table = Table::new(args.table, &TABLE);
    for campaign in &list.campaigns {
        let places: u64 = campaign.pools.iter().map(|pool| u64::from(pool.capacity)).sum();
        table.row([
            campaign.campaign.clone(),
            campaign.state.to_string(),
            campaign.left.to_string(),
            places.to_string(),
            table.time(campaign.opens_at.as_deref().unwrap_or_default()),
            String::new(),
            campaign.title.clone(),
        ]);
    }
    for gone in list.archived {
        let (archived, none) = ("archived".to_owned(), String::new);
        let at = table.time(&gone.archived_at);
        table.row([gone.campaign, archived, none(), none(), none(), at, gone.title]);
    }
    table.print();
    Ok(Exit::Yes)
}
