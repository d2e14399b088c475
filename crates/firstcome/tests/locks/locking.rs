//! A command under a lock.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::scene::{Scene, gone, is_gone_soon};

/// Says that it runs, with its fence, and stays until a signal ends it.
const STAY: &str = "echo in $FIRSTCOME_LOCK $FIRSTCOME_FENCE; exec sleep 600";

#[test]
fn two_shells_exclude_each_other_and_the_fence_grows() {
    let Some(scene) = Scene::new() else { return };
    let mut ann = scene.start(&["lock", "seat", "--", "sh", "-c", STAY]);
    let first = ann.line();
    let fence: u64 = first.strip_prefix("in seat ").unwrap().parse().unwrap();

    let bob = scene.run(&["lock", "seat", "--wait", "0s", "--", "echo", "in"]);
    assert_eq!(bob.out, "");
    bob.complains(120, "seat is held by ", "locks inspect seat");
    let began = Instant::now();
    scene.run(&["lock", "seat", "--wait", "2s", "--", "echo", "in"]).ends(120);
    assert!(began.elapsed() >= Duration::from_secs(2));

    // One who waits has the lock by message, long before the lease of 30 s is over.
    let mut eve = scene.start(&["lock", "seat", "--", "sh", "-c", "echo $FIRSTCOME_FENCE"]);
    ann.tell(Signal::TERM);
    assert_eq!(ann.end().code, 128 + 15);
    assert!(eve.line().parse::<u64>().unwrap() > fence);
    assert_eq!(eve.end().code, 0);
    assert!(began.elapsed() < Duration::from_secs(15));
    scene.run(&["locks", "inspect", "seat"]).ends(1);
}

#[test]
fn readers_run_together_a_writer_alone_and_permits_as_many_as_there_are() {
    let Some(scene) = Scene::new() else { return };
    for (name, together, one_more) in
        [("page", "--read", "--write"), ("seats", "--permits=2", "--permits=2")]
    {
        let args = ["lock", name, together, "--", "sh", "-c", STAY];
        let mut both = [scene.start(&args), scene.start(&args)];
        for shell in &mut both {
            assert!(shell.line().starts_with("in "));
        }
        let one_more = ["lock", name, one_more, "--wait", "0s", "--", "echo", "in"];
        scene.run(&one_more).ends(120);
        for shell in both {
            shell.tell(Signal::TERM);
            assert_eq!(shell.end().code, 128 + 15);
        }
        assert_eq!(scene.run(&one_more).ends(0), "in");
    }
    assert_eq!(scene.run(&["lock", "line", "--fair", "--", "echo", "in"]).ends(0), "in");
    scene.run(&["lock", "page", "--read", "--write", "--", "true"]).ends(125);
    scene.run(&["lock", "seats", "--permits", "0", "--", "true"]).ends(125);
}

#[test]
fn the_exit_code_is_the_commands() {
    let Some(scene) = Scene::new() else { return };
    scene.run(&["lock", "a", "--", "true"]).ends(0);
    scene.run(&["lock", "a", "--", "sh", "-c", "exit 42"]).ends(42);
    scene.run(&["lock", "a", "--", "sh", "-c", "kill -9 $$"]).ends(128 + 9);
    scene.run(&["lock", "a", "--", "no-such-program"]).complains(127, "cannot run", "PATH");
    scene.run(&["lock", "a", "--", "/etc/passwd"]).complains(126, "cannot run", "ls -l");
    let words = scene.run(&["lock", "a", "--", "printf", "%s|", "a b", "--json", "c"]);
    assert_eq!(words.ends(0), "a b|--json|c|");
    scene.run(&["lock", "a", "--wait", "0s", "--", "true"]).ends(0);
}

#[test]
fn signals_reach_the_command_and_not_the_lock() {
    let Some(scene) = Scene::new() else { return };
    let script =
        "trap 'echo usr1' USR1; trap 'echo int; exit 3' INT; echo up; while :; do sleep 0.05; done";
    let mut shell = scene.start(&["lock", "a", "--", "sh", "-c", script]);
    assert_eq!(shell.line(), "up");
    shell.tell(Signal::USR1);
    assert_eq!(shell.line(), "usr1");
    scene.run(&["lock", "a", "--wait", "0s", "--", "true"]).ends(120);
    shell.tell(Signal::INT);
    assert_eq!(shell.line(), "int");
    assert_eq!(shell.end().code, 3);
    scene.run(&["lock", "a", "--wait", "0s", "--", "true"]).ends(0);
}

#[test]
fn one_who_waits_can_be_told_to_stop() {
    let Some(scene) = Scene::new() else { return };
    let mut holder = scene.start(&["lock", "a", "--", "sh", "-c", STAY]);
    holder.line();
    let waiter = scene.start(&["lock", "a", "--", "echo", "never"]);
    // It waits once it has subscribed to the lock's channel.
    while !scene.redis.ask("PUBSUB NUMSUB redisson_lock__channel:{a}").ends_with(":1") {
        std::thread::yield_now();
    }
    waiter.tell(Signal::TERM);
    let said = waiter.end();
    assert_eq!(said.out, "");
    said.ends(128 + 15);
    holder.tell(Signal::TERM);
    holder.end().ends(128 + 15);
}

#[test]
fn a_fixed_lease_that_is_used_up_ends_the_command() {
    let Some(scene) = Scene::new() else { return };
    let script = "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.05; done";
    let began = Instant::now();
    let shell =
        scene.run(&["lock", "a", "--lease", "4s", "--grace", "2s", "--", "sh", "-c", script]);
    assert!(began.elapsed() >= Duration::from_millis(1_850));
    assert_eq!(shell.out, "up\ntold\n");
    shell.complains(121, "the lock a was lost", "fence");
}

#[test]
fn a_lock_taken_by_force_ends_the_command_with_kill_after_the_grace() {
    let Some(scene) = Scene::new() else { return };
    // It does not listen, and neither does what it has started.
    let script = "trap '' TERM; sleep 600 & echo $$ $!; while :; do sleep 0.05; done";
    let args = ["lock", "a", "--lease", "10s", "--grace", "200ms", "--", "sh", "-c", script];
    let mut shell = scene.start(&args);
    let pids = shell.line();
    scene.run(&["locks", "release", "a"]).ends(0);
    let mut next = scene.start(&["lock", "a", "--", "sh", "-c", STAY]);
    next.line();
    shell.end().complains(121, "the lock a was lost", "fence");
    for pid in pids.split(' ') {
        is_gone_soon(pid);
    }
    scene.run(&["lock", "a", "--wait", "0s", "--", "true"]).ends(120);
}

#[test]
fn a_renewed_lock_taken_by_force_is_noticed_at_its_next_renewal() {
    let Some(scene) = Scene::new() else { return };
    let mut shell = scene.start(&["lock", "a", "--", "sh", "-c", STAY]);
    shell.line();
    scene.run(&["locks", "release", "a"]).ends(0);
    shell.end().complains(121, "the lock a was lost", "fence");
}

#[test]
fn a_command_that_ended_after_its_lock_was_taken_is_told_so() {
    let Some(scene) = Scene::new() else { return };
    let mut shell = scene.start(&["lock", "a", "--lease", "1m", "--", "sh", "-c", STAY]);
    shell.line();
    scene.run(&["locks", "release", "a"]).ends(0);
    shell.tell(Signal::TERM);
    shell.end().complains(121, "the lock a was lost before the command ended", "fence");
}

#[test]
fn the_command_dies_with_the_one_who_holds_its_lock() {
    let Some(scene) = Scene::new() else { return };
    let mut shell = scene.start(&["lock", "a", "--", "sh", "-c", "echo $$; exec sleep 600"]);
    let pid = shell.line();
    assert!(!gone(&pid));
    shell.tell(Signal::KILL);
    // Its end of the pipe closes when the command is gone, too.
    assert_eq!(shell.end().out, "");
    is_gone_soon(&pid);
}
