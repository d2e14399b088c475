//! Programs in Java, below `interop`, built with Maven.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::programs;

/// Builds the programs of a folder below `interop` and gives where they are; `None` where Java or
/// Maven, or what Maven would have to fetch, is missing.
pub(crate) fn built(folder: &str) -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop").join(folder);
    let tools = [("java", "-version", "openjdk-17-jdk-headless"), ("mvn", "--version", "maven")];
    for (tool, version, package) in tools {
        let mut asking = Command::new(tool);
        let asking = asking.arg(version).stdout(Stdio::null()).stderr(Stdio::null());
        if !asking.status().is_ok_and(|status| status.success()) {
            programs::not_installed(tool, package);
            return None;
        }
    }
    let built = Command::new("mvn").args(["-q", "-B", "package"]).current_dir(&folder).output();
    // What it says is worth reading only where it failed.
    if let Some(said) = built.as_ref().ok().filter(|built| !built.status.success()) {
        eprintln!("{}", String::from_utf8_lossy(&said.stdout));
    }
    if !built.is_ok_and(|built| built.status.success()) {
        let remedy = format!("see above what Maven could not get to build {}", folder.display());
        programs::missing("mvn", &remedy);
        return None;
    }
    Some(folder.join("target"))
}

/// Returns the class path of programs that were built into `target`.
pub(crate) fn class_path(target: &Path) -> String {
    format!("{0}/classes:{0}/dependency/*", target.display())
}

/// Returns a command that runs a class of the package `firstcome`.
pub(crate) fn command(path: &str, class: &str) -> Command {
    let mut java = Command::new("java");
    // It lives for seconds: what makes it begin sooner is worth more than what makes it faster later.
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", path]);
    java.arg(format!("firstcome.{class}"));
    java
}
