//! Installs the Debian package on this machine, runs its service by hand, and purges it.

mod child;
mod filter;
mod host_names;
mod service;
mod unit;

use std::path::Path;
use std::process::Command;

use super::{Made, quiet, step};
use crate::commands::output;
use crate::needs;

const CONFIGURATION: &str = "/etc/firstcome/firstcome.toml";
const STATE: &str = "/var/lib/firstcome";
const UNIT: &str = "/usr/lib/systemd/system/firstcome.service";

/// How much the unit lets the service do, at most: ten times the exposure level of `systemd-analyze security`.
const EXPOSURE: &str = "20";

/// Tries everything. Removes the package whatever happens.
pub(super) fn check(made: &Made) -> Result<(), String> {
    if !needs::is_root() {
        return Err("dist --check installs a package: run it as root".to_owned());
    }
    needs::provide_packaging()?;
    let before = named_firstcome()?;
    if !before.is_empty() {
        return Err(format!(
            "there is something of Firstcome here, which stays as it is:\n{before}"
        ));
    }
    step("the program alone in a folder", || host_names::check(&made.program, &made.folder))?;
    step("lintian", || lintian(&made.package))?;
    let installed = Installed;
    step("dpkg --install", || install(&made.package))?;
    step("the unit", look_at_unit)?;
    step("the service", || service::check(&made.folder))?;
    step("dpkg --install again", || install_again(&made.package))?;
    step("dpkg --remove", remove)?;
    std::mem::forget(installed);
    step("dpkg --purge", purge)
}

/// The package, on this machine: purged when this is dropped, which only happens when something is wrong.
struct Installed;

impl Drop for Installed {
    fn drop(&mut self) {
        if let Err(why) = quiet(Command::new("dpkg").args(["--purge", "firstcome"])) {
            eprintln!("{why}");
        }
    }
}

/// Returns all that is here by the name of Firstcome: files, the user and the group.
fn named_firstcome() -> Result<String, String> {
    let mut find = Command::new("find");
    find.args(["/etc", "/usr", "/var", "/run", "-xdev", "-name", "*firstcome*", "-print"]);
    let mut found = output(&mut find)?;
    for database in ["passwd", "group"] {
        // Nothing is printed, and the code is 2, if there is none.
        let entry = Command::new("getent").args([database, "firstcome"]).output();
        let entry = entry.map_err(|why| format!("getent: {why}"))?;
        found.push_str(&String::from_utf8_lossy(&entry.stdout));
    }
    Ok(found)
}

fn lintian(package: &Path) -> Result<(), String> {
    let mut lintian = Command::new("lintian");
    lintian.args(["--fail-on", "error", "--allow-root"]).arg(package);
    print!("{}", output(&mut lintian)?);
    Ok(())
}

fn install(package: &Path) -> Result<(), String> {
    dpkg(&["--install", &package.to_string_lossy()])?;
    for (path, should) in
        [(CONFIGURATION, "640 root:firstcome"), (STATE, "700 firstcome:firstcome")]
    {
        let is = output(Command::new("stat").args(["--format=%a %U:%G", path]))?;
        if is.trim_end() != should {
            return Err(format!("{path} is {}, not {should}", is.trim_end()));
        }
    }
    Ok(())
}

fn dpkg(args: &[&str]) -> Result<(), String> {
    quiet(Command::new("dpkg").args(args).env("DEBIAN_FRONTEND", "noninteractive"))
}

fn look_at_unit() -> Result<(), String> {
    quiet(Command::new("systemd-analyze").args(["verify", "--man=no", UNIT]))?;
    let mut security = Command::new("systemd-analyze");
    security.args(["security", "--offline=true", "--threshold", EXPOSURE, UNIT]);
    let said = output(&mut security)?;
    println!("{}", said.trim_end().lines().next_back().unwrap_or_default());
    Ok(())
}

/// What an administrator changed stays, and so do the data.
fn install_again(package: &Path) -> Result<(), String> {
    let read =
        || std::fs::read_to_string(CONFIGURATION).map_err(|why| format!("{CONFIGURATION}: {why}"));
    let changed = read()? + "queue = 1000\n";
    super::write(Path::new(CONFIGURATION), &changed)?;
    let data = || output(Command::new("find").args([STATE, "-type", "f"]));
    let before = data()?;
    install(package)?;
    if read()? != changed || data()? != before || before.is_empty() {
        return Err("installing the package again changed the configuration or the data".to_owned());
    }
    Ok(())
}

fn remove() -> Result<(), String> {
    dpkg(&["--remove", "firstcome"])?;
    let stays = [CONFIGURATION, STATE].map(|path| Path::new(path).exists());
    if stays == [true, true] { Ok(()) } else { Err("--remove removed more than files".to_owned()) }
}

fn purge() -> Result<(), String> {
    dpkg(&["--purge", "firstcome"])?;
    let left = named_firstcome()?;
    if left.is_empty() { Ok(()) } else { Err(format!("this is left:\n{left}")) }
}
