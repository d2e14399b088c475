//! Nine hundred readers of a campaign's events, as many as come without a key, of whom a hundred do not read for a while.

use crate::process::{KEY, Server};
use crate::wire::Talk;
use flate2::Crc;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long a test waits for an event before it gives up.
const PATIENCE: Duration = Duration::from_secs(120);
const SECRET: (&str, &str) = ("TOKEN_SECRET", "a-secret-that-has-thirty-two-bytes");
const POOL: &str = "/v1/campaigns/hall/pools/main";
/// Seats of the hall: the last ones have numbers of five digits, which makes events long.
const SEATS: usize = 20_000;
/// Seats that one command blocks, the most that it may name.
const BLOCKED: usize = 500;
/// How many readers of one subject a server lets in.
const OF_SUBJECT: usize = 4;
/// How many events the slowest of those who read may be behind before the next change: a server sends a reader the last 256.
const AHEAD: u64 = 100;

/// A reader of events.
struct Reader {
    stream: BufReader<TcpStream>,
    /// As much of a line, and of an event, as was read.
    line: Vec<u8>,
    event: Event,
    heard: Heard,
    /// One letter for each seat, as the events have it; only one of the readers draws it.
    letters: Vec<u8>,
}

/// An event, as it is read.
#[derive(Default)]
struct Event {
    name: Vec<u8>,
    position: u64,
    data: Vec<u8>,
}

/// What a reader has heard.
#[derive(Debug, Default)]
struct Heard {
    /// Of the last event about seats.
    position: u64,
    /// Events about seats, and a checksum over what they said, one after the other.
    events: u64,
    said: Crc,
    /// How often it was told to fetch the map again.
    resets: u64,
    /// Events that were not later than the one before.
    out_of_order: u64,
}

impl Reader {
    async fn open(address: SocketAddr, token: &str, after: &str, narrow: bool) -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        if narrow {
            socket.set_recv_buffer_size(16 << 10).unwrap();
        }
        let mut stream = socket.connect(address).await.unwrap();
        let request = format!(
            "GET /v1/campaigns/hall/events?after={after} HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let stream = BufReader::with_capacity(16 << 10, stream);
        let (heard, event) = (Heard::default(), Event::default());
        let mut reader = Self { stream, line: Vec::new(), event, heard, letters: Vec::new() };
        let head = reader.line().await;
        assert_eq!(head.strip_suffix(b"\r\n"), Some(&b"HTTP/1.1 200 OK"[..]));
        while reader.line().await != b"\r\n" {}
        reader
    }

    async fn line(&mut self) -> Vec<u8> {
        let read = timeout(PATIENCE, self.stream.read_until(b'\n', &mut self.line)).await;
        assert!(read.expect("nothing comes").unwrap_or(0) > 0, "the stream goes on");
        std::mem::take(&mut self.line)
    }

    /// Hears one event, or a comment. Dropped in the middle of one, it goes on there the next time.
    async fn hear(&mut self) {
        loop {
            // Each event is a chunk, whose length is a line before it.
            let line = self.line().await;
            match line.strip_suffix(b"\n").unwrap() {
                b"" => break,
                line => {
                    if let Some(id) = line.strip_prefix(b"id: 0.") {
                        self.event.position = std::str::from_utf8(id).unwrap().parse().unwrap();
                    } else if let Some(event) = line.strip_prefix(b"event: ") {
                        self.event.name = event.to_vec();
                    } else if let Some(text) = line.strip_prefix(b"data: ") {
                        self.event.data = text.to_vec();
                    }
                }
            }
        }
        let Event { name, position, data } = std::mem::take(&mut self.event);
        match &*name {
            b"reset" => self.heard.resets += 1,
            b"standing" => {
                self.heard.out_of_order += u64::from(position <= self.heard.position);
                self.heard.position = position;
                self.heard.events += 1;
                self.heard.said.update(&data);
                if !self.letters.is_empty() {
                    self.draw(&data);
                }
            }
            _ => {}
        }
    }

    fn draw(&mut self, data: &[u8]) {
        let data: Value = serde_json::from_slice(data).unwrap();
        for (letter, seats) in data["pools"][0]["seats"].as_object().unwrap() {
            for seat in seats.as_array().unwrap() {
                self.letters[seat.as_u64().unwrap() as usize] = letter.as_bytes()[0];
            }
        }
    }

    /// Reads until it has an event of a position or a later one.
    async fn until(mut self, position: watch::Receiver<u64>, tell: watch::Sender<u64>) -> Self {
        let mut last = position;
        loop {
            let wanted = *last.borrow_and_update();
            if wanted > 0 && self.heard.position >= wanted {
                return self;
            }
            tokio::select! {
                () = self.hear() => drop(tell.send(self.heard.position)),
                changed = last.changed() => if changed.is_err() {
                    return self;
                },
            }
        }
    }
}

/// The letters of the map, and the position they are of.
fn map(talk: &mut Talk) -> (Vec<u8>, u64) {
    let map = talk.get(&format!("{POOL}/seats?standing=1")).json();
    let position = map["position"].as_str().unwrap().strip_prefix("0.").unwrap().parse().unwrap();
    (map["standing"].as_str().unwrap().as_bytes().to_vec(), position)
}

/// Blocks seats, or unblocks them; gives the position at which it is done.
fn block(talk: &mut Talk, verb: &str, first: usize) -> u64 {
    let names: Vec<String> = (first..first + BLOCKED).map(|seat| seat.to_string()).collect();
    let body = json!({"units": names, "reason": "a test"});
    let done = talk.post(&format!("{POOL}/{verb}"), &body).json();
    assert_eq!(done["units"], BLOCKED, "{done}");
    done["position"].as_str().unwrap().strip_prefix("0.").unwrap().parse().unwrap()
}

/// What became of a campaign with so many readers and so many that did not read.
struct Told {
    /// The map at the end.
    letters: Vec<u8>,
    readers: Vec<Reader>,
    stalled: Vec<Reader>,
    grown: u64,
}

/// Blocks and unblocks seats so often while many follow, and has those who did not read begin to read at the end.
async fn story(readers: usize, stalled: usize, changes: usize, settings: &[(&str, &str)]) -> Told {
    let folder = tempfile::tempdir().unwrap();
    // Who does not read is not cut while this lasts.
    let settings = settings.iter().copied().chain([
        SECRET,
        ("IDLE_MS", "600000"),
        ("STREAM_MAX_MS", "3600000"),
    ]);
    let settings: Vec<_> = settings.collect();
    let server = Server::with(folder.path(), &settings);
    let mut talk = server.talk();
    let hall = json!({"opens_at": "now", "pools": [{"name": "main", "kind": "seated"}]});
    talk.put("/v1/campaigns/hall", &hall).says(201, "created");
    for part in (0..SEATS).collect::<Vec<_>>().chunks(4_000) {
        let seats = part.iter().map(|seat| json!({"name": seat.to_string()}));
        talk.post(&format!("{POOL}/seats"), &seats.collect()).says(200, "imported");
    }
    let (_, begins) = map(&mut talk);
    let mut open = Vec::new();
    for nth in 0..readers + stalled {
        let subject = format!("s{}", nth / OF_SUBJECT);
        let ask = json!({"subject": subject, "campaign": "hall", "expires_in_s": 3600});
        let minted = talk.post("/v1/tokens", &ask).says(201, "minted");
        let token = minted["token"].as_str().unwrap();
        let after = format!("0.{begins}");
        open.push(Reader::open(server.address, token, &after, nth >= readers).await);
    }
    let mut stalled = open.split_off(readers);
    open[0].letters = vec![b'.'; SEATS];
    let before = server.memory();
    let (end, ended) = watch::channel(0);
    let mut heard = Vec::new();
    let mut reading = tokio::task::JoinSet::new();
    for reader in open {
        let (tell, told) = watch::channel(begins);
        heard.push(told);
        reading.spawn(reader.until(ended.clone(), tell));
    }
    let mut other = Talk::to(server.address, KEY).unwrap();
    let mut last = (begins, 0);
    for change in 0..changes {
        let verb = if change % 2 == 0 { "block" } else { "unblock" };
        let (one, two) = (SEATS - BLOCKED, SEATS - 2 * BLOCKED);
        let both = tokio::task::block_in_place(|| {
            [(&mut talk, one), (&mut other, two)].map(|(talk, first)| block(talk, verb, first))
        });
        last = (both[0].max(both[1]), last.0);
        // The first has heard of it, and nobody who reads is far behind.
        let wait = async {
            heard[0].wait_for(|position| *position >= last.0).await.unwrap();
            for told in &mut heard {
                told.wait_for(|position| position + 2 * AHEAD >= last.0).await.unwrap();
            }
        };
        timeout(PATIENCE, wait).await.expect("a reader does not get on");
    }
    end.send(last.0).unwrap();
    let readers = timeout(PATIENCE, reading.join_all()).await.expect("a reader does not get on");
    let grown = server.memory().saturating_sub(before);
    // Now those read who did not, until they are told what comes last.
    let (letters, position) = tokio::task::block_in_place(|| {
        block(&mut talk, "block", 0);
        map(&mut talk)
    });
    for reader in &mut stalled {
        while reader.heard.position < position {
            reader.hear().await;
        }
    }
    Told { letters, readers, stalled, grown }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_readers_that_stall_are_told_so_and_eight_hundred_miss_nothing() {
    let told = story(800, 100, 700, &[]).await;
    let first = &told.readers[0];
    for reader in &told.readers {
        let heard = &reader.heard;
        assert_eq!((heard.resets, heard.out_of_order), (0, 0), "{heard:?}");
        assert_eq!(heard.events, first.heard.events);
        assert_eq!(heard.said.sum(), first.heard.said.sum());
    }
    // What the events made of the map is the map, but for what came at the end.
    let drawn = told.readers.iter().map(|reader| &reader.letters).find(|drawn| !drawn.is_empty());
    assert!(drawn.unwrap()[BLOCKED..] == told.letters[BLOCKED..]);
    for reader in &told.stalled {
        let heard = &reader.heard;
        assert!(heard.resets > 0 && heard.out_of_order == 0, "{heard:?}");
        assert!(heard.events < first.heard.events);
    }
    // A stream has a buffer of 32 KiB, and the events that can be resumed from are there once for all.
    eprintln!("the server has {} MiB more", told.grown >> 20);
    assert!(told.grown < 64 << 20, "{} MiB", told.grown >> 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_reset_a_reader_that_stalled_has_another_map() {
    let told = story(2, 2, 700, &[("INJECT", "lagged_without_reset")]).await;
    for reader in &told.stalled {
        assert_eq!(reader.heard.resets, 0);
        assert!(reader.heard.events < told.readers[0].heard.events, "it missed nothing");
    }
}
