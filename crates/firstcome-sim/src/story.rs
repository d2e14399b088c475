//! Prints the story of one world and the verdict on it.

use anyhow::Context;
use firstcome_inject::Mistake;
use firstcome_sim::judge::{Broken, Verdict};
use firstcome_sim::plan::Plan;
use firstcome_sim::trial::trial;
use std::io::Write;

/// Prints the story of a world and judges it; says whether every promise was kept.
pub(crate) fn print(
    seed: u64,
    steps: Option<&str>,
    mistake: Option<Mistake>,
) -> anyhow::Result<bool> {
    let mut plan = Plan::draw(seed);
    if let Some(steps) = steps {
        plan = plan.only(&numbers(steps)?);
    }
    let mut out = std::io::stdout();
    let listener = Box::new(move |line: &str| {
        // A reader who hangs up has seen enough.
        if writeln!(out, "{line}").is_err() {
            std::process::exit(0);
        }
    });
    let trial = trial(&plan, mistake, Some(listener));
    let world_run = &trial.world_run;
    println!(
        "\nworld {seed}, story {:016x}: {:.1} s, {} faults, {} forks, {} entries put back",
        world_run.hash,
        world_run.time.as_secs_f64(),
        world_run.faults,
        world_run.forks,
        world_run.put_back
    );
    match &trial.verdict {
        Ok(verdict) => println!("no promise broke: {}", count(verdict)),
        Err(all) => all.iter().for_each(|broken| println!("{}", sentence(broken))),
    }
    Ok(trial.verdict.is_ok())
}

/// Says which promise broke, and how.
pub(crate) fn sentence(broken: &Broken) -> String {
    format!("BROKEN {}: {}", broken.promise, broken.what)
}

fn count(verdict: &Verdict) -> String {
    format!(
        "{} claims and {} holds acknowledged, {} answers from memory, {} ranks changed by forks and listed, \
         {} losses the durability allows, {} results settled",
        verdict.claims_acknowledged,
        verdict.holds_acknowledged,
        verdict.answers_from_memory,
        verdict.ranks_excused,
        verdict.losses_allowed,
        verdict.results_settled
    )
}

/// Reads numbers such as 3,17,20-24.
fn numbers(text: &str) -> anyhow::Result<Vec<usize>> {
    let mut all = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let read = |number: &str| {
            let parsed = number.trim().parse::<usize>();
            parsed.with_context(|| format!("--steps {text:?}: {number:?} is not a number"))
        };
        let (from, to) = (read(from)?, read(to)?);
        anyhow::ensure!(from <= to && to < 1_000_000, "--steps {text:?}: {part:?} is no range");
        all.extend(from..=to);
    }
    Ok(all)
}

/// Writes numbers so that [`numbers`] reads them.
pub(crate) fn steps(numbers: &[usize]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut rest = numbers;
    while let [first, ..] = rest {
        let run = rest.iter().enumerate().take_while(|(index, step)| **step == first + index);
        let count = run.count();
        parts.push(match count {
            1 => first.to_string(),
            _ => format!("{first}-{}", first + count - 1),
        });
        rest = &rest[count..];
    }
    parts.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_as_they_are_written() {
        for all in [vec![3], vec![0, 1, 2, 7, 9, 10], vec![5, 6]] {
            assert_eq!(numbers(&steps(&all)).unwrap(), all);
        }
        assert_eq!(steps(&[0, 1, 2, 7]), "0-2,7");
        for bad in ["", "x", "4-2", "1,,2"] {
            assert!(numbers(bad).is_err(), "{bad}");
        }
    }
}
