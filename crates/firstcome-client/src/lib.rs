//! Talks to a server over HTTP/1.1 and keeps apart three kinds of answer: yes, no, and nobody knows.
//!
//! A *refusal* is the rules working and comes back as [`Reply::No`]. A [`Failure`] says whether anything may have
//! changed: a request that never left, or was turned away unread, is not one that was cut off after it was sent.

mod address;
mod failure;
mod picks;
mod problem;
mod routes;
mod wire;

use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;

pub use address::{Server, encode_segment};
pub use failure::Failure;
pub use firstcome_api::bar::{BarLifted, BarPage, BarSet};
pub use firstcome_api::campaign::{Campaign, CampaignList, CampaignPool, Deleted, OperatorDone};
pub use firstcome_api::claim::{Cancelled, Claim, SubjectClaims};
pub use firstcome_api::hold::{HeldUnit, Hold, HoldAnswer};
pub use firstcome_api::result::{ResultLine, ResultPage};
pub use firstcome_api::seat::{
    Imported, SeatChangeRequest, SeatsBlocked, SeatsChanged, SeatsMoved,
};
pub use firstcome_api::seat_map::SeatMap;
pub use firstcome_api::subject::Subject;
pub use firstcome_api::winner::{WinnerLine, WinnerPage};
pub use picks::{HoldStep, Picks};
pub use problem::Problem;
pub use routes::{Ask, CancelAsk, Match, ResultFormat, ResultRange};

/// A claim won, now or before.
pub type Won = firstcome_api::claim::Won<'static>;
/// A subject token.
pub type Minted = firstcome_api::token::Minted<'static>;

use firstcome_api::key::Secret;
use wire::{Connection, Sent};

/// A connection to one server, opened when first needed and kept for the next request.
#[derive(Debug)]
pub struct Client {
    server: Server,
    key: Option<Secret>,
    timeout: Duration,
    connection: Option<Connection>,
    watcher: Option<Watcher>,
}

/// One request and its answer, for whoever watches a client. There is no key in it.
#[derive(Debug)]
pub struct Exchange<'a> {
    /// The server asked.
    pub server: &'a Server,
    /// The HTTP method.
    pub method: &'a str,
    /// Path and query.
    pub path: &'a str,
    /// The status of the answer; `None` where there was none.
    pub status: Option<u16>,
    /// From before the request was sent until its end.
    pub took: Duration,
}

/// Is called after each request.
pub type Watcher = fn(&Exchange<'_>);

/// What a server that could be heard said.
#[derive(Debug)]
pub enum Reply<T> {
    /// It is so; with the answer read and as it was sent.
    Yes(T, Value),
    /// The rules, or the server's own checks, say no; nothing changed.
    No(Problem),
}

impl Client {
    /// A client for one server; nothing is sent yet.
    pub fn new(server: Server, key: Option<Secret>, timeout: Duration) -> Self {
        Self { server, key, timeout, connection: None, watcher: None }
    }

    /// Has each request and its answer told.
    #[must_use]
    pub fn watched_by(mut self, watcher: Watcher) -> Self {
        self.watcher = Some(watcher);
        self
    }

    /// The server this client talks to.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Sends a request and reads the answer as `T`.
    ///
    /// # Errors
    ///
    /// A [`Failure`]; it says whether anything may have changed.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have changed something, as after a lost answer.
    pub async fn ask<T: DeserializeOwned>(&mut self, ask: Ask) -> Result<Reply<T>, Failure> {
        let only_reads = ask.only_reads();
        let (status, body) = self.exchange(&ask).await?;
        if !(200..300).contains(&status) {
            return self.bad_news(status, &body, only_reads);
        }
        let strange = |reason: String| Failure::strange(&self.server, only_reads, reason);
        let raw: Value =
            serde_json::from_slice(&body).map_err(|error| strange(error.to_string()))?;
        let read =
            serde_json::from_value(raw.clone()).map_err(|error| strange(error.to_string()))?;
        Ok(Reply::Yes(read, raw))
    }

    /// Sends a request and returns the answer's body as it is.
    ///
    /// # Errors
    ///
    /// As [`Client::ask`].
    pub async fn ask_raw(&mut self, ask: Ask) -> Result<Result<Vec<u8>, Problem>, Failure> {
        let only_reads = ask.only_reads();
        let (status, body) = self.exchange(&ask).await?;
        if (200..300).contains(&status) {
            return Ok(Ok(body));
        }
        match self.bad_news::<Value>(status, &body, only_reads)? {
            Reply::No(problem) => Ok(Err(problem)),
            Reply::Yes(..) => Ok(Ok(body)),
        }
    }

    /// Sorts an answer that is no yes into refusals and failures.
    fn bad_news<T>(&self, status: u16, body: &[u8], only_reads: bool) -> Result<Reply<T>, Failure> {
        let Ok(problem) = Problem::read(status, body) else {
            let reason = format!("it is not an answer of Firstcome (status {status})");
            // A gateway in between may have passed the request on before it gave up.
            let harmless = only_reads || status < 500;
            return Err(Failure::strange(&self.server, harmless, reason));
        };
        let passing = status >= 500 || status == 429 || status == 408;
        let changed = problem.changed == "unknown" || passing && problem.changed != "no";
        if changed && !only_reads {
            Err(Failure::Unknown {
                server: self.server.to_string(),
                reason: problem.sentence(),
                problem: Some(Box::new(problem)),
            })
        } else if passing {
            Err(Failure::Unchanged {
                server: self.server.to_string(),
                reason: problem.sentence(),
                problem: Some(Box::new(problem)),
            })
        } else {
            Ok(Reply::No(problem))
        }
    }

    /// One exchange, told to whoever watches.
    async fn exchange(&mut self, ask: &Ask) -> Result<(u16, Vec<u8>), Failure> {
        let began = std::time::Instant::now();
        let answered = self.exchange_unwatched(ask).await;
        if let Some(watcher) = self.watcher {
            let status = answered.as_ref().ok().map(|(status, _)| *status);
            let (server, took) = (&self.server, began.elapsed());
            watcher(&Exchange { server, method: ask.method, path: &ask.path, status, took });
        }
        answered
    }

    /// One exchange on the kept connection, or on a new one where the kept one was closed meanwhile.
    async fn exchange_unwatched(&mut self, ask: &Ask) -> Result<(u16, Vec<u8>), Failure> {
        let deadline = tokio::time::Instant::now() + self.timeout;
        let kept = self.connection.take();
        let mut connection = match kept {
            Some(connection) if connection.is_open() => connection,
            Some(_) | None => Connection::open(&self.server, deadline).await?,
        };
        let mut sent = connection.send(&self.server, self.key.as_ref(), ask, deadline).await?;
        if let Sent::Closed = sent {
            connection = Connection::open(&self.server, deadline).await?;
            sent = connection.send(&self.server, self.key.as_ref(), ask, deadline).await?;
        }
        match sent {
            Sent::Answered { status, body } => {
                self.connection = Some(connection);
                Ok((status, body))
            }
            Sent::Closed => Err(Failure::Unchanged {
                server: self.server.to_string(),
                reason: "the connection was closed before the request was sent".to_owned(),
                problem: None,
            }),
        }
    }
}

#[cfg(test)]
mod tests;
