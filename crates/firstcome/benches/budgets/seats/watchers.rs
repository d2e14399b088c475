//! Many people watch a hall while its seats go.
//!
//! Holds are due at even times and confirmed half a second later, whatever the answers; a change is counted from the
//! moment it was due until a watcher has its event, for every change and every watcher.

use super::house::House;
use crate::loader;
use crate::server::{KEY, Server, tell};
use crate::table::{Budget, Table};
use anyhow::{Context, Result, bail, ensure};
use firstcome_http::limits;
use hdrhistogram::Histogram;
use serde_json::Value;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep_until, timeout_at};

/// As many as a server lets in, each subject with as many as it may have.
const WATCHERS: usize = limits::STREAMS_OF_SERVER;
const SEATS: usize = 100_000;
/// Seats that are held and confirmed: two changes each.
const HOLDS: usize = 5_000;
const BETWEEN_HOLDS: Duration = Duration::from_millis(4);
/// From a hold to its confirm; half of the pause more, so that changes come evenly.
const PAYS_AFTER: Duration = Duration::from_millis(502);
/// Connections that changes are sent on.
const SENDERS: usize = 32;
/// How long after the last change a watcher may be without it before it counts as lost.
const PATIENCE: Duration = Duration::from_secs(30);
const BUDGET_MS: f64 = 250.0;

/// What became of one run.
struct Watched {
    latency: Histogram<u64>,
    answers: Histogram<u64>,
    events: usize,
    cores: f64,
}

pub(super) fn run(table: &mut Table) -> Result<()> {
    let changes = HOLDS * 2;
    let rate = 2.0 / BETWEEN_HOLDS.as_secs_f64();
    eprintln!("{WATCHERS} watchers of {SEATS} seats, {changes} changes at {rate} a second");
    let folder = tempfile::tempdir()?;
    let server = Server::with_tokens(folder.path())?;
    House::new("hall", SEATS).with_orphans().build(&server.address)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let watched = LocalSet::new().block_on(&runtime, watch(&server))?;
    let deliveries = changes as u64 * WATCHERS as u64;
    ensure!(watched.latency.len() == deliveries, "{} of {deliveries}", watched.latency.len());
    let ms = |times: &Histogram<u64>, share| times.value_at_quantile(share) as f64 / 1e3;
    let p99 = ms(&watched.latency, 0.99);
    let ours = format!(
        "p50 {:.0} ms, p99 {p99:.0} ms, worst {:.0} ms, {} events each, server {:.2} cores",
        ms(&watched.latency, 0.5),
        ms(&watched.latency, 1.0),
        watched.events,
        watched.cores,
    );
    let against = format!(
        "{WATCHERS} watchers, {rate:.0} changes/s, answered in {:.1} ms, p99 {:.1} ms",
        ms(&watched.answers, 0.5),
        ms(&watched.answers, 0.99),
    );
    let budget = Budget::AtMost(BUDGET_MS);
    table.add("seat map fan-out, p99 in ms", ours, against, p99, budget);
    Ok(())
}

async fn watch(server: &Server) -> Result<Watched> {
    let (position, letters) = map(server)?;
    ensure!(letters == ".".repeat(SEATS), "the house is empty to begin with");
    let heard = Rc::new(RefCell::new(Heard::new()?));
    let mut watchers = Vec::new();
    for nth in 0..WATCHERS {
        let token = token(server, nth / limits::STREAMS_OF_SUBJECT)?;
        let mut stream = TcpStream::connect(&server.address).await?;
        let request = format!(
            "GET /v1/campaigns/hall/events?after={position} HTTP/1.1\r\nhost: bench\r\n\
             authorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await?;
        // What the loader needs it takes before it begins.
        let letters = vec![b'.'; SEATS];
        let mut watcher = Watcher { stream, buffer: Vec::new(), text: Vec::new(), letters };
        watcher.head().await?;
        watchers.push(watcher);
    }
    let begin = Instant::now() + Duration::from_millis(200);
    heard.borrow_mut().begin = begin;
    let end = begin + BETWEEN_HOLDS * HOLDS as u32 + PAYS_AFTER;
    let watching: Vec<_> = watchers
        .into_iter()
        .map(|watcher| spawn_local(timeout_at(end + PATIENCE, watcher.follow(Rc::clone(&heard)))))
        .collect();
    let cpu = server.cpu_us()?;
    let senders: Vec<_> =
        (0..SENDERS).map(|nth| spawn_local(send(server.address.clone(), nth, begin))).collect();
    let mut answers = Histogram::new(3)?;
    for sender in senders {
        answers.add(sender.await??)?;
    }
    let cores = (server.cpu_us()? - cpu) / begin.elapsed().as_secs_f64() / 1e6;
    let mut seen = Vec::new();
    for watcher in watching {
        seen.push(watcher.await?.context("a watcher waits for changes that do not come")??);
    }
    // Nobody lost a change: what each has is the map.
    let (_, letters) = map(server)?;
    ensure!(letters.bytes().filter(|letter| *letter == b'c').count() == HOLDS, "all are sold");
    ensure!(seen.iter().all(|seen| seen == letters.as_bytes()), "a watcher has another map");
    let heard = Rc::into_inner(heard).context("all watchers are done")?.into_inner();
    Ok(Watched { latency: heard.latency, answers, events: heard.events.len(), cores })
}

/// Mints a token for a watcher.
fn token(server: &Server, nth: usize) -> Result<String> {
    let ask = format!(r#"{{"subject":"w{nth}","campaign":"hall"}}"#);
    let answer = tell(&server.address, "POST", "/v1/tokens", &ask)?;
    let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
    let minted: Value = serde_json::from_str(body)?;
    minted["token"].as_str().map(str::to_owned).context("no token")
}

/// Returns the position of the map and how its seats stand.
fn map(server: &Server) -> Result<(String, String)> {
    let answer = tell(&server.address, "GET", "/v1/campaigns/hall/pools/p0/seats?standing=1", "")?;
    let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
    let map: Value = serde_json::from_str(body)?;
    let text = |name: &str| map[name].as_str().map(str::to_owned);
    Ok((text("position").context("no position")?, text("standing").context("no standing")?))
}

/// The seat of the n-th hold: all over the house.
fn seat_of(hold: usize) -> usize {
    hold * 7_919 % SEATS
}

/// Sends the changes of one connection, each when it is due; gives how long after that they were answered.
async fn send(address: String, nth: usize, begin: Instant) -> Result<Histogram<u64>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    let house = House::new("hall", SEATS);
    let mut changes: Vec<(Instant, u16, String)> = Vec::new();
    for hold in (nth..HOLDS).step_by(SENDERS) {
        let due = begin + BETWEEN_HOLDS * hold as u32;
        let (pool, seat) = house.seat(seat_of(hold));
        let body = format!(
            r#"{{"id":"h-{hold:08}","subject":"s-{hold:08}","picks":[{{"pool":"{pool}","units":["{seat}"]}}]}}"#
        );
        changes.push((due, 201, loader::post("/v1/campaigns/hall/holds", KEY, &body)));
        changes.push((due + PAYS_AFTER, 200, super::confirm("hall", hold)));
    }
    changes.sort_by_key(|(due, ..)| *due);
    let mut took = Histogram::new(3)?;
    let mut buffer = vec![0; 8192];
    for (due, expected, request) in changes {
        sleep_until(due).await;
        let status = loader::ask(&mut stream, &request, &mut buffer).await?;
        let text = String::from_utf8_lossy(&buffer);
        ensure!(status == expected, "{}", text.trim_end_matches('\0'));
        took.record(due.elapsed().as_micros() as u64)?;
    }
    Ok(took)
}

/// What all watchers heard: each event is read once, for all of them.
struct Heard {
    begin: Instant,
    /// By their text.
    events: HashMap<Vec<u8>, Rc<Event>>,
    /// Which hold a seat is of.
    holds: HashMap<usize, usize>,
    /// Of which holds some event told.
    held: Vec<bool>,
    latency: Histogram<u64>,
}

/// What an event says.
struct Event {
    /// Its number among all, from 0.
    nth: usize,
    changes: Vec<(usize, u8)>,
    /// When these changes were due.
    due: Vec<Instant>,
}

impl Heard {
    fn new() -> Result<Self> {
        Ok(Self {
            begin: Instant::now(),
            events: HashMap::new(),
            holds: (0..HOLDS).map(|hold| (seat_of(hold), hold)).collect(),
            held: vec![false; HOLDS],
            latency: Histogram::new(3)?,
        })
    }

    fn event(&mut self, text: &[u8]) -> Result<Rc<Event>> {
        if let Some(event) = self.events.get(text) {
            return Ok(Rc::clone(event));
        }
        let lines = std::str::from_utf8(text)?;
        let field = |name| lines.lines().find_map(|line| line.strip_prefix(name));
        ensure!(field("event: ") == Some("standing"), "{lines}");
        let content: Value = serde_json::from_str(field("data: ").context("no data")?)?;
        let mut event = Event { nth: self.events.len(), changes: Vec::new(), due: Vec::new() };
        let seats = content["pools"][0]["seats"].as_object().context("no seats")?;
        for (letter, seats) in seats {
            for seat in seats.as_array().context("no list of seats")? {
                let seat = seat.as_u64().context("no seat")? as usize;
                let hold = *self.holds.get(&seat).context("nobody asked for that seat")?;
                let due = self.begin + BETWEEN_HOLDS * hold as u32;
                // Whoever hears that it is confirmed, and not before that it was held, heard both late.
                if !std::mem::replace(&mut self.held[hold], true) {
                    event.due.push(due);
                }
                if letter == "c" {
                    event.due.push(due + PAYS_AFTER);
                }
                event.changes.push((seat, letter.as_bytes()[0]));
            }
        }
        let event = Rc::new(event);
        self.events.insert(text.to_owned(), Rc::clone(&event));
        Ok(event)
    }
}

struct Watcher {
    stream: TcpStream,
    /// Bytes from the socket, chunks and all.
    buffer: Vec<u8>,
    /// The text of an event, as far as it came.
    text: Vec<u8>,
    /// How every seat stands, by what was heard.
    letters: Vec<u8>,
}

impl Watcher {
    async fn read(&mut self) -> Result<()> {
        if self.stream.read_buf(&mut self.buffer).await? == 0 {
            bail!("the server hung up on a watcher");
        }
        Ok(())
    }

    /// Reads the head of the answer.
    async fn head(&mut self) -> Result<()> {
        loop {
            if let Some(end) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                ensure!(self.buffer.starts_with(b"HTTP/1.1 200"), "a watcher is refused");
                self.buffer.drain(..end + 4);
                return Ok(());
            }
            self.read().await?;
        }
    }

    /// Follows until all seats are confirmed; gives how every seat stands then.
    async fn follow(mut self, heard: Rc<RefCell<Heard>>) -> Result<Vec<u8>> {
        let (mut confirmed, mut next) = (0, 0);
        while confirmed < HOLDS {
            while self.chunk()? {}
            while let Some(end) = self.text.windows(2).position(|bytes| bytes == b"\n\n") {
                let text: Vec<u8> = self.text.drain(..end + 2).collect();
                if text.starts_with(b":") {
                    continue;
                }
                let mut heard = heard.borrow_mut();
                let event = heard.event(&text)?;
                ensure!(event.nth == next, "a watcher missed event {next}");
                next += 1;
                for (seat, letter) in &event.changes {
                    self.letters[*seat] = *letter;
                    confirmed += usize::from(*letter == b'c');
                }
                let now = Instant::now();
                for due in &event.due {
                    let late = now.saturating_duration_since(*due);
                    heard.latency.record(late.as_micros() as u64)?;
                }
            }
            if confirmed < HOLDS {
                self.read().await?;
            }
        }
        Ok(self.letters)
    }

    /// Takes the next chunk off the buffer, if it is there.
    fn chunk(&mut self) -> Result<bool> {
        let Some(line) = self.buffer.windows(2).position(|bytes| bytes == b"\r\n") else {
            return Ok(false);
        };
        let size = std::str::from_utf8(&self.buffer[..line])?;
        let (from, size) = (line + 2, usize::from_str_radix(size, 16)?);
        if self.buffer.len() < from + size + 2 {
            return Ok(false);
        }
        ensure!(size > 0, "the stream ended");
        self.text.extend_from_slice(&self.buffer[from..from + size]);
        self.buffer.drain(..from + size + 2);
        Ok(true)
    }
}
