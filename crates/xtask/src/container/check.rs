//! Runs the image: not root, nothing to write but its volume, little memory; claims, a full stop, a start, a new container.

use std::net::TcpListener;
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::IMAGE;
use crate::commands::output;
use crate::dist::step;

/// The container and its volume.
const NAME: &str = "firstcome-check";
const KEY: &str = "a-key-for-the-image-only";

/// Memory of the container, in MiB.
const MEMORY: u64 = 256;

/// `leave_ms` and `drain_ms` of the server.
const LEAVE: Duration = Duration::from_secs(3);
const DRAIN: Duration = Duration::from_secs(5);

/// How long something is waited for.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tries everything. Removes container and volume whatever happens.
pub(super) fn check() -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").map_err(|why| why.to_string())?;
    let address = listener.local_addr().map_err(|why| why.to_string())?.to_string();
    drop(listener);
    remove();
    let _removed = Removed;
    step("run the image", || start(&address))?;
    step("who it runs as, and what it may write", rights)?;
    step("its memory", memory)?;
    step("claims", claims)?;
    step("SIGTERM", stops)?;
    step("the same container again", || {
        podman(&["start", NAME])?;
        has_everything()
    })?;
    step("SIGKILL, and a new container on the volume", || {
        podman(&["kill", "--signal", "KILL", NAME])?;
        podman(&["rm", "--force", NAME])?;
        start(&address)?;
        has_everything()
    })
}

struct Removed;

impl Drop for Removed {
    fn drop(&mut self) {
        remove();
    }
}

/// Removes what this check makes, if it is there.
fn remove() {
    for args in [["rm", "--force", "--ignore", NAME], ["volume", "rm", "--force", NAME]] {
        // What is not there needs no removal.
        drop(podman(&args));
    }
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new("podman");
    command.args(["--runtime", "runc"]).args(args);
    command
}

fn podman(args: &[&str]) -> Result<String, String> {
    output(&mut command(args)).map(|said| said.trim().to_owned())
}

/// Runs a command in the container, whatever its exit code.
fn asked(args: &[&str]) -> Result<Output, String> {
    let mut exec = command(&["exec", NAME, "/firstcome"]);
    exec.args(args).output().map_err(|why| why.to_string())
}

/// Runs a verb in the container; gives what it says.
fn firstcome(args: &[&str]) -> Result<String, String> {
    podman(&[&["exec", NAME, "/firstcome"], args].concat())
}

/// Starts a container as the page says, and waits until it is healthy.
fn start(address: &str) -> Result<(), String> {
    // Podman would ask for more than this machine may give.
    let limits = std::fs::read_to_string("/proc/self/limits").map_err(|why| why.to_string())?;
    let files = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let files = files.and_then(|line| line.split_whitespace().nth(1)).unwrap_or("1024");
    let files = format!("nofile={files}:{files}");
    let volume = format!("{NAME}:/data");
    let memory = format!("{MEMORY}m");
    let mut run = command(&["run", "--detach", "--name", NAME, "--network=host", "--read-only"]);
    run.args(["--cap-drop=all", "--security-opt=no-new-privileges", "--volume", &volume]);
    run.args([
        "--memory",
        &memory,
        "--memory-swap",
        &memory,
        "--ulimit",
        &files,
        "--ulimit=nproc=4096:4096",
    ]);
    for (name, value) in [
        ("LISTEN", address),
        ("ADMIN_KEY", KEY),
        ("LEAVE_MS", &LEAVE.as_millis().to_string()),
        ("DRAIN_MS", &DRAIN.as_millis().to_string()),
    ] {
        run.args(["--env", &format!("FIRSTCOME_{name}={value}")]);
    }
    output(run.arg(IMAGE))?;
    healthy(true)
}

/// Waits until the image's own health command says so.
fn healthy(should: bool) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    loop {
        let said = command(&["healthcheck", "run", NAME]).output();
        if said.map_err(|why| why.to_string())?.status.success() == should {
            return Ok(());
        }
        if Instant::now() > end {
            let log = podman(&["logs", NAME]).unwrap_or_default();
            return Err(format!("its health is not {should} after {PATIENCE:?}:\n{log}"));
        }
        sleep(Duration::from_millis(50));
    }
}

fn state(form: &str) -> Result<String, String> {
    podman(&["inspect", "--format", form, NAME])
}

fn rights() -> Result<(), String> {
    let pid = state("{{.State.Pid}}")?;
    let status =
        std::fs::read_to_string(format!("/proc/{pid}/status")).map_err(|why| why.to_string())?;
    let line = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default();
        line.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let has = [line("Uid:"), line("Gid:"), line("CapEff:"), line("NoNewPrivs:")];
    let ids = "65532 65532 65532 65532";
    if has != [ids, ids, "0000000000000000", "1"] {
        return Err(format!("it runs with {has:?}"));
    }
    let written = asked(&["man", "--out", "/licences/man"])?;
    let said = String::from_utf8_lossy(&written.stderr).into_owned();
    if written.status.success() || !said.contains("cannot write man pages") {
        return Err(format!("its root file system can be written: {said}"));
    }
    let folder = podman(&["volume", "inspect", "--format", "{{.Mountpoint}}", NAME])?;
    let stat = output(Command::new("stat").args(["--format=%a %u:%g", &folder]))?;
    if stat.trim() == "700 65532:65532" { Ok(()) } else { Err(format!("its volume is {stat}")) }
}

/// Half of what the container has is for campaigns, and a flood that costs more than the rest does not end it.
fn memory() -> Result<(), String> {
    let settings = firstcome(&["serve", "--print-config", "--json"])?;
    let settings: Value = serde_json::from_str(&settings).map_err(|why| why.to_string())?;
    let limit = &settings["memory_limit_mib"]["value"];
    if *limit != MEMORY / 2 {
        return Err(format!("campaigns may take {limit} MiB of {MEMORY}"));
    }
    let before = state("{{.State.Pid}}")?;
    let flood = ["rush", "--create", "20000", "--requests", "60000", "--subjects", "30000"];
    firstcome(&flood)?;
    let pid = state("{{.State.Pid}}")?;
    if pid == before {
        Ok(())
    } else {
        Err(format!("the flood ended the server: {before}, now {pid}"))
    }
}

fn claims() -> Result<(), String> {
    firstcome(&["campaign", "create", "spring", "--places", "100", "--opens", "now"])?;
    for (rank, subject) in ["ann", "bob", "cem"].iter().enumerate() {
        let said = firstcome(&["claim", "spring", subject])?;
        if !said.starts_with(&format!("{subject} has rank {} in spring/main", rank + 1)) {
            return Err(said);
        }
    }
    Ok(())
}

/// It leaves first: not ready, and still answering. Then it ends, in time and with 0.
fn stops() -> Result<(), String> {
    let began = Instant::now();
    podman(&["kill", "--signal", "TERM", NAME])?;
    healthy(false)?;
    let late = firstcome(&["claim", "spring", "late"])?;
    let code = podman(&["wait", NAME])?;
    let took = began.elapsed();
    println!("  {took:.1?} after SIGTERM it ended with {code}");
    if !late.starts_with("late has rank 4") {
        return Err(format!("while it left, a claim got {late}"));
    }
    // What podman itself needs is not the server's.
    let most = LEAVE + DRAIN + Duration::from_secs(2);
    if code == "0" && (LEAVE..most).contains(&took) {
        return Ok(());
    }
    Err(format!("{took:?} and {code}, not {LEAVE:?} to {most:?} and 0"))
}

fn has_everything() -> Result<(), String> {
    healthy(true)?;
    for (rank, subject) in ["ann", "bob", "cem", "late"].iter().enumerate() {
        let said = firstcome(&["claim", "spring", subject])?;
        if !said.starts_with(&format!("{subject} already has rank {} in spring/main", rank + 1)) {
            return Err(said);
        }
    }
    firstcome(&["audit", "--data", "/data"]).map(drop)
}
