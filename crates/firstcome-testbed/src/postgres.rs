use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::{Certificates, Folder, free_port, programs};

/// The user every [`Postgres`] has, a superuser.
const USER: &str = "firstcome";
/// That user's password.
const PASSWORD: &str = "secret-of-the-tests";
/// The database every [`Postgres`] has beside `postgres`.
const DATABASE: &str = "ledger";
/// Where Debian puts the programs, one folder for each version.
const DEBIAN: &str = "/usr/lib/postgresql";
/// Servers refuse to run as root: these users are tried instead.
const UNPRIVILEGED: [&str; 2] = ["postgres", "nobody"];
/// How long a server may take to start or to end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs the server until standard input ends, which it does when the process that started it is gone, however it went.
const GUARD: &str = r#"
exec 2>&1
"$1/postgres" -D "$2" & server=$!
cat >/dev/null
kill -QUIT $server 2>/dev/null
wait $server
if [ -n "$3" ]; then rm -rf "$3"; fi
"#;

/// What a [`Postgres`] is started with; the default forgets what it wrote when the machine's power fails.
#[derive(Debug, Default)]
pub struct PostgresSettings {
    /// Force every commit to the disk.
    pub fsync: bool,
    /// Serve TLS too, with these certificates.
    pub tls: Option<Certificates>,
    /// Further settings, as `NAME=VALUE`.
    pub more: Vec<String>,
}

/// A real PostgreSQL server in processes of its own, ended on drop and with the process that started it.
///
/// As root it runs as another user, because it refuses root.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    settings: PostgresSettings,
    folder: Folder,
    identity: Option<(u32, u32)>,
    port: u16,
    removed_by_guard: bool,
    guard: Option<Child>,
}

impl Postgres {
    /// Starts a server; `None` where PostgreSQL is not installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::with(PostgresSettings::default())
    }

    /// Starts a server with `settings`; `None` where PostgreSQL is not installed.
    ///
    /// # Panics
    ///
    /// Panics where the server is installed but does not start.
    #[must_use]
    pub fn with(settings: PostgresSettings) -> Option<Self> {
        let Some(programs) = find() else {
            programs::not_installed("postgres", "postgresql");
            return None;
        };
        let mut server = Self {
            programs,
            settings,
            folder: Folder::new("postgres"),
            identity: unprivileged(&UNPRIVILEGED),
            port: free_port(),
            removed_by_guard: false,
            guard: None,
        };
        server.initialise();
        server.restart();
        server.sql("postgres", &format!("CREATE DATABASE {DATABASE} TEMPLATE template0"));
        Some(server)
    }

    /// Starts a standby that has all of this server so far, and follows it over `through`, the port of a
    /// [`Proxy`](crate::Proxy) in front of it. It takes writes after [`Postgres::promote`].
    ///
    /// # Panics
    ///
    /// Panics where it does not start.
    #[must_use]
    pub fn standby(&self, through: u16) -> Self {
        let mut standby = Self {
            programs: self.programs.clone(),
            settings: PostgresSettings::default(),
            folder: Folder::new("postgres-standby"),
            identity: self.identity,
            port: free_port(),
            removed_by_guard: false,
            guard: None,
        };
        standby.give(standby.folder.path());
        let output = standby
            .as_user(Command::new("pg_basebackup"))
            .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync", "--pgdata"])
            .arg(standby.data())
            .arg("--dbname")
            .arg(format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{through}/"))
            .output()
            .expect("it comes with the server");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "pg_basebackup failed: {said}");
        let file = standby.data().join("postgresql.conf");
        let settings = std::fs::read_to_string(&file).expect("it was copied");
        let port = standby.port;
        std::fs::write(&file, format!("{settings}port = {port}\n")).expect("it can be written");
        standby.restart();
        standby
    }

    /// Has a standby take writes from now on, with what it has.
    ///
    /// # Panics
    ///
    /// Panics where it is none.
    pub fn promote(&self) {
        assert_eq!(self.sql("postgres", "SELECT pg_promote()"), "t");
    }

    /// Returns a server that all tests of this process share; it ends with the process.
    ///
    /// Whoever uses it keeps to tables of its own and does not stop it.
    #[must_use]
    pub fn shared() -> Option<&'static Self> {
        static SHARED: OnceLock<Option<Postgres>> = OnceLock::new();
        let shared = SHARED.get_or_init(|| {
            let mut server = Self::start()?;
            server.kill();
            server.removed_by_guard = true;
            server.restart();
            Some(server)
        });
        if shared.is_none() {
            programs::not_installed("postgres", "postgresql");
        }
        shared.as_ref()
    }

    fn initialise(&self) {
        let (folder, word) = (self.folder.path(), self.folder.path().join("password"));
        std::fs::write(&word, PASSWORD).expect("the folder can be written to");
        self.give(folder);
        self.give(&word);
        let output = self
            .program("initdb")
            .args(["--no-sync", "--username", USER, "--auth=scram-sha-256", "--encoding=UTF8"])
            .args(["--locale=C", "--pgdata"])
            .arg(self.data())
            .arg("--pwfile")
            .arg(&word)
            .output()
            .expect("an installed program starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "initdb failed: {said}");
        let mut lines = vec![
            format!("port = {}", self.port),
            "listen_addresses = '127.0.0.1'".to_owned(),
            "unix_socket_directories = ''".to_owned(),
            "shared_buffers = 32MB".to_owned(),
            "max_wal_size = 1GB".to_owned(),
            "autovacuum = off".to_owned(),
            format!("fsync = {}", if self.settings.fsync { "on" } else { "off" }),
        ];
        if let Some(tls) = &self.settings.tls {
            for name in ["server.pem", "server.key"] {
                let copy = self.data().join(name);
                std::fs::copy(tls.file(name), &copy).expect("the folder can be written to");
                self.give(&copy);
                let mode = std::os::unix::fs::PermissionsExt::from_mode(0o600);
                std::fs::set_permissions(&copy, mode).expect("our own file's mode can be set");
            }
            lines
                .push("ssl = on\nssl_cert_file = 'server.pem'\nssl_key_file = 'server.key'".into());
        }
        lines.extend(self.settings.more.iter().cloned());
        let file = self.data().join("postgresql.conf");
        std::fs::write(file, lines.join("\n") + "\n").expect("the folder can be written to");
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Returns a file to the user the server runs as.
    fn give(&self, file: &Path) {
        if let Some((user, group)) = self.identity {
            std::os::unix::fs::chown(file, Some(user), Some(group)).expect("root may give files");
        }
    }

    /// A program of PostgreSQL's, run as the right user.
    fn program(&self, name: &str) -> Command {
        self.as_user(Command::new(self.programs.join(name)))
    }

    fn as_user(&self, mut command: Command) -> Command {
        command.current_dir(self.folder.path()).env_remove("PGDATA").stdin(Stdio::null());
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
        let folder = if self.removed_by_guard { self.folder.path() } else { Path::new("") };
        let mut guard = self
            .as_user(Command::new("sh"))
            .args(["-c", GUARD, "guard"])
            .arg(&self.programs)
            .arg(self.data())
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell starts");
        let mut lines = BufReader::new(guard.stdout.take().expect("stdout is piped")).lines();
        let mut said = Vec::new();
        loop {
            match lines.next() {
                // A standby says "read-only" in between.
                Some(Ok(line)) if line.contains("ready to accept") => break,
                // Whoever knocks while it starts is told so, and that is no failure of its own.
                Some(Ok(line))
                    if line.contains("FATAL") && !line.contains("database system is") =>
                {
                    panic!("it does not start: {line} {said:#?}")
                }
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

    /// Returns the URL a client connects to, without TLS.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_through(self.port)
    }

    /// Returns the same URL with another port, that of a [`Proxy`](crate::Proxy) in front of this server.
    #[must_use]
    pub fn url_through(&self, port: u16) -> String {
        format!("postgres://{USER}:{PASSWORD}@127.0.0.1:{port}/{DATABASE}?sslmode=disable")
    }

    /// Makes a database that was not there before, and gives its URL.
    ///
    /// # Panics
    ///
    /// Panics where it cannot be made.
    pub fn new_database(&self) -> String {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let name = format!("d{}", NEXT.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name} TEMPLATE template0"));
        self.url().replace(&format!("/{DATABASE}?"), &format!("/{name}?"))
    }

    /// Returns the file of the authority that signed this server's certificate.
    #[must_use]
    pub fn authority_file(&self) -> Option<PathBuf> {
        self.settings.tls.as_ref().map(|tls| tls.file("ca.pem"))
    }

    /// Runs statements in a database, over a connection of their own; gives a line for each row, cells parted by ` | `.
    ///
    /// # Panics
    ///
    /// Panics where `psql` cannot run them.
    pub fn sql(&self, database: &str, statements: &str) -> String {
        self.try_sql(database, statements).unwrap_or_else(|said| panic!("{statements}: {said}"))
    }

    /// Runs SQL with `:name` in it replaced by the values as they stand, and gives what psql says, without blanks around.
    ///
    /// # Panics
    ///
    /// Panics where the SQL fails.
    pub fn run(&self, sql: &str, values: &[(&str, String)]) -> String {
        let file = self.folder.path().join("run.sql");
        std::fs::write(&file, sql).expect("the folder can be written to");
        let mut psql = self.psql(DATABASE);
        psql.arg("--file").arg(&file);
        for (name, value) in values {
            psql.arg("--set").arg(format!("{name}={value}"));
        }
        let output = psql.output().expect("psql comes with the server");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).trim().to_owned()
    }

    fn psql(&self, database: &str) -> Command {
        // What Debian has on the path finds this one, and starts Perl for it.
        let beside = self.programs.join("psql");
        let mut psql = Command::new(if beside.exists() { beside } else { "psql".into() });
        psql.args(["--no-psqlrc", "--no-align", "--tuples-only"])
            .args(["--field-separator", " | ", "--set", "ON_ERROR_STOP=1"])
            .args(["--host", "127.0.0.1", "--username", USER])
            .args(["--port", &self.port.to_string(), "--dbname", database])
            .env("PGPASSWORD", PASSWORD)
            .stdin(Stdio::null());
        psql
    }

    /// Runs statements as [`Postgres::sql`] does; gives a line for each row, or what is wrong with them.
    ///
    /// # Errors
    ///
    /// The server's words.
    ///
    /// # Panics
    ///
    /// Panics where there is no `psql`.
    pub fn try_sql(&self, database: &str, statements: &str) -> Result<String, String> {
        let output = self
            .psql(database)
            .args(["--quiet", "--command", statements])
            .output()
            .expect("psql comes with the server");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    /// Ends the server at once, as a crash would: what it had not written is recovered from its log.
    pub fn kill(&mut self) {
        let Some(mut guard) = self.guard.take() else { return };
        // The end of its input is the guard's signal; paused processes have to hear it too.
        self.signal_all("-CONT");
        drop(guard.stdin.take());
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if !matches!(guard.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        // It fails only where the process is gone already.
        drop(guard.kill());
        drop(guard.wait());
    }

    /// Returns the number of the server's first process; the others are its children.
    ///
    /// # Panics
    ///
    /// Panics where it does not run.
    #[must_use]
    pub fn process(&self) -> u32 {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        file.lines().next().and_then(|pid| pid.parse().ok()).expect("the server runs")
    }

    /// Stops the server's processes as they stand (SIGSTOP): connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.signal_all("-STOP");
    }

    /// Lets paused processes go on.
    pub fn resume(&self) {
        self.signal_all("-CONT");
    }

    fn signal_all(&self, name: &str) {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).unwrap_or_default();
        let Some(server) = file.lines().next() else { return };
        let children = Command::new("pgrep").args(["-P", server]).output();
        let children = children.map(|found| String::from_utf8_lossy(&found.stdout).into_owned());
        let all = children.unwrap_or_default();
        // One that ended meanwhile needs no signal.
        drop(Command::new("kill").arg(name).arg(server).args(all.split_whitespace()).output());
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Finds the folder of the programs: on the search path with all that is needed, or Debian's newest.
fn find() -> Option<PathBuf> {
    let whole = |folder: &PathBuf| {
        ["postgres", "initdb"].iter().all(|program| folder.join(program).is_file())
    };
    let path = std::env::var_os("PATH").unwrap_or_default();
    let debian = std::fs::read_dir(DEBIAN).into_iter().flatten().flatten();
    let mut debian: Vec<PathBuf> = debian.map(|entry| entry.path().join("bin")).collect();
    let version = |folder: &PathBuf| {
        let name = folder.parent().and_then(Path::file_name).unwrap_or_default();
        name.to_string_lossy().parse::<u32>().unwrap_or(0)
    };
    debian.sort_by_key(|folder| std::cmp::Reverse(version(folder)));
    let on_path = std::env::split_paths(&path).find(whole);
    on_path.or_else(|| debian.into_iter().find(whole))
}

/// Returns the user and the password that every [`Postgres`] has.
pub(crate) fn login() -> (&'static str, &'static str) {
    (USER, PASSWORD)
}

/// Whom a server runs as where this process is root: user and group by number.
pub(crate) fn unprivileged(users: &[&str]) -> Option<(u32, u32)> {
    let number = |words: &[&str]| {
        let output = Command::new("id").args(words).stderr(Stdio::null()).output().ok()?;
        String::from_utf8_lossy(&output.stdout).trim().parse::<u32>().ok()
    };
    if number(&["-u"]) != Some(0) {
        return None;
    }
    users.iter().find_map(|user| Some((number(&["-u", user])?, number(&["-g", user])?)))
}
