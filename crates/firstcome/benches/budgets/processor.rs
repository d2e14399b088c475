//! Processor time, as Linux counts it, in microseconds.

use anyhow::{Context, Result};

/// USER_HZ, the unit of `/proc`, is 100 on Linux.
const TICK_US: f64 = 10_000.0;

/// Returns the time a process used so far, without its children.
pub(crate) fn of(pid: u32) -> Result<f64> {
    Ok(fields(&pid.to_string())?.iter().take(2).sum())
}

/// Returns the time this process used so far, without its children.
pub(crate) fn own() -> Result<f64> {
    of(std::process::id())
}

/// Returns the time this process and all its children that have ended used so far.
pub(crate) fn own_with_ended() -> Result<f64> {
    Ok(fields("self")?.iter().sum())
}

/// Returns the time that a process, the children it has and those it had used so far.
pub(crate) fn of_family(parent: u32) -> Result<f64> {
    let mut sum: f64 = fields(&parent.to_string())?.iter().sum();
    for entry in std::fs::read_dir("/proc")? {
        let Ok(name) = entry?.file_name().into_string() else { continue };
        if !name.bytes().all(|digit| digit.is_ascii_digit()) {
            continue;
        }
        // One that ended meanwhile is counted with its parent.
        let Ok(words) = words(&name) else { continue };
        if words.get(1) == Some(&parent.to_string()) {
            sum += times(&words)?.iter().sum::<f64>();
        }
    }
    Ok(sum)
}

/// User and system time of the process, then those of its children that have ended.
fn fields(process: &str) -> Result<[f64; 4]> {
    times(&words(process)?)
}

fn times(words: &[String]) -> Result<[f64; 4]> {
    let mut times = [0.0; 4];
    for (time, word) in times.iter_mut().zip(words.iter().skip(11)) {
        *time = word.parse::<f64>()? * TICK_US;
    }
    Ok(times)
}

/// The fields of a process behind its name, which may have blanks in it.
fn words(process: &str) -> Result<Vec<String>> {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat"))?;
    let behind = stat.rsplit(')').next().context("a stat line has a name")?;
    Ok(behind.split_whitespace().map(str::to_owned).collect())
}

/// What all processors did since the machine started.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Machine {
    /// In processes, whosever.
    pub(crate) busy: f64,
    /// Taken by another virtual machine.
    pub(crate) stolen: f64,
}

/// Returns what all processors did so far. Interrupts are left out: most are those of the own network and disk.
pub(crate) fn machine() -> Result<Machine> {
    let stat = std::fs::read_to_string("/proc/stat")?;
    let line = stat.lines().next().context("/proc/stat is empty")?;
    let ticks: Vec<f64> =
        line.split_whitespace().skip(1).map(str::parse).collect::<Result<_, _>>()?;
    let of = |field: usize| ticks.get(field).copied().unwrap_or(0.0) * TICK_US;
    // user, nice, system, idle, iowait, irq, softirq, steal
    Ok(Machine { busy: of(0) + of(1) + of(2), stolen: of(7) })
}
