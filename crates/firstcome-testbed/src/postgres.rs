use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::{Folder, programs};

/// A real PostgreSQL in a process of its own, reached by a socket in its folder, killed on drop.
#[derive(Debug)]
pub struct Postgres {
    folder: Folder,
    child: Child,
}

impl Postgres {
    /// Starts an empty one; `None` after a loud skip where it is not installed, which is never a failure.
    ///
    /// # Panics
    ///
    /// Panics where it is installed but does not start within 30 s.
    #[must_use]
    pub fn start() -> Option<Self> {
        let (Some(programs), Some(_)) = (programs_folder(), programs::find("psql")) else {
            eprintln!("SKIPPED: postgres is missing");
            return None;
        };
        let folder = Folder::new("postgres");
        let data = folder.path().join("data");
        std::fs::create_dir_all(&data).expect("the folder can be written to");
        if is_root() {
            // It refuses to run as root.
            let owner = Command::new("chown").args(["-R", "postgres"]).arg(folder.path()).status();
            assert!(owner.is_ok_and(|status| status.success()), "chown works");
        }
        let made = plain(&programs.join("initdb"))
            .args(["--auth=trust", "--username=test", "--no-sync", "--pgdata"])
            .arg(&data)
            .stdout(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "initdb works");
        let child = plain(&programs.join("postgres"))
            .arg("-D")
            .arg(&data)
            .args(["-c", "listen_addresses=", "-c", "fsync=off", "-k"])
            .arg(folder.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("an installed program starts");
        let server = Self { folder, child };
        let end = Instant::now() + Duration::from_secs(30);
        // It says that it is ready in a log that others write to as well: asking is simpler.
        while !server.psql().args(["-c", "SELECT 1"]).output().is_ok_and(|o| o.status.success()) {
            assert!(Instant::now() < end, "postgres is not ready within 30 s");
            std::thread::sleep(Duration::from_millis(25));
        }
        Some(server)
    }

    /// Runs SQL with `:name` in it replaced by the values as they stand, and gives what psql says, without blanks around.
    ///
    /// # Panics
    ///
    /// Panics where the SQL fails.
    pub fn run(&self, sql: &str, values: &[(&str, String)]) -> String {
        let file = self.folder.path().join("run.sql");
        std::fs::write(&file, sql).expect("the folder can be written to");
        let mut psql = self.psql();
        for (name, value) in values {
            psql.arg("-v").arg(format!("{name}={value}"));
        }
        let output = psql.arg("-f").arg(&file).output().expect("an installed program starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn psql(&self) -> Command {
        let mut psql = Command::new("psql");
        psql.args([
            "-X",
            "-A",
            "-t",
            "-v",
            "ON_ERROR_STOP=1",
            "-U",
            "test",
            "-d",
            "postgres",
            "-h",
        ]);
        psql.arg(self.folder.path());
        psql
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // Its children end when it does.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Finds the folder with `initdb` and `postgres`, which Debian keeps out of the search path.
fn programs_folder() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let folders = versions.flatten().map(|version| version.path().join("bin"));
    folders.filter(|folder| folder.join("initdb").is_file()).max()
}

/// Begins a command that does not run as root.
fn plain(program: &std::path::Path) -> Command {
    if !is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups", "--"]).arg(program);
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.trim_ascii() == b"0")
}
