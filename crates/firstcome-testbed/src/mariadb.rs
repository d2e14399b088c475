use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Certificates, Folder, free_port, programs};

/// The user every [`MariaDb`] has, who may do everything.
const USER: &str = "firstcome";
/// That user's password.
const PASSWORD: &str = "secret-of-the-tests";
/// Where Debian puts the server, which is not on everybody's search path.
const SYSTEM: &str = "/usr/sbin";
/// Servers refuse to run as root: these users are tried instead.
const UNPRIVILEGED: [&str; 2] = ["mysql", "nobody"];

/// Runs the server until standard input ends, which it does when the process that started it is gone, however it went.
const GUARD: &str = r#"
exec 2>&1
"$@" & server=$!
cat >/dev/null
kill -CONT $server 2>/dev/null
kill -KILL $server 2>/dev/null
wait $server
if [ -n "$REMOVE" ]; then rm -rf "$REMOVE"; fi
"#;

/// A real MariaDB server in processes of its own, ended on drop and with the process that started it.
///
/// As root it runs as another user, because it refuses root.
#[derive(Debug)]
pub struct MariaDb {
    program: PathBuf,
    folder: Folder,
    identity: Option<(u32, u32)>,
    port: u16,
    settings: Vec<String>,
    /// What it needs to speak TLS; gone with it.
    keys: Option<Folder>,
    removed_by_guard: bool,
    guard: Option<Child>,
}

impl MariaDb {
    /// Starts a server; `None` where MariaDB is not installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::with(&[])
    }

    /// Starts a server with further settings, as on its command line; `None` where MariaDB is not
    /// installed.
    ///
    /// # Panics
    ///
    /// Panics where the server is installed but does not start.
    #[must_use]
    pub fn with(settings: &[&str]) -> Option<Self> {
        let program =
            programs::find("mariadbd").or_else(|| Some(Path::new(SYSTEM).join("mariadbd")));
        let Some(program) = program.filter(|program| program.is_file()) else {
            programs::not_installed("mariadbd", "mariadb-server");
            return None;
        };
        let mut server = Self {
            program,
            folder: Folder::new("mariadb"),
            identity: crate::postgres::unprivileged(&UNPRIVILEGED),
            port: free_port(),
            settings: settings.iter().map(|setting| (*setting).to_owned()).collect(),
            keys: None,
            removed_by_guard: false,
            guard: None,
        };
        server.initialise();
        server.restart();
        server.sql(&format!(
            "CREATE USER {USER}@'127.0.0.1' IDENTIFIED BY '{PASSWORD}'; \
             GRANT ALL ON *.* TO {USER}@'127.0.0.1' WITH GRANT OPTION"
        ));
        Some(server)
    }

    /// Starts a server that speaks TLS over TCP and nothing else; `None` where MariaDB is not installed.
    ///
    /// # Panics
    ///
    /// As [`MariaDb::with`].
    #[must_use]
    pub fn secured(certificates: &Certificates) -> Option<Self> {
        let folder = Folder::new("mariadb-tls");
        let identity = crate::postgres::unprivileged(&UNPRIVILEGED);
        let mut settings = vec!["--require-secure-transport=ON".to_owned()];
        for (setting, name) in
            [("ssl-cert", "server.pem"), ("ssl-key", "server.key"), ("ssl-ca", "ca.pem")]
        {
            let copy = folder.path().join(name);
            std::fs::copy(certificates.file(name), &copy).expect("the folder can be written to");
            for path in [folder.path(), &copy] {
                if let Some((user, group)) = identity {
                    std::os::unix::fs::chown(path, Some(user), Some(group))
                        .expect("root may give files");
                }
            }
            settings.push(format!("--{setting}={}", copy.display()));
        }
        let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
        let mut server = Self::with(&settings)?;
        server.keys = Some(folder);
        Some(server)
    }

    /// Returns a server that all tests of this process share; it ends with the process.
    ///
    /// Whoever uses it keeps to databases of its own and does not stop it.
    #[must_use]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<MariaDb>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let mut server = Self::start()?;
            server.kill();
            server.removed_by_guard = true;
            server.restart();
            Some(server)
        });
        if shared.is_none() {
            programs::not_installed("mariadbd", "mariadb-server");
        }
        shared.as_ref()
    }

    fn initialise(&self) {
        if let Some((user, group)) = self.identity {
            std::os::unix::fs::chown(self.folder.path(), Some(user), Some(group))
                .expect("root may give files");
        }
        let output = self
            .as_user(Command::new("mariadb-install-db"))
            .args(["--no-defaults", "--skip-test-db", "--auth-root-authentication-method=normal"])
            .arg(format!("--datadir={}", self.data().display()))
            .output()
            .expect("it comes with the server");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "mariadb-install-db failed: {said}");
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn as_user(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        // Servers that share a folder for temporary tables remove each other's when they start.
        command.env("TMPDIR", self.folder.path());
        if let Some((user, group)) = self.identity {
            command.uid(user).gid(group);
        }
        command
    }

    /// Starts the server again on the same port with what it had, after killing it where it still runs.
    ///
    /// # Panics
    ///
    /// Panics where the server says nothing about being ready before it ends.
    pub fn restart(&mut self) {
        self.kill();
        let remove = if self.removed_by_guard { self.folder.path() } else { Path::new("") };
        let mut guard = self
            .as_user(Command::new("sh"))
            .args(["-c", GUARD, "guard"])
            .arg(&self.program)
            .args(["--no-defaults", "--bind-address=127.0.0.1", "--innodb-buffer-pool-size=32M"])
            .args(["--innodb-flush-log-at-trx-commit=2", "--innodb-fast-shutdown=2"])
            .arg(format!("--datadir={}", self.data().display()))
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--pid-file={}", self.folder.path().join("pid").display()))
            .arg(format!("--port={}", self.port))
            .args(&self.settings)
            .env("REMOVE", remove)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let mut lines = BufReader::new(guard.stdout.take().expect("stdout is piped")).lines();
        let mut said = Vec::new();
        loop {
            match lines.next() {
                Some(Ok(line)) if line.contains("ready for connections") => break,
                Some(Ok(line)) => said.push(line),
                Some(Err(_)) | None => panic!("it ended without being ready: {said:#?}"),
            }
        }
        std::thread::spawn(move || lines.for_each(drop));
        self.guard = Some(guard);
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Makes a database that was not there before, and gives its URL.
    ///
    /// # Panics
    ///
    /// Panics where it cannot be made.
    pub fn new_database(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("d{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql(&format!("CREATE DATABASE {name}"));
        format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{}/{name}", self.port)
    }

    /// Returns the URL of a database, behind something that listens on another port.
    #[must_use]
    pub fn url_through(&self, port: u16, database: &str) -> String {
        format!("mysql://{USER}:{PASSWORD}@127.0.0.1:{port}/{database}")
    }

    /// Runs statements over a connection of their own; gives a line for each row, cells parted by tabs.
    ///
    /// # Panics
    ///
    /// Panics where they fail.
    pub fn sql(&self, statements: &str) -> String {
        self.try_sql(statements).unwrap_or_else(|said| panic!("{statements}: {said}"))
    }

    /// Runs statements as [`MariaDb::sql`] does; gives a line for each row, or what is wrong with them.
    ///
    /// # Errors
    ///
    /// The server's words.
    ///
    /// # Panics
    ///
    /// Panics where there is no client.
    pub fn try_sql(&self, statements: &str) -> Result<String, String> {
        let output = Command::new("mariadb")
            .args(["--no-defaults", "--user=root", "--batch", "--skip-column-names"])
            .arg(format!("--socket={}", self.socket().display()))
            .arg(format!("--execute={statements}"))
            .stdin(Stdio::null())
            .output()
            .expect("the client comes with the server");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Kills the server, keeps a copy of what it has on its disk, and starts it again.
    ///
    /// # Panics
    ///
    /// Panics where the folder cannot be copied, or the server does not start.
    pub fn keep_copy(&mut self) {
        self.kill();
        self.copy("data", "copy");
        self.restart();
    }

    /// Kills the server and starts it with the copy of [`MariaDb::keep_copy`]: what came later is lost.
    ///
    /// # Panics
    ///
    /// Panics where there is no copy, or the server does not start.
    pub fn go_back_to_copy(&mut self) {
        self.kill();
        self.copy("copy", "data");
        self.restart();
    }

    /// Puts a folder in the place of another one.
    fn copy(&self, from: &str, to: &str) {
        let [from, to] = [from, to].map(|name| self.folder.path().join(name));
        if to.is_dir() {
            std::fs::remove_dir_all(&to).expect("the folder is ours");
        }
        let copied = Command::new("cp").arg("-a").args([&from, &to]).status().expect("cp is there");
        assert!(copied.success(), "{} cannot be copied", from.display());
    }

    /// Returns the number of the server's process.
    ///
    /// # Panics
    ///
    /// Panics where it does not run.
    #[must_use]
    pub fn process(&self) -> u32 {
        let file = std::fs::read_to_string(self.folder.path().join("pid"));
        file.ok().and_then(|pid| pid.trim().parse().ok()).expect("the server runs")
    }

    /// Stops the server's process as it stands (SIGSTOP): connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets a paused process go on.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let file = std::fs::read_to_string(self.folder.path().join("pid")).unwrap_or_default();
        if !file.trim().is_empty() {
            // One that ended meanwhile needs no signal.
            drop(Command::new("kill").arg(name).arg(file.trim()).output());
        }
    }

    /// Ends the server at once, as a crash would.
    pub fn kill(&mut self) {
        let Some(mut guard) = self.guard.take() else { return };
        // The end of its input is the guard's signal.
        drop(guard.stdin.take());
        drop(guard.wait());
    }
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        self.kill();
    }
}
