//! Shows how long others wait while very many holds expire at one instant: over HTTP, on a real journal.
//!
//! `cargo run --release -p firstcome --example expire [HOLDS]` serves in this process, on the embedded store in a temporary
//! folder, with a clock of its own: all holds are made at one instant, of one seat and one subject each, and the clock is then
//! set past their end. Meanwhile others ask over connections of their own: they claim in another campaign, look at
//! this one, and one watches its map. What is printed is how long their answers took before, and the longest while everything expired.

use anyhow::Context;
use firstcome_api::key::Role;
use firstcome_core::command::{Order, Pick};
use firstcome_core::hall::{Chunk, SeatSettings};
use firstcome_core::settings::{HoldSettings, HoldsEach, Opens, PoolSettings};
use firstcome_core::{Command, Expect, Settings, SpaceId};
use firstcome_http::guard::Guards;
use firstcome_http::metrics::Metrics;
use firstcome_http::{
    App, BulkRequests, Durability, HttpOptions, Key, KeyTable, MissingKey, RareOptions, Runtimes,
    SeatMaps, Serves, server,
};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{Options as StoreOptions, Sqlite};
use firstcome_journal::{Clock, Journal};
use firstcome_node::leader::{Election, LeaderPace, Leadership, SettleDelay};
use firstcome_node::{Given, Limits, Node, OnEmptied, in_log};
use prometheus_client::registry::Registry;
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

const KEY: &str = "the-key-of-this-example";
const SECOND: i64 = 1_000_000;
/// How long others ask before and after the instant.
const BEFORE: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let holds: u32 = std::env::args().nth(1).map_or(Ok(100_000), |arg| arg.parse())?;
    let folder = std::env::temp_dir().join(format!("firstcome-expire-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let shown = show(&folder, holds).await;
    std::fs::remove_dir_all(&folder)?;
    shown
}

async fn show(folder: &std::path::Path, holds: u32) -> anyhow::Result<()> {
    let micros = Arc::new(AtomicI64::new(1_800_000_000 * SECOND));
    let seen = Arc::clone(&micros);
    let clock = Clock::of(move || seen.load(Ordering::SeqCst));
    let data = DataFolder::take(folder)?;
    let options = StoreOptions { clock: clock.clone(), ..StoreOptions::new(SpaceId([1; 16])) };
    let mut registry = Registry::with_prefix("firstcome");
    let counts = Arc::new(firstcome_node::Metrics::new(&mut registry));
    let metrics = Arc::new(Metrics::new(registry, firstcome_http::paths_and_methods()));
    let given = Given {
        journal: Journal::Sqlite(Sqlite::open(&data, options)?),
        clock: Some(clock),
        address: "".into(),
        random: Box::new(|| fastrand::u64(..)),
        limits: Limits {
            queue: 16_384,
            queue_bytes: firstcome_node::intake::QUEUE_BYTES,
            wait: Duration::from_secs(60),
            memory: 4 << 30,
            outbox: None,
        },
        metrics: Arc::clone(&counts),
        says: in_log(),
        core: None,
        settings: BTreeMap::new(),
        on_emptied: OnEmptied::default(),
        codes: std::sync::Arc::default(),
    };
    let node = Node::start(given, |_, _| {}).await?;
    let pace = LeaderPace {
        settle_interval: Duration::from_secs(1),
        settle_delay: SettleDelay::default(),
        keep_for: None,
        snapshot_bytes: u64::MAX,
        snapshot_every: Duration::MAX,
    };
    let leader = Leadership::start(&node, None, pace, Election::Alone, &counts);
    let mut keys = KeyTable::default();
    keys.add_text(KEY, Key::new("admin", Role::Admin, None));
    let draining = CancellationToken::new();
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    let app = Arc::new(App {
        node,
        leader,
        ledger: None,
        webhooks: None,
        keys: keys.into(),
        guards: Guards::default(),
        bulk: BulkRequests::default(),
        missing_key: MissingKey::default(),
        seat_maps: SeatMaps::default(),
        metrics,
        options: HttpOptions {
            connections: 100,
            body_bytes: 65_536,
            header_time: BEFORE,
            body_time: BEFORE,
            idle_time: Duration::from_secs(60),
            hold_wait: Duration::from_secs(3),
            stream_time: Duration::from_secs(600),
            pages: None,
            strict_subjects: false,
            rare: RareOptions::default(),
            durability: Durability::fixed("fsync".into()),
        },
        openapi: firstcome_http::openapi(),
        draining: draining.clone(),
    });
    let serving = Arc::clone(&app);
    tokio::spawn(async move {
        let listener = (listener, Serves::Everything);
        server::serve(serving, listener, &Runtimes::default(), draining, Duration::ZERO).await
    });
    open(&app, holds).await?;
    let began = Instant::now();
    hold(&app, holds).await?;
    println!("{holds} holds made in {:.1} s, all at one instant", began.elapsed().as_secs_f64());

    let done = Arc::new(AtomicBool::new(false));
    let claims = others(address, &done, |n| {
        post("/v1/campaigns/other/claims", &format!("{{\"subject\":\"other-{n}\"}}"))
    });
    let looks = others(address, &done, |_| get("/v1/campaigns/house"));
    let (map, watcher) = watch(address)?;
    tokio::time::sleep(BEFORE).await;
    let instant = Instant::now();
    micros.fetch_add(15 * SECOND, Ordering::SeqCst);
    while app.node.replica.look(|state| state.live_holds()) > 0 {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    let over = instant.elapsed();
    tokio::time::sleep(BEFORE).await;
    done.store(true, Ordering::SeqCst);
    println!("free again {:.0} ms after their end\n", over.as_secs_f64() * 1e3);
    println!(
        "{:<26} {:>9} {:>10} {:>10} {:>10} {:>20}",
        "others", "answers", "p50 ms", "p99 ms", "max ms", "max while it expired"
    );
    for (what, asked) in [("claims elsewhere", claims), ("looks at the campaign", looks)] {
        print(what, asked, instant)?;
    }
    map.shutdown(Shutdown::Both)?;
    let bytes = watcher.join().map_err(|_| anyhow::anyhow!("it panicked"))?;
    println!("\nmeanwhile one watched the map and was sent {bytes} bytes of changes");
    Ok(())
}

/// Prints how long answers took before the instant, and the longest of those that were under way at it or came within a second.
fn print(
    what: &str,
    asked: JoinHandle<anyhow::Result<Answers>>,
    instant: Instant,
) -> anyhow::Result<()> {
    let answers = asked.join().map_err(|_| anyhow::anyhow!("it panicked"))??;
    let (mut before, mut during) = (Vec::new(), Duration::ZERO);
    for (sent, took) in answers {
        if sent + took < instant {
            before.push(took);
        } else if sent < instant + Duration::from_secs(1) {
            during = during.max(took);
        }
    }
    before.sort_unstable();
    let at = |share: f64| before[((before.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e3;
    println!(
        "{what:<26} {:>9} {:>10.2} {:>10.2} {:>10.2} {:>20.1}",
        before.len(),
        at(0.5),
        at(0.99),
        at(1.0),
        during.as_secs_f64() * 1e3
    );
    Ok(())
}

async fn operate(app: &App, command: &Command<'_>) -> anyhow::Result<()> {
    let answer = app.node.intake.decide(command).await.map_err(|why| anyhow::anyhow!("{why:?}"))?;
    anyhow::ensure!(!answer.outcome.is_refusal(), "{:?}", answer.outcome);
    Ok(())
}

/// Makes a house of as many seats as there are holds, and a campaign for the others.
async fn open(app: &App, seats: u32) -> anyhow::Result<()> {
    let house = HoldSettings {
        ttl_us: 10 * SECOND,
        each: HoldsEach::Many,
        allow_orphans: true,
        ..HoldSettings::default()
    };
    let pools = [
        ("house", vec![PoolSettings::seated("main")], house),
        ("other", vec![PoolSettings::counted("main", 1_000_000_000)], HoldSettings::default()),
    ];
    for (campaign, pools, holding) in pools {
        let settings = Settings {
            title: "".into(),
            opens: Opens::Now,
            closes_at: None,
            limit: None,
            claim_again: false,
            units_return: true,
            public: false,
            holding,
            pools,
        };
        let (expect, order) = (Expect::Absent, Order::default());
        operate(app, &Command::Put { campaign, settings, expect, order }).await?;
    }
    for first in (0..seats).step_by(4_000) {
        let upto = seats.min(first + 4_000);
        let names: Vec<String> = (first..upto).map(|n| format!("S{n}")).collect();
        let rows: Vec<String> = (first..upto).map(|n| format!("{}", n / 50)).collect();
        let seats = names.iter().zip(&rows);
        let seats = seats.map(|(name, row)| SeatSettings { row, ..SeatSettings::named(name) });
        let chunk = Chunk { seats: seats.collect(), areas: Vec::new() };
        let order = Order::default();
        operate(app, &Command::Seats { campaign: "house", pool: "main", chunk, order }).await?;
    }
    Ok(())
}

/// Holds every seat, each for a subject of its own; the clock stands still meanwhile.
async fn hold(app: &Arc<App>, holds: u32) -> anyhow::Result<()> {
    let mut running = JoinSet::new();
    for lane in 0..2_000 {
        let app = Arc::clone(app);
        running.spawn(async move {
            for n in (lane..holds).step_by(2_000) {
                let name = format!("S{n}");
                let picks = vec![Pick::units("main", vec![&name])];
                let (id, subject) = (&*format!("hold-{n:08x}"), &*format!("{n:08x}"));
                let hold = Command::Hold { campaign: "house", id, subject, picks, limit: None };
                operate(&app, &hold).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(ended) = running.join_next().await {
        ended??;
    }
    Ok(())
}

/// When each request was sent, and how long its answer took.
type Answers = Vec<(Instant, Duration)>;

/// Asks one thing after the other over a connection of its own, on a thread of its own, until it is done.
fn others(
    address: SocketAddr,
    done: &Arc<AtomicBool>,
    request: fn(u32) -> String,
) -> JoinHandle<anyhow::Result<Answers>> {
    let done = Arc::clone(done);
    std::thread::spawn(move || {
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        let (mut answers, mut number) = (Vec::new(), 0);
        while !done.load(Ordering::SeqCst) {
            let sent = Instant::now();
            stream.write_all(request(number).as_bytes())?;
            hear(&mut stream)?;
            answers.push((sent, sent.elapsed()));
            number += 1;
        }
        Ok(answers)
    })
}

/// Watches the map as a page does, until the connection is shut; gives how many bytes came.
fn watch(address: SocketAddr) -> anyhow::Result<(TcpStream, JoinHandle<usize>)> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(get("/v1/campaigns/house/events").as_bytes())?;
    let shut = stream.try_clone()?;
    let watcher = std::thread::spawn(move || {
        let (mut bytes, mut part) = (0, [0; 65_536]);
        while let Ok(read @ 1..) = stream.read(&mut part) {
            bytes += read;
        }
        bytes
    });
    Ok((shut, watcher))
}

fn get(path: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {KEY}\r\n\r\n")
}

fn post(path: &str, body: &str) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: here\r\nauthorization: Bearer {KEY}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Reads one answer to its end.
fn hear(stream: &mut TcpStream) -> anyhow::Result<()> {
    let (mut heard, mut part) = (Vec::new(), [0; 4_096]);
    loop {
        let read = stream.read(&mut part)?;
        anyhow::ensure!(read > 0, "the connection was cut");
        heard.extend_from_slice(&part[..read]);
        let Some(head) = heard.windows(4).position(|four| four == b"\r\n\r\n") else { continue };
        let text = String::from_utf8_lossy(&heard[..head]).to_ascii_lowercase();
        anyhow::ensure!(text.starts_with("http/1.1 20"), "{text}");
        let length = text.split("content-length: ").nth(1).context("an answer says its length")?;
        let length: usize = length.lines().next().unwrap_or_default().parse()?;
        if heard.len() >= head + 4 + length {
            return Ok(());
        }
    }
}
