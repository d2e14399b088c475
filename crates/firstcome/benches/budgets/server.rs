//! Servers in processes of their own, killed on drop.

use crate::processor;
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) const KEY: &str = "bench-key-0123456789";

pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    /// Starts a program and waits until it says where it listens.
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        // Killed on drop from here on, also where it says nothing.
        let mut server = Self { child, address: String::new() };
        let out = server.child.stdout.take().context("no stdout")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let said = || format!("{:?} did not say where it listens", command.get_program());
        server.address =
            line.trim().strip_prefix("listening on http://").with_context(said)?.to_owned();
        Ok(server)
    }

    /// Starts this program once more, as another server.
    pub(crate) fn of_this_program(arguments: &[&str]) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(arguments);
        Self::start(command)
    }

    /// Starts bare axum.
    pub(crate) fn bare() -> Result<Self> {
        Self::of_this_program(&["--serve", "bare"])
    }

    /// Starts a server with a folder for its journal and its ledger.
    pub(crate) fn in_folder(folder: &Path) -> Result<Self> {
        let mut command = Self::firstcome();
        command.arg("--data").arg(folder);
        Self::start(command)
    }

    /// Starts a server on a store that several share, with more words for its command line.
    pub(crate) fn on_store(url: &str, more: &[&str]) -> Result<Self> {
        let mut command = Self::firstcome();
        command.args(["--store", url]).args(more);
        Self::start(command)
    }

    fn firstcome() -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command
            .args(["serve", "--new-space", "--listen", "127.0.0.1:0"])
            .env("FIRSTCOME_ADMIN_KEY", KEY);
        command
    }

    /// Asks the process to stop, as an operator does.
    pub(crate) fn terminate(&self) -> Result<()> {
        self.signal("-TERM")
    }

    /// Kills the process.
    pub(crate) fn kill(&self) -> Result<()> {
        self.signal("-KILL")
    }

    fn signal(&self, signal: &str) -> Result<()> {
        let sent = Command::new("kill").args([signal, &self.child.id().to_string()]).status()?;
        ensure!(sent.success(), "kill {signal}: {sent}");
        Ok(())
    }

    /// Returns the processor time used so far, in microseconds.
    pub(crate) fn cpu_us(&self) -> Result<f64> {
        processor::of(self.child.id())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// Creates a campaign with so many places.
pub(crate) fn create(address: &str, campaign: &str, places: usize) -> Result<()> {
    let body = format!(r#"{{"opens_at":"now","pools":[{{"name":"main","capacity":{places}}}]}}"#);
    let answer = tell(address, "PUT", &format!("/v1/campaigns/{campaign}"), &body)?;
    ensure!(answer.starts_with("HTTP/1.1 201"), "{answer}");
    Ok(())
}

/// Sends a request with a body of JSON on a connection of its own; gives the whole answer.
pub(crate) fn tell(address: &str, method: &str, path: &str, body: &str) -> Result<String> {
    let mut stream = std::net::TcpStream::connect(address)?;
    write!(
        stream,
        "{method} {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {KEY}\r\n\
         connection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}
