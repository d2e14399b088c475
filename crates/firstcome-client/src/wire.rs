//! One HTTP/1.1 connection, and how far a request got before it broke.

use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use super::address::Server;
use super::failure::Failure;
use super::routes::Ask;
use firstcome_api::key::Secret;

/// The largest answer read; a page of 10,000 results stays far below it.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

#[derive(Debug)]
pub(super) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    driver: JoinHandle<()>,
}

/// What became of a request on this connection.
pub(super) enum Sent {
    /// An answer came back whole.
    Answered { status: u16, body: Vec<u8> },
    /// The other side had closed the connection before any of the request was written.
    Closed,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    pub(super) async fn open(server: &Server, deadline: Instant) -> Result<Self, Failure> {
        let unsent = |reason: String| Failure::unsent(server, reason);
        let stream = timeout_at(deadline, TcpStream::connect(server.authority()))
            .await
            .map_err(|_| unsent("connecting took too long".to_owned()))?
            .map_err(|error| unsent(format!("cannot connect: {error}")))?;
        stream.set_nodelay(true).map_err(|error| unsent(error.to_string()))?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| unsent(error.to_string()))?;
        // The error of a connection is also the error of the request that was on it.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, driver })
    }

    pub(super) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    pub(super) async fn send(
        &mut self,
        server: &Server,
        key: Option<&Secret>,
        ask: &Ask,
        deadline: Instant,
    ) -> Result<Sent, Failure> {
        let request = request(server, key, ask).map_err(|error| {
            Failure::unsent(server, format!("the request cannot be written: {error}"))
        })?;
        let harmless = ask.only_reads();
        if timeout_at(deadline, self.sender.ready()).await.is_ok_and(|ready| ready.is_err()) {
            return Ok(Sent::Closed);
        }
        let late = || Failure::cut(server, harmless, "no answer in time".to_owned());
        let answer = timeout_at(deadline, self.sender.try_send_request(request))
            .await
            .map_err(|_| late())?;
        let answer = match answer {
            Ok(answer) => answer,
            Err(mut error) => {
                // The message comes back exactly when none of it was written.
                if error.take_message().is_some() {
                    return Ok(Sent::Closed);
                }
                let reason =
                    format!("the connection broke after the request was sent: {}", error.error());
                return Err(Failure::cut(server, harmless, reason));
            }
        };
        let status = answer.status().as_u16();
        let body = http_body_util::Limited::new(answer.into_body(), LARGEST_ANSWER).collect();
        let body = timeout_at(deadline, body).await.map_err(|_| late())?.map_err(|error| {
            Failure::cut(server, harmless, format!("the answer broke off in the middle: {error}"))
        })?;
        Ok(Sent::Answered { status, body: body.to_bytes().to_vec() })
    }
}

fn request(
    server: &Server,
    key: Option<&Secret>,
    ask: &Ask,
) -> Result<hyper::Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = hyper::Request::builder()
        .method(ask.method)
        .uri(&ask.path)
        .header("host", server.authority())
        .header("user-agent", concat!("firstcome/", env!("CARGO_PKG_VERSION")));
    if let Some(key) = key {
        request = request.header("authorization", format!("Bearer {}", key.reveal()));
    }
    for (name, value) in &ask.headers {
        request = request.header(*name, value);
    }
    let body = match &ask.body {
        Some(body) => {
            request = request.header("content-type", "application/json");
            Bytes::from(body.to_string())
        }
        None => Bytes::new(),
    };
    request.body(Full::new(body))
}
