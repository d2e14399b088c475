//! Real Redisson in a Java process, told line by line what to do.

use anyhow::{Context, Result, bail};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// The compiled Java program.
pub(crate) struct Redisson {
    class_path: String,
}

impl Redisson {
    /// Builds the program; `None` where Java or Maven is missing.
    pub(crate) fn built() -> Option<Self> {
        firstcome_testbed::redisson_class_path().map(|class_path| Self { class_path })
    }

    /// Starts a process with `clients` clients in it, warmed up.
    pub(crate) async fn start(&self, url: &str, clients: usize) -> Result<Java> {
        let mut child = Command::new("java")
            .args([
                "-Xmx512m",
                "-cp",
                &self.class_path,
                "firstcome.Figures",
                url,
                &clients.to_string(),
            ])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let hears = child.stdin.take().context("no stdin")?;
        let says = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let mut java = Java { _child: child, hears, says };
        java.told().await?;
        Ok(java)
    }
}

/// A process with Redisson in it; killed on drop.
pub(crate) struct Java {
    _child: Child,
    hears: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
}

impl Java {
    /// Has it do something and gives the lines of numbers it answers with.
    pub(crate) async fn ask(&mut self, what: &str) -> Result<Vec<Vec<f64>>> {
        self.tell(what).await?;
        self.told().await
    }

    /// Has it begin something.
    pub(crate) async fn tell(&mut self, what: &str) -> Result<()> {
        Ok(self.hears.write_all(format!("{what}\n").as_bytes()).await?)
    }

    /// Waits until what it was told is done.
    pub(crate) async fn told(&mut self) -> Result<Vec<Vec<f64>>> {
        let mut numbers = Vec::new();
        loop {
            let Some(line) = self.says.next_line().await? else {
                bail!("Redisson's process ended")
            };
            if line == "done" {
                return Ok(numbers);
            }
            let row: Result<Vec<f64>, _> = line.split(' ').map(str::parse).collect();
            numbers.push(row.with_context(|| line.clone())?);
        }
    }
}
