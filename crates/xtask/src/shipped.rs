//! The program as users get it: the release build, without what only tests turn on.

use std::path::PathBuf;
use std::process::Command;

use crate::commands::{build, run};

/// What a build with fault injection looks up in its environment, and no other build names.
const INJECT: &[u8] = b"FIRSTCOME_INJECT";

/// Builds the release program, looks that no fault injection is in it, and runs its demo, which checks every answer;
/// gives the exit code.
pub(crate) fn demo() -> u8 {
    let program = match build_without_injection() {
        Ok(program) => program,
        Err(why) => {
            eprintln!("{why}");
            return 1;
        }
    };
    let mut demo = Command::new(program);
    demo.args(["demo", "--places", "200", "--requests", "20000", "--subjects", "5000"]);
    run(demo)
}

fn build_without_injection() -> Result<PathBuf, String> {
    // The simulation has it: what is not found there would be found nowhere.
    if !has_injection(&build("firstcome-sim", &["--release"])?)? {
        return Err("the simulation has no fault injection, or it cannot be seen".to_owned());
    }
    let program = build("firstcome", &["--release"])?;
    if has_injection(&program)? {
        return Err(format!("{} can make mistakes on purpose", program.display()));
    }
    Ok(program)
}

fn has_injection(program: &PathBuf) -> Result<bool, String> {
    let bytes = std::fs::read(program).map_err(|why| format!("{}: {why}", program.display()))?;
    Ok(bytes.windows(INJECT.len()).any(|bytes| bytes == INJECT))
}
