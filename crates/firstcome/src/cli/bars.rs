//! `bar`, `unbar` and `bars`: who is kept out of a campaign.

use clap::Args;
use serde_json::json;

use super::campaign::IdArgs;
use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::terminal::out;
use super::terminal::table::{Column, Table, TableArgs, seconds};
use firstcome_client::{Ask, BarLifted, BarPage, BarSet, ResultRange};

/// Options of `bar`.
#[derive(Debug, Args)]
#[command(after_help = "\
The live holds of the subject end, and it can claim and hold nothing more. Its confirmed claims stay: cancel them with \
`firstcome cancel`. A second bar changes nothing.

Example:
  firstcome bar spring ann --reason \"sold on\"")]
pub(super) struct BarArgs {
    /// The campaign.
    campaign: String,
    /// The subject to bar.
    subject: String,
    /// The reason.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `unbar`.
#[derive(Debug, Args)]
#[command(after_help = "\
Holds that the bar ended do not come back.

Example:
  firstcome unbar spring ann")]
pub(super) struct UnbarArgs {
    /// The campaign.
    campaign: String,
    /// The subject.
    subject: String,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `bars`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  firstcome bars spring --json")]
pub(super) struct BarsArgs {
    /// The campaign.
    campaign: String,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn bar(args: BarArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::bar(&args.campaign, &args.subject, &args.reason, &args.id.get());
    let (done, raw) = yes(args.server.client()?.ask::<BarSet>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let BarSet { subject, campaign, at, holds, .. } = done;
        let ended = match holds {
            0 => String::new(),
            1 => ", 1 hold ended".to_owned(),
            more => format!(", {more} holds ended"),
        };
        let at = seconds(&at);
        out::line(format!("{subject} is barred from {campaign} since {at}{ended}"));
    }
    Ok(Exit::Yes)
}

pub(super) async fn unbar(args: UnbarArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::unbar(&args.campaign, &args.subject, &args.id.get());
    let (done, raw) = yes(args.server.client()?.ask::<BarLifted>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let BarLifted { subject, campaign, was_barred, .. } = done;
        let words = if was_barred { "is not barred any more from" } else { "was not barred from" };
        out::line(format!("{subject} {words} {campaign}"));
    }
    Ok(Exit::Yes)
}

const TABLE: [Column; 4] = [
    Column::new("subject").least(10),
    Column::new("since"),
    Column::new("by").least(8).spare(1),
    Column::new("reason").least(10),
];

pub(super) async fn list(args: BarsArgs, json: bool) -> Result<Exit, Complaint> {
    let client = args.server.client()?;
    let (mut after, mut documents) = (0, Vec::new());
    let mut table = Table::new(args.table, &TABLE);
    loop {
        let ask = Ask::bars(&args.campaign, ResultRange { after, limit: 10_000 });
        let (page, raw) = yes(client.ask::<BarPage>(ask).await?)?;
        documents.extend(raw["bars"].as_array().cloned().unwrap_or_default());
        for bar in page.bars {
            let since = table.time(&bar.at);
            table.row([bar.subject, since, bar.who, bar.reason]);
        }
        match page.next {
            Some(next) if next > after => after = next,
            Some(_) | None => break,
        }
    }
    if json {
        out::json(&json!({"bars": documents}));
    } else if documents.is_empty() {
        out::line(format!("no subject is barred from {}", args.campaign));
    } else {
        table.print();
    }
    Ok(Exit::Yes)
}
