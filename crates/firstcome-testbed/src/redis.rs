mod saving;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use crate::{Certificates, Folder, clock, free_port, programs};

/// What a [`RedisServer`] is started with; the default is a plain server without persistence.
#[derive(Debug, Default)]
pub struct RedisSettings {
    /// The port; a free one where it is `None`.
    pub port: Option<u16>,
    /// A password for the default user.
    pub password: Option<String>,
    /// Serve TLS only, with these certificates.
    pub tls: Option<Certificates>,
    /// Follow the master at this port.
    pub replica_of: Option<u16>,
    /// Let the server's wall clock be moved, with [`RedisServer::set_clock`].
    pub movable_clock: bool,
    /// Further words for the command line, each option with its leading dashes.
    pub more: Vec<String>,
}

/// A real server in a process of its own, killed on drop.
#[derive(Debug)]
pub struct RedisServer {
    program: &'static str,
    settings: RedisSettings,
    folder: Folder,
    port: u16,
    child: Option<Child>,
}

impl RedisServer {
    /// Starts a plain `redis-server`; `None` where it is not installed.
    #[must_use]
    pub fn start() -> Option<Self> {
        Self::with(RedisSettings::default())
    }

    /// Starts a `redis-server` with `settings`; `None` where it is not installed.
    ///
    /// # Panics
    ///
    /// Panics where the server is installed but does not start.
    #[must_use]
    pub fn with(settings: RedisSettings) -> Option<Self> {
        if programs::find("redis-server").is_none() {
            programs::not_installed("redis-server", "redis-server");
            return None;
        }
        if settings.movable_clock && clock::library().is_none() {
            programs::not_installed("faketime", "faketime");
            return None;
        }
        Some(Self::launch("redis-server", settings))
    }

    /// Starts a plain `redis-server` whose clock can be moved; `None` where it, or `libfaketime`, is
    /// not installed.
    #[must_use]
    pub fn with_movable_clock() -> Option<Self> {
        Self::with(RedisSettings { movable_clock: true, ..RedisSettings::default() })
    }

    /// Starts a `valkey-server`; `None` where it is not installed, which is never a failure.
    #[must_use]
    pub fn valkey() -> Option<Self> {
        if programs::find("valkey-server").is_none() {
            eprintln!("SKIPPED: valkey-server is missing");
            return None;
        }
        Some(Self::launch("valkey-server", RedisSettings::default()))
    }

    fn launch(program: &'static str, settings: RedisSettings) -> Self {
        let port = settings.port.unwrap_or_else(free_port);
        let mut server =
            Self { program, settings, folder: Folder::new("redis"), port, child: None };
        server.restart();
        server
    }

    /// Starts the server again on the same port, after killing it where it still runs.
    ///
    /// It begins empty, unless its settings have it keep its data in a file.
    ///
    /// # Panics
    ///
    /// Panics where the server says nothing about being ready before it ends.
    pub fn restart(&mut self) {
        self.kill();
        let mut command = Command::new(self.program);
        command.args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]);
        command.args(["--repl-diskless-sync-delay", "0"]);
        command.arg("--dir").arg(self.folder.path());
        let port = self.port.to_string();
        match &self.settings.tls {
            None => command.args(["--port", &port]),
            Some(tls) => command
                .args(["--port", "0", "--tls-port", &port, "--tls-auth-clients", "no"])
                .arg("--tls-cert-file")
                .arg(tls.file("server.pem"))
                .arg("--tls-key-file")
                .arg(tls.file("server.key"))
                .arg("--tls-ca-cert-file")
                .arg(tls.file("ca.pem")),
        };
        if let Some(password) = &self.settings.password {
            command.args(["--requirepass", password]);
        }
        if let Some(master) = self.settings.replica_of {
            command.args(["--replicaof", "127.0.0.1", &master.to_string()]);
        }
        command.args(&self.settings.more);
        if self.settings.movable_clock {
            self.set_clock(0);
            clock::movable(&mut command, &self.folder);
        }
        self.child = Some(spawn_until(&mut command, "Ready to accept connections"));
    }

    /// Returns the port.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Says whether it runs, as far as this process knows.
    pub(crate) fn is_running(&self) -> bool {
        self.child.is_some()
    }

    /// Returns the word behind an option of its command line.
    pub(crate) fn more_of(&self, option: &str) -> Option<&str> {
        let mut words = self.settings.more.iter();
        words.find(|word| *word == option)?;
        words.next().map(String::as_str)
    }

    /// Returns the URL a client connects to, with the password where there is one.
    #[must_use]
    pub fn url(&self) -> String {
        self.url_through(self.port)
    }

    /// Returns the same URL with another port, that of a [`Proxy`](crate::Proxy) in front of this server.
    #[must_use]
    pub fn url_through(&self, port: u16) -> String {
        let scheme = if self.settings.tls.is_some() { "rediss" } else { "redis" };
        let password =
            self.settings.password.as_ref().map(|word| format!(":{word}@")).unwrap_or_default();
        format!("{scheme}://{password}127.0.0.1:{port}")
    }

    /// Returns the authority that signed this server's certificate, as PEM text.
    #[must_use]
    pub fn authority(&self) -> Option<&str> {
        self.settings.tls.as_ref().map(Certificates::authority)
    }

    /// Sets the server's wall clock to so many seconds ahead of this machine's; its monotonic clock stays as it is.
    ///
    /// # Panics
    ///
    /// Panics for a server that was not started with [`RedisSettings::movable_clock`].
    pub fn set_clock(&self, ahead: i64) {
        assert!(self.settings.movable_clock, "a server whose clock can be moved");
        clock::set(&self.folder, ahead);
    }

    /// Kills the server at once, as a crash would.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            // Both fail only where the process is gone already, which is what is wanted.
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// Stops the process as it stands (SIGSTOP): connections stay open and nothing is answered.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Lets a paused process go on.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    fn signal(&self, name: &str) {
        let child = self.child.as_ref().expect("a running server");
        let status = Command::new("kill").arg(name).arg(child.id().to_string()).status();
        assert!(status.is_ok_and(|status| status.success()), "kill {name} works");
    }

    /// Sends one command over a connection of its own and gives the raw reply of up to 1 MiB.
    ///
    /// Only for plain servers; the words may hold no blanks or line ends.
    ///
    /// # Panics
    ///
    /// Panics where the server cannot be reached.
    #[must_use]
    pub fn ask(&self, words: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(5))).expect("a time-out can be set");
        let auth = self.settings.password.as_ref().map(|word| format!("AUTH {word}\r\n"));
        let quit = "QUIT\r\n";
        write!(stream, "{}{words}\r\n{quit}", auth.as_deref().unwrap_or_default())
            .expect("the server reads");
        let mut reply = String::new();
        stream.take(1 << 20).read_to_string(&mut reply).expect("the server answers text");
        let auth_said = if auth.is_some() { "+OK\r\n" } else { "" };
        let reply = reply.strip_prefix(auth_said).unwrap_or(&reply);
        reply.strip_suffix("+OK\r\n").unwrap_or(reply).trim_end().to_owned()
    }

    /// Returns how many commands the server has executed, those inside scripts included, from `INFO`.
    ///
    /// # Panics
    ///
    /// Panics where the server's answer has no such number.
    #[must_use]
    pub fn calls_of(&self, command: &str) -> u64 {
        let stats = self.ask("INFO commandstats");
        let wanted = format!("cmdstat_{command}:calls=");
        stats
            .lines()
            .find_map(|line| line.strip_prefix(&wanted))
            .and_then(|rest| rest.split(',').next())
            .map_or(0, |number| number.parse().expect("a count is a number"))
    }
}

impl Drop for RedisServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts a program and waits until it prints a line with `ready` in it.
pub(crate) fn spawn_until(command: &mut Command, ready: &str) -> Child {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("an installed program starts");
    let mut lines = BufReader::new(child.stdout.take().expect("stdout is piped")).lines();
    let mut said = Vec::new();
    loop {
        let Some(Ok(line)) = lines.next() else {
            panic!("it ended without being ready, after saying: {said:#?}");
        };
        if line.contains(ready) {
            break;
        }
        said.push(line);
    }
    // The pipe is read to its end, so that the server never blocks on a full one.
    std::thread::spawn(move || lines.for_each(drop));
    child
}
