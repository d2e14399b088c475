//! The best seats of a half-sold house of a hundred thousand, in the rules alone; and what a seat takes.

mod halls;

use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::{Context, Result};
use halls::{KINDS, KindOfHouse, MOST, RULES, ask, house, resident, sell_half};

const SEATS: usize = 100_000;
const BUDGET_MS: f64 = 1.0;
const BUDGET_BYTES: f64 = 120.0;

pub(super) fn run(table: &mut Table) -> Result<()> {
    let cases = KINDS.len() * MOST.len() * RULES.len();
    eprintln!("the best of {SEATS} seats, half of them sold, in {cases} ways");
    // A house of two thousand sections is no house, but somebody will import one.
    let (houses, odd) = KINDS.split_at(KINDS.len() - 1);
    table_of(table, "best seats in the rules, p99 in ms", houses);
    table_of(table, "the same, where each row is a section", odd);
    let output =
        std::process::Command::new(std::env::current_exe()?).arg("--seat-memory").output()?;
    let bytes: f64 =
        String::from_utf8(output.stdout)?.trim().parse().context("no figure of memory")?;
    table.add(
        "memory per seat",
        format!("{bytes:.0} B, name, row, grade and price included"),
        format!("{BUDGET_BYTES} B"),
        bytes / BUDGET_BYTES,
        Budget::AtMost(1.0),
    );
    Ok(())
}

/// Asks houses of some kinds in all ways; what counts is the slowest.
fn table_of(table: &mut Table, what: &str, kinds: &[KindOfHouse]) {
    let (mut worst, mut name, mut all) = (0.0, String::new(), vec![]);
    for kind in kinds {
        let (mut hall, ..) = house(SEATS, *kind);
        sell_half(&mut hall);
        for most in MOST {
            for (rule, adjacent, orphans) in RULES {
                let asked = ask(&mut hall, most, adjacent, orphans);
                let ms = |at: usize| asked.took[at].as_secs_f64() * 1e3;
                all.push(ms(990));
                if ms(990) > worst {
                    worst = ms(990);
                    let (least, kind, refused) = (most / 2 + 1, kind.0, asked.refused);
                    name = format!("{least}-{most}, {rule}, {kind}, {refused} of 1,000 refused");
                }
            }
        }
    }
    table.add(
        what,
        format!("{worst:.2} ms in the slowest way: {name}"),
        format!(
            "{} ways, the p99 of half of them at most {:.2} ms",
            all.len(),
            median(all.clone())
        ),
        worst,
        Budget::AtMost(BUDGET_MS),
    );
}

/// Prints the resident bytes a seat takes, measured in a process of its own.
pub(crate) fn print_memory() -> Result<()> {
    let before = resident();
    let (hall, ..) = house(SEATS, KINDS[0]);
    println!("{}", (resident() - before) as f64 / f64::from(hall.seats()));
    Ok(())
}
