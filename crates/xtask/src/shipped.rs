//! The program as users get it: the release build, without what only tests turn on.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::commands::{build, run};

/// What only a build with fault injection has in it: the name it looks up in its environment, and the mark of the code
/// that lets a client of a lock make mistakes. All builds have the compiler flag for that, and the linker leaves out what
/// nobody calls.
const INJECT: [&str; 2] = ["FIRSTCOME_INJECT", "FIRSTCOME_LOCK_INJECT"];

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
    // The simulation has both: what is not found there would be found nowhere.
    let simulation = marks(&build("firstcome-sim", &["--release"])?)?;
    if simulation != INJECT {
        return Err(format!("of {INJECT:?} only {simulation:?} can be seen in the simulation"));
    }
    let program = build("firstcome", &["--release"])?;
    let found = marks(&program)?;
    if !found.is_empty() {
        return Err(format!("{} can make mistakes on purpose: {found:?}", program.display()));
    }
    Ok(program)
}

/// Returns what there is of fault injection in a program.
pub(crate) fn marks(program: &Path) -> Result<Vec<&'static str>, String> {
    let bytes = std::fs::read(program).map_err(|why| format!("{}: {why}", program.display()))?;
    let found = |mark: &&str| bytes.windows(mark.len()).any(|bytes| bytes == mark.as_bytes());
    Ok(INJECT.into_iter().filter(found).collect())
}
