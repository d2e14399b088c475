//! `claim --wait` and `waitlist`: who waits for units of a pool, and for what.

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::hold;
use super::terminal::out;
use super::terminal::table::{Column, Table, TableArgs, seconds};
use firstcome_client::{
    Ask, Joined, LeftWaitlist, Place, ResultRange, WaitingLine, WaitlistPage, Wish,
};
use firstcome_core::limits::WISH_UNITS;

/// What a claim waits for.
#[derive(Debug, Args)]
pub(super) struct WaitArgs {
    /// Join the waitlist if what is wanted is not free.
    #[arg(long, conflicts_with = "file")]
    wait: bool,
    /// How many units, which come together or not at all: 1 to 10 [default: 1].
    #[arg(long, value_name = "COUNT", requires = "wait", value_parser = clap::value_parser!(u32).range(1..=i64::from(WISH_UNITS)))]
    quantity: Option<u32>,
    /// Only seats of this price category.
    #[arg(long, value_name = "NAME", requires = "wait")]
    grade: Option<String>,
    /// The channel of the seller: only with it can its reserved seats be had.
    #[arg(long, value_name = "NAME", requires = "wait")]
    channel: Option<String>,
    /// Places of this area, and no seats.
    #[arg(long, value_name = "NAME", requires = "wait")]
    area: Option<String>,
    /// Only seats next to each other in one row.
    #[arg(long, requires = "wait")]
    adjacent: bool,
}

impl WaitArgs {
    /// Returns what is waited for, if the claim waits.
    pub(super) fn wish(&self) -> Option<Wish> {
        let Self { wait, quantity, grade, channel, area, adjacent } = self;
        wait.then(|| Wish {
            quantity: *quantity,
            grade: grade.clone(),
            channel: channel.clone(),
            area: area.clone(),
            adjacent: *adjacent,
        })
    }
}

/// Prints what a claim that waits came to, where it is not won.
pub(super) fn joined(joined: &Joined, raw: &Value, json: bool) {
    if json {
        out::json(raw);
        return;
    }
    out::line(if let Joined::Waits(place) = joined {
        let (ahead, units) = (ahead(place.ahead), out::count(place.quantity.into(), "unit"));
        let passed = if place.passed_over { PASSED_OVER } else { "" };
        let (subject, campaign, pool) = (&place.subject, &place.campaign, &place.pool);
        format!("{subject} waits for {units} of {campaign}/{pool}, {ahead}{passed}")
    } else if let Joined::Offered(held) = joined {
        let (subject, until) = (&held.subject, seconds(&held.expires_at));
        let units: Vec<String> = held.units.iter().map(hold::words).collect();
        let (units, hold) = (units.join(", "), &held.hold);
        format!("{subject} is offered {units} until {until}: hold {hold}")
    } else {
        format!("{joined:?}")
    });
}

const PASSED_OVER: &str = "; what came free was too little, others had it";

fn ahead(count: u32) -> String {
    match count {
        0 => "nobody is in front".to_owned(),
        1 => "1 is in front".to_owned(),
        more => format!("{more} are in front"),
    }
}

/// Verbs on waitlists.
#[derive(Debug, Subcommand)]
pub(super) enum WaitlistVerb {
    /// Show the place of a subject, or its offer.
    Show(WaitlistShowArgs),
    /// List who waits for units of a pool, in order.
    List(ListArgs),
    /// Take a subject off the waitlist of a pool; its offer ends.
    Leave(LeaveArgs),
}

/// Options of `waitlist show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Whoever is not on the list gets `not_on_waitlist`: see its claims, or the results (`unserved`).

Examples:
  firstcome waitlist show gala ira
  firstcome waitlist show gala ira --pool main --json")]
pub(super) struct WaitlistShowArgs {
    /// The campaign.
    campaign: String,
    /// The subject.
    subject: String,
    /// The pool; may be left out if there is only one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `waitlist list`.
#[derive(Debug, Args)]
#[command(after_help = "\
The order of the list is that of joining. Who has an offer is not on it. It needs an operator's key.

Examples:
  firstcome waitlist list gala
  firstcome waitlist list gala --limit 100 --json")]
pub(super) struct ListArgs {
    /// The campaign.
    campaign: String,
    /// The pool; may be left out if there is only one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// Only tickets after this one.
    #[arg(long, value_name = "TICKET", default_value_t = 0)]
    after: u32,
    /// The most to print.
    #[arg(long, value_name = "COUNT", default_value_t = 1_000, value_parser = clap::value_parser!(u64).range(1..))]
    limit: u64,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `waitlist leave`.
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  firstcome waitlist leave gala ira")]
pub(super) struct LeaveArgs {
    /// The campaign.
    campaign: String,
    /// The subject.
    subject: String,
    /// The pool; may be left out if there is only one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) async fn run(verb: WaitlistVerb, json: bool) -> Result<Exit, Complaint> {
    match verb {
        WaitlistVerb::Show(args) => show(args, json).await,
        WaitlistVerb::List(args) => list(args, json).await,
        WaitlistVerb::Leave(args) => leave(args, json).await,
    }
}

async fn show(args: WaitlistShowArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::place(&args.campaign, &args.subject, args.pool.as_deref());
    let (place, raw) = yes(args.server.client()?.ask::<Place>(ask).await?)?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let Place { subject, campaign, pool, .. } = &place;
    let missed = match place.offers_not_taken {
        0 => String::new(),
        count => format!(", {} not taken", out::count(count.into(), "offer")),
    };
    let units = wanted(&place);
    if place.is_offered() {
        let until = seconds(place.expires_at.as_deref().unwrap_or_default());
        let hold = place.hold.as_deref().unwrap_or_default();
        let names: Vec<String> = place.units.iter().map(hold::words).collect();
        let names = names.join(", ");
        out::line(format!("{subject} is offered {names} until {until}{missed}: hold {hold}"));
    } else {
        let (ahead, since) = (ahead(place.ahead.unwrap_or(0)), seconds(&place.since));
        out::line(format!("{subject} waits for {units} of {campaign}/{pool} since {since}"));
        let passed = if place.passed_over == Some(true) { PASSED_OVER } else { "" };
        out::line(format!("  {ahead}{missed}{passed}"));
    }
    Ok(Exit::Yes)
}

/// What somebody waits for, in words.
fn wanted(place: &Place) -> String {
    let mut words = out::count(place.quantity.into(), "unit");
    words += &kind([&place.grade, &place.channel, &place.area], place.adjacent == Some(true));
    words
}

fn kind([grade, channel, area]: [&Option<String>; 3], adjacent: bool) -> String {
    let named = [("grade", grade), ("channel", channel), ("area", area)];
    let named = named.iter().filter_map(|(what, name)| Some((what, name.as_ref()?)));
    let mut words: String = named.map(|(what, name)| format!(", {what} {name}")).collect();
    if adjacent {
        words += ", next to each other";
    }
    words
}

const TABLE: [Column; 5] = [
    Column::number("ticket"),
    Column::new("subject").least(10),
    Column::new("wants").least(10),
    Column::number("not taken").spare(2),
    Column::new("since").spare(1),
];

async fn list(args: ListArgs, json: bool) -> Result<Exit, Complaint> {
    let client = args.server.client()?;
    let (mut after, mut documents) = (u64::from(args.after), Vec::new());
    let mut table = Table::new(args.table, &TABLE);
    let mut left = args.limit;
    let (count, offered, more) = loop {
        let range = ResultRange { after, limit: left.min(10_000) };
        let ask = Ask::waitlist(&args.campaign, args.pool.as_deref(), range);
        let (page, raw) = yes(client.ask::<WaitlistPage>(ask).await?)?;
        documents.extend(raw["waiting"].as_array().cloned().unwrap_or_default());
        left = left.saturating_sub(page.waiting.len() as u64);
        for line in page.waiting {
            let since = table.time(&line.since);
            table.row(cells(line, since));
        }
        match page.next {
            Some(next) if next > after && left > 0 => after = next,
            next => break (page.count, page.offered, next),
        }
    };
    if json {
        out::json(&json!({"waiting": documents, "count": count, "offered": offered, "next": more}));
        return Ok(Exit::Yes);
    }
    if documents.is_empty() {
        out::line(format!("nobody waits in {}, {offered} have an offer", args.campaign));
    } else {
        table.print();
        out::talk(format!("{count} wait, {offered} have an offer"));
    }
    if let Some(after) = more {
        out::talk(format!("there are more: --after {after}"));
    }
    Ok(Exit::Yes)
}

fn cells(line: WaitingLine, since: String) -> [String; 5] {
    let kind = kind([&line.grade, &line.channel, &line.area], line.adjacent);
    let wants = format!("{}{kind}", line.quantity);
    [line.ticket.to_string(), line.subject, wants, line.offers_not_taken.to_string(), since]
}

async fn leave(args: LeaveArgs, json: bool) -> Result<Exit, Complaint> {
    let ask = Ask::leave(&args.campaign, &args.subject, args.pool.as_deref());
    let (done, raw) = yes(args.server.client()?.ask::<LeftWaitlist>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        let LeftWaitlist { subject, campaign, was_on, .. } = done;
        let words = if was_on { "does not wait any more in" } else { "was not waiting in" };
        out::line(format!("{subject} {words} {campaign}"));
    }
    Ok(Exit::Yes)
}
