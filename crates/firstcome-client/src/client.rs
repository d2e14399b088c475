//! The client: which servers it knows, and one request sent once.

pub(crate) mod address;
pub(crate) mod builder;
pub(crate) mod pool;
pub(crate) mod tls;
pub(crate) mod wire;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::Instant;

use crate::client::address::Server;
use crate::client::pool::Pool;
use crate::client::tls::{ClientTls, Trust};
use crate::client::wire::{Answered, Broken, Connection, Sender};
use crate::error::failure::Failure;
use crate::error::problem::Problem;
use crate::retry::Retry;
use crate::routes::Ask;
use firstcome_api::key::Secret;

/// A client for the servers of one space. It is cheap to clone; clones share their connections.
///
/// It works on a tokio runtime with I/O and time. Each method that asks for something the rules decide gives an
/// [`Answer`](crate::Answer), a yes or a no with its reason, or an [`Error`](crate::Error).
///
/// # Retries
///
/// A request is sent again, to the next server where there are several, until the deadline of the call: where no connection
/// was made, where its answer was lost, and where the server says that it could not answer now. All requests of the methods
/// here keep their identity over the retries (campaign, pool and subject of a claim, the rank of a cancel, the id of a hold
/// and of a command), so none of them happens twice.
///
/// # Errors
///
/// Where the deadline passes, [`Error::Unknown`](crate::Error::Unknown) says that it may have happened, and
/// [`Error::Unchanged`](crate::Error::Unchanged) that nothing changed.
///
/// # Cancel safety
///
/// A dropped call may have happened, as after a lost answer, and its connection is closed. Make it again to learn: claims and
/// cancels as they were, holds with their id. Calls that only read can be dropped.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
    pub(crate) settings: Settings,
    pub(crate) watcher: Option<Watcher>,
}

/// What a client does with each request, if nothing else is set.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) deadline: Duration,
    pub(crate) attempt: Duration,
    pub(crate) connect: Duration,
    pub(crate) retry: Retry,
    pub(crate) agent: String,
    /// The position that answers are at or past.
    pub(crate) past: Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(15),
            attempt: Duration::from_secs(6),
            connect: Duration::from_secs(2),
            retry: Retry::default(),
            agent: concat!("firstcome-client/", env!("CARGO_PKG_VERSION")).to_owned(),
            past: None,
        }
    }
}

/// What the clones of a client share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) servers: Vec<Server>,
    pub(crate) key: Option<Secret>,
    pub(crate) tls: Result<ClientTls, String>,
    pool: Pool,
    /// The server that is asked next.
    next: AtomicUsize,
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
pub(crate) type Watcher = Arc<dyn Fn(&Exchange<'_>) + Send + Sync>;

/// What a server that could be heard said, to a request that was sent once.
#[derive(Debug)]
pub enum Reply<T> {
    /// It is so; with the answer read and as it was sent.
    Yes(T, Value),
    /// The rules, or the server's own checks, say no; nothing changed.
    No(Problem),
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { shared, settings, watcher: _ } = self;
        let servers: Vec<String> = shared.servers.iter().map(Server::to_string).collect();
        f.debug_struct("Client")
            .field("servers", &servers)
            .field("settings", settings)
            .finish_non_exhaustive()
    }
}

impl Shared {
    /// With one server at least.
    pub(crate) fn new(
        servers: Vec<Server>,
        key: Option<Secret>,
        tls: Result<ClientTls, String>,
        connections: usize,
    ) -> Self {
        let pool = Pool::new(servers.len(), connections);
        Self { servers, key, tls, pool, next: AtomicUsize::new(0) }
    }

    /// How many connections to the first server are kept and look open.
    #[cfg(test)]
    pub(crate) fn kept_open(&self) -> usize {
        self.pool.open(0)
    }

    /// The server that is asked next, by its index.
    pub(crate) fn next(&self) -> usize {
        self.next.load(Ordering::Relaxed)
    }

    /// Has the server behind this one asked next, unless somebody moved on already.
    pub(crate) fn move_on(&self, from: usize) {
        let to = (from + 1) % self.servers.len();
        // Whoever is quicker does the same.
        if self.next() == from {
            self.next.store(to, Ordering::Relaxed);
        }
    }
}

impl Client {
    pub(crate) fn of(shared: Arc<Shared>, settings: Settings) -> Self {
        Self { shared, settings, watcher: None }
    }

    /// A client for one server that sends a request with [`Client::ask`], once, and waits so long for its answer.
    ///
    /// It trusts the authorities of the operating system with an `https://` address. Nothing is sent yet.
    pub fn to(server: Server, key: Option<Secret>, timeout: Duration) -> Self {
        let tls = match server.is_secure() {
            true => ClientTls::new(&Trust::default()),
            false => Err("the address is not https://".to_owned()),
        };
        let shared = Shared::new(vec![server], key, tls, 1);
        let settings = Settings {
            deadline: timeout,
            attempt: timeout,
            connect: timeout,
            retry: Retry::never(),
            agent: concat!("firstcome/", env!("CARGO_PKG_VERSION")).to_owned(),
            past: None,
        };
        Self::of(Arc::new(shared), settings)
    }

    /// Returns the same client with another deadline for its calls.
    #[must_use]
    pub fn with_deadline(&self, deadline: Duration) -> Self {
        let settings = Settings { deadline, ..self.settings.clone() };
        Self { settings, ..self.clone() }
    }

    /// Returns the same client, whose calls are answered at or past this position: that of an earlier answer, so that what was
    /// decided there is seen on whichever server is asked.
    ///
    /// A position from before a failover of the store that lost data is [`Error::Refused`](crate::Error::Refused) with
    /// `stale_position`: read without it.
    #[must_use]
    pub fn past(&self, position: &str) -> Self {
        let settings = Settings { past: Some(position.to_owned()), ..self.settings.clone() };
        Self { settings, ..self.clone() }
    }

    /// Has each request and its answer told, after its end: for logs and metrics.
    ///
    /// Watchers must be quick: the call waits for them.
    #[must_use]
    pub fn watched_by(self, watcher: impl Fn(&Exchange<'_>) + Send + Sync + 'static) -> Self {
        Self { watcher: Some(Arc::new(watcher)), ..self }
    }

    /// The server that is asked next.
    pub fn server(&self) -> &Server {
        &self.shared.servers[self.shared.next()]
    }

    /// Sends a request once and reads the answer as `T`. The other methods send again what may be sent again.
    ///
    /// # Errors
    ///
    /// A [`Failure`]; it says whether anything may have changed.
    ///
    /// # Cancel safety
    ///
    /// A dropped call may have changed something, as after a lost answer.
    pub async fn ask<T: DeserializeOwned>(&self, ask: Ask) -> Result<Reply<T>, Failure> {
        let only_reads = ask.only_reads();
        let (server, answered) = self.once(&ask).await?;
        if !(200..300).contains(&answered.status) {
            return sort_no(server, &answered, only_reads).map(Reply::No);
        }
        let strange = |reason: String| Failure::strange(server, only_reads, reason);
        let raw: Value =
            serde_json::from_slice(&answered.body).map_err(|error| strange(error.to_string()))?;
        let read =
            serde_json::from_value(raw.clone()).map_err(|error| strange(error.to_string()))?;
        Ok(Reply::Yes(read, raw))
    }

    /// Sends a request once and returns the answer's body as it is.
    ///
    /// # Errors
    ///
    /// As [`Client::ask`].
    ///
    /// # Cancel safety
    ///
    /// As [`Client::ask`].
    pub async fn ask_raw(&self, ask: Ask) -> Result<Result<Vec<u8>, Problem>, Failure> {
        let (server, answered) = self.once(&ask).await?;
        if (200..300).contains(&answered.status) {
            return Ok(Ok(answered.body));
        }
        sort_no(server, &answered, ask.only_reads()).map(Err)
    }

    /// One exchange, with a failure that names the server.
    pub(crate) async fn once(&self, ask: &Ask) -> Result<(&Server, Answered), Failure> {
        let index = self.shared.next();
        let server = &self.shared.servers[index];
        let deadline = after(self.settings.deadline);
        let exchanged = self.exchange(index, ask, deadline, self.settings.attempt).await;
        let answered = exchanged.map_err(|broken| match broken {
            Broken::Closed => Failure::unsent(server, CLOSED.to_owned()),
            Broken::NotSent(reason) | Broken::NotTrusted(reason) => Failure::unsent(server, reason),
            Broken::Lost(reason) => Failure::cut(server, ask.only_reads(), reason),
        })?;
        Ok((server, answered))
    }

    /// One exchange with a server, told to whoever watches. Its time begins once a connection may be used for it.
    pub(crate) async fn exchange(
        &self,
        index: usize,
        ask: &Ask,
        deadline: Instant,
        attempt: Duration,
    ) -> Result<Answered, Broken> {
        let _permit = self.shared.pool.permit(deadline).await?;
        let began = Instant::now();
        let exchanged = self.exchange_unwatched(index, ask, deadline.min(after(attempt))).await;
        if let Some(watcher) = &self.watcher {
            let status = exchanged.as_ref().ok().map(|answered| answered.status);
            let (server, took) = (&self.shared.servers[index], began.elapsed());
            watcher(&Exchange { server, method: ask.method, path: &ask.path, status, took });
        }
        exchanged
    }

    /// One exchange on a kept connection, or on a new one where the kept ones were closed meanwhile.
    async fn exchange_unwatched(
        &self,
        index: usize,
        ask: &Ask,
        deadline: Instant,
    ) -> Result<Answered, Broken> {
        let Shared { servers, key, tls, pool, .. } = &*self.shared;
        let server = &servers[index];
        let sender = Sender { server, key: key.as_ref(), agent: &self.settings.agent };
        while let Some(mut connection) = pool.take(index) {
            match connection.send(sender, ask, deadline).await {
                Err(Broken::Closed) => {}
                Ok(answered) => {
                    pool.keep(index, connection);
                    return Ok(answered);
                }
                Err(broken) => return Err(broken),
            }
        }
        let connected_by = deadline.min(after(self.settings.connect));
        let mut connection = Connection::open(server, tls.as_ref(), connected_by).await?;
        let answered = connection.send(sender, ask, deadline).await?;
        pool.keep(index, connection);
        Ok(answered)
    }
}

/// Returns the moment after so long; what nobody waits for is far away.
pub(crate) fn after(time: Duration) -> Instant {
    Instant::now() + time.min(Duration::from_secs(30 * 24 * 3_600))
}

/// What there is to say of a request of which nothing was written.
pub(crate) const CLOSED: &str = "the connection was closed before the request was sent";

/// Sorts an answer that is no yes into refusals and failures.
fn sort_no(server: &Server, answered: &Answered, only_reads: bool) -> Result<Problem, Failure> {
    let Ok(problem) = Problem::read(answered.status, &answered.body) else {
        let reason = format!("it is not an answer of Firstcome (status {})", answered.status);
        // A gateway in between may have passed the request on before it gave up.
        let harmless = only_reads || answered.status < 500;
        return Err(Failure::strange(server, harmless, reason));
    };
    let (server, reason) = (server.to_string(), problem.to_string());
    if problem.may_have_happened() && !only_reads {
        Err(Failure::Unknown { server, reason, problem: Some(Box::new(problem)) })
    } else if problem.is_passing() {
        Err(Failure::Unchanged { server, reason, problem: Some(Box::new(problem)) })
    } else {
        Ok(problem)
    }
}
