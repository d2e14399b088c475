//! Other programs, and how they ended.

use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Returns the folder of the workspace.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).unwrap_or(here).to_owned()
}

/// Returns a cargo command, of the cargo that runs this.
///
/// It does not see what cargo says of this package to the program it runs: build scripts of some crates look at that, and all
/// that rests on them would be built anew whenever cargo is called from here and from a shell in turn.
pub(crate) fn cargo(args: &[&str]) -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(args);
    for (name, _) in std::env::vars_os() {
        let of_package =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        if name.to_str().is_some_and(of_package) {
            command.env_remove(name);
        }
    }
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

/// Runs a command beside others; prints all that it said once it has ended, and gives its exit code.
pub(crate) fn print_at_end(mut command: Command) -> u8 {
    match command.stdin(Stdio::null()).output() {
        Ok(output) => {
            let said = [output.stdout, output.stderr].concat();
            print!("{}", String::from_utf8_lossy(&said));
            u8::try_from(output.status.code().unwrap_or(1)).unwrap_or(1)
        }
        Err(why) => {
            eprintln!("cannot run {command:?}: {why}");
            1
        }
    }
}

/// Runs a command that says nothing else than what it gives on stdout; gives that.
///
/// # Errors
///
/// What it said on stderr, where it ended with another code than 0.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|why| format!("cannot run {command:?}: {why}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    Err(format!("{command:?} ended with {}: {}", output.status, said.trim_end()))
}

/// Builds one package alone, and so without what the tests of others turn on; gives its program.
pub(crate) fn build(package: &str, options: &[&str]) -> Result<PathBuf, String> {
    let mut cargo = cargo(&["build", "--locked", "--package", package]);
    cargo.args(options);
    built(cargo, package, &[])
}

/// Runs a cargo command that builds a package, with its last arguments; gives the program of that name.
pub(crate) fn built(mut cargo: Command, package: &str, last: &[&OsStr]) -> Result<PathBuf, String> {
    cargo.arg("--message-format=json-render-diagnostics").args(last).stderr(Stdio::inherit());
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

/// Takes steps up to the first that fails; gives its exit code.
pub(crate) fn finish_with<const N: usize>(steps: [&dyn Fn() -> u8; N]) -> u8 {
    steps.into_iter().map(|step| step()).find(|code| *code != 0).unwrap_or(0)
}

/// The simulation, optimised: it lives through as many worlds as it has time for.
pub(crate) fn sim<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut cargo =
        cargo(&["run", "--quiet", "--release", "--locked", "--package", "firstcome-sim", "--"]);
    cargo.args(args);
    cargo
}
