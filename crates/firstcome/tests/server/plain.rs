//! The server's own reader of plain requests and hyper answer the same bytes alike, however they are changed and cut.

use crate::inside::{Inside, Setup};
use crate::process::KEY;
use axum::body::Body;
use axum::http::Request;
use fastrand::Rng;
use firstcome_http::{Runtimes, Serves};
use firstcome_node::RuntimeThread;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

/// Conversations that are compared, each of a seed. `FIRSTCOME_CONVERSATIONS` says another number, `FIRSTCOME_FROM` the first.
const CONVERSATIONS: u64 = 300;
/// How long a conversation may take: longer than a server waits for half a head or a body.
const LONGEST: Duration = Duration::from_secs(8);

/// What ends each conversation, unless something before it does.
const LAST: &str = "GET /livez HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";

/// A server and where it listens.
struct Serving {
    inside: Inside,
    address: SocketAddr,
    stop: CancellationToken,
    task: JoinHandle<usize>,
}

impl Serving {
    async fn start(setup: Setup, event_loop: Option<&RuntimeThread>) -> Self {
        let inside = Inside::with(setup).await;
        let campaign = r#"{"opens_at":"2020-01-01T00:00:00Z","pools":[{"name":"main","capacity":400},
            {"name":"hall","kind":"seated","seats":[{"name":"A1"},{"name":"A2"}]}]}"#;
        let put =
            Request::put("/v1/campaigns/spring").header("authorization", format!("Bearer {KEY}"));
        let put = put.header("content-type", "application/json").body(Body::from(campaign));
        assert_eq!(inside.send(put.unwrap()).await.status, 201);
        // Its connections take little at one time, so that a large answer waits for its reader.
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(8 << 10).unwrap();
        socket.bind(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let listener = socket.listen(64).unwrap();
        let address = listener.local_addr().unwrap();
        let stop = CancellationToken::new();
        let (app, stopped) = (Arc::clone(&inside.app), stop.clone());
        let event_loop = event_loop.map(|thread| thread.handle().clone());
        let runtimes = match event_loop {
            Some(_) => Runtimes::start(1).unwrap().with_event_loop(event_loop),
            None => Runtimes::default(),
        };
        let task = tokio::spawn(async move {
            let serving = (listener, Serves::Everything);
            let drain = Duration::from_secs(1);
            let cut = firstcome_http::server::serve(app, serving, &runtimes, stopped, drain).await;
            runtimes.stop().await;
            cut
        });
        Self { inside, address, stop, task }
    }

    /// Sends pieces, and returns all that comes back, without what no two answers have in common.
    async fn answers(&self, pieces: &[Vec<u8>]) -> String {
        let (mut read, mut write) = TcpStream::connect(self.address).await.unwrap().into_split();
        let sends = async {
            for piece in pieces {
                if write.write_all(piece).await.is_err() {
                    break;
                }
                // So that it is read by itself.
                sleep(Duration::from_micros(300)).await;
            }
            write
        };
        let mut all = Vec::new();
        let reads = async {
            let mut bytes = [0; 4_096];
            while let Ok(count @ 1..) = read.read(&mut bytes).await {
                all.extend_from_slice(&bytes[..count]);
            }
        };
        let ended = timeout(LONGEST, async { tokio::join!(sends, reads) }).await;
        let text = String::from_utf8_lossy(&all);
        let mut lines: Vec<&str> = text.split("\r\n").collect();
        lines.retain(|line| !["date: ", "x-request-id: "].iter().any(|own| line.starts_with(own)));
        format!("{}{}", lines.join("\n"), if ended.is_ok() { "" } else { "\nstill open" })
    }

    async fn stop(self) {
        self.stop.cancel();
        assert_eq!(self.task.await.unwrap(), 0);
        drop(self.inside);
    }
}

/// A request as it is sent, and how it may be cut.
struct Drawn {
    bytes: Vec<u8>,
    /// Up to where. A body that comes late and that nobody reads ends a connection with hyper, and whether it comes late is
    /// chance.
    cut_before: usize,
    /// Whether it is other than its head says, so that what follows may be its body.
    is_changed: bool,
}

/// The target of the plainest request.
const CLAIMS: &str = "/v1/campaigns/spring/claims";
/// Methods and targets that are drawn beside it, and whether they have a body.
const TARGETS: [(&str, &str, bool); 14] = [
    ("POST", "/v1/campaigns/spring/holds", true),
    ("POST", "/v1/campaigns/spring/claims?min_position=0.1", true),
    ("POST", "/v1/campaigns/spr%69ng/claims", true),
    ("POST", "/v1/campaigns/none/claims", true),
    ("POST", "http://x/v1/campaigns/spring/claims", true),
    ("POST", "/v1/campaigns/spring/codes/redeem", true),
    ("POST", "/v1/campaigns/spring/holds/h1/confirm", true),
    ("GET", "/v1/campaigns/spring", false),
    ("HEAD", "/v1/campaigns/spring", false),
    ("OPTIONS", "/v1/campaigns/spring/claims", false),
    ("PUT", "/v1/campaigns/spring/claims", false),
    ("DELETE", "/v1/campaigns/spring/claims/u1", false),
    ("POST", "/v1/campaigns/spring/claims/", true),
    ("POST", "/v1/campaigns/spring/waitlist/u1/leave", true),
];

/// Draws a request: most are plain, all are near to what is.
fn request(rng: &mut Rng) -> Drawn {
    let subject = rng.u32(..40);
    let body = match rng.u32(..10) {
        0 => format!(r#"{{"subject":"u{subject}","pool":"none"}}"#),
        1 => {
            let picks = r#"[{"pool":"hall","units":["A1"]}]"#;
            format!(r#"{{"subject":"u{subject}","id":"h{subject}","picks":{picks}}}"#)
        }
        2 => "{".to_owned(),
        _ => format!(r#"{{"subject":"u{subject}","pool":"main"}}"#),
    };
    let line = TARGETS.get(rng.usize(..24)).copied();
    let (method, target, has_body) = line.unwrap_or(("POST", CLAIMS, true));
    let mut what = rng.u32(..30);
    if [10, 18].contains(&what) && !target.ends_with("spring/claims") {
        what = 29;
    }
    // What is long is read by its handler: of what nobody reads, hyper looks at what has come already.
    let key = if rng.u32(..12) == 0 && ![10, 18].contains(&what) { "nobody" } else { KEY };
    let mut headers = vec![
        "host: x".to_owned(),
        format!("authorization: Bearer {key}"),
        "content-type: application/json".to_owned(),
    ];
    let mut sent = if has_body { body } else { String::new() };
    if what == 18 && has_body {
        sent.push_str(&" ".repeat(5_000));
    }
    let mut length = format!("content-length: {}", sent.len());
    match what {
        0 => length = format!("{length}\r\n{length}"),
        1 => length = format!("content-length: +{}", sent.len()),
        2 => length = format!("content-length: {}", sent.len() + 3),
        3 => length = format!("Content-LENGTH:{}  ", sent.len()),
        4 => length = "x-none: 1".to_owned(),
        5 if has_body => {
            length = "transfer-encoding: chunked".to_owned();
            sent = format!("{:x}\r\n{sent}\r\n0\r\n\r\n", sent.len());
        }
        6 => headers.push("expect: 100-continue".to_owned()),
        7 => headers.push("connection: keep-alive".to_owned()),
        8 => headers.push("connection: close".to_owned()),
        9 => headers.push("connection: upgrade\r\nupgrade: websocket".to_owned()),
        10 => headers.push(format!("x-long: {}", "a".repeat(rng.usize(3_000..9_000)))),
        11 => headers.extend((0..rng.u32(20..70)).map(|n| format!("x-{n}: {n}"))),
        12 => headers.push("x-folded: a\r\n b".to_owned()),
        13 => headers.push("x-umlaut: ü".to_owned()),
        14 => headers.push("origin: https://shop.example".to_owned()),
        15 => headers.push("content-encoding: gzip".to_owned()),
        16 => headers.push("no colon".to_owned()),
        17 => headers.push(" : a".to_owned()),
        _ => {}
    }
    headers.push(length);
    rng.shuffle(&mut headers);
    let version = match rng.u32(..40) {
        0 => "HTTP/1.0",
        1 => "HTTP/2.0",
        2 => "http/1.1",
        _ => "HTTP/1.1",
    };
    let begin = if rng.u32(..30) == 0 { "\r\n" } else { "" };
    let head = format!("{begin}{method} {target} {version}\r\n{}\r\n\r\n", headers.join("\r\n"));
    let is_usual = what > 18 && key == KEY && version == "HTTP/1.1" && target == CLAIMS;
    let cut_before = if is_usual && has_body { head.len() + sent.len() } else { head.len() - 1 };
    let mut bytes = (head + &sent).into_bytes();
    let is_hit = rng.u32(..8) == 0;
    if is_hit {
        let place = rng.usize(..bytes.len());
        match rng.u32(..3) {
            0 => bytes[place] = rng.u8(..),
            1 => drop(bytes.remove(place)),
            _ => bytes.insert(place, rng.u8(..)),
        }
    }
    Drawn { bytes, cut_before, is_changed: is_hit || [2, 4].contains(&what) }
}

/// Draws a conversation: some requests and what ends them, cut in many places or nowhere.
fn conversation(rng: &mut Rng) -> Vec<Vec<u8>> {
    let (mut pieces, mut piece) = (Vec::new(), Vec::new());
    let mut may_cut = rng.u32(..4) > 0;
    for _ in 0..rng.u32(1..5) {
        let Drawn { bytes, cut_before, is_changed } = request(rng);
        may_cut &= !is_changed;
        let mut from = 0;
        while may_cut && from < cut_before && rng.u32(..3) > 0 {
            let until = rng.usize(from..cut_before);
            piece.extend_from_slice(&bytes[from..until]);
            pieces.push(std::mem::take(&mut piece));
            from = until.max(from + 1).min(cut_before);
            piece.extend_from_slice(&bytes[until..from]);
        }
        piece.extend_from_slice(&bytes[from..]);
    }
    piece.extend_from_slice(LAST.as_bytes());
    pieces.push(piece);
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

#[tokio::test]
async fn the_own_reader_and_hyper_answer_the_same_bytes_alike() {
    let core = RuntimeThread::start("core").unwrap();
    let hyper = Serving::start(Setup { hyper_only: true, ..Setup::default() }, None).await;
    let own = Serving::start(Setup::default(), None).await;
    let moving = Serving::start(Setup::default(), Some(&core)).await;
    let asked = |name| std::env::var(name).ok().map(|asked: String| asked.parse().unwrap());
    let from = asked("FIRSTCOME_FROM").unwrap_or(0);
    let count = asked("FIRSTCOME_CONVERSATIONS").unwrap_or(CONVERSATIONS);
    let mut yes = 0;
    for seed in from..from + count {
        let pieces = conversation(&mut Rng::with_seed(seed));
        let said = hyper.answers(&pieces).await;
        yes += said.matches("HTTP/1.1 20").count();
        for (what, server) in [("its own reader", &own), ("its event loop", &moving)] {
            let here = server.answers(&pieces).await;
            let sent = pieces.iter().map(|piece| piece.escape_ascii().to_string());
            let sent = sent.collect::<Vec<_>>().join("\n--\n");
            assert_eq!(here, said, "seed {seed}, {what} (left) and hyper (right) of\n{sent}");
        }
    }
    // Besides the probe at the end of each: most conversations are understood.
    assert!(2 * yes as u64 > count, "{yes}");
    println!("{count} conversations, {yes} yes");
    for server in [hyper, own, moving] {
        server.stop().await;
    }
    core.stop().await;
}

/// Reads an answer as it comes, slowly at first, and returns how many heads there were.
async fn answers_of_a_slow_reader(server: &Serving) -> usize {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4 << 10).unwrap();
    let mut stream = socket.connect(server.address).await.unwrap();
    stream.write_all(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n").await.unwrap();
    // The answer is larger than what the two sockets take.
    sleep(Duration::from_millis(100)).await;
    stream.write_all(LAST.as_bytes()).await.unwrap();
    sleep(Duration::from_millis(100)).await;
    let mut all = Vec::new();
    timeout(LONGEST, stream.read_to_end(&mut all)).await.expect("it ends").unwrap();
    assert!(all.len() > 100_000, "{} bytes", all.len());
    String::from_utf8_lossy(&all).matches("HTTP/1.1 200").count()
}

/// Starts a server of each kind: with hyper alone and with the own reader, without an event loop and with one.
async fn one_of_each_kind(core: &RuntimeThread) -> Vec<(String, Serving)> {
    let mut servers = Vec::new();
    for hyper_only in [true, false] {
        for event_loop in [None, Some(core)] {
            let kind = format!("hyper only: {hyper_only}, event loop: {}", event_loop.is_some());
            let setup = Setup { hyper_only, ..Setup::default() };
            servers.push((kind, Serving::start(setup, event_loop).await));
        }
    }
    servers
}

#[tokio::test]
async fn a_request_that_comes_while_an_answer_still_leaves_is_answered() {
    let core = RuntimeThread::start("core").unwrap();
    for (kind, server) in one_of_each_kind(&core).await {
        assert_eq!(answers_of_a_slow_reader(&server).await, 2, "{kind}");
        server.stop().await;
    }
    core.stop().await;
}

#[tokio::test]
async fn a_request_whose_head_is_there_is_answered_though_the_server_stops() {
    let core = RuntimeThread::start("core").unwrap();
    for (kind, server) in one_of_each_kind(&core).await {
        let mut stream = TcpStream::connect(server.address).await.unwrap();
        let body = r#"{"subject":"ann","pool":"main"}"#;
        let head = format!(
            "POST {CLAIMS} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {KEY}\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        sleep(Duration::from_millis(20)).await;
        server.stop.cancel();
        // Longer than the own reader waits for a body.
        sleep(Duration::from_millis(100)).await;
        stream.write_all(body.as_bytes()).await.unwrap();
        let mut answer = String::new();
        timeout(LONGEST, stream.read_to_string(&mut answer)).await.expect("it ends").unwrap();
        assert!(answer.starts_with("HTTP/1.1 201"), "{kind}: {answer:?}");
        assert!(answer.contains("connection: close"), "{kind}: {answer:?}");
        server.stop().await;
    }
    core.stop().await;
}
