//! The best seats of a half-sold house of a hundred thousand, in the rules alone; and what a seat takes.

#[path = "../../../../firstcome-core/examples/hall/house.rs"]
mod halls;

use crate::table::{Budget, Table};
use anyhow::{Context, Result};
use halls::{KINDS, MOST, RULES, ask, house, resident, sell_half};

const SEATS: usize = 100_000;
const BUDGET_MS: f64 = 1.0;
const BUDGET_BYTES: f64 = 120.0;

pub(super) fn run(table: &mut Table) -> Result<()> {
    let cases = KINDS.len() * MOST.len() * RULES.len();
    eprintln!("the best of {SEATS} seats, half of them sold, in {cases} ways");
    let (mut worst, mut name, mut p50s) = (0.0, String::new(), vec![]);
    for kind in KINDS {
        let (mut hall, ..) = house(SEATS, kind);
        sell_half(&mut hall);
        for most in MOST {
            for (rule, adjacent, orphans) in RULES {
                let asked = ask(&mut hall, most, adjacent, orphans);
                let ms = |at: usize| asked.took[at].as_secs_f64() * 1e3;
                p50s.push(ms(500));
                if ms(990) > worst {
                    worst = ms(990);
                    name = format!(
                        "{}-{most}, {rule}, {}, {} of 1,000 refused",
                        most / 2 + 1,
                        kind.0,
                        asked.refused
                    );
                }
            }
        }
    }
    table.add(
        "best seats in the rules, p99 in ms",
        format!("{worst:.2} ms in the slowest way: {name}"),
        format!("p50 over all ways {:.3} ms", crate::table::median(p50s)),
        worst,
        Budget::AtMost(BUDGET_MS),
    );
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

/// Prints the resident bytes a seat takes, measured in a process of its own.
pub(crate) fn print_memory() -> Result<()> {
    let before = resident();
    let (hall, ..) = house(SEATS, KINDS[0]);
    println!("{}", (resident() - before) as f64 / f64::from(hall.seats()));
    Ok(())
}
