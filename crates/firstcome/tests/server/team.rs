//! The team's own service: a real server that answers as it is told to, and counts who asks.

use serde_json::Value;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio_rustls::TlsAcceptor;

/// What it does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Mood {
    /// Answers this.
    Says(u16, String),
    /// Answers yes once it is let go.
    Hangs,
    /// Hangs up without a word.
    Closes,
    /// Hangs up in the middle of its answer.
    CutsOff,
}

impl Mood {
    pub(crate) fn yes() -> Self {
        Self::Says(200, r#"{"eligible": true}"#.to_owned())
    }

    pub(crate) fn no() -> Self {
        Self::Says(200, r#"{"eligible": false, "reason": "members only"}"#.to_owned())
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Value,
}

struct Shared {
    mood: Mutex<Mood>,
    asked: Mutex<Vec<Asked>>,
    calls: watch::Sender<usize>,
    given_up: watch::Sender<usize>,
    let_go: Semaphore,
}

/// The service; it ends when dropped.
pub(crate) struct Team {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    accepting: AbortHandle,
}

impl Team {
    pub(crate) async fn start(mood: Mood) -> Self {
        Self::listen(mood, None, "127.0.0.1:0").await
    }

    /// Starts where another one was.
    pub(crate) async fn at(address: SocketAddr, mood: Mood) -> Self {
        Self::listen(mood, None, &address.to_string()).await
    }

    pub(crate) async fn with_tls(mood: Mood, tls: TlsAcceptor) -> Self {
        Self::listen(mood, Some(tls), "127.0.0.1:0").await
    }

    async fn listen(mood: Mood, tls: Option<TlsAcceptor>, at: &str) -> Self {
        let listener = TcpListener::bind(at).await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            mood: Mutex::new(mood),
            asked: Mutex::default(),
            calls: watch::Sender::new(0),
            given_up: watch::Sender::new(0),
            let_go: Semaphore::new(0),
        });
        let each = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (shared, tls) = (Arc::clone(&each), tls.clone());
                connections.spawn(async move {
                    match tls {
                        // Whoever does not trust it goes away.
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => shared.converse(stream).await,
                            Err(_) => None,
                        },
                        None => shared.converse(stream).await,
                    }
                });
            }
        });
        Self { address, shared, accepting: accepting.abort_handle() }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/eligible", self.address)
    }

    pub(crate) fn turns(&self, mood: Mood) {
        *self.shared.mood.lock().unwrap() = mood;
    }

    /// Lets so many who hang have their yes.
    pub(crate) fn lets_go(&self, many: usize) {
        self.shared.let_go.add_permits(many);
    }

    pub(crate) fn calls(&self) -> usize {
        *self.shared.calls.borrow()
    }

    /// Waits until it has been called so often.
    pub(crate) async fn called(&self, times: usize) {
        self.shared.calls.subscribe().wait_for(|calls| *calls >= times).await.unwrap();
    }

    /// Waits until so many hung up before they had their answer.
    pub(crate) async fn given_up(&self, times: usize) {
        self.shared.given_up.subscribe().wait_for(|many| *many >= times).await.unwrap();
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Shared {
    /// Answers one request after another; ends when either side hangs up.
    async fn converse(&self, stream: impl AsyncRead + AsyncWrite + Unpin) -> Option<()> {
        let mut stream = BufReader::new(stream);
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if stream.read_line(&mut head).await.ok()? == 0 {
                    return None;
                }
            }
            let lower = head.to_ascii_lowercase();
            let length = lower.split("content-length: ").nth(1)?.lines().next()?.parse().ok()?;
            let mut body = vec![0; length];
            stream.read_exact(&mut body).await.ok()?;
            let body = serde_json::from_slice(&body).unwrap();
            self.asked.lock().unwrap().push(Asked { head, body });
            let mood = self.mood.lock().unwrap().clone();
            self.calls.send_modify(|calls| *calls += 1);
            let (status, text) = match mood {
                Mood::Says(status, text) => (status, text),
                Mood::Closes => return None,
                Mood::CutsOff => {
                    let half = "HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{\"elig";
                    stream.write_all(half.as_bytes()).await.ok()?;
                    return stream.shutdown().await.ok();
                }
                Mood::Hangs => {
                    let mut byte = [0];
                    tokio::select! {
                        let_go = self.let_go.acquire() => let_go.unwrap().forget(),
                        _ = stream.read(&mut byte) => {
                            self.given_up.send_modify(|many| *many += 1);
                            return None;
                        }
                    }
                    (200, r#"{"eligible": true}"#.to_owned())
                }
            };
            let answer = format!(
                "HTTP/1.1 {status} Said\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{text}",
                text.len()
            );
            stream.write_all(answer.as_bytes()).await.ok()?;
        }
    }
}
