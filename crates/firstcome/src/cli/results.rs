//! `results`: what happened, in order.

pub(super) mod webhooks;

use std::time::Duration;

use clap::Args;

use super::complaint::{Complaint, Exit};
use super::connect::{Again, ServerArgs, yes};
use super::terminal::lines::{Paper, ShapeArgs};
use super::terminal::out;
use super::terminal::table::{Column, TableArgs};
use firstcome_api::result::RESULT_COLUMNS;
use firstcome_client::{Ask, ResultFormat, ResultPage, ResultRange};

/// Options of `results`.
#[derive(Debug, Args)]
#[command(after_help = "\
Results are all events, in order: claims won, claims cancelled, refunds due, seats moved, codes redeemed, \
people who left a waitlist without a unit. A claim that was cancelled later is still there. `firstcome winners` prints the current claims.

Results are ordered by number. Numbers run over all campaigns of a server, so those of one campaign have gaps; \
ranks have none.

Examples:
  firstcome results spring
  firstcome results spring --all --format csv > results.csv
  firstcome results spring --after 1000 --limit 100 --json
  firstcome results spring --follow --format csv")]
pub(super) struct ResultsArgs {
    /// The campaign.
    campaign: String,
    /// Only results with a greater number.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    after: u64,
    /// The most results to print, up to 10000.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    limit: u64,
    /// Print all of them, page by page.
    #[arg(long)]
    all: bool,
    /// Print all of them, and then each new one as it comes, until Ctrl-C; a server that went away is waited for. Not as one
    /// JSON document.
    #[arg(long, conflicts_with_all = ["all", "limit"])]
    follow: bool,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(args: ResultsArgs, json: bool) -> Result<Exit, Complaint> {
    if args.follow {
        return follow(args, json).await;
    }
    let client = args.server.client()?;
    let mut after = args.after;
    let paper = (&args.shape, json, args.table);
    let mut paper = Paper::new(paper, "results", &RESULT_COLUMNS, &TABLE);
    let limit = if args.all { 10_000 } else { args.limit };
    let next = loop {
        let ask = Ask::results(&args.campaign, ResultRange { after, limit }, ResultFormat::Json);
        let (page, raw) = yes(client.ask::<ResultPage>(ask).await?)?;
        let documents = raw["results"].as_array().cloned().unwrap_or_default();
        for (line, document) in page.results.into_iter().zip(documents) {
            paper.put(line.cells(), document);
        }
        match page.next {
            Some(next) if args.all && next > after => after = next,
            next => break next,
        }
    };
    paper.end(next);
    if let Some(next) = next {
        out::talk(format!("there are more: --after {next}, or --all"));
    }
    Ok(Exit::Yes)
}

/// How often new results are asked for.
const FOLLOWED_EVERY: Duration = Duration::from_secs(1);

/// Prints results as they come, page after page; where nothing new is there it asks again after a second.
async fn follow(args: ResultsArgs, json: bool) -> Result<Exit, Complaint> {
    let mut server = Again::new(&args.server)?;
    let mut after = args.after;
    let shape = args.shape.following(json);
    let mut paper = Paper::new((&shape, false, args.table), "results", &RESULT_COLUMNS, &TABLE);
    loop {
        let range = ResultRange { after, limit: 10_000 };
        let ask = Ask::results(&args.campaign, range, ResultFormat::Json);
        let (page, raw) = yes(server.ask::<ResultPage>(ask).await?)?;
        let documents = raw["results"].as_array().cloned().unwrap_or_default();
        for (line, document) in page.results.into_iter().zip(documents) {
            after = after.max(line.number);
            paper.put(line.cells(), document);
        }
        match page.next {
            Some(next) => after = after.max(next),
            None => {
                paper.print_so_far();
                tokio::time::sleep(FOLLOWED_EVERY).await;
            }
        }
    }
}

/// The columns as people read them: what is missing most of the time is left out first.
const TABLE: [Option<Column>; RESULT_COLUMNS.len()] = [
    Some(Column::number("number")),
    Some(Column::new("kind")),
    None,
    Some(Column::new("pool").least(6).spare(3)),
    Some(Column::number("rank")),
    Some(Column::new("subject").least(10)),
    Some(Column::new("at").spare(2)),
    Some(Column::new("by").spare(5)),
    Some(Column::new("reason").least(8).spare(4)),
    Some(Column::new("unit").least(6).spare(1)),
    Some(Column::new("hold").least(8).spare(6)),
    None,
    Some(Column::new("reference").least(8).spare(2)),
    Some(Column::new("used_by").least(8).spare(7)),
    Some(Column::new("verdict").spare(3)),
    Some(Column::number("issue").spare(7)),
    Some(Column::new("import").least(8).spare(6)),
    Some(Column::number("quantity").spare(5)),
];
