//! What servers for tests share that keep their promises, or break exactly one of them: how they read and answer.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::promise::Promise;

/// A server for tests.
pub(crate) trait FaultyServer: Clone + Send + Sync + 'static {
    /// Returns the status and the answer to a request; `None` cuts the connection.
    fn answer(
        &self,
        request: &TestRequest<'_>,
    ) -> impl Future<Output = Option<(u16, Value)>> + Send;

    /// Returns its results.
    fn lines(&self) -> Vec<Value>;
}

/// A request to a server for tests.
pub(crate) struct TestRequest<'a> {
    pub(crate) method: &'a str,
    /// Without its query.
    pub(crate) path: &'a str,
    pub(crate) key: Option<&'a str>,
    pub(crate) body: Value,
}

impl TestRequest<'_> {
    /// Returns the parts of the path behind the campaign.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.path.split('/').skip(4).collect()
    }
}

/// Starts one and returns its address.
pub(crate) fn start(server: impl FaultyServer) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    start_on(listener, server);
    address
}

/// Starts one that listens already.
pub(crate) fn start_on(listener: std::net::TcpListener, server: impl FaultyServer) {
    listener.set_nonblocking(true).unwrap();
    let listener = TcpListener::from_std(listener).unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let server = server.clone();
            tokio::spawn(async move { serve(&server, stream).await });
        }
    });
}

/// Serves one connection until either side closes it.
async fn serve(server: &impl FaultyServer, mut stream: TcpStream) -> Option<()> {
    let mut buffer = Vec::new();
    loop {
        let (request, body) = read_request(&mut stream, &mut buffer).await?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let mut words = request.split(' ');
        let (method, path) = (words.next()?, words.next()?);
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let (status, answer) = match path.ends_with("/results") {
            true => (200, results(server, query)),
            false => {
                let key = request.lines().find_map(|line| line.strip_prefix("idempotency-key: "));
                server.answer(&TestRequest { method, path, key, body }).await?
            }
        };
        let answer = answer.to_string();
        let answer =
            format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n{answer}", answer.len());
        stream.write_all(answer.as_bytes()).await.ok()?;
    }
}

fn results(server: &impl FaultyServer, query: &str) -> Value {
    let after = query.split("after=").nth(1).and_then(|rest| rest.split('&').next());
    let after: usize = after.unwrap().parse().unwrap();
    let lines = server.lines();
    // Small pages, so that turning them is tested too.
    let page: Vec<&Value> = lines.iter().skip(after).take(7).collect();
    let next = (after + page.len() < lines.len()).then_some(after + page.len());
    json!({"results": page, "next": next, "last": lines.len(), "position": "0.1", "durable": true})
}

/// Returns a refusal.
pub(crate) fn no(status: u16, outcome: &str, more: Value) -> (u16, Value) {
    let mut problem = more;
    problem["outcome"] = outcome.into();
    problem["title"] = outcome.into();
    problem["changed"] = "no".into();
    (status, problem)
}

/// Returns the names of the broken promises.
pub(crate) fn broken(promises: &[Promise]) -> Vec<&'static str> {
    promises.iter().filter(|promise| !promise.kept()).map(|promise| promise.name).collect()
}

async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    loop {
        let end = buffer.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4);
        if let Some(end) = end {
            let head = String::from_utf8_lossy(&buffer[..end]).to_ascii_lowercase();
            let length =
                head.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next());
            let length: usize = length.map_or(0, |length| length.parse().unwrap());
            if buffer.len() >= end + length {
                let request = String::from_utf8_lossy(&buffer[..end]).into_owned();
                let body = buffer[end..end + length].to_vec();
                buffer.drain(..end + length);
                return Some((request, body));
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
