//! The server of the demo: a process and a folder that never outlive it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdout, Command};

use firstcome_api::key::Secret;
use firstcome_client::{Ask, Client, Server};

/// Why there is no server to show.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// The folder cannot be made.
    #[error("cannot make a temporary folder {}: {source}", path.display())]
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

pub(super) struct Stage {
    folder: PathBuf,
    keep: bool,
    server: Server,
    key: Secret,
    child: Option<Child>,
    /// Held so that the server never writes to a pipe nobody reads.
    said: Option<BufReader<ChildStdout>>,
}

/// How long a server may take until it answers.
const START: Duration = Duration::from_secs(30);

impl Stage {
    /// Makes the folder and starts a server on a free port.
    pub(super) async fn build(keep: bool) -> Result<Self, StageError> {
        let name = format!("firstcome-demo-{}-{:08x}", std::process::id(), fastrand::u32(..));
        let folder = std::env::temp_dir().join(name);
        make_private(&folder)
            .map_err(|source| StageError::Folder { path: folder.clone(), source })?;
        let key = Secret::new(&format!("demo-{:032x}", fastrand::u128(..)));
        let key = key.map_err(StageError::Silent)?;
        let server = Server::parse("http://127.0.0.1:1").map_err(StageError::Silent)?;
        let mut stage = Self { folder, keep, server, key, child: None, said: None };
        let address = stage.spawn("127.0.0.1:0").await?;
        stage.server = Server::parse(&address).map_err(StageError::Silent)?;
        stage.until_ready().await?;
        Ok(stage)
    }

    /// Starts the server again where it was.
    pub(super) async fn start(&mut self) -> Result<(), StageError> {
        let authority = self.server.authority();
        self.spawn(&authority).await?;
        self.until_ready().await
    }

    /// Kills the server as a power cut would, and waits until it is gone.
    pub(super) async fn kill(&mut self) -> Result<(), StageError> {
        if let Some(mut child) = self.child.take() {
            child.kill().await?;
        }
        self.said = None;
        Ok(())
    }

    /// Recomputes everything from the journal with the program's own verb, while the server runs.
    pub(super) async fn audit(&self) -> Result<Value, StageError> {
        let mut command = self.program()?;
        command.args(["audit", "--json", "--data"]).arg(&self.folder).stdin(Stdio::null());
        command.env("FIRSTCOME_KEY", self.key.reveal());
        let output = command.output().await?;
        serde_json::from_slice(&output.stdout).map_err(|_| {
            StageError::Audit(String::from_utf8_lossy(&output.stderr).trim().replace('\n', "; "))
        })
    }

    pub(super) fn server(&self) -> &Server {
        &self.server
    }

    pub(super) fn key(&self) -> &Secret {
        &self.key
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ends the server; gives the folder if it is kept.
    pub(super) fn close(self, keep: bool) -> Option<PathBuf> {
        keep.then(|| self.folder.clone())
    }

    async fn spawn(&mut self, listen: &str) -> Result<String, StageError> {
        let log = std::fs::File::create(self.folder.join("server.log"))?;
        let mut command = self.program()?;
        command
            .args(["serve", "--until-stdin-ends", "--listen", listen, "--data"])
            .arg(&self.folder);
        command.env("FIRSTCOME_ADMIN_KEY", self.key.reveal());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        // Ctrl-C on the terminal is for the demo; the demo then ends the server.
        command.process_group(0).kill_on_drop(true);
        let mut child = command.spawn()?;
        let mut said = BufReader::new(child.stdout.take().ok_or_else(|| self.silent())?);
        self.child = Some(child);
        let mut line = String::new();
        let read = tokio::time::timeout(START, said.read_line(&mut line)).await;
        if !matches!(read, Ok(Ok(1..))) {
            return Err(self.silent());
        }
        self.said = Some(said);
        let address = line.trim().rsplit(' ').next().unwrap_or_default();
        Ok(address.to_owned())
    }

    async fn until_ready(&self) -> Result<(), StageError> {
        let began = Instant::now();
        while began.elapsed() < START {
            let mut client = Client::new(self.server.clone(), None, Duration::from_secs(2));
            if let Ok(Ok(_)) = client.ask_raw(Ask::get("/readyz")).await {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        Err(self.silent())
    }

    /// This program, with none of the settings that happen to be in the environment.
    fn program(&self) -> Result<Command, StageError> {
        let mut command = Command::new(std::env::current_exe()?);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("FIRSTCOME_") {
                command.env_remove(name);
            }
        }
        Ok(command)
    }

    /// What the server wrote before it went silent.
    fn silent(&self) -> StageError {
        let log = std::fs::read_to_string(self.folder.join("server.log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(5).collect();
        let tail: Vec<&str> = lines.into_iter().rev().collect();
        StageError::Silent(if tail.is_empty() {
            "it said nothing".to_owned()
        } else {
            tail.join("; ")
        })
    }
}

impl Drop for Stage {
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
pub fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    std::fs::DirBuilder::new().mode(0o700).create(folder)
}
