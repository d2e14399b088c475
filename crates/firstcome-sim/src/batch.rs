//! Runs many worlds, on as many threads as there are processors.

use crate::story::{sentence, steps};
use anyhow::Context;
use firstcome_inject::Mistake;
use firstcome_sim::mistakes;
use firstcome_sim::plan::Plan;
use firstcome_sim::trial::{Trial, shorten, trial, until_noticed};
use indicatif::{ProgressBar, ProgressStyle};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a history that fails is made shorter.
const SHORTEN_FOR: Duration = Duration::from_secs(60);

/// How long to go on.
#[derive(Clone, Copy)]
pub(crate) enum Until {
    Worlds(u64),
    Over(Duration),
}

/// Which worlds are lived through.
pub(crate) struct What {
    /// The first seed.
    pub(crate) from: u64,
    pub(crate) until: Until,
    /// Those that break a promise by a fault which is known. One that breaks none any more is a failure: the list says
    /// what is wrong today.
    pub(crate) open: Vec<u64>,
}

/// The sums over many worlds.
#[derive(Clone, Copy, Default)]
struct Sum {
    worlds: u64,
    time: Duration,
    faults: u64,
    claims: usize,
    holds: usize,
    from_memory: usize,
    failovers: usize,
    forks: u64,
    put_back: u64,
    settled: usize,
    excused: usize,
    allowed: usize,
}

impl Sum {
    fn add(&mut self, trial: &Trial) {
        let world_run = &trial.world_run;
        self.worlds += 1;
        self.time += world_run.time;
        self.faults += world_run.faults;
        self.failovers += world_run.failovers;
        self.forks += world_run.forks;
        self.put_back += world_run.put_back;
        if let Ok(verdict) = &trial.verdict {
            self.claims += verdict.claims_acknowledged;
            self.holds += verdict.holds_acknowledged;
            self.from_memory += verdict.answers_from_memory;
            self.settled += verdict.results_settled;
            self.excused += verdict.ranks_excused;
            self.allowed += verdict.losses_allowed;
        }
    }

    fn say(&self, took: Duration) -> String {
        let hours = self.time.as_secs_f64() / 3600.0;
        format!(
            "{} worlds, {hours:.1} hours of theirs in {:.0} s ({:.0} times as fast): {} faults, \
             {} failovers, {} forks, {} entries put back, {} claims and {} holds acknowledged, {} answers from \
             memory, {} results settled; {} ranks changed in a fork and listed, {} losses the durability allows",
            self.worlds,
            took.as_secs_f64(),
            self.time.as_secs_f64() / took.as_secs_f64().max(0.001),
            self.faults,
            self.failovers,
            self.forks,
            self.put_back,
            self.claims,
            self.holds,
            self.from_memory,
            self.settled,
            self.excused,
            self.allowed,
        )
    }
}

/// Runs worlds until a promise breaks; says whether none did.
pub(crate) fn promises(
    &What { from, until, ref open }: &What,
    mistake: Option<Mistake>,
    threads: usize,
    keep_going: bool,
) -> bool {
    let begun = Instant::now();
    let (next, over) = (AtomicU64::new(from), AtomicBool::new(false));
    let sum = Mutex::new(Sum::default());
    let failed: Mutex<Option<(u64, Trial)>> = Mutex::new(None);
    let mended: Mutex<Vec<u64>> = Mutex::default();
    let broken_worlds = AtomicU64::new(0);
    let bar = progress(until);
    let is_over = |seed: u64| match until {
        Until::Worlds(worlds) => seed >= from.saturating_add(worlds),
        Until::Over(time) => begun.elapsed() >= time,
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if is_over(seed) {
                        return;
                    }
                    let trial = trial(&Plan::draw(seed), mistake, None);
                    let mut sum = sum.lock().unwrap_or_else(PoisonError::into_inner);
                    sum.add(&trial);
                    match until {
                        Until::Worlds(_) => bar.inc(1),
                        Until::Over(_) => bar.set_position(begun.elapsed().as_secs()),
                    }
                    bar.set_message(format!(
                        "{} worlds, {} faults, {} claims, {} forks",
                        sum.worlds, sum.faults, sum.claims, sum.forks
                    ));
                    drop(sum);
                    if trial.broken().is_none() && open.contains(&seed) {
                        mended.lock().unwrap_or_else(PoisonError::into_inner).push(seed);
                    }
                    if let Some(broken) = trial.broken() {
                        if open.contains(&seed) {
                            bar.suspend(|| {
                                println!("{seed}, known and open: {}", sentence(broken))
                            });
                            continue;
                        }
                        if keep_going {
                            bar.suspend(|| println!("{seed}: {}", sentence(broken)));
                        }
                        broken_worlds.fetch_add(1, Ordering::Relaxed);
                        over.store(!keep_going, Ordering::Relaxed);
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        // The lowest number of those that failed at the same time.
                        if failed.as_ref().is_none_or(|(known, _)| seed < *known) {
                            *failed = Some((seed, trial));
                        }
                    }
                }
            });
        }
    });
    bar.finish_and_clear();
    let sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    println!("{}", sum.say(begun.elapsed()));
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut mended = mended.into_inner().unwrap_or_else(PoisonError::into_inner);
    mended.sort_unstable();
    for seed in &mended {
        println!("{seed} is named as open and breaks no promise any more: take it out of --open");
    }
    let Some((seed, trial)) = failed else {
        println!("no promise broke");
        return mended.is_empty();
    };
    if keep_going {
        println!("{} worlds broke a promise", broken_worlds.into_inner());
    } else {
        report(seed, &trial, mistake);
    }
    false
}

/// Says which promise broke, makes the history shorter, and names the command that repeats it.
fn report(seed: u64, found: &Trial, mistake: Option<Mistake>) {
    println!("\nworld {seed}:");
    for broken in found.verdict.as_ref().err().into_iter().flatten().take(5) {
        println!("{}", sentence(broken));
    }
    let Some(broken) = found.broken() else { return };
    eprintln!("making the history shorter, for {} s at most …", SHORTEN_FOR.as_secs());
    let plan = Plan::draw(seed);
    let kept = shorten(&plan, mistake, broken.promise, SHORTEN_FOR);
    let shorter = trial(&plan.only(&kept), mistake, None);
    println!("\nthe same with {} of its {} steps:", kept.len(), plan.steps.len());
    for step in &kept {
        println!(
            "  {step:>4} {:>9.3} {:?}",
            plan.steps[*step].at.as_secs_f64(),
            plan.steps[*step].what
        );
    }
    for broken in shorter.verdict.as_ref().err().into_iter().flatten().take(5) {
        println!("{}", sentence(broken));
    }
    let mistake = mistake.map_or(String::new(), |mistake| format!(" --mistake {}", mistake.name()));
    println!(
        "\nto see its story:\n  cargo xtask sim --seed {seed}{mistake} --steps {}",
        steps(&kept)
    );
    println!("and the whole of it:\n  cargo xtask sim --seed {seed}{mistake}");
}

/// A row of the table of mistakes.
fn row(mistake: Mistake, count: &str, promise: &str) -> String {
    format!("| `{}` | {} | {count} | {promise} |", mistake.name(), mistake.sentence())
}

/// Returns the world that notices a mistake by the table in a page, and the promise that breaks.
fn noticed_by(page: &str, mistake: Mistake) -> Option<(u64, &str)> {
    let begin = row(mistake, "", "");
    let begin = begin.trim_end_matches([' ', '|']);
    let row = page.lines().find(|line| line.starts_with(begin))?;
    let mut rest = row.strip_prefix(begin)?.split('|').map(str::trim).skip(1);
    let count: u64 = rest.next()?.parse().ok()?;
    Some((count.checked_sub(1)?, rest.next()?.trim_matches('`')))
}

/// Makes every mistake in turn; says whether each was noticed within `worlds` worlds, and whether the
/// page in `check` says the same. A mistake that is still noticed in the world that the page names is looked for in no other.
pub(crate) fn every_mistake(
    threads: usize,
    worlds: u64,
    check: Option<&Path>,
) -> anyhow::Result<bool> {
    let begun = Instant::now();
    let page = check.map(|page| {
        std::fs::read_to_string(page).with_context(|| format!("cannot read {}", page.display()))
    });
    let page = page.transpose()?;
    let mut table = vec![
        "| Mistake | What is done wrong | Worlds until noticed | Promise that broke |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ];
    table.iter().for_each(|line| println!("{line}"));
    let (mut missed, mut needed) = (Vec::new(), Vec::new());
    for mistake in mistakes::all() {
        let named = page.as_ref().and_then(|page| noticed_by(page, mistake));
        let named = named.filter(|(seed, promise)| {
            let trial = trial(&Plan::draw(*seed), Some(mistake), None);
            trial.broken().is_some_and(|broken| broken.promise == *promise)
        });
        let found = named.or_else(|| until_noticed(mistake, worlds, threads));
        let (count, promise) = match found {
            Some((seed, promise)) => (format!("{}", seed + 1), format!("`{promise}`")),
            None => (format!("not in {worlds}"), String::new()),
        };
        match found {
            Some((seed, _)) => needed.push(seed + 1),
            None => missed.push(mistake.name()),
        }
        table.push(row(mistake, &count, &promise));
        println!("{}", table.last().map_or("", String::as_str));
    }
    needed.sort_unstable();
    let median = needed.get(needed.len() / 2).copied().unwrap_or(0);
    println!(
        "{} of {} mistakes noticed, half of them within {median} worlds, in {:.0} s",
        needed.len(),
        needed.len() + missed.len(),
        begun.elapsed().as_secs_f64()
    );
    if !missed.is_empty() {
        println!("not noticed: {}: the world has a hole there", missed.join(", "));
    }
    let mut same = true;
    if let (Some(page), Some(text)) = (check, page) {
        same = text.contains(&table.join("\n"));
        if !same {
            println!("{} has another table: put the one above in its place", page.display());
        }
    }
    Ok(missed.is_empty() && same)
}

fn progress(until: Until) -> ProgressBar {
    let (length, template) = match until {
        Until::Worlds(worlds) => (worlds, "{bar:30} {pos}/{len} worlds, {eta} left: {msg}"),
        Until::Over(time) => (time.as_secs(), "{bar:30} {pos}/{len} s: {msg}"),
    };
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_the_table_names_the_world_that_notices_the_mistake() {
        let mistake = mistakes::named("min_position_ignored").expect("there is such a mistake");
        let row = row(mistake, "7", "`position_honoured`");
        let page = format!("| other |\n{row}\n");
        assert_eq!(noticed_by(&page, mistake), Some((6, "position_honoured")));
        for other in ["0", "not in 4000"] {
            assert_eq!(noticed_by(&page.replace("| 7 |", &format!("| {other} |")), mistake), None);
        }
    }

    #[test]
    fn a_world_that_is_named_as_open_must_fail_and_does_not_count() {
        let mistake = mistakes::named("min_position_ignored").expect("there is such a mistake");
        let (failing, _) = until_noticed(mistake, 200, 1).expect("it is noticed");
        let kept = |from, open: &[u64], mistake| {
            let what = What { from, until: Until::Worlds(1), open: open.to_vec() };
            promises(&what, mistake, 1, true)
        };
        assert!(kept(0, &[], None) && !kept(0, &[0], None), "world 0 breaks no promise");
        assert!(kept(failing, &[failing], Some(mistake)));
        assert!(!kept(failing, &[failing + 1], Some(mistake)));
    }
}
