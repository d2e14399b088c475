//! `seats`: what an operator does with the seats of a pool.

mod change;
mod columns;
mod file;
mod import;
mod show;

use clap::{Args, Subcommand};

use super::campaign::id_from_text;
use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::hold::CountArgs;
use super::terminal::out;
use firstcome_api::seat::{BlockRequest, MoveRequest};
use firstcome_client::{Ask, Picks, SeatsBlocked, SeatsMoved};

/// What can be done with seats.
#[derive(Debug, Subcommand)]
pub(super) enum SeatsVerb {
    /// Add seats and areas from a file.
    Import(import::ImportArgs),
    /// Change names, price categories and prices of seats: all of them or none.
    Change(change::ChangeArgs),
    /// Draw the seat map.
    Show(show::ShowArgs),
    /// Take free units out of sale: all of them or none.
    #[command(override_usage = "firstcome seats block [OPTIONS] --reason <TEXT>
       <CAMPAIGN> <POOL> [UNIT]...")]
    #[command(after_help = "\
Examples:
  firstcome seats block gala main A1 A2 --reason 'camera'
  firstcome seats block gala main --area lawn --quantity 20 --reason 'too wet'")]
    Block(BlockArgs),
    /// Put blocked units back: all of them or none.
    #[command(override_usage = "firstcome seats unblock [OPTIONS] --reason <TEXT>
       <CAMPAIGN> <POOL> [UNIT]...")]
    #[command(after_help = "\
Example:
  firstcome seats unblock gala main A1 A2 --reason 'no camera today'")]
    Unblock(BlockArgs),
    /// Exchange a held or confirmed seat for a free one.
    Move(MoveArgs),
}

/// A pool of a campaign.
#[derive(Debug, Args)]
pub(super) struct PoolArgs {
    /// The campaign.
    campaign: String,
    /// The pool.
    pool: String,
}

/// Why, and an id that makes a repeated command happen once.
#[derive(Debug, Args)]
pub(super) struct WhyArgs {
    /// The reason, stored with the command: 1 to 256 bytes.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// The identity of this command: repeated with the same id, it happens once [default: random].
    #[arg(long, value_name = "ID", value_parser = id_from_text)]
    id: Option<String>,
}

impl WhyArgs {
    fn id(&self) -> String {
        self.id.clone().unwrap_or_else(|| format!("cli-{:032x}", fastrand::u128(..)))
    }
}

/// Options of `seats block` and `seats unblock`.
#[derive(Debug, Args)]
pub(super) struct BlockArgs {
    #[command(flatten)]
    pool: PoolArgs,
    /// Seats, groups and areas by their names; an area counts for one place.
    #[arg(value_name = "UNIT", required_unless_present = "quantity")]
    units: Vec<String>,
    #[command(flatten)]
    count: CountArgs,
    #[command(flatten)]
    why: WhyArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `seats move`.
#[derive(Debug, Args)]
#[command(override_usage = "firstcome seats move [OPTIONS] --reason <TEXT>
       <CAMPAIGN> <POOL> <FROM> <TO>")]
#[command(after_help = "\
Example:
  firstcome seats move gala main A1 A4 --reason 'broken seat'")]
pub(super) struct MoveArgs {
    #[command(flatten)]
    pool: PoolArgs,
    /// The seat that becomes free.
    from: String,
    /// The free seat that replaces it.
    to: String,
    #[command(flatten)]
    why: WhyArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(verb: SeatsVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        SeatsVerb::Import(args) => import::run(args, json).await,
        SeatsVerb::Change(args) => change::run(args, json).await,
        SeatsVerb::Show(args) => show::run(args, json).await,
        SeatsVerb::Block(args) => block(args, true, json).await,
        SeatsVerb::Unblock(args) => block(args, false, json).await,
        SeatsVerb::Move(args) => exchange(args, json).await,
    }
}

async fn block(args: BlockArgs, blocked: bool, json: bool) -> Result<Exit, Complaint> {
    let PoolArgs { campaign, pool } = &args.pool;
    let verb = if blocked { "block" } else { "unblock" };
    let CountArgs { quantity, area } = args.count;
    let asked = args.units.len() as u64 + quantity.map_or(0, u64::from);
    let picks = Picks { units: args.units, quantity, area, ..Picks::default() };
    let id = args.why.id();
    let (picks, reason) = (picks.requests(), args.why.reason);
    let body = BlockRequest { units: Vec::new(), picks, reason };
    let ask = Ask::operate_seats(campaign, pool, verb, body, &id);
    let (done, raw) = yes(args.server.client()?.ask::<SeatsBlocked>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let note =
            if asked > u64::from(done.units) { ", the others had this status already" } else { "" };
        let units = out::count(done.units.into(), "unit");
        out::line(format!("{} {units} of {campaign}/{pool}{note}", done.outcome));
    }
    Ok(Exit::Yes)
}

async fn exchange(args: MoveArgs, json: bool) -> Result<Exit, Complaint> {
    let PoolArgs { campaign, pool } = &args.pool;
    let id = args.why.id();
    let body = MoveRequest { from: args.from, to: args.to, reason: args.why.reason };
    let ask = Ask::operate_seats(campaign, pool, "move", body, &id);
    let (moved, raw) = yes(args.server.client()?.ask::<SeatsMoved>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let SeatsMoved { from, to, rank, .. } = moved;
        let whose = rank.map_or("a hold".to_owned(), |rank| format!("rank {rank}"));
        out::line(format!("moved {whose} from {from} to {to} in {campaign}/{pool}"));
    }
    Ok(Exit::Yes)
}
