//! A command on one of many.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::scene::{Scene, Shell};

const LEAD: &str = "echo $FIRSTCOME_TERM $FIRSTCOME_FENCE $FIRSTCOME_LOCK; exec sleep 600";

/// Waits until the command of a candidate says its term.
#[track_caller]
fn term(shell: &mut Shell) -> u64 {
    let line = shell.line();
    let words: Vec<&str> = line.split(' ').collect();
    assert!(words.len() == 3 && words[0] == words[1] && words[2] == "boss", "{line}");
    words[0].parse().unwrap()
}

fn candidate(scene: &Scene, more: &[&str]) -> Shell {
    let args = [&["elect", "boss"], more, &["--", "sh", "-c", LEAD]].concat();
    scene.start(&args)
}

#[test]
fn one_leads_and_hands_over_on_term_at_once() {
    let Some(scene) = Scene::new() else { return };
    let mut first = candidate(&scene, &["--lease", "60s", "--node", "ann"]);
    let term_of_first = term(&mut first);
    let mut second = candidate(&scene, &["--lease", "60s"]);
    // Who leads is announced beside the start of its command.
    let begun = Instant::now();
    let seen = loop {
        let seen = scene.run(&["locks", "inspect", "boss", "--json"]).json();
        if seen["leader"].is_object() {
            break seen;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "{seen}");
    };
    assert_eq!(seen["leader"]["node"], "ann", "{seen}");
    assert_eq!(seen["leader"]["term"], term_of_first);

    let told = Instant::now();
    first.tell(Signal::TERM);
    assert_eq!(first.end().code, 128 + 15);
    assert!(term(&mut second) > term_of_first);
    assert!(told.elapsed() < Duration::from_secs(20), "by message, not by the lease's end");
    second.tell(Signal::INT);
    second.end().ends(128 + 2);
}

#[test]
fn a_leader_that_is_killed_is_followed_within_its_lease() {
    let Some(scene) = Scene::new() else { return };
    let mut first = candidate(&scene, &["--lease", "2s"]);
    let term_of_first = term(&mut first);
    let mut second = candidate(&scene, &["--lease", "2s"]);
    first.tell(Signal::KILL);
    let killed = Instant::now();
    assert!(term(&mut second) > term_of_first);
    // The lease, and room for a machine that is busy.
    assert!(killed.elapsed() < Duration::from_secs(8), "{:?}", killed.elapsed());
}

#[test]
fn a_candidate_that_is_not_elected_ends_when_told() {
    let Some(scene) = Scene::new() else { return };
    let mut first = candidate(&scene, &[]);
    term(&mut first);
    let second = candidate(&scene, &[]);
    while !scene.redis.ask("PUBSUB NUMSUB redisson_lock__channel:{boss}").ends_with(":1") {
        std::thread::yield_now();
    }
    second.tell(Signal::TERM);
    let said = second.end();
    assert_eq!(said.out, "");
    said.ends(128 + 15);
}

#[test]
fn the_end_of_the_command_is_the_end_of_the_candidate() {
    let Some(scene) = Scene::new() else { return };
    scene.run(&["elect", "boss", "--", "sh", "-c", "exit 7"]).ends(7);
    scene.run(&["elect", "boss", "--", "no-such-program"]).complains(127, "cannot run", "PATH");
    scene.run(&["locks", "inspect", "boss"]).ends(1);
}

#[test]
fn with_an_interval_it_runs_again_whatever_it_ends_with() {
    let Some(scene) = Scene::new() else { return };
    let script = "echo run; exit 5";
    let mut shell = scene.start(&["elect", "boss", "--every", "100ms", "--", "sh", "-c", script]);
    for _ in 0..3 {
        assert_eq!(shell.line(), "run");
    }
    shell.tell(Signal::TERM);
    let said = shell.end();
    // Told between two runs, or in one, which then ends by the signal or by itself.
    assert!([128 + 15, 5].contains(&said.code), "{said:?}");
    assert!(said.talk.contains("exit code 5"), "{said:?}");
    scene.run(&["elect", "boss", "--every", "1s", "--", "no-such-program"]).ends(127);
}

#[test]
fn a_term_taken_by_force_stops_the_command_and_the_candidate_stands_again() {
    let Some(scene) = Scene::new() else { return };
    let mut shell = candidate(&scene, &["--lease", "6s"]);
    let first = term(&mut shell);
    scene.run(&["locks", "release", "boss"]).ends(0);
    let second = term(&mut shell);
    assert!(second > first);
    shell.tell(Signal::TERM);
    let said = shell.end();
    assert!(said.talk.contains("the term is over"), "{said:?}");
    said.ends(128 + 15);
}
