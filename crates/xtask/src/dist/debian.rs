//! The Debian package, made by cargo-deb from the table `package.metadata.deb` in `crates/firstcome/Cargo.toml`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::program::TARGET;
use super::{quiet, write};
use crate::commands::{cargo, output, root, run};

/// The version of cargo-deb.
const VERSION: &str = "3.7.0";

/// The number of the package among those of one version of the program.
const REVISION: &str = "1";

const MAINTAINER: &str = "The Firstcome authors <firstcome@users.noreply.github.com>";

/// Returns cargo-deb, in a folder of its own below `target`; installs it if it is not there yet.
pub(super) fn tool() -> Result<PathBuf, String> {
    let folder = root().join("target/tools");
    let program = folder.join("bin/cargo-deb");
    let version = output(Command::new(&program).arg("--version"));
    if version.is_ok_and(|version| version.contains(VERSION)) {
        return Ok(program);
    }
    let mut install = cargo(&["install", "--quiet", "--locked", "cargo-deb", "--version", VERSION]);
    // Without its own library for xz: it calls the program.
    install.args(["--no-default-features", "--root"]).arg(&folder);
    if run(install) == 0 { Ok(program) } else { Err("cargo-deb cannot be installed".to_owned()) }
}

/// Makes the package, and gives its path.
pub(super) fn package(tool: &Path, folder: &Path, time: u64) -> Result<PathBuf, String> {
    let debian = folder.join("debian");
    std::fs::create_dir_all(&debian).map_err(|why| format!("{}: {why}", debian.display()))?;
    write(&debian.join("changelog"), changelog(time)?)?;
    let version = format!("{}-{REVISION}", env!("CARGO_PKG_VERSION"));
    let package = folder.join(format!("firstcome_{version}_amd64.deb"));
    let mut deb = Command::new(tool);
    deb.args(["--no-build", "--no-strip", "--locked", "--target", TARGET]);
    deb.args(["--package", "firstcome", "--deb-version", &version]);
    deb.arg("--output").arg(&package).current_dir(root());
    quiet(deb.env("SOURCE_DATE_EPOCH", time.to_string()))?;
    Ok(package)
}

/// Returns the changes of the package. Those of the program are in its own changelog.
fn changelog(time: u64) -> Result<String, String> {
    let date = format!("@{time}");
    let date = output(Command::new("date").args(["--utc", "--rfc-email", "--date", &date]))?;
    let version = format!("{}-{REVISION}", env!("CARGO_PKG_VERSION"));
    Ok(format!(
        "firstcome ({version}) unstable; urgency=medium\n\n  \
         * The program of version {}: its changes are in changelog.gz.\n\n \
         -- {MAINTAINER}  {}\n",
        env!("CARGO_PKG_VERSION"),
        date.trim_end()
    ))
}
