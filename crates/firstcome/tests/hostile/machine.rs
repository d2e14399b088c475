//! Others on the machine: signals, files that they can read, configurations that say something else than is meant.

use crate::process::{KEY, cannot_serve, serve};
use crate::siege::Siege;
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_hang_up_signal_stops_nothing() {
    let siege = Siege::begin(&[]);
    let pid = Pid::from_raw(i32::try_from(siege.server.pid()).unwrap()).unwrap();
    for _ in 0..3 {
        kill_process(pid, Signal::HUP).unwrap();
        siege.still_answers();
    }
    siege.ends();
}

#[test]
fn nobody_else_reads_what_is_kept() {
    let siege = Siege::begin(&[]);
    for file in fs::read_dir(siege.folder.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{:?} is open to others: {mode:o}", file.path());
    }
    siege.ends();
}

#[test]
fn a_configuration_that_would_say_something_else_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), Permissions::from_mode(0o700)).unwrap();
    let file = folder.path().join("firstcome.toml");
    let hash = "0".repeat(64);
    let key = |name: &str, rest: &str| {
        format!("[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"read\"\n{rest}")
    };
    for (text, why) in [
        (key("a", "") + &key("b", ""), "has the sha256 of key"),
        (key("a", "campaigns = \"\"\n"), "campaigns"),
    ] {
        fs::write(&file, text).unwrap();
        // An address of nobody, so that a server that takes it ends, too.
        let mut command = serve(folder.path(), &[("LISTEN", "192.0.2.1:1")]);
        command.arg("--config").arg(&file);
        let said = cannot_serve(command);
        assert!(said.contains(why), "{said}");
    }
    // What is printed can be used as a file, and has no secret in it.
    let settings = [("STORE", "redis://user:hunter2hunter2@127.0.0.1:1/0")];
    let mut command = serve(folder.path(), &settings);
    command.env_remove("FIRSTCOME_DATA").arg("--print-config");
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(!said.contains("hunter2") && !said.contains(KEY), "{said}");
    assert!(said.contains("127.0.0.1:1"), "{said}");
}
