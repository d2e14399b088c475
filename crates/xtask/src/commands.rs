//! Other programs, and how they ended.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Gives a cargo command, of the cargo that runs this.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args);
    command
}

/// Runs a command and gives its exit code.
pub(crate) fn run(mut command: Command) -> u8 {
    match command.status() {
        Ok(status) => u8::try_from(status.code().unwrap_or(1)).unwrap_or(1),
        Err(why) => {
            eprintln!("cannot run {command:?}: {why}");
            1
        }
    }
}

/// Builds one package alone, and so without what the tests of others turn on; gives its program.
pub(crate) fn build(package: &str, options: &[&str]) -> Result<PathBuf, String> {
    let mut cargo = cargo(&["build", "--locked", "--package", package]);
    cargo.args(options);
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = cargo.output().map_err(|why| format!("cannot run {cargo:?}: {why}"))?;
    if !output.status.success() {
        return Err(format!("{cargo:?} failed: {}", output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = messages.filter(|message| message["target"]["name"] == package);
    let program = programs.find_map(|message| message["executable"].as_str().map(PathBuf::from));
    program.ok_or_else(|| format!("{cargo:?} named no program"))
}
