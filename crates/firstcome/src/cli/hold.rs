//! `hold`: sets units aside, pays for them, gives them back, by hand.

mod which;

use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use self::which::WhichArgs;
use super::complaint::{Complaint, Exit};
use super::connect::{ServerArgs, yes};
use super::terminal::out;
use super::terminal::table::seconds;
use crate::config::{duration_from_text, text_from_duration};
use firstcome_client::{Ask, Campaign, Client, HeldUnit, Hold, HoldAnswer, Picks};

/// What can be done with holds.
#[derive(Debug, Subcommand)]
pub(super) enum HoldVerb {
    /// Reserve units for a subject: all of them or none.
    Take(TakeArgs),
    /// Show a hold and its units.
    Show(HoldShowArgs),
    /// Reserve more units in a hold.
    Add(AddArgs),
    /// Release some units of a hold.
    Drop(DropArgs),
    /// Move a hold's deadline.
    Extend(ExtendArgs),
    /// Confirm units of a hold, permanently; all of them, if none is named.
    Confirm(ConfirmArgs),
    /// Release units of a hold; all of them, if none is named.
    Release(ReleaseArgs),
}

/// Units without names.
#[derive(Debug, Args)]
pub(super) struct CountArgs {
    /// A number of places of --area, or of units of a counted pool.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=500))]
    pub(super) quantity: Option<u32>,
    /// The area (general admission).
    #[arg(long, value_name = "NAME", requires = "quantity")]
    pub(super) area: Option<String>,
}

/// Which units.
#[derive(Debug, Args)]
pub(super) struct PickArgs {
    /// Seats, groups and areas by their names.
    #[arg(value_name = "UNIT")]
    units: Vec<String>,
    /// The pool; may be left out if there is only one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    /// A number of best seats, next to each other.
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=100))]
    best: Option<u32>,
    /// The best of this price category only.
    #[arg(long, value_name = "GRADE", requires = "best")]
    grade: Option<String>,
    /// The best at this price only: minor units and currency, like 9000EUR.
    #[arg(long, value_name = "PRICE", requires = "best", value_parser = price_from_text)]
    price: Option<(i64, String)>,
    /// The best seats anywhere, not next to each other.
    #[arg(long, requires = "best")]
    apart: bool,
    /// The best of the seats marked as accessible.
    #[arg(long, requires = "best")]
    accessible: bool,
    #[command(flatten)]
    count: CountArgs,
    /// The channel of the seller: only with it can its reserved seats be held.
    #[arg(long, value_name = "NAME")]
    channel: Option<String>,
}

/// Units that are named.
#[derive(Debug, Args)]
pub(super) struct NamedArgs {
    /// Seats, groups and areas by their names.
    #[arg(value_name = "UNIT")]
    units: Vec<String>,
    /// The pool; may be left out if there is only one.
    #[arg(long, value_name = "NAME")]
    pool: Option<String>,
    #[command(flatten)]
    count: CountArgs,
}

/// Options of `hold take`.
#[derive(Debug, Args)]
#[command(after_help = "\
The identity of a hold is its id: a repeated command with the same --id is safe and gives the same hold. Without --id \
a random id is used and printed.

Examples:
  firstcome hold take gala ann A1 A2
  firstcome hold take gala bob --best 2 --grade R --id order-4711
  firstcome hold take gala cyd --area lawn --quantity 3 --wait 3s --json")]
pub(super) struct TakeArgs {
    /// The campaign.
    campaign: String,
    /// The subject: a user id or another name of one person, 1 to 255 bytes.
    subject: String,
    #[command(flatten)]
    picks: PickArgs,
    /// The id of the hold: 1 to 64 bytes [default: random].
    #[arg(long, value_name = "ID")]
    id: Option<String>,
    /// How long to wait for named seats that are taken.
    #[arg(long, value_name = "TIME", default_value = "0s", value_parser = duration_from_text)]
    wait: Duration,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `hold show`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstcome hold show gala order-4711
  firstcome hold show order-4711 --json")]
pub(super) struct HoldShowArgs {
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `hold add`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstcome hold add gala order-4711 A3
  firstcome hold add gala order-4711 --best 1 --grade R")]
pub(super) struct AddArgs {
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    picks: PickArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `hold drop`.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  firstcome hold drop gala order-4711 A2")]
pub(super) struct DropArgs {
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    named: NamedArgs,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `hold extend`.
#[derive(Debug, Args)]
#[command(after_help = "\
A campaign has a longest time of a hold. A longer extension ends at that time, and a note says so.

Examples:
  firstcome hold extend gala order-4711
  firstcome hold extend order-4711 --for 5m")]
pub(super) struct ExtendArgs {
    #[command(flatten)]
    which: WhichArgs,
    /// Whose hold it is, as it was written before there was --subject.
    #[arg(value_name = "SUBJECT", hide = true)]
    owner: Option<String>,
    /// The time from now, up to 1d; by default the campaign's time of a hold.
    #[arg(long = "for", value_name = "TIME", value_parser = extension_from_text)]
    by: Option<Duration>,
    #[command(flatten)]
    server: ServerArgs,
}

/// What becomes of a confirm that comes after the hold expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LateConfirm {
    /// It is refused.
    Refuse,
    /// It takes the same units again if all are free; otherwise a refund is due.
    Retake,
}

/// Options of `hold confirm`.
#[derive(Debug, Args)]
#[command(after_help = "\
A repeated confirm is safe and prints the same ranks. With --late retake, a late confirm takes the same units again \
if all of them are free; otherwise `refund_due` says that the shop must give the money back (exit code 1). That answer \
is final.

Examples:
  firstcome hold confirm gala order-4711
  firstcome hold confirm gala order-4711 A1 --late retake
  firstcome hold confirm order-4711")]
pub(super) struct ConfirmArgs {
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    named: NamedArgs,
    /// What happens if the hold has expired.
    #[arg(long, value_enum, default_value_t = LateConfirm::Refuse)]
    late: LateConfirm,
    #[command(flatten)]
    server: ServerArgs,
}

/// Options of `hold release`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  firstcome hold release gala order-4711 A1
  firstcome hold release gala order-4711")]
pub(super) struct ReleaseArgs {
    #[command(flatten)]
    which: WhichArgs,
    #[command(flatten)]
    named: NamedArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(super) fn price_from_text(text: &str) -> Result<(i64, String), String> {
    let split = text.len().checked_sub(3).filter(|&at| text.is_char_boundary(at));
    let parts = split.map(|at| text.split_at(at));
    match parts.and_then(|(minor, currency)| Some((minor.parse().ok()?, currency))) {
        Some((minor, currency)) if currency.bytes().all(|byte| byte.is_ascii_uppercase()) => {
            Ok((minor, currency.to_owned()))
        }
        Some(_) | None => {
            Err(format!("`{text}` is no price: write minor units and currency, like 9000EUR"))
        }
    }
}

impl PickArgs {
    fn picks(self) -> Result<Picks, Complaint> {
        let Self { units, pool, best, grade, price, apart, accessible, count, channel } = self;
        let CountArgs { quantity, area } = count;
        let picks =
            Picks { pool, units, quantity, area, best, grade, price, apart, accessible, channel };
        if picks.is_empty() {
            let complaint = Complaint::usage("no units are named");
            return Err(complaint.hint("name them, or use --best COUNT or --quantity COUNT"));
        }
        Ok(picks)
    }
}

impl NamedArgs {
    fn picks(self) -> Picks {
        let CountArgs { quantity, area } = self.count;
        Picks { pool: self.pool, units: self.units, quantity, area, ..Picks::default() }
    }
}

/// The longest time that one extension can name, as the server has it.
const LONGEST: Duration = Duration::from_micros(firstcome_core::limits::HOLD_MOST_US as u64);

fn extension_from_text(text: &str) -> Result<Duration, String> {
    let by = duration_from_text(text)?;
    if by.is_zero() || by > LONGEST {
        return Err(format!("must be 1ms to {}, not `{text}`", text_from_duration(LONGEST)));
    }
    Ok(by)
}

pub(super) async fn run(verb: HoldVerb, json: bool) -> Result<Exit, Complaint> {
    let (client, ask) = match verb {
        HoldVerb::Take(args) => {
            let id = args.id.unwrap_or_else(|| format!("cli-{:032x}", fastrand::u128(..)));
            let picks = args.picks.picks()?;
            let wait_ms = u64::try_from(args.wait.as_millis()).unwrap_or(u64::MAX);
            let ask = Ask::hold(&args.campaign, &id, &args.subject, picks.requests(), wait_ms);
            (args.server.client()?, ask)
        }
        HoldVerb::Show(args) => return show(args, json).await,
        HoldVerb::Extend(args) => return extend(args, json).await,
        HoldVerb::Add(mut args) => {
            let mut client = args.server.client()?;
            let step = args.which.step(&mut client, &mut args.picks.units).await?;
            (client, step.add(&args.picks.picks()?))
        }
        HoldVerb::Drop(mut args) => {
            let mut client = args.server.client()?;
            let step = args.which.step(&mut client, &mut args.named.units).await?;
            let picks = args.named.picks();
            if picks.is_empty() {
                let complaint = Complaint::usage("no units are named");
                return Err(complaint.hint("`firstcome hold release` gives all of them back"));
            }
            (client, step.drop(&picks))
        }
        HoldVerb::Confirm(mut args) => {
            let mut client = args.server.client()?;
            let step = args.which.step(&mut client, &mut args.named.units).await?;
            (client, step.confirm(&args.named.picks(), args.late == LateConfirm::Retake))
        }
        HoldVerb::Release(mut args) => {
            let mut client = args.server.client()?;
            let step = args.which.step(&mut client, &mut args.named.units).await?;
            (client, step.release(&args.named.picks()))
        }
    };
    let (answer, raw) = yes(client.ask::<HoldAnswer>(ask).await?)?;
    if json {
        out::json(&raw);
    } else {
        out::line(sentence(&answer));
    }
    Ok(Exit::Yes)
}

async fn extend(args: ExtendArgs, json: bool) -> Result<Exit, Complaint> {
    let mut client = args.server.client()?;
    let mut which = args.which;
    which.subject = which.subject.or(args.owner);
    let step = which.step(&mut client, &mut Vec::new()).await?;
    let (answer, raw) = yes(client.ask::<HoldAnswer>(step.extend(args.by)).await?)?;
    if json {
        out::json(&raw);
    } else {
        out::line(sentence(&answer));
    }
    if let Some(most) = longest(&mut client, &step.campaign, &answer).await {
        let most = text_from_duration(most);
        out::talk(format!(
            "note: this is the longest time: in {} a hold lasts at most {most} in all (hold_max_ms)",
            step.campaign
        ));
    }
    Ok(Exit::Yes)
}

/// How long a hold may last in all, where this one was extended to the end of that; `None`, too, where that cannot be read.
async fn longest(client: &mut Client, campaign: &str, answer: &HoldAnswer) -> Option<Duration> {
    let expires: jiff::Timestamp = answer.expires_at.as_deref()?.parse().ok()?;
    let (hold, _) =
        yes(client.ask::<Hold>(Ask::hold_of(campaign, &answer.hold, None)).await.ok()?).ok()?;
    let (campaign, _) = yes(client.ask::<Campaign>(Ask::campaign(campaign)).await.ok()?).ok()?;
    let most = Duration::from_millis(u64::try_from(campaign.hold_max_ms).ok()?);
    let started: jiff::Timestamp = hold.started_at.parse().ok()?;
    (Duration::try_from(expires.duration_since(started)).ok()? >= most).then_some(most)
}

async fn show(args: HoldShowArgs, json: bool) -> Result<Exit, Complaint> {
    let (shown, raw) = args.which.find(&mut args.server.client()?).await?;
    if json {
        out::json(&raw);
        return Ok(Exit::Yes);
    }
    let until = shown.expires_at.map_or(String::new(), |at| format!(", until {}", seconds(&at)));
    out::line(format!("hold {} of {}: {}{until}", shown.hold, shown.subject, shown.state));
    for unit in &shown.units {
        let state = unit.state.as_deref().unwrap_or("held");
        let rank = unit.rank.map_or(String::new(), |rank| format!(", rank {rank}"));
        out::line(format!("  {}: {state}{rank}{}", words(unit), price(unit)));
    }
    Ok(Exit::Yes)
}

fn sentence(answer: &HoldAnswer) -> String {
    let HoldAnswer { outcome, hold, subject, units, expires_at, retaken, left, .. } = answer;
    let until = expires_at.as_deref().map_or_else(|| "its end".to_owned(), seconds);
    let names = || units.iter().map(words).collect::<Vec<_>>().join(", ");
    let rest = match left {
        Some(left @ 1..) => format!("; {left} are held still"),
        Some(0) | None => String::new(),
    };
    match outcome.as_str() {
        "held" => format!("{subject} holds {} until {until}: hold {hold}", names()),
        "already_held" => format!("{subject} already holds {} until {until}: hold {hold}", names()),
        "extended" => format!("hold {hold} of {subject} lasts until {until}"),
        "confirmed" => {
            let ranked = |unit: &HeldUnit| match unit.rank {
                Some(rank) => format!("{} (rank {rank})", words(unit)),
                None => words(unit),
            };
            let ranked: Vec<_> = units.iter().map(ranked).collect();
            let again = if *retaken { ", taken again after the hold had expired" } else { "" };
            format!("{subject} has {}{again}{rest}", ranked.join(", "))
        }
        "released" => format!("{subject} gave {} back{rest}", names()),
        other => format!("hold {hold} of {subject}: {other}"),
    }
}

/// Its name, with their number if they have no names.
pub(super) fn words(unit: &HeldUnit) -> String {
    let name = unit.unit.as_deref().or(unit.area.as_deref()).unwrap_or(&unit.pool);
    match unit.quantity {
        Some(count) => format!("{count} of {name}"),
        None => name.to_owned(),
    }
}

fn price(unit: &HeldUnit) -> String {
    match (unit.price_minor, &unit.currency) {
        (Some(minor), Some(currency)) => format!(", {minor} {currency} (minor units)"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_minor_units_with_a_currency() {
        assert_eq!(price_from_text("9000EUR"), Ok((9_000, "EUR".to_owned())));
        assert_eq!(price_from_text("-5JPY"), Ok((-5, "JPY".to_owned())));
        for text in ["EUR", "9000", "90.00EUR", "9000eur", "9€€", ""] {
            assert!(price_from_text(text).is_err(), "{text}");
        }
    }
}
