//! A server written by hand that does with each request what its script says.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use firstcome_client::{Builder, Client};
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

pub(crate) const KEY: &str = "the-key-of-the-tests";

/// An answer that a claim was won.
pub(crate) const WON: &str = r#"{"outcome":"won","campaign":"spring","pool":"main","subject":"ann","rank":17,"at":"2027-03-01T01:00:00.000000Z","position":"0.7","decided":"journal"}"#;
/// An answer that a hold was taken.
pub(crate) const HELD: &str = r#"{"outcome":"held","hold":"h1","campaign":"hall","subject":"ann","units":[{"pool":"main","unit":"A1"}],"expires_at":"2027-03-01T01:00:00.000000Z","position":"0.7","decided":"journal"}"#;
/// An answer that a hold lasts longer.
pub(crate) const EXTENDED: &str = r#"{"outcome":"extended","hold":"h1","campaign":"hall","subject":"ann","expires_at":"2027-03-01T01:00:00.000000Z","position":"0.7","decided":"journal"}"#;

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Fate {
    /// Reads it and closes the connection.
    Cut,
    /// Answers half, and closes the connection.
    CutInTheAnswer,
    /// Never answers.
    Hang,
    /// Sends a byte of an answer every 10 ms, without end.
    Drip,
    /// Sends these bytes, which are no HTTP.
    Garbage,
    /// Answers this status and document.
    Say(u16, String),
    /// Answers, and closes the connection.
    SayAndClose(u16, String),
}

impl Fate {
    pub(crate) fn won() -> Self {
        Self::Say(201, WON.to_owned())
    }

    /// Answers a problem with more members.
    pub(crate) fn problem(status: u16, outcome: &str, more: &str) -> Self {
        Self::Say(status, format!(r#"{{"outcome":"{outcome}","detail":"as the test says"{more}}}"#))
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    /// Method and path.
    pub(crate) line: String,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Request {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let find = |line: &'_ str| line.strip_prefix(name)?.strip_prefix(": ").map(str::len);
        self.head.lines().find_map(|line| find(line).map(|length| &line[line.len() - length..]))
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Debug)]
struct Shared {
    /// What is done with the next requests; the last one stays.
    script: Mutex<Vec<Fate>>,
    requests: Mutex<Vec<Request>>,
    /// Connections that are open, and how many were at most.
    open: watch::Sender<(usize, usize)>,
    /// Connections that were made.
    made: watch::Sender<usize>,
    came: watch::Sender<usize>,
}

/// The server; it ends when dropped.
#[derive(Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Peer {
    pub(crate) async fn start(script: impl Into<Vec<Fate>>) -> Self {
        Self::listen(script.into(), None, "127.0.0.1:0").await
    }

    pub(crate) async fn secured(tls: TlsAcceptor, at: &str) -> Self {
        Self::listen(vec![Fate::won()], Some(tls), at).await
    }

    async fn listen(script: Vec<Fate>, tls: Option<TlsAcceptor>, at: &str) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            script: Mutex::new(script),
            requests: Mutex::default(),
            open: watch::Sender::new((0, 0)),
            made: watch::Sender::new(0),
            came: watch::Sender::new(0),
        });
        let each = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (shared, tls) = (Arc::clone(&each), tls.clone());
                connections.spawn(async move {
                    shared.made.send_modify(|made| *made += 1);
                    shared.open.send_modify(|(now, most)| {
                        *now += 1;
                        *most = (*most).max(*now);
                    });
                    match tls {
                        // Who does not trust it goes away.
                        Some(tls) => {
                            if let Ok(stream) = tls.accept(stream).await {
                                drop(shared.converse(stream).await);
                            }
                        }
                        None => drop(shared.converse(stream).await),
                    }
                    shared.open.send_modify(|(now, _)| *now -= 1);
                });
            }
        });
        Self { address, shared, accepting: accepting.abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn builder(&self) -> Builder {
        Client::builder(&self.url()).key(KEY).deadline(Duration::from_secs(20))
    }

    pub(crate) fn client(&self) -> Client {
        self.builder().build().unwrap()
    }

    pub(crate) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().unwrap().clone()
    }

    /// Waits until so many requests came.
    pub(crate) async fn came(&self, requests: usize) {
        self.shared.came.subscribe().wait_for(|came| *came >= requests).await.unwrap();
    }

    /// Waits until so many connections are open.
    pub(crate) async fn open(&self, connections: usize) {
        self.shared.open.subscribe().wait_for(|(now, _)| *now == connections).await.unwrap();
    }

    /// Connections that were open at most.
    pub(crate) fn most_open(&self) -> usize {
        self.shared.open.borrow().1
    }

    /// Connections that were made.
    pub(crate) fn made(&self) -> usize {
        *self.shared.made.borrow()
    }

    pub(crate) fn turns(&self, fate: Fate) {
        *self.shared.script.lock().unwrap() = vec![fate];
    }
}

impl Shared {
    fn next(&self) -> Fate {
        let mut script = self.script.lock().unwrap();
        if script.len() > 1 { script.remove(0) } else { script[0].clone() }
    }

    async fn converse(&self, stream: impl AsyncRead + AsyncWrite + Unpin) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        while let Some(request) = read(&mut stream).await? {
            self.requests.lock().unwrap().push(request);
            self.came.send_modify(|came| *came += 1);
            match self.next() {
                Fate::Cut => return Ok(()),
                Fate::CutInTheAnswer => {
                    let half = b"HTTP/1.1 201 Created\r\ncontent-length: 100\r\n\r\n{\"outcome\":";
                    stream.write_all(half).await?;
                    return stream.flush().await;
                }
                Fate::Hang => {
                    // Until the client goes away.
                    stream.read_u8().await?;
                }
                Fate::Drip => {
                    stream
                        .write_all(b"HTTP/1.1 201 Created\r\ncontent-length: 100000\r\n\r\n")
                        .await?;
                    loop {
                        stream.write_all(b" ").await?;
                        stream.flush().await?;
                        tokio::time::sleep(Duration::from_millis(10)).await;
                    }
                }
                Fate::Garbage => {
                    stream.write_all(b"\x00\xff that is no HTTP\r\n\r\n").await?;
                    return stream.flush().await;
                }
                Fate::Say(status, body) => say(&mut stream, status, &body).await?,
                Fate::SayAndClose(status, body) => return say(&mut stream, status, &body).await,
            }
        }
        Ok(())
    }
}

async fn say(
    stream: &mut (impl AsyncWrite + Unpin),
    status: u16,
    body: &str,
) -> std::io::Result<()> {
    let length = body.len();
    let answer = format!("HTTP/1.1 {status} As\r\ncontent-length: {length}\r\n\r\n{body}");
    stream.write_all(answer.as_bytes()).await?;
    stream.flush().await
}

/// Reads a request with its body; none at the end.
async fn read(
    stream: &mut BufReader<impl AsyncRead + AsyncWrite + Unpin>,
) -> std::io::Result<Option<Request>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if stream.read_line(&mut head).await? == 0 {
            return Ok(None);
        }
    }
    let (line, head) = head.split_once("\r\n").unwrap();
    let line = line.trim_end_matches(" HTTP/1.1").to_owned();
    let mut request = Request { line, head: head.to_owned(), body: String::new() };
    let length = request.header("content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    request.body = String::from_utf8(body).unwrap();
    Ok(Some(request))
}
