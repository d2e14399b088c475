//! Runs one of the project's own tasks. They are a library, so that `cargo test --doc` builds what all other tests are built
//! from: without this package it would build the whole workspace a second time.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run_task()
}
