//! The proof that NATS servers sync each write: what their monitoring says.

use super::settings::Watching;
use firstcome_http::Durability;
use firstcome_journal::Journal;
use firstcome_journal::nats::{self, Nats};
use firstcome_node::Event::DurabilityUnproven;
use firstcome_node::log;
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

/// How long a monitoring address may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(3);
/// How often a proof may fail for want of an answer until the last one counts no more, in pauses between two of them.
const PROOF_COUNTS_FOR: u32 = 3;
/// The pause after a proof for which an answer was missing.
const ASK_AGAIN: Duration = Duration::from_secs(5);
/// The largest answer that is read.
const LARGEST_ANSWER: usize = 1 << 20;

/// Why it is not proven that the servers sync each write.
#[derive(Debug)]
pub(super) enum NotProven {
    /// A server does not, or nobody can say of it.
    Wrong(String),
    /// An answer is missing, which is no proof of the contrary.
    Silent(String),
}

impl fmt::Display for NotProven {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Wrong(why) | Self::Silent(why)) = self;
        f.write_str(why)
    }
}

/// Begins to prove anew after each pause, and at once where another server process answers than before. Gives what is
/// promised, beginning with the proof of the start.
pub(super) fn watch_proof(
    nats: &Nats,
    monitors: &[String],
    every: Duration,
    proof: Result<(), NotProven>,
) -> (watch::Receiver<Durability>, Watching) {
    let (told, durability) = watch::channel(proven(nats));
    let watcher = Watcher { nats: nats.clone(), every, proven_at: Instant::now(), told };
    if let Err(why) = proof {
        watcher.lose(&why);
    }
    (durability, Watching::start(watcher.run(monitors.to_vec())))
}

/// Holds the promise against what the servers say.
struct Watcher {
    nats: Nats,
    every: Duration,
    /// When the last proof began that succeeded.
    proven_at: Instant,
    told: watch::Sender<Durability>,
}

impl Watcher {
    async fn run(mut self, monitors: Vec<String>) {
        let journal = Journal::Nats(self.nats.clone());
        let mut processes = journal.incarnations();
        let mut pause = self.every;
        loop {
            tokio::select! {
                () = sleep(pause) => {}
                // It may have been started with other settings.
                Ok(()) = processes.changed() => {}
            }
            let begun = Instant::now();
            pause = self.every;
            match prove(&self.nats, &monitors).await {
                Ok(()) => {
                    self.proven_at = begun;
                    self.win();
                }
                Err(why @ NotProven::Wrong(_)) => self.lose(&why),
                Err(why @ NotProven::Silent(_)) => {
                    pause = self.every.min(ASK_AGAIN);
                    if self.proven_at.elapsed() >= self.every * PROOF_COUNTS_FOR {
                        self.lose(&why);
                    }
                }
            }
        }
    }

    /// Promises fsync, and says so where that is news.
    fn win(&self) {
        if self.told.borrow().trouble.is_some() {
            log!(DurabilityProven, "it is proven that the NATS servers sync each write: fsync");
            self.told.send_replace(proven(&self.nats));
        }
    }

    /// Promises no more than quorum memory, and says so where that is news.
    fn lose(&self, why: &NotProven) {
        let promise = self.nats.promise(nats::Durability::Memory);
        let sentence = format!(
            "it is not proven that the NATS servers sync each write, so fsync is not promised: {why}; set `sync_interval: \
             always` on each of them, and check their monitoring addresses (nats_monitor)"
        );
        let trouble = Some(format!("durability_unproven: {sentence}"));
        let is_news = self.told.borrow().trouble.is_none();
        self.told.send_replace(Durability { promise, trouble, refuses: false });
        if is_news {
            DurabilityUnproven.write(&sentence);
        }
    }
}

fn proven(nats: &Nats) -> Durability {
    Durability { promise: nats.promise(nats::Durability::Fsync), trouble: None, refuses: false }
}

/// Proves that each server that has a stream of the journal syncs each write; says why it is not proven otherwise.
pub(super) async fn prove(nats: &Nats, monitors: &[String]) -> Result<(), NotProven> {
    if monitors.is_empty() {
        let why = "no monitoring address is named (nats_monitor)";
        return Err(NotProven::Wrong(why.to_owned()));
    }
    let (mut synced, mut silent) = (BTreeMap::new(), None);
    for monitor in monitors {
        let said = timeout(ANSWER_WITHIN, ask(monitor)).await;
        match said.unwrap_or_else(|_| Err("it did not answer in time".to_owned())) {
            Ok(said) => {
                let name = said["server_name"].as_str().unwrap_or_default().to_owned();
                synced.insert(name, said["jetstream"]["config"]["sync_always"] == true);
            }
            Err(why) => silent = Some(format!("{monitor}: {why}")),
        }
    }
    let servers = nats.servers().await;
    let servers = servers.map_err(|failure| NotProven::Silent(failure.to_string()))?;
    if let Some(server) = servers.iter().find(|server| synced.get(*server) == Some(&false)) {
        return Err(NotProven::Wrong(format!("the server {server} does not sync each write")));
    }
    match (servers.iter().find(|server| !synced.contains_key(*server)), silent) {
        (None, _) => Ok(()),
        (Some(_), Some(why)) => Err(NotProven::Silent(why)),
        (Some(server), None) => {
            Err(NotProven::Wrong(format!("no monitoring address of the server {server} is named")))
        }
    }
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
