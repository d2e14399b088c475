//! A receiver of webhooks on a free port, which answers as a test says and keeps what it was sent.

use crate::wire::Talk;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// What it does about a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Reply {
    /// Answers with a status.
    Status(u16),
    /// Cuts the connection after it has read the request.
    Cut,
    /// Never answers.
    Nothing,
}

/// An event as it came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) id: String,
    pub(crate) signed_at: i64,
    pub(crate) signature: String,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    /// Returns the number of the result.
    pub(crate) fn number(&self) -> u64 {
        self.json()["data"]["number"].as_u64().unwrap()
    }

    /// Says whether it is signed with each of these secrets, in this order, and no other.
    pub(crate) fn is_signed_with(&self, secrets: &[&str]) -> bool {
        let signed = format!("{}.{}.{}", self.id, self.signed_at, self.body);
        let of = |secret: &&str| {
            let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap()).unwrap();
            let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &key);
            format!("v1,{}", STANDARD.encode(ring::hmac::sign(&key, signed.as_bytes())))
        };
        self.signature == secrets.iter().map(of).collect::<Vec<_>>().join(" ")
    }
}

type Script = dyn Fn(usize, &Received) -> Reply + Send + Sync;

/// The receiver. Its threads end with the test.
pub(crate) struct Receiver {
    address: SocketAddr,
    sent: Arc<Mutex<Vec<Received>>>,
}

impl Receiver {
    /// Starts one that answers as `script` says, which is given how many events came before.
    pub(crate) fn start(
        script: impl Fn(usize, &Received) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let sent = Arc::<Mutex<Vec<Received>>>::default();
        let (kept, script): (_, Arc<Script>) = (Arc::clone(&sent), Arc::new(script));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let stream = stream?;
                let (kept, script) = (Arc::clone(&kept), Arc::clone(&script));
                // A connection that ends while it is read ends its thread.
                std::thread::spawn(move || drop(serve(stream, &kept, &*script)));
            }
            Ok::<_, std::io::Error>(())
        });
        Self { address, sent }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook?shop=1", self.address)
    }

    pub(crate) fn count(&self) -> usize {
        self.sent.lock().unwrap().len()
    }

    /// Waits until it was sent so many events, and returns all.
    #[track_caller]
    pub(crate) fn received(&self, count: usize) -> Vec<Received> {
        let end = Instant::now() + Duration::from_secs(60);
        while self.count() < count {
            assert!(Instant::now() < end, "{} of {count} events came", self.count());
            std::thread::sleep(Duration::from_millis(5));
        }
        self.sent.lock().unwrap().clone()
    }

    /// Waits until what is shown of a webhook is as wanted.
    #[track_caller]
    pub(crate) fn until(
        &self,
        talk: &mut Talk,
        webhook: &Value,
        is: impl Fn(&Value) -> bool,
    ) -> Value {
        let path = format!("/v1/webhooks/{}", webhook["webhook"].as_str().unwrap());
        let end = Instant::now() + Duration::from_secs(60);
        loop {
            let shown = talk.get(&path).json();
            if is(&shown) {
                return shown;
            }
            assert!(Instant::now() < end, "{shown}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until it is written that a webhook was sent all results up to a number.
    #[track_caller]
    pub(crate) fn until_through(&self, talk: &mut Talk, webhook: &Value, number: u64) {
        self.until(talk, webhook, |shown| shown["through"] == number && shown["waiting"] == 0);
    }
}

/// Reads requests and answers them, until the connection ends.
fn serve(stream: TcpStream, sent: &Mutex<Vec<Received>>, script: &Script) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut stream = stream;
    loop {
        let (mut head, mut line) = (Vec::new(), String::new());
        loop {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if line.trim().is_empty() {
                break;
            }
            head.push(line.trim().to_owned());
        }
        let header = |name: &str| {
            let found = head.iter().find_map(|line| line.strip_prefix(&format!("{name}: ")));
            found.unwrap_or_default().to_owned()
        };
        assert!(head[0].starts_with("POST /hook?shop=1 HTTP/1.1"), "{head:?}");
        assert_eq!(header("content-type"), "application/json");
        let mut body = vec![0; header("content-length").parse().unwrap()];
        reader.read_exact(&mut body)?;
        let event = Received {
            id: header("webhook-id"),
            signed_at: header("webhook-timestamp").parse().unwrap(),
            signature: header("webhook-signature"),
            body: String::from_utf8(body).unwrap(),
        };
        let mut all = sent.lock().unwrap();
        let reply = script(all.len(), &event);
        all.push(event);
        drop(all);
        match reply {
            Reply::Status(status) => {
                // At once: a second part would wait for the other end to say that it has the first.
                let answer = format!("HTTP/1.1 {status} Said\r\ncontent-length: 0\r\n\r\n");
                stream.write_all(answer.as_bytes())?;
            }
            Reply::Cut => return Ok(()),
            Reply::Nothing => std::thread::sleep(Duration::from_secs(600)),
        }
    }
}
