//! Claims over HTTP against bare axum.

use crate::Plan;
use crate::loader::{self, Phase};
use crate::table::{Budget, Table, median};
use anyhow::{Context, Result, ensure};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub(crate) const CONNECTIONS: usize = 64;
pub(crate) const KEY: &str = "bench-key-0123456789";

pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let out = child.stdout.take().context("no stdout")?;
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line)?;
        let address =
            line.trim().strip_prefix("listening on http://").context("no address")?.to_owned();
        Ok(Self { child, address })
    }

    /// Starts bare axum.
    pub(crate) fn bare() -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("--bare");
        Self::start(command)
    }

    /// Starts a server with a folder for its journal and its ledger.
    pub(crate) fn in_folder(folder: &Path) -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder);
        command.env("FIRSTCOME_ADMIN_KEY", KEY);
        Self::start(command)
    }

    /// The same, with subject tokens.
    pub(crate) fn with_tokens(folder: &Path) -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(folder);
        command.env("FIRSTCOME_ADMIN_KEY", KEY);
        command.env("FIRSTCOME_TOKEN_SECRET", "a-secret-that-has-thirty-two-bytes");
        Self::start(command)
    }

    /// Starts a server on a Redis, with more words for its command line.
    #[cfg(feature = "redis")]
    pub(crate) fn on_redis(url: &str, more: &[&str]) -> Result<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_firstcome"));
        command.args(["serve", "--listen", "127.0.0.1:0", "--store", url]).args(more);
        command.env("FIRSTCOME_ADMIN_KEY", KEY);
        Self::start(command)
    }

    /// Gives the processor time used so far, in microseconds.
    pub(crate) fn cpu_us(&self) -> Result<f64> {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id()))?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
        let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
        // USER_HZ, the unit of these fields, is 100 on Linux.
        Ok(ticks * 10_000.0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn own(number: usize) -> usize {
    number
}

fn few(number: usize) -> usize {
    number % 1000
}

/// What the rounds of one row came to.
#[derive(Default)]
pub(crate) struct Figures {
    rate: Vec<f64>,
    cpu: Vec<f64>,
    p50: Vec<f64>,
    p99: Vec<f64>,
}

impl Figures {
    pub(crate) fn add(&mut self, phase: &Phase, cpu: f64) {
        self.rate.push(phase.per_second);
        self.cpu.push(cpu);
        self.p50.push(phase.p50.as_secs_f64() * 1e3);
        self.p99.push(phase.p99.as_secs_f64() * 1e3);
    }

    pub(crate) fn text(&self) -> String {
        format!(
            "{:.1} k/s, p50 {:.2} ms, p99 {:.1} ms, {:.1} us CPU",
            median(self.rate.clone()) / 1e3,
            median(self.p50.clone()),
            median(self.p99.clone()),
            median(self.cpu.clone()),
        )
    }
}

pub(crate) fn run(plan: &Plan, table: &mut Table) -> Result<()> {
    eprintln!("claims over HTTP, {CONNECTIONS} connections, {} rounds", plan.rounds);
    let (mut bare, mut accepted) = (Figures::default(), Figures::default());
    let (mut repeated, mut sold_out) = (Figures::default(), Figures::default());
    let (mut accepted_ratio, mut repeated_ratio, mut sold_out_ratio) = (vec![], vec![], vec![]);
    for _ in 0..plan.rounds {
        let yardstick = measure(&Server::bare()?, plan.requests, own, 201, &mut bare)?;
        let folder = tempfile::tempdir()?;
        let server = Server::in_folder(folder.path())?;
        create(&server.address, plan.requests)?;
        let rate = measure(&server, plan.requests, own, 201, &mut accepted)?;
        accepted_ratio.push(rate / yardstick);
        let rate = measure(&server, plan.requests, few, 200, &mut repeated)?;
        repeated_ratio.push(rate / yardstick);
        // Subjects nobody has seen, after the last unit is gone.
        let rate = measure(&server, plan.requests, |n| n + 50_000_000, 409, &mut sold_out)?;
        sold_out_ratio.push(rate / yardstick);
    }
    let against = format!("bare axum {}", bare.text());
    let least = |least| Budget::AtLeast(least);
    table.add("HTTP, accepted", accepted.text(), &against, median(accepted_ratio), least(0.85));
    table.add("HTTP, repeated", repeated.text(), &against, median(repeated_ratio), least(1.0));
    table.add("HTTP, sold out", sold_out.text(), &against, median(sold_out_ratio), least(1.0));
    Ok(())
}

fn measure(
    server: &Server,
    requests: usize,
    subject: fn(usize) -> usize,
    status: u16,
    figures: &mut Figures,
) -> Result<f64> {
    let before = server.cpu_us()?;
    let phase = loader::claims(&[&server.address], KEY, CONNECTIONS, requests, subject)?;
    ensure!(
        phase.statuses.get(&status) == Some(&requests),
        "expected {requests} answers {status}, got {:?}",
        phase.statuses
    );
    figures.add(&phase, (server.cpu_us()? - before) / requests as f64);
    Ok(phase.per_second)
}

/// Creates the campaign with exactly as many places as there are requests.
pub(crate) fn create(address: &str, places: usize) -> Result<()> {
    let body = format!(r#"{{"opens_at":"now","pools":[{{"name":"main","capacity":{places}}}]}}"#);
    let answer = tell(address, "PUT", "/v1/campaigns/bench", &body)?;
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
