//! The static program where nothing else is: it serves, and it finds other servers by their names.

use std::net::TcpListener;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::super::{copy, write};
use super::child::RunningProgram;
use crate::commands::output;

/// How long a server without `leave_ms` may take to end.
const END: Duration = Duration::from_secs(20);

/// Tries the program in a folder of its own, where no library and no file of `/etc` is, and then names of hosts.
pub(super) fn check(program: &Path, folder: &Path) -> Result<(), String> {
    let root = folder.join("root");
    let made = std::fs::create_dir_all(root.join("data"))
        .and_then(|()| std::fs::create_dir_all(root.join("etc")));
    made.map_err(|why| format!("{}: {why}", root.display()))?;
    copy(program, &root.join("firstcome"))?;
    serves(&root)?;
    names(program, &root)?;
    std::fs::remove_dir_all(&root).map_err(|why| format!("{}: {why}", root.display()))
}

/// Returns the program as it runs with a folder as its whole file system.
fn inside(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("/usr/sbin/chroot");
    command.arg(root).arg("/firstcome").args(args).env_clear();
    command
}

fn serves(root: &Path) -> Result<(), String> {
    let mut serve = inside(root, &["serve", "--data", "/data", "--listen", "127.0.0.1:0"]);
    let server = RunningProgram::start(serve.args(["--leave-ms", "0", "--log-level", "error"]))?;
    server.says("listening on ")?;
    let create = ["campaign", "create", "spring", "--places", "2", "--opens", "now"];
    output(inside(root, &create).args(["--data", "/data"]))?;
    let claim = output(&mut inside(root, &["claim", "spring", "ann", "--data", "/data"]))?;
    if !claim.starts_with("ann has rank 1 ") {
        return Err(format!("the claim is answered with {claim}"));
    }
    let pid = server.pid();
    let (status, _) = server.end(pid, END)?;
    if status.success() { Ok(()) } else { Err(format!("the server ended with {status}")) }
}

/// Has the program reach a Redis as `localhost`: as this machine looks up names, and with a `/etc/hosts` alone. A name that
/// nobody knows is a sentence, and no library is loaded to look for it.
fn names(program: &Path, root: &Path) -> Result<(), String> {
    let listener = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let port = listener.map_err(|why| why.to_string())?.port().to_string();
    let mut redis = Command::new("redis-server");
    redis.args(["--port", &port, "--bind", "127.0.0.1", "--save", ""]);
    let redis = RunningProgram::start(&mut redis)?;
    redis.says("Ready to accept connections")?;
    let store = format!("redis://localhost:{port}");
    let list = ["locks", "list", "--store", &store];
    output(Command::new(program).args(list).env_clear())?;
    write(&root.join("etc/hosts"), "127.0.0.1 localhost\n")?;
    output(&mut inside(root, &list))?;
    unknown(Command::new("strace").args(["-f", "-e", "trace=openat"]).arg(program))?;
    unknown(&mut inside(root, &[]))?;
    let pid = redis.pid();
    redis.end(pid, END).map(drop)
}

/// Has the program look for a host that does not exist.
fn unknown(program: &mut Command) -> Result<(), String> {
    let asked = program.args(["locks", "list", "--store", "redis://nobody.invalid"]).output();
    let asked = asked.map_err(|why| format!("{program:?}: {why}"))?;
    let said = String::from_utf8_lossy(&asked.stderr);
    if said.contains(".so") {
        return Err(format!("the program loads libraries to look up names:\n{said}"));
    }
    let error = said.lines().find(|line| line.starts_with("error: the store at nobody.invalid"));
    if asked.status.code() != Some(3) || error.is_none() {
        return Err(format!("a name that nobody knows ends with {}: {said}", asked.status));
    }
    println!("  {}", error.unwrap_or_default());
    Ok(())
}
