//! Clients of many commands over real connections: one that does not read, one that falls silent, one that goes away, one
//! that sends too much, and a server that is stopped or killed in the middle.

use crate::process::{KEY, Server, serve};
use crate::wire::{Answer, Talk};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A request of many commands, written and read by hand.
pub(crate) struct Bulk {
    stream: TcpStream,
    answers: BufReader<Chunks>,
}

/// The bytes in the chunks of an answer.
struct Chunks {
    stream: BufReader<TcpStream>,
    left: usize,
    over: bool,
}

impl Read for Chunks {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !self.over {
            let mut size = String::new();
            self.stream.read_line(&mut size)?;
            if size == "\r\n" {
                size.clear();
                self.stream.read_line(&mut size)?;
            }
            if size.is_empty() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            self.left = usize::from_str_radix(size.trim(), 16).map_err(io::Error::other)?;
            self.over = self.left == 0;
        }
        let most = into.len().min(self.left);
        let read = self.stream.read(&mut into[..most])?;
        self.left -= read;
        Ok(read)
    }
}

impl Bulk {
    /// Begins a request, and reads the head of its answer.
    pub(crate) fn open(address: SocketAddr, key: &str) -> Self {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_nodelay(true).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        let head = format!(
            "POST /v1/commands HTTP/1.1\r\nhost: test\r\nauthorization: Bearer {key}\r\n\
             content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        assert!(line.starts_with("HTTP/1.1 200 "), "{line}");
        while line != "\r\n" {
            line.clear();
            answer.read_line(&mut line).unwrap();
        }
        let answers = BufReader::new(Chunks { stream: answer, left: 0, over: false });
        Self { stream, answers }
    }

    pub(crate) fn send(&mut self, text: &str) {
        self.try_send(text).unwrap();
    }

    fn try_send(&mut self, text: &str) -> io::Result<()> {
        self.stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes())
    }

    /// Says that there are no more lines.
    pub(crate) fn finish(&mut self) {
        self.stream.write_all(b"0\r\n\r\n").unwrap();
    }

    /// Returns the next answer; none at the end.
    pub(crate) fn next(&mut self) -> Option<Value> {
        self.try_next().unwrap()
    }

    fn try_next(&mut self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        match self.answers.read_line(&mut line)? {
            0 => Ok(None),
            _ => serde_json::from_str(&line).map(Some).map_err(io::Error::other),
        }
    }
}

fn claim(subject: &str) -> String {
    format!("{}\n", json!({"do": "claim", "campaign": "drop", "subject": subject}))
}

pub(crate) fn claims(numbers: std::ops::Range<u32>) -> String {
    numbers.map(|number| claim(&format!("s{number}"))).collect()
}

fn server(folder: &std::path::Path, settings: &[(&str, &str)], places: u32) -> (Server, Talk) {
    let server = Server::with(folder, settings);
    let mut talk = server.talk();
    talk.open_campaign("drop", places);
    (server, talk)
}

#[test]
fn answers_come_while_the_body_is_still_sent() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[], 100);
    let mut bulk = Bulk::open(server.address, KEY);
    for number in 1..=3 {
        bulk.send(&claim(&format!("s{number}")));
        let answer = bulk.next().unwrap();
        assert_eq!((&answer["line"], &answer["rank"]), (&json!(number), &json!(number)));
    }
    // A line that comes in two parts, and the next one with the end of it.
    let (left, right) = (claim("s4"), claim("s5"));
    let (begin, end) = left.split_at(9);
    bulk.send(begin);
    talk.claim("drop", "alone").says(201, "won");
    bulk.send(&format!("{end}{right}"));
    assert_eq!(bulk.next().unwrap()["rank"], 5);
    assert_eq!(bulk.next().unwrap()["rank"], 6);
    bulk.finish();
    assert_eq!(bulk.next(), None);
    drop(bulk);
    assert_eq!(talk.metric("firstcome_answers_total{outcome=\"won\"}"), 6);
}

#[test]
fn a_client_that_does_not_read_stops_the_reading_and_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = server(folder.path(), &[("IDLE_MS", "1500")], 1_000_000);
    let before = server.memory();
    let mut bulk = Bulk::open(server.address, KEY);
    bulk.stream.set_write_timeout(Some(Duration::from_secs(120))).unwrap();
    let begun = Instant::now();
    let mut sent = 0;
    // 20 MiB of lines, which nobody takes the answers of.
    let cut = loop {
        if sent == 100_000 {
            break false;
        }
        if bulk.try_send(&claims(sent..sent + 100)).is_err() {
            break true;
        }
        sent += 100;
    };
    assert!(cut, "all {sent} lines were taken from a client that reads nothing");
    assert!(begun.elapsed() < Duration::from_secs(60), "{:?}", begun.elapsed());
    let grown = server.memory().saturating_sub(before);
    assert!(grown < 64 << 20, "{grown} bytes for {sent} lines");
    let mut talk = server.talk();
    let decided = talk.metric("firstcome_answers_total{outcome=\"won\"}");
    assert!(decided < u64::from(sent), "{decided} of {sent}");
    assert_eq!(talk.metric("firstcome_connections_too_slow_total"), 1);
    talk.claim("drop", "somebody").says(201, "won");
}

#[test]
fn a_client_that_falls_silent_is_told_and_its_connection_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _talk) = server(folder.path(), &[("IDLE_MS", "3000")], 100);
    let mut bulk = Bulk::open(server.address, KEY);
    let begun = Instant::now();
    bulk.send(&claim("ann"));
    assert_eq!(bulk.next().unwrap()["outcome"], "won");
    bulk.send("{\"do\":");
    let last = bulk.next().unwrap();
    assert_eq!(
        (&last["outcome"], &last["line"], &last["ends"]),
        (&json!("timeout"), &json!(2), &json!(true))
    );
    assert!(begun.elapsed() >= Duration::from_secs(3) && begun.elapsed() < Duration::from_secs(30));
    assert_eq!(bulk.next(), None);
}

#[test]
fn what_was_sent_before_a_client_went_away_stands_and_can_be_asked_again() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[], 100_000);
    let mut bulk = Bulk::open(server.address, KEY);
    bulk.send(&claims(0..10_000));
    let first: Vec<Value> = (0..50).map(|_| bulk.next().unwrap()).collect();
    bulk.send("{\"do\":\"claim\",\"campaign\":\"drop\",\"subject\":\"cut");
    drop(bulk);
    let mut again = Bulk::open(server.address, KEY);
    again.send(&claims(0..10_000));
    again.finish();
    let mut ranks = BTreeSet::new();
    for number in 0..10_000_usize {
        let answer = again.next().unwrap();
        assert!(ranks.insert(answer["rank"].as_u64().unwrap()), "{answer}");
        if let Some(before) = first.get(number) {
            assert_eq!((&answer["rank"], &answer["at"]), (&before["rank"], &before["at"]));
            assert_eq!(answer["outcome"], "already_won");
        }
    }
    assert_eq!((ranks.len(), ranks.last()), (10_000, Some(&10_000)), "without gaps");
    talk.get("/v1/campaigns/drop/claims/cut").refuses("no_such_claim", "");
}

#[test]
fn one_line_too_many_ends_the_answers_after_all_others() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _talk) = server(folder.path(), &[], 10);
    let mut bulk = Bulk::open(server.address, KEY);
    let mut stream = bulk.stream.try_clone().unwrap();
    let writer = std::thread::spawn(move || {
        let line = "{\"do\":\"claim\",\"campaign\":\"none\",\"subject\":\"ann\"}\n".repeat(1_000);
        for _ in 0..101 {
            stream.write_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()).unwrap();
        }
    });
    for number in 1..=100_000 {
        let answer = bulk.next().unwrap();
        assert_eq!((&answer["line"], &answer["outcome"]), (&json!(number), &json!("not_found")));
    }
    let last = bulk.next().unwrap();
    assert_eq!(
        (&last["line"], &last["outcome"], &last["ends"]),
        (&json!(100_001), &json!("too_large"), &json!(true))
    );
    assert!(last["detail"].as_str().unwrap().contains("up to 100000 lines"), "{last}");
    writer.join().unwrap();
    assert_eq!(bulk.next(), None);
}

/// Sends a request without a line.
fn without_lines(server: &Server, key: &str) -> Answer {
    let mut talk = Talk::to(server.address, key).unwrap();
    let kind = ("content-type", "application/x-ndjson");
    let request = talk.request("POST", "/v1/commands", &[kind], None);
    talk.send(request.replace("\r\n\r\n", "\r\ncontent-length: 0\r\n\r\n")).unwrap();
    talk.hear().unwrap()
}

/// One key with slow connections kept all places for ever, and every other tenant was `busy`.
#[test]
fn a_key_has_a_fourth_of_the_requests_and_who_sends_too_little_makes_room() {
    let folder = tempfile::tempdir().unwrap();
    let keys = ["k0", "k1", "k2", "k3"].map(|name| (name, format!("the-backend-key-{name}")));
    let entry = |(name, key): &(&str, String)| {
        let hash: String = Sha256::digest(key).iter().map(|byte| format!("{byte:02x}")).collect();
        format!("[[keys]]\nname = \"{name}\"\nsha256 = \"{hash}\"\nrole = \"backend\"\n")
    };
    let file = folder.path().join("firstcome.toml");
    std::fs::write(&file, keys.iter().map(entry).collect::<String>()).unwrap();
    let mut command = serve(folder.path(), &[]);
    command.arg("--config").arg(&file);
    let server = Server::of(command);
    server.talk().open_campaign("drop", 1_000);
    let ask = |key: &str| without_lines(&server, key);
    let begun = Instant::now();
    let mut open: Vec<Bulk> = Vec::new();
    for (_, key) in &keys {
        assert_eq!(ask(KEY).status, 200);
        open.extend((0..8).map(|_| Bulk::open(server.address, key)));
        ask(key).refuses("busy", "8 requests of many commands with the key");
    }
    ask(KEY).refuses("busy", "answers 32 requests of many commands");
    // Nobody was too slow for long enough; from here on the first one is quick, and the others are not.
    open[0].send(&claims(0..500));
    for _ in 0..500 {
        assert_eq!(open[0].next().unwrap()["outcome"], "won");
    }
    for bulk in &mut open {
        bulk.send(&claim("ann"));
        assert_eq!(bulk.next().unwrap()["rank"], 501);
    }
    std::thread::sleep(Duration::from_millis(10_200).saturating_sub(begun.elapsed()));
    assert!(begun.elapsed() < Duration::from_secs(20), "the first one would be slow, too");
    ask(KEY).refuses("busy", "answers 32 requests of many commands");
    for bulk in &mut open[1..] {
        let last = bulk.next().unwrap();
        assert_eq!((&last["outcome"], &last["ends"]), (&json!("busy"), &json!(true)), "{last}");
        assert_eq!(last["line"], 2);
    }
    open[0].send(&claim("bob"));
    assert_eq!(open[0].next().unwrap()["outcome"], "won");
    open.truncate(1);
    let end = Instant::now() + Duration::from_secs(10);
    while ask(KEY).status != 200 {
        assert!(Instant::now() < end, "no place is given back");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// It read a byte now and then, and kept its place for hours: nobody told its connection.
#[test]
fn a_client_that_does_not_read_is_cut_when_its_place_is_needed() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[("IDLE_MS", "3600000")], 1_000_000);
    let mut open: Vec<Bulk> = (0..8).map(|_| Bulk::open(server.address, KEY)).collect();
    let mute = &mut open[0];
    mute.stream.set_write_timeout(Some(Duration::from_secs(3))).unwrap();
    // Until the connection takes no more; there is no room for so many answers.
    let sent = (0..100_000).step_by(100);
    sent.map(|begin| mute.try_send(&claims(begin..begin + 100))).take_while(Result::is_ok).count();
    std::thread::sleep(Duration::from_secs(25));
    without_lines(&server, KEY).refuses("busy", "8 requests of many commands with the key");
    for bulk in &mut open[1..] {
        let last = bulk.next().unwrap();
        assert_eq!((&last["outcome"], &last["ends"]), (&json!("busy"), &json!(true)), "{last}");
    }
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let cut = talk.metric("firstcome_connections_too_slow_total");
        if cut == 1 {
            break;
        }
        assert!(Instant::now() < end, "it keeps its place, and {cut} were cut");
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_server_that_stops_answers_what_it_read_and_says_where_it_ended() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _talk) = server(folder.path(), &[], 100_000);
    let mut bulk = Bulk::open(server.address, KEY);
    bulk.send(&claims(0..3_000));
    let first = bulk.next().unwrap();
    assert_eq!(first["outcome"], "won");
    server.terminate();
    let (mut answered, mut last) = (1, None);
    while let Some(answer) = bulk.next() {
        if answer["ends"] == json!(true) {
            last = Some(answer);
            continue;
        }
        assert!(last.is_none());
        answered += 1;
        assert_eq!((&answer["line"], &answer["outcome"]), (&json!(answered), &json!("won")));
    }
    let last = last.unwrap();
    assert_eq!((&last["outcome"], &last["line"]), (&json!("unavailable"), &json!(answered + 1)));
    drop(bulk);
    let (status, errors) = server.ended();
    assert!(status.success(), "{errors}");
}

#[test]
fn commands_repeated_after_a_kill_happen_once() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, _) = server(folder.path(), &[], 100_000);
    let mut heard: BTreeMap<String, u64> = BTreeMap::new();
    for round in 1..=3 {
        let mut bulk = Bulk::open(server.address, KEY);
        let mut stream = bulk.stream.try_clone().unwrap();
        let writer = std::thread::spawn(move || {
            for begin in (0..20_000).step_by(500) {
                let text = claims(begin..begin + 500);
                let chunk = format!("{:x}\r\n{text}\r\n", text.len());
                if stream.write_all(chunk.as_bytes()).is_err() {
                    return;
                }
            }
            drop(stream.write_all(b"0\r\n\r\n"));
        });
        let mut answers = 0;
        let mut server_now = Some(server);
        while let Ok(Some(answer)) = bulk.try_next() {
            answers += 1;
            let subject = answer["subject"].as_str().unwrap().to_owned();
            let rank = answer["rank"].as_u64().unwrap();
            assert_eq!(*heard.entry(subject).or_insert(rank), rank, "{answer}");
            if round < 3 && answers == 1_000 * round {
                server_now.take().unwrap().kill();
            }
        }
        writer.join().unwrap();
        server = server_now.unwrap_or_else(|| Server::on(folder.path()));
    }
    assert_eq!(heard.len(), 20_000, "the last round was answered whole");
    let ranks: BTreeSet<u64> = heard.values().copied().collect();
    assert_eq!((ranks.len(), ranks.last()), (20_000, Some(&20_000)));
    for number in 0..20_000_u64 {
        assert_eq!(
            heard[&format!("s{number}")],
            number + 1,
            "the order of the lines is that of the ranks"
        );
    }
}

#[test]
fn single_claims_are_answered_while_many_are() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _) = server(folder.path(), &[], 1_000_000);
    let mut bulk = Bulk::open(server.address, KEY);
    let mut stream = bulk.stream.try_clone().unwrap();
    let begun = Instant::now();
    let writer = std::thread::spawn(move || {
        for begin in (0..30_000).step_by(500) {
            let text = claims(begin..begin + 500);
            stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).unwrap();
        }
        stream.write_all(b"0\r\n\r\n").unwrap();
    });
    let address = server.address;
    let over = Arc::new(AtomicBool::new(false));
    // More than the server has threads: some share that of the lines.
    let cores = std::thread::available_parallelism().unwrap().get();
    let alone = (0..cores + 1).map(|who| {
        let over = Arc::clone(&over);
        std::thread::spawn(move || {
            let mut talk = Talk::to(address, KEY).unwrap();
            let (mut longest, mut claims) = (Duration::ZERO, 0);
            while !over.load(Ordering::Relaxed) {
                let begun = Instant::now();
                talk.claim("drop", &format!("alone{who}-{claims}")).says(201, "won");
                longest = longest.max(begun.elapsed());
                claims += 1;
            }
            (longest, claims)
        })
    });
    let alone: Vec<_> = alone.collect();
    let mut answers = 0;
    while let Some(answer) = bulk.next() {
        assert_eq!(answer["outcome"], "won", "{answer}");
        answers += 1;
    }
    let took = begun.elapsed();
    over.store(true, Ordering::Relaxed);
    writer.join().unwrap();
    assert_eq!(answers, 30_000);
    for alone in alone {
        let (longest, claims) = alone.join().unwrap();
        // Without turns they would wait for all of the lines.
        assert!(
            longest < took / 2 && claims > 2,
            "{claims} claims beside {took:?} of lines, the longest took {longest:?}"
        );
    }
}
