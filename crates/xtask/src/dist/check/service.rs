//! The service of the package, started as its unit says, by hand: a claim, and a clean end.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use super::child::RunningProgram;
use super::unit::SystemdUnit;
use super::{STATE, UNIT, filter};
use crate::commands::output;

/// Sets what the unit sets for the process, as far as this machine lets root do it, and goes on as the command.
const START: &str = r#"
umask "$1"
ulimit -n "$2" || echo "  NOT CHECKED: LimitNOFILE=$2, which cannot be set here" >&2
shift 2
exec "$@"
"#;

/// Starts the service, asks it, takes a claim and ends it. What it calls is written into a folder.
pub(super) fn check(folder: &Path) -> Result<(), String> {
    let unit = std::fs::read_to_string(UNIT).map_err(|why| format!("{UNIT}: {why}"))?;
    let unit = SystemdUnit::parse(&unit);
    let path = folder.join("service.strace");
    let trace = || std::fs::read_to_string(&path).map_err(|why| format!("strace: {why}"));
    let service = RunningProgram::start(&mut command(&unit, &path)?)?;
    let url = service.says("listening on ")?;
    // The first line is of the process that strace started.
    let pid = trace()?.split(' ').next().and_then(|pid| pid.parse().ok());
    let pid = pid.ok_or_else(|| format!("{} begins without a process", path.display()))?;
    let asked = is_ready(url.trim_start_matches("http://")).and_then(|()| claim(&unit));
    let (status, took) = service.end(pid, unit.seconds("TimeoutStopSec")?)?;
    asked?;
    println!("  {took:.1?} after SIGTERM it ended with {status}");
    if !status.success() {
        return Err(format!("after SIGTERM the service ended with {status}"));
    }
    filter::check(&unit, &trace()?)
}

/// Takes a claim with the installed program.
fn claim(unit: &SystemdUnit) -> Result<(), String> {
    let user = unit.value("User")?;
    firstcome(user, &["campaign", "create", "spring", "--places", "2", "--opens", "now"])?;
    let claim = firstcome(user, &["claim", "spring", "ann"])?;
    let is_first = claim.starts_with("ann has rank 1 in spring/main");
    if is_first { Ok(()) } else { Err(format!("the claim is answered with {claim}")) }
}

/// Returns the command of the unit, run as systemd would: user, folder, limits, environment. strace writes what it calls.
fn command(unit: &SystemdUnit, trace: &Path) -> Result<Command, String> {
    let (user, group) = (unit.value("User")?, unit.value("Group")?);
    let mut command = Command::new("sh");
    command.args(["-c", START, "sh", unit.value("UMask")?, unit.value("LimitNOFILE")?]);
    command.args(["strace", "-f", "-qq", "-s", "300", "-e", "signal=none", "-o"]).arg(trace);
    // strace is root's; what it starts is the user's, before the program runs.
    command.args(["-u", user, "env", "-i"]);
    command.args([format!("USER={user}"), format!("LOGNAME={user}"), format!("HOME={STATE}")]);
    command.args(["LANG=C.UTF-8", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin"]);
    command.args([format!("STATE_DIRECTORY={STATE}"), "SHELL=/usr/sbin/nologin".to_owned()]);
    command.args(unit.all("Environment"));
    // Any free port: another program may have that of the configuration.
    command.arg("FIRSTCOME_LISTEN=127.0.0.1:0");
    let restricted = ["setpriv", "--no-new-privs", "--inh-caps=-all"];
    command.args(restricted).args(unit.value("ExecStart")?.split(' '));
    if user != group {
        return Err(format!("the group {group} is not that of the user {user}"));
    }
    command.current_dir(unit.value("WorkingDirectory")?);
    Ok(command)
}

/// Asks `/readyz`.
fn is_ready(address: &str) -> Result<(), String> {
    let failed = |why| format!("{address}: {why}");
    let mut connection = TcpStream::connect(address).map_err(failed)?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).map_err(failed)?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).map_err(failed)?;
    let is_ready = answer.starts_with("HTTP/1.1 200 ");
    if is_ready { Ok(()) } else { Err(format!("/readyz answers\n{answer}")) }
}

/// Runs the installed program as the service's user, for the server that has its data folder.
fn firstcome(user: &str, args: &[&str]) -> Result<String, String> {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", user, "--init-groups", "firstcome"]);
    output(command.args(args).args(["--data", STATE]).env_clear().current_dir("/"))
}
