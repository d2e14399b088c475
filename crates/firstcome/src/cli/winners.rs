//! `winners`: who has what now.

use clap::Args;

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::terminal::lines::{Paper, ShapeArgs};
use super::terminal::out;
use super::terminal::table::{Column, TableArgs};
use firstcome_api::winner::WINNER_COLUMNS;
use firstcome_client::{Ask, Campaign, Client, Reply, ResultRange, WinnerPage};

/// Options of `winners`.
#[derive(Debug, Args)]
#[command(after_help = "\
Winners are the current claims, by rank, each with its current seat. Cancelled claims are left out. All events, in \
order, are in `firstcome results`.

Examples:
  firstcome winners spring
  firstcome winners spring --all --format csv > winners.csv
  firstcome winners gig --pool balcony --after 1000 --limit 100 --json")]
pub(super) struct WinnersArgs {
    /// The campaign.
    campaign: String,
    /// Only this pool; without it all pools, one after the other.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Only ranks after this one, of one pool.
    #[arg(long, value_name = "RANK", default_value_t = 0)]
    after: u32,
    /// The most claims to print, up to 10000.
    #[arg(long, value_name = "COUNT", default_value_t = 1000, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    limit: u64,
    /// Print all of them, page by page.
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    shape: ShapeArgs,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// The columns as people read them.
const TABLE: [Option<Column>; 7] = [
    None,
    Some(Column::new("pool").least(6).spare(3)),
    Some(Column::number("rank")),
    Some(Column::new("subject").least(10)),
    Some(Column::new("unit").least(6).spare(1)),
    Some(Column::new("at").spare(2)),
    Some(Column::new("hold").least(8).spare(4)),
];

pub(super) async fn run(args: WinnersArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    // The first page comes before anything is printed: what is refused prints no header.
    let pools = pools(&mut client, &args).await?;
    let paper = (&args.shape, json, args.table);
    let mut paper = Paper::new(paper, "winners", &WINNER_COLUMNS, &TABLE);
    let mut left = args.limit;
    let mut more = None;
    'pools: for pool in &pools {
        let mut after = u64::from(args.after);
        loop {
            if left == 0 {
                more = Some((pool, after));
                break 'pools;
            }
            let limit = if args.all { 10_000 } else { left };
            let range = ResultRange { after, limit };
            let ask = Ask::winners(&args.campaign, pool.as_deref(), range);
            let (page, raw) = yes(client.ask::<WinnerPage>(ask).await?)?;
            let documents = raw["winners"].as_array().cloned().unwrap_or_default();
            if !args.all {
                left = left.saturating_sub(page.winners.len() as u64);
            }
            for (line, document) in page.winners.into_iter().zip(documents) {
                paper.put(line.cells(), document);
            }
            match page.next {
                Some(next) if next > after => after = next,
                Some(_) | None => break,
            }
        }
    }
    paper.end(more.map(|(_, after)| after));
    if let Some((pool, after)) = more {
        let pool = pool.as_ref().map(|pool| format!("--pool {pool} ")).unwrap_or_default();
        out::talk(format!("there are more: {pool}--after {after}, or --all"));
    }
    Ok(Exit::Yes)
}

/// The pools to ask about; none named where the campaign has one, which the server then takes.
async fn pools(client: &mut Client, args: &WinnersArgs) -> Result<Vec<Option<String>>, Complaint> {
    if args.pool.is_some() {
        return Ok(vec![args.pool.clone()]);
    }
    let ask =
        Ask::winners(&args.campaign, None, ResultRange { after: u64::from(u32::MAX), limit: 1 });
    match client.ask::<WinnerPage>(ask).await? {
        Reply::No(problem) if problem.outcome == "pool_required" && args.after > 0 => {
            let sentence =
                format!("{} has several pools, and each has its own ranks", args.campaign);
            Err(Complaint::usage(sentence).hint("use --after together with --pool"))
        }
        Reply::No(problem) if problem.outcome == "pool_required" => {
            let ask = Ask::campaign(&args.campaign);
            let (campaign, _) = yes(client.ask::<Campaign>(ask).await?)?;
            Ok(campaign.pools.into_iter().map(|pool| Some(pool.name)).collect())
        }
        reply @ (Reply::Yes(..) | Reply::No(_)) => {
            yes(reply)?;
            Ok(vec![None])
        }
    }
}
