//! Other programs, and how they ended.

use std::process::Command;

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
