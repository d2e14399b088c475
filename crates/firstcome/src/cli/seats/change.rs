//! `seats change`.

use clap::Args;

use super::PoolArgs;
use crate::cli::campaign::IdArgs;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::{ServerArgs, yes};
use crate::cli::hold::price_from_text;
use crate::cli::terminal::out;
use firstcome_client::{Ask, SeatChangeRequest, SeatsChanged};

/// Options of `seats change`.
#[derive(Debug, Args)]
#[command(after_help = "\
Before the opening, any seat can be changed. After the opening, only seats that never had an owner: the refusal names \
the others. The first name of a seat is never given to another seat.

Examples:
  firstcome seats change gala main A1 A2 A3 --grade S --price 9900EUR
  firstcome seats change gala main A1 --rename A01")]
pub(in crate::cli) struct ChangeArgs {
    #[command(flatten)]
    pool: PoolArgs,
    /// Seats by their names.
    #[arg(value_name = "SEAT", required = true)]
    seats: Vec<String>,
    /// The new price category.
    #[arg(long, value_name = "GRADE")]
    grade: Option<String>,
    /// The new price: minor units and currency, such as 9000EUR.
    #[arg(long, value_name = "PRICE", value_parser = price_from_text)]
    price: Option<(i64, String)>,
    /// The new name; for one seat only.
    #[arg(long, value_name = "NAME")]
    rename: Option<String>,
    #[command(flatten)]
    id: IdArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(args: ChangeArgs, json: bool) -> Result<Exit, Complaint> {
    let ChangeArgs { grade, price, rename, .. } = &args;
    if grade.is_none() && price.is_none() && rename.is_none() {
        return Err(Complaint::usage(
            "there is nothing to change: give --grade, --price or --rename",
        ));
    }
    if rename.is_some() && args.seats.len() > 1 {
        return Err(Complaint::usage("--rename takes one seat: no two have the same name"));
    }
    let (price_minor, currency) = price.clone().unzip();
    let change = |name: &String| SeatChangeRequest {
        name: name.clone(),
        new_name: rename.clone(),
        grade: grade.clone(),
        price_minor,
        currency: currency.clone(),
    };
    let seats: Vec<SeatChangeRequest> = args.seats.iter().map(change).collect();
    let PoolArgs { campaign, pool } = &args.pool;
    let ask = Ask::change_seats(campaign, pool, &seats, &args.id.get());
    let (done, raw) = yes(args.server.client()?.ask::<SeatsChanged>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let before = if (done.seats as usize) < seats.len() {
            ", the others had these values already"
        } else {
            ""
        };
        let changed = out::count(done.seats.into(), "seat");
        out::line(format!("changed {changed} of {campaign}/{pool}{before}"));
    }
    Ok(Exit::Yes)
}
