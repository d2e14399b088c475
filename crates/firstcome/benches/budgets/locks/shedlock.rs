//! Locks in ShedLock's table against real ShedLock on the same PostgreSQL, one task against one thread, in turns.

use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::{Context, Result};
use firstcome_shedlock::ShedLock;
use firstcome_testbed::{Postgres, PostgresSettings};
use std::process::Stdio;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// Pairs in a turn, and turns; as many pairs again as in four turns warm each side up.
const PAIRS: u32 = 500;
const TURNS: usize = 12;

pub(crate) async fn run(table: &mut Table) -> Result<()> {
    let Some(class_path) = firstcome_testbed::shedlock_class_path() else { return Ok(()) };
    for (fsync, commits) in [(false, "commits not forced"), (true, "forced commits")] {
        let settings = PostgresSettings { fsync, ..PostgresSettings::default() };
        let Some(server) = Postgres::with(settings) else { return Ok(()) };
        let ours = ShedLock::connect(&server.url()).await?;
        ours.create_table().await?;
        let mut java = Java::start(&class_path, &server).await?;
        pairs(&ours, 4 * PAIRS).await?;
        java.pairs(4 * PAIRS).await?;
        let (mut ratios, mut rust_us, mut java_us) = (vec![], vec![], vec![]);
        for _ in 0..TURNS {
            rust_us.push(pairs(&ours, PAIRS).await?);
            java_us.push(java.pairs(PAIRS).await?);
            ratios.push(java_us[java_us.len() - 1] / rust_us[rust_us.len() - 1]);
        }
        let rate = |us: Vec<f64>| 1e6 / median(us);
        table.add(
            format!("ShedLock's table, lock + unlock, one task, {commits}"),
            format!("{:.0} pairs/s", rate(rust_us)),
            format!("ShedLock {:.0} pairs/s", rate(java_us)),
            ratios,
            if fsync { Budget::None } else { Budget::AtLeast(2.0) },
        );
        ours.close().await;
    }
    Ok(())
}

/// Returns the microseconds that one of so many pairs takes, in a task, as a server does its work.
async fn pairs(ours: &ShedLock, pairs: u32) -> Result<f64> {
    let ours = ours.clone();
    let task = tokio::spawn(async move {
        let begun = Instant::now();
        for _ in 0..pairs {
            let lock = ours.lock("pair-of-rust", Duration::from_secs(30), Duration::ZERO).await?;
            lock.context("it is held")?.unlock().await?;
        }
        Ok(begun.elapsed().as_secs_f64() * 1e6 / f64::from(pairs))
    });
    task.await?
}

/// A process with ShedLock in it, with the settings of its documentation; killed on drop.
struct Java {
    _child: Child,
    hears: ChildStdin,
    says: Lines<BufReader<ChildStdout>>,
}

impl Java {
    async fn start(class_path: &str, server: &Postgres) -> Result<Self> {
        let mut child = Command::new("java")
            .args(["-Xmx512m", "-cp", class_path, "firstcome.ShedLockPeer"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let hears = child.stdin.take().context("no stdin")?;
        let says = BufReader::new(child.stdout.take().context("no stdout")?).lines();
        let mut java = Self { _child: child, hears, says };
        let url = server.url();
        let (login, place) =
            url.trim_start_matches("postgres://").split_once('@').context("no login")?;
        let (user, password) = login.split_once(':').context("no password")?;
        let url = format!("jdbc:postgresql://{place}&user={user}&password={password}");
        let opened = java.ask(&format!("open x db-time {url}")).await?;
        anyhow::ensure!(opened == "done", "ShedLock says: {opened}");
        Ok(java)
    }

    async fn pairs(&mut self, pairs: u32) -> Result<f64> {
        let said = self.ask(&format!("pairs x {pairs}")).await?;
        said.parse().with_context(|| said.clone())
    }

    async fn ask(&mut self, what: &str) -> Result<String> {
        self.hears.write_all(format!("{what}\n").as_bytes()).await?;
        self.says.next_line().await?.context("ShedLock's process ended")
    }
}
