//! Streams of events and large answers: nobody has more than a share, and who does not read is cut.

use crate::process::{KEY, Server};
use crate::wire::Talk;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const SECRET: (&str, &str) = ("TOKEN_SECRET", "a-secret-that-has-thirty-two-bytes");
const EVENTS: &str = "/v1/campaigns/hall/events";
const SEATS: &str = "/v1/campaigns/hall/pools/main/seats";

/// A server with a hall of so many seats, whose names have 60 bytes.
fn server(folder: &std::path::Path, settings: &[(&str, &str)], seats: usize) -> (Server, Talk) {
    let settings: Vec<_> = settings.iter().copied().chain([SECRET]).collect();
    let server = Server::with(folder, &settings);
    let mut talk = server.talk();
    let hall = json!({"opens_at": "now", "allow_orphans": true, "holds": "many", "holds_per_hour": 1000,
        "pools": [{"name": "main", "kind": "seated"}]});
    talk.put("/v1/campaigns/hall", &hall).says(201, "created");
    let names: Vec<usize> = (0..seats).collect();
    for names in names.chunks(4_000) {
        let seats = names.iter().map(|n| json!({"name": format!("{n:060}")}));
        talk.post(SEATS, &seats.collect()).says(200, "imported");
    }
    (server, talk)
}

/// Mints a token for a subject.
fn token(talk: &mut Talk, subject: &str, seconds: u32) -> String {
    let ask = json!({"subject": subject, "campaign": "hall", "expires_in_s": seconds});
    let minted = talk.post("/v1/tokens", &ask).says(201, "minted");
    minted["token"].as_str().unwrap().to_owned()
}

/// Opens a stream.
fn follow(server: &Server, key: &str) -> Talk {
    let mut talk = Talk::to(server.address, key).unwrap();
    let answer = talk.try_ask("GET", EVENTS, None).unwrap();
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    talk
}

/// A connection whose peer takes in only a few kilobytes that nobody reads.
fn narrow(server: &Server) -> TcpStream {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    runtime.block_on(async {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(16 << 10).unwrap();
        let stream = socket.connect(server.address).await.unwrap().into_std().unwrap();
        stream.set_nonblocking(false).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
        stream
    })
}

/// Waits until a count has a value.
#[track_caller]
fn counts(talk: &mut Talk, name: &str, value: u64) {
    let end = Instant::now() + Duration::from_secs(30);
    while talk.metric(name) != value {
        assert!(Instant::now() < end, "{name} is {}, not {value}", talk.metric(name));
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_stream_ends_with_its_token_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[], 2);
    let short = token(&mut talk, "ann", 6);
    let mut watcher = follow(&server, &short);
    let (rest, _) = watcher.rest_within(Duration::from_secs(9));
    assert!(rest.ends_with("0\r\n\r\n"), "the stream outlives its token: {rest:?}");
    let (end, retry) = (rest.find("event: end\n").unwrap(), rest.find("retry: 1000\n").unwrap());
    assert!(end < retry && rest.contains("token_expired"), "{rest}");
    watcher.get(EVENTS).refuses("token_expired", "get another one");
}

#[test]
fn a_stream_has_a_longest_life_and_its_connection_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let (server, _talk) = server(folder.path(), &[("STREAM_MAX_MS", "1000")], 2);
    let mut watcher = follow(&server, KEY);
    let begun = Instant::now();
    let (rest, ended) = watcher.rest_within(Duration::from_secs(3));
    assert!(rest.contains("retry: 1000\n") && !rest.contains("event: end"), "{rest:?}");
    assert!(rest.ends_with("0\r\n\r\n") && !ended, "{rest:?}");
    assert!(begun.elapsed() >= Duration::from_secs(1));
    assert_eq!(watcher.get("/v1/time").status, 200);
}

#[test]
fn a_subject_has_four_streams_and_a_key_sixty_four() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[], 2);
    let (ann, bob) = (token(&mut talk, "ann", 60), token(&mut talk, "bob", 60));
    let refused = |key: &str, whose: &str| {
        let refused = Talk::to(server.address, key).unwrap().get(EVENTS);
        let problem = refused.refuses("too_many_streams", whose);
        assert_eq!(refused.header("retry-after"), Some("1"));
        problem["limit"].clone()
    };
    let mut hers: Vec<Talk> = (0..4).map(|_| follow(&server, &ann)).collect();
    // Another token of hers is hers, too.
    let another = token(&mut talk, "ann", 90);
    assert_eq!(refused(&another, "subject \"ann\" has 4 streams open"), json!("subject"));
    let _his = follow(&server, &bob);
    let _operators: Vec<Talk> = (0..64).map(|_| follow(&server, KEY)).collect();
    assert_eq!(refused(KEY, "key \"admin\" has 64 streams open"), json!("key"));
    // Who ends one may begin another, and everybody else asks as before.
    hers.pop();
    let begun = Instant::now();
    while Talk::to(server.address, &ann).unwrap().get(EVENTS).status != 200 {
        assert!(begun.elapsed() < Duration::from_secs(10), "a stream that ended still counts");
    }
    assert_eq!(talk.get(SEATS).status, 200);
    assert!(talk.metric("firstcome_answers_total{outcome=\"too_many_streams\"}") >= 2);
}

#[test]
fn a_download_that_nobody_reads_is_cut_and_a_slow_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[("IDLE_MS", "3000")], 100_000);
    let request = talk.request("GET", SEATS, &[], None);
    let (mut slow, mut silent) = (narrow(&server), narrow(&server));
    slow.write_all(request.as_bytes()).unwrap();
    silent.write_all(request.as_bytes()).unwrap();
    // Longer than `idle_ms` by far, but something moves all the time.
    let (begun, mut read, mut piece) = (Instant::now(), Vec::new(), vec![0; 32 << 10]);
    let whole = loop {
        match slow.read(&mut piece) {
            Ok(0) | Err(_) => break false,
            Ok(some) => read.extend_from_slice(&piece[..some]),
        }
        if read.ends_with(b"]]}") || read.ends_with(b"[]}") {
            break true;
        }
        if begun.elapsed() < Duration::from_secs(9) {
            std::thread::sleep(Duration::from_millis(50));
        }
    };
    assert!(begun.elapsed() > Duration::from_secs(8), "it was no slow download");
    assert!(whole, "a slow download was cut after {:?}, {} bytes", begun.elapsed(), read.len());
    // This one has nothing more to ask, but leaves by itself.
    drop(slow);
    // The other one was cut meanwhile, as was whoever had nothing to ask.
    assert!(talk.is_hung_up());
    let mut talk = server.talk();
    counts(&mut talk, "firstcome_connections_too_slow_total", 2);
}

/// Makes so many changes that a stream which begins before them has more to send than any buffer takes; gives its path.
fn changes(talk: &mut Talk) -> String {
    let map = talk.get(&format!("{SEATS}?standing=1")).json();
    let names: Vec<String> = (2_000..4_000).map(|n| format!("{n:060}")).collect();
    // Each round is two events of 10 kB.
    for n in 0..80 {
        for (of, units) in names.chunks(500).enumerate() {
            let (id, picks) = (format!("h{n}-{of}"), json!([{"units": units}]));
            let hold = json!({"id": id, "subject": id, "picks": picks});
            talk.post("/v1/campaigns/hall/holds", &hold).says(201, "held");
        }
        std::thread::sleep(Duration::from_millis(30));
        for of in 0..4 {
            let id = format!("h{n}-{of}");
            let release = format!("/v1/campaigns/hall/holds/{id}/release");
            talk.post(&release, &json!({"subject": id})).says(200, "released");
        }
        std::thread::sleep(Duration::from_millis(30));
    }
    format!("{EVENTS}?after={}", map["position"].as_str().unwrap())
}

#[test]
fn a_stream_that_nobody_reads_is_cut_and_a_quiet_one_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[("IDLE_MS", "5000")], 4_000);
    let path = changes(&mut talk);
    // From now on nothing happens: this one has nothing to read.
    let _quiet = follow(&server, KEY);
    counts(&mut talk, "firstcome_hall_watchers ", 1);
    let mut silent = narrow(&server);
    silent.write_all(talk.request("GET", &path, &[], None).as_bytes()).unwrap();
    counts(&mut talk, "firstcome_hall_watchers ", 2);
    counts(&mut talk, "firstcome_hall_watchers ", 1);
    assert_eq!(talk.metric("firstcome_connections_too_slow_total"), 1);
}

#[test]
fn a_stream_that_nobody_reads_ends_with_its_token_all_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (server, mut talk) = server(folder.path(), &[], 4_000);
    let path = changes(&mut talk);
    let bearer = format!("Bearer {}", token(&mut talk, "ann", 8));
    let mut silent = narrow(&server);
    let request = talk.request("GET", &path, &[("authorization", &bearer)], None);
    silent.write_all(request.as_bytes()).unwrap();
    counts(&mut talk, "firstcome_hall_watchers ", 1);
    counts(&mut talk, "firstcome_hall_watchers ", 0);
    assert_eq!(talk.metric("firstcome_connections_too_slow_total"), 1, "it was cut");
}

#[test]
fn the_map_is_the_same_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let (_server, mut talk) = server(folder.path(), &[], 3);
    let answer = talk.get(SEATS);
    assert_eq!(answer.header("content-length"), Some(&*answer.body.len().to_string()));
    let map: Value = answer.json();
    assert_eq!((&map["standing"], &map["pool"]), (&json!("..."), &json!("main")));
}
