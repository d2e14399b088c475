//! A command under a lock at a terminal, made by `script`.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::scene::{Scene, Shell};

impl Scene {
    /// Runs a line at a terminal of its own; what is typed goes to it.
    fn at_a_terminal(&self, line: &str) -> Option<Shell> {
        let path = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&path).any(|folder| folder.join("script").is_file()) {
            firstcome_testbed::missing("script", "install the Debian package `bsdutils`");
            return None;
        }
        // Without a shell in between, which would end by Ctrl-C on its own account.
        let line = line.replace("firstcome", concat!("exec ", env!("CARGO_BIN_EXE_firstcome")));
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
        command.env_clear().env("PATH", path).env("SHELL", "/bin/sh").env("TERM", "dumb");
        command.env("LANG", "C").env("FIRSTCOME_STORE", self.redis.url());
        Some(Shell::of(command.stdin(Stdio::piped())))
    }
}

/// Waits for a line of the command; a terminal also shows what is typed, and what `firstcome` itself says.
#[track_caller]
fn hear(shell: &mut Shell, wanted: &str) -> String {
    loop {
        let line = shell.line();
        if let Some((_, rest)) = line.split_once(wanted) {
            return rest.trim().to_owned();
        }
    }
}

#[test]
fn the_command_reads_what_is_typed() {
    let Some(scene) = Scene::new() else { return };
    let line = "firstcome lock a -- sh -c 'test -t 0 && echo at a terminal; read word; echo got:$word; exit 5'";
    let Some(mut shell) = scene.at_a_terminal(line) else { return };
    let mut keys = shell.input();
    hear(&mut shell, "at a terminal");
    scene.run(&["lock", "a", "--wait", "0s", "--", "true"]).ends(120);
    keys.write_all(b"hello\n").unwrap();
    assert_eq!(hear(&mut shell, "got:"), "hello");
    shell.end().ends(5);
    scene.run(&["locks", "inspect", "a"]).ends(1);
}

#[test]
fn ctrl_c_reaches_the_command_once() {
    let Some(scene) = Scene::new() else { return };
    let script = "trap \"n=x\\$n\" INT; echo up; while [ -z \"\\$n\" ]; do sleep 0.05; done; sleep 0.3; echo int:\\$n; exit 3";
    let line = format!("firstcome lock a -- sh -c \"{}\"", script.replace('"', "\\\""));
    let Some(mut shell) = scene.at_a_terminal(&line) else { return };
    let mut keys = shell.input();
    hear(&mut shell, "up");
    // Ctrl-C: the terminal tells everybody in front of it.
    keys.write_all(&[3]).unwrap();
    assert_eq!(hear(&mut shell, "int:"), "x", "once, not once more from `firstcome`");
    shell.end().ends(3);
    scene.run(&["locks", "inspect", "a"]).ends(1);
}

#[test]
fn one_who_waits_at_a_terminal_is_ended_by_ctrl_c() {
    let Some(scene) = Scene::new() else { return };
    let mut holder = scene.start(&["lock", "a", "--", "sh", "-c", "echo up; exec sleep 600"]);
    holder.line();
    let Some(mut shell) = scene.at_a_terminal("firstcome lock a -- echo ran") else { return };
    let mut keys = shell.input();
    while !scene.redis.ask("PUBSUB NUMSUB redisson_lock__channel:{a}").ends_with(":1") {
        std::thread::yield_now();
    }
    keys.write_all(&[3]).unwrap();
    let said = shell.end();
    assert!(!said.out.contains("ran"), "{said:?}");
    said.ends(128 + 2);
}
