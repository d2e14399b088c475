//! What an append costs a Redis: its CPU time for each, at several sizes, with one node and with three.
//!
//! `cargo run --release -p firstcome-journal --features redis --example append_redis [URL]`
//!
//! Without a URL it starts a server of its own. With one, it empties the keys of the space `cost` there.

use firstcome_core::command::{BodyWriter, Command as Claim};
use firstcome_core::names::{NodeId, SpaceId};
use firstcome_journal::redis::{Durability, Options, Redis};
use firstcome_journal::{Append, Journal, Name};
use firstcome_store::{Command, Options as Store, Wire};
use std::time::{Duration, Instant};

const ROUND: Duration = Duration::from_secs(2);
/// What one node waits for each other node after an append, so that batches grow instead of followers.
const PAUSE: Duration = Duration::from_micros(200);

type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Outcome<()> {
    let own = match std::env::args().nth(1) {
        Some(_) => None,
        None => Some(firstcome_testbed::Redis::start().ok_or("redis-server is not installed")?),
    };
    let url = std::env::args().nth(1).or(own.as_ref().map(firstcome_testbed::Redis::url));
    let url = url.unwrap_or_default();
    println!(
        "{:>6} {:>6} {:>9} {:>10} | µs of Redis CPU",
        "nodes", "claims", "appends/s", "claims/s"
    );
    println!(
        "{:>6} {:>6} {:>9} {:>10} | {:>10} {:>9} {:>8} {:>8} {:>8}",
        "", "", "", "", "per append", "per claim", "script", "read", "clock"
    );
    for nodes in [1, 3] {
        for claims in [1, 10, 100] {
            round(&url, nodes, claims).await?;
        }
    }
    Ok(())
}

async fn round(url: &str, nodes: u8, claims: usize) -> Outcome<()> {
    let wire = Wire::connect(Store::new(url)).await?;
    for key in ["journal", "head"] {
        wire.send(&Command::new("DEL").arg(format!("fc:{{cost}}:{key}"))).await?;
    }
    wire.send(&Command::new("CONFIG").arg("RESETSTAT")).await?;
    let mut journals = Vec::new();
    for _ in 0..nodes {
        let mut options = Options::new(SpaceId([1; 16]), Durability::Memory);
        options.space_name = "cost".into();
        journals.push(Journal::Redis(Redis::open(Store::new(url), options).await?));
    }
    let (cpu, start) = (cpu(&wire).await?, Instant::now());
    let mut tasks = tokio::task::JoinSet::new();
    for (number, journal) in journals.into_iter().enumerate() {
        let node = NodeId([number as u8 + 1; 16]);
        let pause = PAUSE * u32::from(nodes - 1);
        tasks.spawn(async move { node_at_work(&journal, node, claims, pause).await });
    }
    let mut appends = 0;
    while let Some(done) = tasks.join_next().await {
        appends += done??;
    }
    let seconds = start.elapsed().as_secs_f64();
    let used = self::cpu(&wire).await? - cpu;
    let each = |micros: f64| micros / appends as f64;
    let stats = wire.send(&Command::new("INFO").arg("commandstats")).await?.text()?;
    let script = each(micros_of(&stats, "evalsha"));
    let rate = appends as f64 / seconds;
    println!(
        "{nodes:>6} {claims:>6} {rate:>9.0} {:>10.0} | {:>10.1} {:>9.2} {script:>8.1} {:>8.1} {:>8.1}",
        rate * claims as f64,
        each(used),
        each(used) / claims as f64,
        each(micros_of(&stats, "xrange")),
        each(micros_of(&stats, "time")),
    );
    Ok(())
}

async fn node_at_work(
    journal: &Journal,
    node: NodeId,
    claims: usize,
    pause: Duration,
) -> Outcome<u64> {
    let (mut applied, mut applied_name, mut number) = (0, Name::default(), 0);
    let start = Instant::now();
    while start.elapsed() < ROUND {
        number += 1;
        let name = Name { node, number };
        let mut writer = BodyWriter::new(node, number, applied);
        for claim in 0..claims {
            let subject = format!("subject-{number}-{claim}");
            writer.push(&Claim::Claim {
                campaign: "spring",
                pool: None,
                subject: &subject,
                limit: None,
                tag: None,
            });
        }
        let append = Append { body: writer.finish().into(), name, applied, applied_name };
        for entry in journal.append(append).await?.entries {
            applied = entry.position;
            applied_name = entry.name()?;
        }
        if !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
    }
    Ok(number)
}

/// Microseconds of CPU the server's own thread has used so far.
async fn cpu(wire: &Wire) -> Outcome<f64> {
    let text = wire.send(&Command::new("INFO").arg("cpu")).await?.text()?;
    let of = |name: &str| -> f64 {
        let value = text.lines().find_map(|line| line.strip_prefix(name));
        value.and_then(|value| value.trim().parse().ok()).unwrap_or(0.0)
    };
    Ok((of("used_cpu_user_main_thread:") + of("used_cpu_sys_main_thread:")) * 1e6)
}

/// Microseconds that one kind of command has taken, those inside scripts included.
fn micros_of(stats: &str, command: &str) -> f64 {
    let wanted = format!("cmdstat_{command}:");
    let line = stats.lines().find(|line| line.starts_with(&wanted)).unwrap_or_default();
    let micros = line.split(',').find_map(|part| part.strip_prefix("usec="));
    micros.and_then(|micros| micros.parse().ok()).unwrap_or(0.0)
}
