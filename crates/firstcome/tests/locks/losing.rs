//! A store that goes away while a command runs under its lock.

use std::time::{Duration, Instant};

use crate::scene::{Scene, gone, is_gone_soon};

/// Says that it runs, says when it is told to end, and does not.
const DEAF: &str = "trap 'echo told' TERM; echo up $$; while :; do sleep 0.05; done";

/// Asserts that the command was told, had its time of grace, and was killed.
#[track_caller]
fn was_stopped(pid: &str, out: &str, told: Instant, grace: Duration) {
    assert_eq!(out, "told");
    assert!(told.elapsed() >= grace);
    is_gone_soon(pid);
}

#[test]
fn a_lock_whose_store_is_gone_ends_the_command_with_kill_after_the_grace() {
    let Some(mut scene) = Scene::new() else { return };
    let args = ["lock", "a", "--grace", "5s", "--", "sh", "-c", DEAF];
    let mut shell = scene.start(&args);
    let up = shell.line();
    let pid = up.strip_prefix("up ").unwrap();
    scene.redis.kill();
    // It was taken a moment ago and is not renewed any more. Of its 30 s, the last ones are the time of grace.
    let killed = Instant::now();
    let first = shell.line();
    let told = Instant::now();
    assert!(killed.elapsed() >= Duration::from_secs(20), "{:?}", killed.elapsed());
    let said = shell.end();
    was_stopped(pid, &first, told, Duration::from_secs(4));
    assert!(told.elapsed() < Duration::from_secs(20), "a store that is gone keeps nobody");
    assert!(said.talk.contains("did not end within 5s and is killed"), "{said:?}");
    said.complains(121, "the lock a was lost", "fence");
}

#[test]
fn a_fixed_lock_ends_in_time_whether_or_not_its_store_is_there() {
    let Some(mut scene) = Scene::new() else { return };
    let args = ["lock", "a", "--lease", "6s", "--grace", "3s", "--", "sh", "-c", DEAF];
    let mut shell = scene.start(&args);
    let up = shell.line();
    scene.redis.kill();
    let first = shell.line();
    let told = Instant::now();
    let said = shell.end();
    was_stopped(up.strip_prefix("up ").unwrap(), &first, told, Duration::from_secs(2));
    said.complains(121, "the lock a was lost", "fence");
}

#[test]
fn a_leader_whose_store_stands_still_stops_and_stands_again() {
    let Some(scene) = Scene::new() else { return };
    let script = format!("echo term $FIRSTCOME_TERM; {DEAF}");
    let args = ["elect", "boss", "--lease", "6s", "--grace", "3s", "--", "sh", "-c", &script];
    let mut shell = scene.start(&args);
    let term = |line: String| line.strip_prefix("term ").unwrap().parse::<u64>().unwrap();
    let first = term(shell.line());
    let up = shell.line();
    scene.redis.pause();
    assert_eq!(shell.line(), "told");
    scene.redis.resume();
    let second = term(shell.line());
    assert!(second > first);
    assert!(gone(up.strip_prefix("up ").unwrap()), "the first one is alive");
    shell.tell(rustix::process::Signal::KILL);
    let said = shell.end();
    // What the store did, and whether the term was lost or given back, depends on whose time is over first.
    assert_eq!(said.talk.matches("elected: ").count(), 2, "{said:?}");
    assert!(said.talk.contains("stopping the command"), "{said:?}");
}

#[test]
fn a_leader_that_is_told_to_end_while_it_stops_its_command_does_not_stand_again() {
    let Some(scene) = Scene::new() else { return };
    // One that is started again ends by itself.
    let script =
        "trap 'echo told; sleep 1; exit 0' TERM; echo up; for n in $(seq 300); do sleep 0.05; done";
    let args = ["elect", "boss", "--lease", "9s", "--grace", "4s", "--", "sh", "-c", script];
    let mut shell = scene.start(&args);
    assert_eq!(shell.line(), "up");
    scene.redis.pause();
    // Its lease is not renewed, and the command has its time of grace.
    assert_eq!(shell.line(), "told");
    shell.tell(rustix::process::Signal::TERM);
    scene.redis.resume();
    let said = shell.end();
    assert_eq!(said.talk.matches("elected: ").count(), 1, "{said:?}");
    said.ends(128 + 15);
}

#[test]
fn a_lock_says_that_its_store_is_gone_and_that_it_is_lost() {
    let Some(mut scene) = Scene::new() else { return };
    let args = ["lock", "a", "--", "sh", "-c", "echo up; trap '' TERM; exec sleep 600"];
    let mut shell = scene.start(&args);
    assert_eq!(shell.line(), "up");
    scene.redis.kill();
    let said = shell.end();
    assert!(said.talk.contains("note: the store does not answer"), "{said:?}");
    let lost = said.talk.lines().find(|line| line.starts_with("lost: ")).unwrap();
    assert!(lost.contains("the lock a is lost: it ran out"), "{lost}");
    assert!(lost.contains("; the store had not answered for "), "{lost}");
    said.ends(121);
}

#[test]
fn a_lock_that_is_renewed_late_says_so() {
    let Some(scene) = Scene::new() else { return };
    let args = ["elect", "boss", "--lease", "60s", "--", "sh", "-c", "echo up; exec sleep 600"];
    let mut shell = scene.start(&args);
    assert_eq!(shell.line(), "up");
    scene.redis.pause();
    // It is renewed each 10 s, and late from 20 s on; the lease can be relied on for 54.
    std::thread::sleep(Duration::from_secs(25));
    scene.redis.resume();
    let late = shell.talk_until("late: ");
    assert!(late.contains("the lock boss was renewed "), "{late}");
    assert!(late.contains(" late; the store had not answered for "), "{late}");
}

/// A command that ended while the store is away: its code is passed on, in time, with a note that the lock may be held.
#[test]
fn a_store_that_is_gone_at_the_end_keeps_nobody() {
    let Some(mut scene) = Scene::new() else { return };
    let args = ["lock", "a", "--lease", "8h", "--", "sh", "-c", "echo up; read word; exit 7"];
    let mut command = scene.program(&args);
    let mut shell = crate::scene::Shell::of(command.stdin(std::process::Stdio::piped()));
    assert_eq!(shell.line(), "up");
    scene.redis.kill();
    let ended = Instant::now();
    drop(shell.input());
    let said = shell.end();
    assert!(ended.elapsed() < Duration::from_secs(30), "{:?}", ended.elapsed());
    assert!(said.talk.contains("has not been confirmed free yet"), "{said:?}");
    said.ends(7);
}

#[test]
fn a_wait_that_ends_while_the_store_is_away_says_so() {
    let Some(mut scene) = Scene::new() else { return };
    let mut holder = scene.start(&["lock", "a", "--", "sh", "-c", "echo up; exec sleep 600"]);
    holder.line();
    let waiter = scene.start(&["lock", "a", "--wait", "4s", "--", "echo", "ran"]);
    while !scene.redis.ask("PUBSUB NUMSUB redisson_lock__channel:{a}").ends_with(":1") {
        std::thread::yield_now();
    }
    scene.redis.kill();
    let said = waiter.end();
    assert_eq!(said.out, "");
    // Not that somebody else has it: nobody knows.
    said.complains(125, "the store at 127.0.0.1", "see that the server runs");
}
