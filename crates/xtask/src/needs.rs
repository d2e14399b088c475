//! Programs that the tests run beside the code, and where they come from.

use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A program, the Debian package that has it, and what it is for.
const NEEDS: [(&str, &str, &str); 1] =
    [("strace", "strace", "shows that every commit really reaches the disk")];

/// Says what is needed and what is here.
pub(crate) fn list() {
    for (program, package, purpose) in NEEDS {
        match find(program) {
            Some(path) => println!("{program}: {} ({purpose})", path.display()),
            None => println!("{program}: missing, Debian package {package} ({purpose})"),
        }
    }
}

/// Makes everything be here: as root with apt, otherwise by saying exactly what to install.
pub(crate) fn provide() -> Result<(), String> {
    let missing: Vec<&str> =
        NEEDS.iter().filter(|need| find(need.0).is_none()).map(|need| need.1).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let line = format!("apt-get install --yes --no-install-recommends {}", missing.join(" "));
    if !is_root() || find("apt-get").is_none() {
        return Err(format!("the tests need programs that are not here; as root:\n\n    {line}\n"));
    }
    eprintln!("installing what the tests need: {}", missing.join(" "));
    let install = || {
        let mut apt = Command::new("apt-get");
        apt.args(["install", "--yes", "--no-install-recommends"]).args(&missing);
        run(&mut apt)
    };
    // The lists may be absent or old on a fresh machine: bring them only when they are needed.
    if install() {
        return Ok(());
    }
    if !run(Command::new("apt-get").arg("update")) {
        return Err("apt-get update failed".to_owned());
    }
    if install() { Ok(()) } else { Err(format!("this failed; run it to see why:\n\n    {line}\n")) }
}

fn run(command: &mut Command) -> bool {
    let command = command
        .env("DEBIAN_FRONTEND", "noninteractive")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}

fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let places = std::env::split_paths(&path).chain(["/usr/sbin", "/sbin"].map(PathBuf::from));
    places.map(|place| place.join(program)).find(|path| path.is_file())
}
