//! Programs in Python, each installed with pip into a folder of its own below `target`.

use crate::commands::run;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Returns the folder of the programs that come with packages, the first of which names it; installs them if they are not
/// there yet. Each package is named with its version.
///
/// # Errors
///
/// What is missing, or what pip could not install.
pub(crate) fn programs(packages: &[&str]) -> Result<PathBuf, String> {
    let [first, ..] = packages else { return Err("no package is named".to_owned()) };
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target").join(first);
    let (programs, whole) = (folder.join("bin"), folder.join("whole"));
    if whole.is_file() {
        return Ok(programs);
    }
    let mut python = Command::new("python3");
    python.args(["-m", "venv"]).arg(&folder);
    if !python.status().is_ok_and(|status| status.success()) {
        return Err(
            "python3 with venv is missing (Debian packages python3, python3-venv)".to_owned()
        );
    }
    let mut pip = Command::new(programs.join("pip"));
    pip.args(["install", "--quiet", "--disable-pip-version-check"]).args(packages);
    if run(pip) != 0 {
        return Err(format!("{packages:?} cannot be installed with pip"));
    }
    std::fs::write(&whole, "").map_err(|why| format!("{}: {why}", whole.display()))?;
    Ok(programs)
}
