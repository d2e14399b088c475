//! The program as users get it: the release build, without what only tests turn on.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::commands::{cargo, run};
use serde_json::Value;

/// What a build with fault injection ends with a panic for; the shipped one does not look at it.
const NO_MISTAKE: (&str, &str) = ("FIRSTCOME_INJECT", "no_such_mistake");

/// Builds the release program and runs its demo, which checks every answer; gives the exit code.
pub(crate) fn demo() -> u8 {
    let program = match build() {
        Ok(program) => program,
        Err(why) => {
            eprintln!("{why}");
            return 1;
        }
    };
    let mut demo = Command::new(program);
    demo.args(["demo", "--places", "200", "--requests", "20000", "--subjects", "5000"]);
    demo.env(NO_MISTAKE.0, NO_MISTAKE.1);
    run(demo)
}

fn build() -> Result<PathBuf, String> {
    let mut cargo = cargo(&["build", "--release", "--locked", "--package", "firstcome"]);
    cargo.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit());
    let output = cargo.output().map_err(|why| format!("cannot run {cargo:?}: {why}"))?;
    if !output.status.success() {
        return Err(format!("{cargo:?} failed: {}", output.status));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    let messages = messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let mut programs = messages.filter(|message| message["target"]["name"] == "firstcome");
    let program = programs.find_map(|message| message["executable"].as_str().map(PathBuf::from));
    program.ok_or_else(|| format!("{cargo:?} named no program"))
}
