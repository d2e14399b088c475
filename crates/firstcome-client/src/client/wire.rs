//! One HTTP/1.1 connection, and how far a request got before it broke.

use std::io::ErrorKind;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};

use crate::client::address::Server;
use crate::client::tls::ClientTls;
use crate::routes::Ask;
use firstcome_api::key::Secret;

/// The largest answer read; a page of 10,000 results stays far below it.
const LARGEST_ANSWER: usize = 64 * 1024 * 1024;

/// A connection to one server. When it is dropped it is closed, with the request that is on it.
#[derive(Debug)]
pub(crate) struct Connection<B = Full<Bytes>> {
    sender: SendRequest<B>,
    driver: JoinHandle<()>,
}

/// An answer that came back whole.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) status: u16,
    /// What its header `retry-after` says.
    pub(crate) retry_after: Option<Duration>,
    pub(crate) body: Vec<u8>,
}

/// A request without a whole answer.
#[derive(Debug)]
pub(crate) enum Broken {
    /// Nothing of it was written: the other side had closed the connection.
    Closed,
    /// Nothing of it was written, for this reason.
    NotSent(String),
    /// Nothing of it was written: this server is not the one that is meant, or cannot show that it is.
    NotTrusted(String),
    /// It was written, or a part of it was.
    Lost(String),
}

/// What every request to a server carries.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sender<'a> {
    pub(crate) server: &'a Server,
    pub(crate) key: Option<&'a Secret>,
    pub(crate) agent: &'a str,
}

impl<B> Drop for Connection<B> {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl<B> Connection<B>
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    /// Connects, and secures the connection where the address asks for it.
    pub(crate) async fn open(
        server: &Server,
        tls: Result<&ClientTls, &String>,
        deadline: Instant,
    ) -> Result<Self, Broken> {
        let opened = timeout_at(deadline, Self::connect(server, tls)).await;
        opened.unwrap_or_else(|_| Err(Broken::NotSent("connecting took too long".to_owned())))
    }

    async fn connect(server: &Server, tls: Result<&ClientTls, &String>) -> Result<Self, Broken> {
        // Without TLS in this build no connection is worth making.
        let no_tls = |why: &String| Broken::NotTrusted(why.clone());
        let tls = if server.is_secure() { Some(tls.map_err(no_tls)?) } else { None };
        let stream = TcpStream::connect((server.host(), server.port()))
            .await
            .map_err(|error| Broken::NotSent(format!("cannot connect: {error}")))?;
        stream.set_nodelay(true).map_err(|error| Broken::NotSent(error.to_string()))?;
        match tls {
            None => Self::shake_hands(stream).await,
            Some(tls) => {
                let secured = tls.connect(server.host(), stream).await.map_err(|error| {
                    let why = format!("TLS: {error}");
                    // What is wrong with the certificate is wrong the next time, too; a cut may not be.
                    let wrong = [ErrorKind::InvalidData, ErrorKind::InvalidInput];
                    let of = if wrong.contains(&error.kind()) {
                        Broken::NotTrusted
                    } else {
                        Broken::NotSent
                    };
                    of(why)
                })?;
                Self::shake_hands(secured).await
            }
        }
    }

    async fn shake_hands<S>(stream: S) -> Result<Self, Broken>
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shaken = http1::handshake(TokioIo::new(stream)).await;
        let (sender, connection) = shaken.map_err(|error| Broken::NotSent(error.to_string()))?;
        // The error of a connection is also the error of the request that was on it.
        let driver = tokio::spawn(async move { drop(connection.await) });
        Ok(Self { sender, driver })
    }

    /// Sends a request until the head of its answer is there; gives it.
    pub(crate) async fn begin(
        &mut self,
        request: hyper::Request<B>,
        deadline: Instant,
    ) -> Result<hyper::Response<Incoming>, Broken> {
        match timeout_at(deadline, self.sender.ready()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(Broken::Closed),
            Err(_) => return Err(Broken::NotSent("no connection in time".to_owned())),
        }
        let answer = timeout_at(deadline, self.sender.try_send_request(request))
            .await
            .map_err(|_| Broken::Lost("no answer in time".to_owned()))?;
        answer.map_err(|mut error| {
            // The message comes back exactly when none of it was written.
            if error.take_message().is_some() {
                return Broken::Closed;
            }
            let why = error.error();
            Broken::Lost(format!("the connection broke after the request was sent: {why}"))
        })
    }
}

impl Connection {
    pub(crate) fn is_open(&self) -> bool {
        !self.sender.is_closed()
    }

    /// Sends a request and reads its answer, until the deadline.
    pub(crate) async fn send(
        &mut self,
        sender: Sender<'_>,
        ask: &Ask,
        deadline: Instant,
    ) -> Result<Answered, Broken> {
        let request = request(sender, ask)
            .map_err(|error| Broken::NotSent(format!("the request cannot be written: {error}")))?;
        let answer = self.begin(request, deadline).await?;
        let late = |_| Broken::Lost("no answer in time".to_owned());
        timeout_at(deadline, read(answer)).await.map_err(late)?
    }
}

/// Reads an answer to its end.
pub(crate) async fn read(answer: hyper::Response<Incoming>) -> Result<Answered, Broken> {
    let status = answer.status().as_u16();
    let retry_after = answer.headers().get("retry-after");
    let retry_after = retry_after.and_then(|seconds| seconds.to_str().ok()?.parse().ok());
    let body = Limited::new(answer.into_body(), LARGEST_ANSWER).collect().await;
    let body =
        body.map_err(|error| Broken::Lost(format!("the answer broke off in the middle: {error}")))?;
    let body = body.to_bytes().to_vec();
    Ok(Answered { status, retry_after: retry_after.map(Duration::from_secs), body })
}

fn request(
    sender: Sender<'_>,
    ask: &Ask,
) -> Result<hyper::Request<Full<Bytes>>, hyper::http::Error> {
    let mut request = head(sender, ask.method, &ask.path);
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

/// Begins a request with what each of them has.
pub(crate) fn head(sender: Sender<'_>, method: &str, path: &str) -> hyper::http::request::Builder {
    let request = hyper::Request::builder().method(method);
    let request = match sender.server.path() {
        "" => request.uri(path),
        base => request.uri(format!("{base}{path}")),
    };
    let request =
        request.header("host", sender.server.authority()).header("user-agent", sender.agent);
    match sender.key {
        Some(key) => request.header("authorization", format!("Bearer {}", key.reveal())),
        None => request,
    }
}
