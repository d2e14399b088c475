//! `codes export`: who has which code, deliberately.

use clap::Args;

use super::PoolArgs;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::terminal::lines::{Paper, ShapeArgs};
use crate::cli::terminal::table::{Column, TableArgs};
use firstcome_api::winner::WINNER_COLUMNS_WITH_CODES;
use firstcome_client::{Ask, Client, ResultRange, WinnerPage};

/// Options of `codes export`.
#[derive(Debug, Args)]
#[command(after_help = "\
All current claims of the pool, by rank, each with the code it has now. The key needs the role redeem. The result is \
secret: everybody who reads it can use the codes.

Examples:
  firstcome codes export vouchers
  (umask 077; firstcome codes export vouchers --format csv > codes.csv)")]
pub(in crate::cli) struct ExportArgs {
    /// The campaign.
    campaign: String,
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The columns as people read them.
const TABLE: [Option<Column>; 8] = [
    None,
    None,
    Some(Column::number("rank")),
    Some(Column::new("subject").least(10)),
    None,
    Some(Column::new("at").spare(1)),
    None,
    Some(Column::new("code")),
];

/// Claims in one request.
const PAGE: u64 = 10_000;

pub(super) async fn run(args: ExportArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    // The first page comes before anything is printed: what is refused prints no header.
    let mut page = Some(page(&mut client, &args, 0).await?);
    let paper = (&args.shape, json, args.table);
    let mut paper = Paper::new(paper, "winners", &WINNER_COLUMNS_WITH_CODES, &TABLE);
    let mut after = 0;
    while let Some((found, documents)) = page.take() {
        for (line, document) in found.winners.into_iter().zip(documents) {
            paper.put(line.cells_with_code(), document);
        }
        if let Some(next) = found.next.filter(|next| *next > after) {
            after = next;
            page = Some(self::page(&mut client, &args, after).await?);
        }
    }
    paper.end(None);
    Ok(Exit::Yes)
}

async fn page(
    client: &mut Client,
    args: &ExportArgs,
    after: u64,
) -> Result<(WinnerPage, Vec<serde_json::Value>), Complaint> {
    let range = ResultRange { after, limit: PAGE };
    let ask = Ask::winners_with_codes(&args.campaign, args.pool.pool.as_deref(), range);
    let (page, raw) = yes(client.ask::<WinnerPage>(ask).await?)?;
    let documents = raw["winners"].as_array().cloned().unwrap_or_default();
    Ok((page, documents))
}
