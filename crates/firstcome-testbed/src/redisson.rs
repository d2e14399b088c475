use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::programs;

/// Gives a command that runs a program of `interop/redisson`, Java with real Redisson, by the name of its class;
/// `None` after a loud skip where Java or Maven is missing.
///
/// The programs are built once in the life of this process, with Maven, which may fetch what they need.
#[must_use]
pub fn redisson(class: &str) -> Option<Command> {
    let path = redisson_class_path()?;
    let mut java = Command::new("java");
    // It lives for seconds: what makes it begin sooner is worth more than what makes it faster later.
    java.args(["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", &path]);
    java.arg(format!("firstcome.{class}"));
    Some(java)
}

/// Gives the class path of the programs of `interop/redisson`, for who starts Java by itself; `None` as [`redisson`].
#[must_use]
pub fn redisson_class_path() -> Option<String> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    let target = BUILT.get_or_init(build).as_ref()?;
    Some(format!("{0}/classes:{0}/dependency/*", target.display()))
}

fn build() -> Option<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../interop/redisson");
    for (tool, version) in [("java", "-version"), ("mvn", "--version")] {
        let mut asking = Command::new(tool);
        let asking = asking.arg(version).stdout(Stdio::null()).stderr(Stdio::null());
        if !asking.status().is_ok_and(|status| status.success()) {
            programs::missing(tool);
            return None;
        }
    }
    let built = Command::new("mvn").args(["-q", "-B", "package"]).current_dir(&folder).output();
    // What it says is worth reading only where it failed.
    if let Some(said) = built.as_ref().ok().filter(|built| !built.status.success()) {
        eprintln!("{}", String::from_utf8_lossy(&said.stdout));
    }
    if !built.is_ok_and(|built| built.status.success()) {
        programs::missing("what Maven needs to build the programs with Redisson");
        return None;
    }
    Some(folder.join("target"))
}
