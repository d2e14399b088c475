//! Runs one of the project's own tasks; they are a library so that their documents are made with those of all crates.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run_task()
}
