//! At no instant do two commands run, whichever process of ours is stopped or killed.
//!
//! Each command writes down, again and again, its fence, which is the term of an election, and the time of the clock that all processes here share. One that
//! writes after the first line of a later term has run beside it.

use std::path::Path;
use std::time::{Duration, Instant};

use firstcome_testbed::Folder;
use rustix::process::{Pid, Signal, kill_process};

use crate::scene::{Shell, program};

/// Writes down its fence again and again, and does not end when it is told to; what it has started does the same.
const DEAF: &str = "trap '' TERM; echo $FIRSTCOME_FENCE $PPID $$; \
    note() { while :; do read up rest < /proc/uptime; echo $FIRSTCOME_FENCE $up >> \"$NOTES\"; sleep 0.02; done; }; \
    note & note";

/// Candidates for one election in a SQLite file, whose commands write into one file.
struct Scene {
    folder: Folder,
}

/// A candidate whose command runs.
struct Leader {
    shell: Shell,
    term: u64,
    /// The process beside the command.
    beside: Pid,
}

impl Scene {
    fn new() -> Self {
        Self { folder: Folder::new("overlaps") }
    }

    fn notes(&self) -> std::path::PathBuf {
        self.folder.path().join("notes")
    }

    fn candidate(&self, verb: &'static str, more: &[&str]) -> Shell {
        let args = [&[verb, "boss", "--lease", "6s"], more, &["--", "sh", "-c", DEAF]].concat();
        let mut command = program(&args);
        let file = format!("sqlite://{}/locks.db", self.folder.path().display());
        command.env("FIRSTCOME_STORE", file).env("NOTES", self.notes());
        Shell::of(&mut command)
    }

    /// Keeps everybody from the file for longer than a lease.
    fn stands_still(&self) {
        let file = rusqlite::Connection::open(self.folder.path().join("locks.db")).unwrap();
        file.busy_timeout(Duration::from_secs(5)).unwrap();
        file.execute_batch("BEGIN IMMEDIATE").unwrap();
        std::thread::sleep(Duration::from_secs(8));
        file.execute_batch("COMMIT").unwrap();
    }

    /// Waits until somebody else leads than before, for as long as that takes with a lease of six seconds.
    fn passes_on(&self, before: u64) {
        let begun = Instant::now();
        while last_term(&self.notes()) <= before {
            assert!(begun.elapsed() < Duration::from_secs(90), "nobody leads any more");
            std::thread::sleep(Duration::from_millis(20));
        }
        // Whoever runs beside it has the time to write that down.
        std::thread::sleep(Duration::from_millis(500));
    }
}

fn leads(mut shell: Shell) -> Leader {
    let line = shell.line();
    let mut words = line.split(' ').map(|word| word.parse::<i32>());
    let term = line.split(' ').next().unwrap().parse().unwrap();
    let beside = words.nth(1).unwrap().unwrap();
    Leader { shell, term, beside: Pid::from_raw(beside).unwrap() }
}

/// Returns the lines of the file: terms and times in hundredths of a second, in the order in which they were written.
fn lines(notes: &str) -> Vec<(u64, f64)> {
    let line = |line: &str| {
        let (term, at) = line.split_once(' ')?;
        Some((term.parse().ok()?, at.parse().ok()?))
    };
    notes.lines().filter_map(line).collect()
}

fn last_term(notes: &Path) -> u64 {
    let notes = std::fs::read_to_string(notes).unwrap_or_default();
    lines(&notes).into_iter().map(|(term, _)| term).max().unwrap_or_default()
}

/// Returns the longest time for which a command ran beside that of a later term.
fn longest_overlap(notes: &str) -> f64 {
    let lines = lines(notes);
    let mut longest: f64 = 0.0;
    let mut newest: Option<(u64, f64)> = None;
    for (term, at) in lines {
        match newest {
            Some((newer, since)) if term < newer => longest = longest.max(at - since + 0.01),
            Some((newer, _)) if term == newer => {}
            _ => newest = Some((term, at)),
        }
    }
    longest
}

#[track_caller]
fn nobody_ran_beside_another(scene: &Scene) {
    let notes = std::fs::read_to_string(scene.notes()).unwrap();
    let terms: std::collections::BTreeSet<u64> =
        lines(&notes).into_iter().map(|(term, _)| term).collect();
    assert!(terms.len() > 1, "another one led");
    let overlap = longest_overlap(&notes);
    assert!(overlap == 0.0, "two commands ran for {overlap} s:\n{notes}");
}

#[test]
fn the_judge_sees_an_overlap() {
    assert_eq!(longest_overlap("1 0.10\n1 0.11\n2 0.12\n2 0.13\n"), 0.0);
    assert!(longest_overlap("1 0.10\n2 0.12\n1 0.13\n2 0.14\n1 0.50\n") > 0.3);
}

/// Has a leader in trouble, with somebody else who waits, and looks at what their commands wrote.
fn in_trouble(more: &[&str], trouble: impl FnOnce(&Scene, &Leader)) {
    one_in_trouble("elect", more, trouble);
}

/// Has one who holds a lock in trouble, with somebody else who waits.
fn holder_in_trouble(more: &[&str], trouble: impl FnOnce(&Scene, &Leader)) {
    one_in_trouble("lock", more, trouble);
}

fn one_in_trouble(verb: &'static str, more: &[&str], trouble: impl FnOnce(&Scene, &Leader)) {
    let scene = Scene::new();
    let leader = leads(scene.candidate(verb, more));
    let _other = scene.candidate(verb, more);
    std::thread::sleep(Duration::from_millis(300));
    trouble(&scene, &leader);
    scene.passes_on(leader.term);
    leader.shell.tell(Signal::CONT);
    kill_process(leader.beside, Signal::CONT).ok();
    std::thread::sleep(Duration::from_millis(500));
    nobody_ran_beside_another(&scene);
}

#[test]
fn a_leader_that_is_stopped() {
    in_trouble(&[], |_, leader| leader.shell.tell(Signal::STOP));
}

#[test]
fn a_leader_that_is_killed() {
    in_trouble(&[], |_, leader| leader.shell.tell(Signal::KILL));
}

#[test]
fn a_process_beside_the_command_that_is_killed() {
    in_trouble(&[], |_, leader| kill_process(leader.beside, Signal::KILL).unwrap());
}

#[test]
fn a_process_beside_the_command_that_is_stopped() {
    in_trouble(&[], |scene, leader| {
        kill_process(leader.beside, Signal::STOP).unwrap();
        scene.stands_still();
    });
}

/// The leader cannot renew its lease, and its command takes no notice of TERM. Who is elected next is by chance.
fn stands_still_now_and_then(scene: &Scene, _: &Leader) {
    for _ in 0..2 {
        scene.stands_still();
        std::thread::sleep(Duration::from_secs(7));
    }
}

#[test]
fn a_leader_whose_store_stands_still() {
    in_trouble(&[], stands_still_now_and_then);
}

#[test]
fn a_leader_whose_store_stands_still_and_whose_command_has_more_time() {
    in_trouble(&["--grace", "2400ms"], stands_still_now_and_then);
}

#[test]
fn a_holder_that_is_stopped() {
    holder_in_trouble(&[], |_, holder| holder.shell.tell(Signal::STOP));
}

#[test]
fn a_holder_that_is_killed() {
    holder_in_trouble(&[], |_, holder| holder.shell.tell(Signal::KILL));
}

#[test]
fn a_process_beside_the_command_of_a_holder_that_is_killed() {
    holder_in_trouble(&[], |_, holder| kill_process(holder.beside, Signal::KILL).unwrap());
}

#[test]
fn a_process_beside_the_command_of_a_holder_that_is_stopped() {
    holder_in_trouble(&[], |_, holder| kill_process(holder.beside, Signal::STOP).unwrap());
}

#[test]
fn a_holder_whose_command_takes_no_notice_of_its_end() {
    holder_in_trouble(&[], |_, _| ());
}

#[test]
fn a_holder_whose_store_stands_still_and_whose_command_has_more_time() {
    holder_in_trouble(&["--grace", "2400ms"], |scene, _| scene.stands_still());
}

#[test]
fn a_grace_that_does_not_fit_is_refused() {
    let scene = Scene::new();
    let mut command = program(&["elect", "boss", "--lease", "2s", "--grace", "2s", "--", "true"]);
    let file = format!("sqlite://{}/locks.db", scene.folder.path().display());
    let said = crate::scene::said(&command.env("FIRSTCOME_STORE", file).output().unwrap());
    said.complains(125, "a grace of 2s is too long for a lease of 2s", "--lease of at least twice");
}
