//! `seats import`.

use std::io::IsTerminal as _;
use std::path::PathBuf;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use serde_json::{Value, json};

use super::PoolArgs;
use super::file::{self, SeatLine, Shape, WrongLine};
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::connect::ServerArgs;
use crate::cli::terminal::{given, out};
use firstcome_client::{Ask, Imported, Problem, Reply};
use firstcome_rush::terminal::thousands;

/// Options of `seats import`.
#[derive(Debug, Args)]
#[command(after_help = "\
Columns, or fields: name, section, row, number, x, y, quality (0 is best), grade, price_minor, currency, channel, \
accessible, companion, for_sale, group, extra; a line with a capacity is an area. Only the name is required. Seats of one row are \
next to each other in the order of the file.

A table has a header line and `,`, `;` or tabs between its cells. A price is a whole number in the smallest unit of \
its currency: 9000 and EUR for 90 euros.

The whole file is read first: if lines are wrong, the first twenty are printed (with --json all of them) and nothing \
is sent. Then seats are sent in parts, each of them whole or not at all. A second import of the same file adds nothing.

Create the pool with `firstcome campaign create gala --seated main`.

Examples:
  firstcome seats import gala main hall.csv
  make-seats | firstcome seats import gala main - --format ndjson")]
pub(in crate::cli) struct ImportArgs {
    #[command(flatten)]
    pool: PoolArgs,
    /// The file; `-` reads stdin.
    file: PathBuf,
    /// The format [default: by the end of the file name].
    #[arg(long, value_enum)]
    format: Option<Shape>,
    #[command(flatten)]
    server: ServerArgs,
}

/// Seats in one request.
const PART: usize = 2_000;

/// The most wrong lines that are printed.
const TOLD: usize = 20;

pub(super) async fn run(args: ImportArgs, json: bool) -> Result<Exit, Complaint> {
    let name = args.file.display().to_string();
    let Some(shape) = args.format.or_else(|| Shape::of(&name)) else {
        let known = "known endings are .csv, .json, .ndjson and .jsonl";
        let complaint = Complaint::usage(format!(
            "the name {name} does not show the format of the file: {known}"
        ));
        return Err(complaint.hint("give it with --format csv, json or ndjson"));
    };
    let seats = file::read(&given::read(&args.file)?, shape)
        .map_err(|wrong| wrong_lines(&name, &wrong, "nothing was sent", "no", None))?;
    if seats.is_empty() {
        return Err(Complaint::usage(format!("there is no seat in {name}")));
    }
    let PoolArgs { campaign, pool } = &args.pool;
    let client = args.server.client()?;
    let meter = meter(seats.len() as u64);
    let (mut added, mut areas, mut capacity) = (0, 0, 0);
    for part in seats.chunks(PART) {
        let values: Vec<Value> = part.iter().map(|line| line.seat.clone()).collect();
        let ask = Ask::import_seats(campaign, pool, values.into());
        match client.ask::<Imported>(ask).await? {
            Reply::Yes(imported, _) => {
                added += u64::from(imported.seats);
                areas += u64::from(imported.areas);
                capacity = u64::from(imported.capacity);
            }
            Reply::No(problem) => {
                meter.finish_and_clear();
                return Err(refused(&name, part, problem, added + areas));
            }
        }
        meter.inc(part.len() as u64);
    }
    meter.finish_and_clear();
    let there = seats.len() as u64 - added - areas;
    if json {
        out::json(&json!({
            "outcome": "imported", "campaign": campaign, "pool": pool, "seats": added, "areas": areas,
            "there_before": there, "capacity": capacity,
        }));
    } else {
        let before = match there {
            0 => String::new(),
            1 => ", 1 was there before".to_owned(),
            there => format!(", {} were there before", thousands(there)),
        };
        let areas = match areas {
            0 => String::new(),
            areas => format!(" and {}", out::count(areas, "area")),
        };
        out::line(format!(
            "imported {}{areas} into {campaign}/{pool}{before}: {} in all",
            out::count(added, "seat"),
            out::count(capacity, "unit")
        ));
    }
    Ok(Exit::Yes)
}

fn meter(seats: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template("{bar:30} {pos} of {len} seats, {eta} left");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(seats).with_style(style)
}

/// Every wrong line, the first of them in the sentence.
fn wrong_lines(
    name: &str,
    wrong: &[WrongLine],
    rest: &str,
    changed: &str,
    hint: Option<&str>,
) -> Complaint {
    for WrongLine { line, why } in wrong.iter().take(TOLD) {
        out::talk(format!("{name}:{line}: {why}"));
    }
    if wrong.len() > TOLD {
        out::talk(format!("… and {} more", wrong.len() - TOLD));
    }
    let lines = if wrong.len() == 1 { "line is" } else { "lines are" };
    let sentence = format!("{} {lines} wrong in {name}; {rest}", wrong.len());
    let line = |wrong: &WrongLine| json!({"line": wrong.line, "why": wrong.why});
    let errors: Vec<Value> = wrong.iter().map(line).collect();
    let document = json!({"error": sentence, "hint": hint, "changed": changed, "errors": errors});
    let complaint = Complaint::usage(sentence).document(document);
    match hint {
        Some(hint) => complaint.hint(hint),
        None => complaint,
    }
}

/// The lines of the file that the server found wrong, where it says so.
fn refused(name: &str, part: &[SeatLine], problem: Problem, before: u64) -> Complaint {
    let errors = problem.raw["errors"].as_array().cloned().unwrap_or_default();
    let wrong: Vec<WrongLine> = errors
        .iter()
        .filter_map(|error| {
            // The server counts in what it was sent.
            let at = usize::try_from(error["line"].as_u64()?).ok()?.checked_sub(1)?;
            let why = without_number(error["why"].as_str().unwrap_or(&problem.detail));
            Some(WrongLine { line: part.get(at)?.line, why })
        })
        .collect();
    if wrong.is_empty() {
        return problem.into();
    }
    let is_there = wrong.iter().any(|line| line.why.contains("its name is given already"));
    let hint =
        is_there.then_some("`firstcome seats change` changes the grade, price or name of a seat");
    let rest = match before {
        0 => "nothing was added".to_owned(),
        _ => format!("{} before them were added, and the rest was not", out::count(before, "seat")),
    };
    wrong_lines(name, &wrong, &rest, if before > 0 { "yes" } else { "no" }, hint)
}

/// Leaves out the number of a seat or area, which the server counts in the part that it was sent: the line says more.
fn without_number(why: &str) -> String {
    let rest = why.strip_prefix("seat ").or_else(|| why.strip_prefix("area "));
    let rest = rest.map(|rest| rest.trim_start_matches(|digit: char| digit.is_ascii_digit()));
    match rest.and_then(|rest| rest.strip_prefix(" (\"")?.split_once("\"): ")) {
        Some((name, what)) => format!("{name}: {what}"),
        None => why.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_seat_has_its_name_and_not_its_number_in_a_part() {
        let of = without_number;
        assert_eq!(
            of("seat 3 (\"B1\"): its name is given already"),
            "B1: its name is given already"
        );
        assert_eq!(of("area 12 (\"a (b)\"): no"), "a (b): no");
        assert_eq!(of("seat of gold"), "seat of gold");
    }
}
