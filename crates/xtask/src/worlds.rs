//! Which worlds of the simulation the tests and the nightly run live through.
//!
//! Worlds that are always the same show that what was mended stays so. Only worlds that were never run before show what nobody
//! has seen yet: so some are of seeds that come from the commit, and those of each night are of seeds that come from the time.

use crate::commands::{finish_with, print_at_end, root, run, sim};
use std::path::Path;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Worlds that the test command always runs, from seed 0.
const SAME: u64 = 2_000;
/// Worlds that it runs with seeds from the commit.
const OF_COMMIT: u64 = 1_000;
/// Worlds of one night.
const OF_NIGHT: u64 = 100_000;
/// The first seeds of all commits, and of all nights: below them are those that somebody chose.
const COMMITS: u64 = 1_000_000_000;
const NIGHTS: u64 = 1_000_000_000_000_000;

/// Runs the worlds of the test command, and every mistake, with the simulation that was built with the tests; returns the
/// exit code of the first that fails.
///
/// They take what time of the processors the test programs beside them leave: no world waits for a real clock.
pub(crate) fn of_tests(program: &Path) -> u8 {
    let sim = |args: &[&str]| {
        let mut sim = Command::new("nice");
        sim.args(["-n", "19"]).arg(program).args(args).current_dir(root());
        print_at_end(sim)
    };
    let mut git = Command::new("git");
    git.args(["rev-parse", "HEAD"]).current_dir(root());
    let commit = git.output().ok().filter(|output| output.status.success());
    let commit = commit.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let (first, source) = match commit.as_deref().and_then(first_of_commit) {
        Some(first) => (first, format!("commit {}", commit.unwrap_or_default())),
        // A tree without its history.
        None => (first_of_now(), "the time, since there is no commit".to_owned()),
    };
    finish_with::<3>([
        &|| sim(&["--seeds", &SAME.to_string()]),
        &|| fresh(first, OF_COMMIT, &source, &sim),
        &|| sim(&["--mistakes", "--check", "docs/SIMULATION.md"]),
    ])
}

/// Runs worlds that were never run before, to their end, and looks for every mistake from the first world on.
pub(crate) fn of_night() -> u8 {
    let sim = |args: &[&str]| run(sim(args.iter().copied()));
    finish_with::<2>([&|| fresh(first_of_now(), OF_NIGHT, "the time", &sim), &|| {
        sim(&["--mistakes"])
    }])
}

fn fresh(first: u64, worlds: u64, source: &str, sim: &dyn Fn(&[&str]) -> u8) -> u8 {
    let (first, worlds) = (first.to_string(), worlds.to_string());
    println!(
        "worlds of seeds that come from {source}; `cargo xtask sim --from {first} --seeds {worlds} --keep-going` repeats them. \
         One that breaks a promise shows a bug: mend it, and keep its smallest steps as a test"
    );
    sim(&["--from", &first, "--seeds", &worlds, "--keep-going"])
}

/// Returns the first seed of the worlds of a commit, named in hexadecimal.
fn first_of_commit(commit: &str) -> Option<u64> {
    let begin = u32::from_str_radix(commit.get(..8)?, 16).ok()?;
    Some(COMMITS + u64::from(begin) * OF_COMMIT)
}

/// Returns the first seed of worlds that nobody has run: each second has more of its own than can be run in it.
fn first_of_now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    NIGHTS + since.as_secs() * 1_000_000
}

#[cfg(test)]
mod tests {
    use super::{COMMITS, NIGHTS, OF_COMMIT, SAME, first_of_commit, first_of_now};

    #[test]
    fn each_commit_and_each_night_has_worlds_of_its_own() {
        let first = |commit| first_of_commit(commit).unwrap();
        assert_eq!(first("00000001aaaa"), COMMITS + OF_COMMIT);
        assert_eq!(first("d3d156417ac1"), COMMITS + 0xd3d1_5641 * OF_COMMIT);
        assert!(SAME < COMMITS && first("ffffffff") + OF_COMMIT < NIGHTS);
        assert!(first_of_now() > NIGHTS);
        assert_eq!(first_of_commit("no commit"), None);
        assert_eq!(first_of_commit(""), None);
    }
}
