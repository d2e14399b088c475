//! Connecting to a PostgreSQL: TCP, TLS, log-in, and a look at its version.

use std::collections::HashMap;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_postgres::config::{ChannelBinding as Binding, SslMode};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};
use tokio_postgres::{AsyncMessage, Client, Config, NoTls, Statement};

use super::options::PostgresOptions;
use super::refusal;
use crate::database_url::{DatabaseUrl, UrlKind};
use crate::error::StoreError;
use crate::tcp::prepare;
use crate::tls::{self, Tls, TlsTo};

/// The URLs of a PostgreSQL.
const URL: UrlKind = UrlKind {
    schemes: ["postgres", "postgresql"],
    port: 5432,
    form: "write postgres://[user[:password]@]host[:port]/database[?sslmode=disable|require|verify-full]\
    [&sslrootcert=FILE], with % escapes for special characters",
};

/// The oldest server with what is asked of it, and the number it has in `server_version`.
const OLDEST: (u32, &str) = (12, "12");

/// Everything needed to make a connection.
#[derive(Debug)]
pub(super) struct Dialler {
    address: DatabaseUrl,
    tls: Option<Tls>,
    pub(super) options: PostgresOptions,
    made: AtomicU64,
    /// Whether a connection led to a pooler.
    pooler: AtomicBool,
}

/// One connection and the task that moves its bytes.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) client: Client,
    driver: Option<JoinHandle<()>>,
    /// Counts the connections of the pool.
    pub(super) number: u64,
    pub(super) used: Instant,
    /// How single statements are sent over it, once that is known.
    pub(super) manner: Option<Manner>,
    /// Statements the server has prepared, by their text.
    pub(super) prepared: HashMap<&'static str, Statement>,
    /// Set when the server says that it did not wait for a synchronous standby.
    unreplicated: Arc<AtomicBool>,
}

/// Who is at the other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// A process of the server that is this connection's own, with our settings in it.
    Direct,
    /// A pooler: the next transaction may be with another process of the server.
    Pooled,
}

/// Where what the server says without being asked goes; one that is full or gone misses it.
pub(super) type Notes = mpsc::Sender<String>;

/// The server's function that waits for synchronous standbys. A notice from it, which is what somebody gets who ends that
/// wait, comes before a commit's good answer; its text depends on the server's language.
///
/// Source: PostgreSQL, src/backend/replication/syncrep.c.
const WAITS_FOR_STANDBYS: &str = "SyncRepWaitForLSN";

impl Line {
    /// Fails where the last commit is on this server and, as far as it knows, on no other.
    pub(super) fn replicated(&self, place: &str) -> Result<(), StoreError> {
        if !self.unreplicated.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        let reason = "the wait for a synchronous standby was cancelled".to_owned();
        Err(StoreError::Unknown { place: place.to_owned(), reason })
    }

    /// Says good-bye and waits until the connection is closed.
    pub(super) async fn close(mut self) {
        let driver = self.driver.take();
        drop(self);
        if let Some(driver) = driver {
            // It ends once it has sent what it was given, or with the connection.
            drop(driver.await);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some(driver) = &self.driver {
            driver.abort();
        }
    }
}

impl Dialler {
    pub(super) fn new(options: PostgresOptions) -> Result<Self, StoreError> {
        let address = URL.read(&options.url)?;
        let tls = match address.tls {
            false => None,
            true => {
                let authorities = address.authorities.as_ref().map(|file| {
                    std::fs::read_to_string(file).map_err(|error| {
                        URL.wrong(format!("sslrootcert {}: {error}", file.display()))
                    })
                });
                let authorities = authorities.transpose()?;
                Some(Tls::new(authorities.as_deref(), None, |reason| URL.wrong(reason))?)
            }
        };
        Ok(Self { address, tls, options, made: AtomicU64::new(0), pooler: AtomicBool::new(false) })
    }

    /// Names where this goes, for messages.
    pub(super) fn place(&self) -> String {
        self.address.host.to_string()
    }

    pub(super) fn note_pooler(&self) {
        self.pooler.store(true, Ordering::Relaxed);
    }

    pub(super) fn met_pooler(&self) -> bool {
        self.pooler.load(Ordering::Relaxed)
    }

    /// Has the server cancel what is under way on a connection.
    pub(super) async fn cancel(&self, line: &Line) {
        let (host, token) = (&self.address.host, line.client.cancel_token());
        let Ok(stream) = TcpStream::connect((host.name.as_str(), host.port)).await else { return };
        match &self.tls {
            None => drop(token.cancel_query_raw(stream, NoTls).await),
            Some(tls) => {
                if let Ok(tls) = tls.to(&host.name) {
                    drop(token.cancel_query_raw(stream, Secured(tls)).await);
                }
            }
        }
    }

    /// Connects, logs in, and looks at the server's version.
    pub(super) async fn line(&self) -> Result<Line, StoreError> {
        self.line_with(None).await
    }

    /// Connects as [`Dialler::line`] does; the payloads of notifications go to `notes`.
    pub(super) async fn line_with(&self, notes: Option<Notes>) -> Result<Line, StoreError> {
        let limit = self.options.connect_within;
        tokio::time::timeout(limit, self.dial(notes)).await.unwrap_or_else(|_| {
            let reason = format!("no connection within {limit:?}");
            Err(StoreError::Unreachable { place: self.place(), reason })
        })
    }

    async fn dial(&self, notes: Option<Notes>) -> Result<Line, StoreError> {
        let (host, place) = (&self.address.host, self.place());
        let stream = TcpStream::connect((host.name.as_str(), host.port))
            .await
            .and_then(|stream| prepare(stream, self.options.heartbeat))
            .map_err(|error| StoreError::Unreachable {
                place: place.clone(),
                reason: error.to_string(),
            })?;
        let mut config = Config::new();
        config.user(&self.address.user).dbname(&self.address.database);
        config.application_name("firstcome").channel_binding(Binding::Disable);
        if let Some(password) = &self.address.password {
            config.password(password);
        }
        let refused = |error| refusal::not_connected(&place, error);
        let unreplicated = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&unreplicated);
        let (client, version, driver) = match &self.tls {
            None => {
                config.ssl_mode(SslMode::Disable);
                let (client, connection) =
                    config.connect_raw(stream, NoTls).await.map_err(refused)?;
                let version = connection.parameter("server_version").map(str::to_owned);
                (client, version, tokio::spawn(run(connection, notes, flag)))
            }
            Some(tls) => {
                config.ssl_mode(SslMode::Require);
                let tls = Secured(tls.to(&host.name).map_err(|reason| URL.wrong(reason))?);
                let (client, connection) =
                    config.connect_raw(stream, tls).await.map_err(refused)?;
                let version = connection.parameter("server_version").map(str::to_owned);
                (client, version, tokio::spawn(run(connection, notes, flag)))
            }
        };
        let number = self.made.fetch_add(1, Ordering::Relaxed) + 1;
        let line = Line {
            client,
            driver: Some(driver),
            number,
            used: Instant::now(),
            manner: None,
            prepared: HashMap::new(),
            unreplicated,
        };
        let major = version.as_deref().unwrap_or("").split(|c: char| !c.is_ascii_digit()).next();
        match major.and_then(|major| major.parse::<u32>().ok()) {
            Some(major) if major < OLDEST.0 => Err(StoreError::TooOld {
                version: version.unwrap_or_default(),
                needed: OLDEST.1,
                feature: "what is asked of PostgreSQL",
            }),
            _ => Ok(line),
        }
    }
}

/// Moves a connection's bytes until it ends; callers that wait for an answer then learn of it.
async fn run<S, T>(
    mut connection: tokio_postgres::Connection<S, T>,
    notes: Option<Notes>,
    unreplicated: Arc<AtomicBool>,
) where
    S: AsyncRead + AsyncWrite + Unpin,
    T: AsyncRead + AsyncWrite + Unpin,
{
    while let Some(Ok(said)) =
        std::future::poll_fn(|context| connection.poll_message(context)).await
    {
        if let (AsyncMessage::Notification(note), Some(notes)) = (&said, &notes) {
            // Whoever is so far behind looks anyway.
            notes.try_send(note.payload().to_owned()).ok();
        }
        if let AsyncMessage::Notice(notice) = &said
            && notice.routine() == Some(WAITS_FOR_STANDBYS)
        {
            unreplicated.store(true, Ordering::SeqCst);
        }
    }
}

/// Makes TLS out of a plain connection.
struct Secured(TlsTo);

impl TlsConnect<TcpStream> for Secured {
    type Stream = PostgresStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<PostgresStream>> + Send>>;

    fn connect(self, stream: TcpStream) -> Self::Future {
        Box::pin(async move { Ok(Unbound(Box::new(self.0.connect(stream).await?))) })
    }
}

type PostgresStream = Unbound<Box<tls::SecuredStream>>;

/// A stream in the place of one that was secured, bound to no channel.
///
/// Where there is a certificate it is always checked, which is what binding to it would add.
pub(super) struct Unbound<S>(pub(super) S);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Unbound<S> {
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Unbound<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Unbound<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
