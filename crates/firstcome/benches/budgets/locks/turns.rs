//! Sixteen waiters who take turns on one lock, in one process and in four.

use super::redisson::{Java, Redisson};
use super::{KINDS, ROUNDS, of_kind, part};
use crate::redis_server::Store;
use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::{Context, Result, ensure};
use firstcome_lock::{Lock, Locks};
use std::process::Stdio;
use std::time::{Duration, UNIX_EPOCH};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};

const WAITERS: usize = 16;
/// Turns of each waiter in a round, and how long each holds the lock.
const TURNS: usize = 25;
const HELD: Duration = Duration::from_millis(2);

/// From when to when somebody held the lock, in microseconds since 1970.
type Turn = (f64, f64);

/// One of those who take turns.
enum Crew {
    Here(Locks),
    Rust(Child, Lines<BufReader<ChildStdout>>),
    Redisson(Java),
}

impl Crew {
    async fn begin(&mut self, waiters: usize, kind: &str) -> Result<()> {
        match self {
            Self::Here(_) => Ok(()),
            Self::Rust(child, _) => {
                let hears = child.stdin.as_mut().context("no stdin")?;
                Ok(hears.write_all(format!("turns {waiters} {kind}\n").as_bytes()).await?)
            }
            Self::Redisson(java) => {
                let held = HELD.as_millis();
                java.tell(&format!("turns {waiters} {TURNS} {held} {kind} java-{kind}")).await
            }
        }
    }

    async fn end(&mut self, waiters: usize, kind: &str) -> Result<Vec<Turn>> {
        match self {
            Self::Here(locks) => turns(locks, waiters, kind).await,
            Self::Rust(_, lines) => {
                let mut held = Vec::new();
                loop {
                    let line = lines.next_line().await?.context("a process ended")?;
                    if line == "done" {
                        return Ok(held);
                    }
                    let (from, to) = line.split_once(' ').context("two numbers")?;
                    held.push((from.parse()?, to.parse()?));
                }
            }
            Self::Redisson(java) => {
                Ok(java.told().await?.into_iter().map(|row| (row[0], row[1])).collect())
            }
        }
    }
}

#[derive(Default)]
struct Figures {
    p50: Vec<f64>,
    p99: Vec<f64>,
    /// Microseconds of the server's processor a hand-over.
    cpu: Vec<f64>,
    sent: f64,
}

impl Figures {
    fn commands(&self) -> String {
        format!("{:.1} sent", self.sent)
    }

    fn gaps(&self) -> String {
        let (p50, p99) = (median(self.p50.clone()), median(self.p99.clone()));
        format!("gap p50 {p50:.2}, p99 {p99:.2} ms")
    }
}

pub(crate) async fn run(
    server: &Store,
    redisson: Option<&Redisson>,
    table: &mut Table,
) -> Result<()> {
    for (processes, place, commands) in [(1, "one process", 3.5), (4, "four processes", 6.5)] {
        // Readers do not wait for each other.
        for (kind, most) in KINDS.into_iter().filter(|(kind, _)| *kind != "read") {
            let (ours, theirs) = measured(server, redisson, processes, kind).await?;
            let who = format!("{kind}, {WAITERS} waiters in {place}");
            if let Some(theirs) = &theirs {
                add_costs(table, &who, &ours, theirs, most);
            }
            if kind != "plain" {
                continue;
            }
            let beside = |text: fn(&Figures) -> String| match &theirs {
                Some(theirs) => format!("Redisson {}", text(theirs)),
                None => "-".to_owned(),
            };
            table.add(
                format!("{who}, commands a hand-over"),
                ours.commands(),
                beside(Figures::commands),
                ours.sent,
                Budget::AtMost(commands),
            );
            // A budget for the gap stands for one process only: between processes there is a race.
            let budget = if processes == 1 { Budget::AtMost(0.5) } else { Budget::None };
            table.add(
                format!("{who}, p99 gap, ms"),
                ours.gaps(),
                beside(Figures::gaps),
                median(ours.p99.clone()),
                budget,
            );
        }
    }
    Ok(())
}

/// Adds what a hand-over costs the server, beside what one of Redisson's does.
fn add_costs(table: &mut Table, who: &str, ours: &Figures, theirs: &Figures, most: f64) {
    table.add(
        format!("{who}, commands a hand-over against Redisson's"),
        ours.commands(),
        format!("Redisson {}", theirs.commands()),
        ours.sent / theirs.sent,
        Budget::AtMost(most),
    );
    let cpu = |figures: &Figures| format!("{:.0} us", median(figures.cpu.clone()));
    let ratios = ours.cpu.iter().zip(&theirs.cpu).map(|(ours, theirs)| ours / theirs);
    table.add(
        format!("{who}, server CPU a hand-over"),
        cpu(ours),
        format!("Redisson {}", cpu(theirs)),
        ratios.collect::<Vec<_>>(),
        Budget::AtMost(most),
    );
}

/// Has so many processes of ours take turns, and so many of Redisson's.
async fn measured(
    server: &Store,
    redisson: Option<&Redisson>,
    processes: usize,
    kind: &str,
) -> Result<(Figures, Option<Figures>)> {
    let mut ours = Vec::new();
    for _ in 0..processes {
        ours.push(if processes == 1 {
            Crew::Here(Locks::connect(&server.url()).await?)
        } else {
            rust(&server.url())?
        });
    }
    let mut theirs = Vec::new();
    if let Some(redisson) = redisson {
        for _ in 0..processes {
            theirs.push(Crew::Redisson(redisson.start(&server.url(), 1).await?));
        }
    }
    let (mut our, mut their) = (Figures::default(), Figures::default());
    // The first round warms up and counts, since counting takes time; the rest is timed.
    for round in 0..=ROUNDS {
        for (crews, figures) in [(&mut ours, &mut our), (&mut theirs, &mut their)] {
            if crews.is_empty() {
                continue;
            }
            let count = if round == 0 { Some(server.count()?) } else { None };
            let before = server.work()?.cpu_us;
            let gaps = one_round(crews, kind).await?;
            let cpu = server.work()?.cpu_us - before;
            let turns = (gaps.len() + 1) as f64;
            match count {
                Some(count) => figures.sent = count.stop()? / turns,
                None => {
                    figures.p50.push(part(&gaps, 0.5));
                    figures.p99.push(part(&gaps, 0.99));
                    figures.cpu.push(cpu / turns);
                }
            }
        }
    }
    Ok((our, Some(their).filter(|_| !theirs.is_empty())))
}

/// Has all of them take their turns at the same time; gives the gaps between turns in milliseconds.
async fn one_round(crews: &mut [Crew], kind: &str) -> Result<Vec<f64>> {
    let each = WAITERS / crews.len();
    for crew in crews.iter_mut() {
        crew.begin(each, kind).await?;
    }
    let mut held = Vec::new();
    for crew in crews.iter_mut() {
        held.extend(crew.end(each, kind).await?);
    }
    ensure!(held.len() == WAITERS * TURNS, "{} turns", held.len());
    held.sort_by(|one, other| one.0.total_cmp(&other.0));
    Ok(held.windows(2).map(|pair| (pair[1].0 - pair[0].1) / 1e3).collect())
}

async fn turns(locks: &Locks, waiters: usize, kind: &str) -> Result<Vec<Turn>> {
    let running: Vec<_> = (0..waiters)
        .map(|_| of_kind(locks, kind, "turns").map(|lock| tokio::spawn(turns_of_one(lock))))
        .collect();
    let mut held = Vec::new();
    for task in running {
        held.extend(task?.await??);
    }
    Ok(held)
}

async fn turns_of_one(lock: Lock) -> Result<Vec<Turn>> {
    let now = || UNIX_EPOCH.elapsed().map(|since| since.as_secs_f64() * 1e6);
    let mut held = Vec::new();
    for _ in 0..TURNS {
        let lease = lock.lock().await?;
        let from = now()?;
        tokio::time::sleep(HELD).await;
        let to = now()?;
        lease.release().await?;
        held.push((from, to));
    }
    Ok(held)
}

/// Starts this program as one that takes turns when it is told.
fn rust(url: &str) -> Result<Crew> {
    let mut child = Command::new(std::env::current_exe()?)
        .args(["--take-turns", url])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().context("no stdout")?).lines();
    Ok(Crew::Rust(child, lines))
}

/// Takes turns with other processes, a round for each line on the standard input.
pub(crate) fn take_turns(url: &str) -> Result<()> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let locks = Locks::connect(url).await?;
        for line in std::io::stdin().lines() {
            let line = line?;
            let words = line.strip_prefix("turns ").and_then(|words| words.split_once(' '));
            let (waiters, kind) = words.context("no such words")?;
            for (from, to) in turns(&locks, waiters.parse()?, kind).await? {
                println!("{from} {to}");
            }
            println!("done");
        }
        locks.close().await;
        Ok(())
    })
}
