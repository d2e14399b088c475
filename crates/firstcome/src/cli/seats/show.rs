//! `seats show`.

use clap::Args;

use super::PoolArgs;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::terminal::out;
use crate::cli::terminal::screen::width;
use firstcome_client::{Ask, SeatMap};
use firstcome_rush::terminal::{self, RowOfSeats, Style, thousands};

/// Options of `seats show`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  firstcome seats show gala main")]
pub(in crate::cli) struct ShowArgs {
    #[command(flatten)]
    pool: PoolArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(args: ShowArgs, json: bool) -> Result<Exit, Complaint> {
    let PoolArgs { campaign, pool } = &args.pool;
    let ask = Ask::seats(campaign, pool, false);
    let (map, raw) = yes(args.server.client()?.ask::<SeatMap>(ask).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let stdout = std::io::stdout();
    let style = Style::of_terminal(std::io::IsTerminal::is_terminal(&stdout), width(&stdout));
    let rows = map.rows.iter().map(|row| RowOfSeats {
        section: row.section.clone(),
        row: row.row.clone(),
        letters: row.letters(&map.standing),
    });
    for line in terminal::seat_map(&rows.collect::<Vec<_>>(), style) {
        out::line(line);
    }
    if !map.rows.is_empty() {
        out::line(format!("\n{}", terminal::legend(style)));
    }
    for (area, [left, held, confirmed, blocked]) in map.areas.iter().zip(&map.area_standing) {
        let bar = terminal::bar((held + confirmed) as f64 / area.capacity.max(1) as f64, 20);
        out::line(format!(
            "{}  {bar}  {left} free, {held} held, {confirmed} paid, {blocked} blocked",
            area.name
        ));
    }
    let count =
        |letter: char| thousands(map.standing.chars().filter(|l| *l == letter).count() as u64);
    out::line(format!(
        "{} free, {} held, {} paid, {} blocked, {} not for sale",
        count('.'),
        count('h'),
        count('c'),
        count('b'),
        count('-')
    ));
    Ok(Exit::Yes)
}
