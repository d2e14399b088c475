//! The proof that NATS servers sync each write: what their monitoring says.

use firstcome_journal::nats::Nats;
use firstcome_node::log;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::collections::BTreeMap;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

/// How long a monitoring address may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// How often the proof is made anew.
const PROVE_EVERY: Duration = Duration::from_secs(60);
/// The largest answer that is read.
const LARGEST_ANSWER: usize = 1 << 20;

/// Proves anew each minute, until it is dropped.
pub(super) struct Watching(JoinHandle<()>);

impl Drop for Watching {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Proves that each server that has the journal's stream syncs each write; says why it is not proven otherwise.
pub(super) async fn prove(nats: &Nats, monitors: &[String]) -> Result<(), String> {
    if monitors.is_empty() {
        return Err("no monitoring address is named (nats_monitor)".to_owned());
    }
    let mut synced = BTreeMap::new();
    for monitor in monitors {
        let said = timeout(ANSWER_WITHIN, ask(monitor)).await;
        let said = said.unwrap_or_else(|_| Err("it did not answer in time".to_owned()));
        let said = said.map_err(|why| format!("{monitor}: {why}"))?;
        let name = said["server_name"].as_str().unwrap_or_default().to_owned();
        synced.insert(name, said["jetstream"]["config"]["sync_always"] == true);
    }
    for server in nats.servers().await.map_err(|failure| failure.to_string())? {
        match synced.get(&server) {
            Some(true) => {}
            Some(false) => return Err(format!("the server {server} does not sync each write")),
            None => return Err(format!("no monitoring address of the server {server} is named")),
        }
    }
    Ok(())
}

/// Begins to prove anew each minute, and logs it where that fails.
pub(super) fn watch(nats: Nats, monitors: Vec<String>) -> Watching {
    Watching(tokio::spawn(async move {
        let mut proven = true;
        loop {
            sleep(PROVE_EVERY).await;
            let now = prove(&nats, &monitors).await;
            if let (true, Err(why)) = (proven, &now) {
                log!(
                    StoreWarning,
                    "it is not proven any more that the NATS servers sync each write: {why}; set `sync_interval: always` \
                     on each of them"
                );
            }
            proven = now.is_ok();
        }
    }))
}

/// Asks a monitoring address what its server is and does.
async fn ask(monitor: &str) -> Result<Value, String> {
    let place = monitor.strip_prefix("http://").unwrap_or(monitor).trim_end_matches('/');
    let stream = TcpStream::connect(place).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    let request = http::Request::get("/varz").header(http::header::HOST, place);
    let request = request.body(Empty::<Bytes>::new()).map_err(|error| error.to_string())?;
    // The sender goes with the answer, and the connection with the sender.
    let answer = async move {
        let answer = sender.send_request(request).await.map_err(|error| error.to_string())?;
        let body = Limited::new(answer.into_body(), LARGEST_ANSWER).collect().await;
        let body = body.map_err(|error| error.to_string())?.to_bytes();
        serde_json::from_slice(&body).map_err(|_| "it is no monitoring of NATS".to_owned())
    };
    let read = async { drop(connection.await) };
    let (answer, ()) = tokio::join!(answer, read);
    answer
}
