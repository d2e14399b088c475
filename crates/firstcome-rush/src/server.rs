//! The server of a demonstration or a rehearsal: a child process and a folder that never outlive it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use firstcome_api::key::Secret;
use firstcome_client::{Ask, Client, Server};

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The folder cannot be made.
    #[error("cannot make the folder {}: {source}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// The process cannot be started or killed.
    #[error("cannot run this program again as a server: {0}")]
    Process(#[from] std::io::Error),
    /// The server ended, or said nothing.
    #[error("the server did not start: {0}")]
    Silent(String),
    /// The audit could not be read.
    #[error("the audit did not end with a result: {0}")]
    Audit(String),
}

/// What a server is started with.
#[derive(Debug)]
pub(crate) struct Setup {
    /// The data folder, which is made.
    pub(crate) folder: PathBuf,
    /// Leave the folder behind.
    pub(crate) keep: bool,
    /// Settings, as environment variables; `audit` is given them too.
    pub(crate) settings: Vec<(&'static str, String)>,
    /// The name of a configuration file in the folder, and what is in it.
    pub(crate) config: Option<(&'static str, String)>,
}

impl Setup {
    /// A new folder of this machine's temporary folder.
    pub(crate) fn temporary(keep: bool, settings: Vec<(&'static str, String)>) -> Self {
        let name = format!("firstcome-demo-{}-{:08x}", std::process::id(), fastrand::u32(..));
        Self { folder: std::env::temp_dir().join(name), keep, settings, config: None }
    }
}

/// A running server with its data folder.
pub(crate) struct ServerProcess {
    folder: PathBuf,
    keep: bool,
    address: Server,
    key: Secret,
    child: Option<Child>,
    /// Settings of the server, as environment variables.
    settings: Vec<(&'static str, String)>,
    /// Held so that the server never writes to a pipe nobody reads.
    stdout: Option<BufReader<ChildStdout>>,
}

/// How long a server may take until it answers.
const START: Duration = Duration::from_secs(30);

/// How long a server may take to end after it was asked to.
const STOP: Duration = Duration::from_secs(20);

impl ServerProcess {
    /// Makes the folder and starts a server on a free port.
    pub(crate) async fn start(setup: Setup) -> Result<Self, ServerError> {
        let Setup { folder, keep, mut settings, config } = setup;
        make_private(&folder)
            .map_err(|source| ServerError::Folder { path: folder.clone(), source })?;
        if let Some((name, text)) = config {
            let file = folder.join(name);
            settings.push(("FIRSTCOME_CONFIG", file.display().to_string()));
            std::fs::write(file, text)?;
        }
        let key = Secret::new(&format!("demo-{:032x}", fastrand::u128(..)));
        let key = key.map_err(ServerError::Silent)?;
        let address = Server::parse("http://127.0.0.1:1").map_err(ServerError::Silent)?;
        let mut process = Self { folder, keep, address, key, settings, child: None, stdout: None };
        let listening = process.spawn("127.0.0.1:0").await?;
        process.address = Server::parse(&listening).map_err(ServerError::Silent)?;
        process.until_ready().await?;
        Ok(process)
    }

    /// Starts the server again where it was.
    pub(crate) async fn restart(&mut self) -> Result<(), ServerError> {
        let authority = self.address.authority();
        self.spawn(&authority).await?;
        self.until_ready().await
    }

    /// Kills the server as a power cut would, and waits until it is gone.
    pub(crate) async fn kill(&mut self) -> Result<(), ServerError> {
        if let Some(mut child) = self.child.take() {
            child.kill().await?;
        }
        self.stdout = None;
        Ok(())
    }

    /// Recomputes everything from the journal with the program's own verb, while the server runs.
    pub(crate) async fn audit(&self) -> Result<Value, ServerError> {
        let mut command = self.program()?;
        command.args(["audit", "--json", "--data"]).arg(&self.folder).stdin(Stdio::null());
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.env("FIRSTCOME_KEY", self.key.reveal());
        let archive = self.folder.join("archive");
        if self.is_shared() {
            command.env("FIRSTCOME_URL", self.address.to_string());
            if archive.is_dir() {
                command.arg("--archive").arg(archive);
            }
        }
        let output = command.output().await?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            ServerError::Audit(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))
        })
    }

    /// Says whether its journal is in a shared store.
    fn is_shared(&self) -> bool {
        self.settings.iter().any(|(name, _)| *name == "FIRSTCOME_STORE")
    }

    /// Has the server finish what it began and leave its space, and waits until it is gone.
    pub(crate) async fn stop(&mut self) -> Result<(), ServerError> {
        if let Some(mut child) = self.child.take() {
            // It stops when its standard input ends.
            drop(child.stdin.take());
            if tokio::time::timeout(STOP, child.wait()).await.is_err() {
                child.kill().await?;
            }
        }
        self.stdout = None;
        Ok(())
    }

    pub(crate) fn address(&self) -> &Server {
        &self.address
    }

    pub(crate) fn key(&self) -> &Secret {
        &self.key
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends the server; gives the folder if it is kept.
    pub(crate) fn close(self) -> Option<PathBuf> {
        self.keep.then(|| self.folder.clone())
    }

    async fn spawn(&mut self, listen: &str) -> Result<String, ServerError> {
        let log = std::fs::File::create(self.folder.join("server.log"))?;
        let mut command = self.program()?;
        command
            .args(["serve", "--until-stdin-ends", "--listen", listen, "--data"])
            .arg(&self.folder);
        // No balancer stands before it that had to hear of its end.
        command.env("FIRSTCOME_ADMIN_KEY", self.key.reveal()).env("FIRSTCOME_LEAVE_MS", "0");
        command.envs(self.settings.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // Ctrl-C on the terminal is for the demo; the demo then ends the server.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let mut stdout = BufReader::new(child.stdout.take().ok_or_else(|| self.silent())?);
        self.child = Some(child);
        let mut line = String::new();
        let read = tokio::time::timeout(START, stdout.read_line(&mut line)).await;
        if !matches!(read, Ok(Ok(1..))) {
            return Err(self.silent());
        }
        self.stdout = Some(stdout);
        let address = line.trim().rsplit(' ').next().unwrap_or_default();
        Ok(address.to_owned())
    }

    async fn until_ready(&self) -> Result<(), ServerError> {
        let began = Instant::now();
        while began.elapsed() < START {
            let client = Client::to(self.address.clone(), None, Duration::from_secs(2));
            if let Ok(Ok(_)) = client.ask_raw(Ask::get("/readyz")).await {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(self.silent())
    }

    /// This program, with none of the settings that happen to be in the environment.
    fn program(&self) -> Result<Command, ServerError> {
        let mut command = Command::new(std::env::current_exe()?);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FIRSTCOME_") {
                command.env_remove(name);
            }
        }
        Ok(command)
    }

    /// What the server wrote before it went silent.
    fn silent(&self) -> ServerError {
        let log = std::fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        let tail: Vec<&str> = lines.into_iter().rev().collect();
        ServerError::Silent(if tail.is_empty() {
            "it said nothing".to_owned()
        } else {
            tail.join("; ")
        })
    }
}

impl Drop for ServerProcess {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // A kill is enough: surviving one is what the demo shows.
            drop(child.start_kill());
            let patience = Instant::now() + Duration::from_secs(2);
            while matches!(child.try_wait(), Ok(None)) && Instant::now() < patience {
                std::thread::sleep(Duration::from_millis(2));
            }
        }
        if !self.keep {
            drop(std::fs::remove_dir_all(&self.folder));
        }
    }
}

/// Makes a folder that only its owner can read.
fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}
