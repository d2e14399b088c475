//! Connecting to a Redis: TCP, TLS, log-in, and a look at its version.

use std::io;
use std::sync::Arc;

use redis::aio::{MultiplexedConnection, PubSub};
use redis::{
    AsyncConnectionConfig, ErrorKind, ProtocolVersion, PushInfo, RedisConnectionInfo, RedisError,
};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::address::{Address, FORM, Place};
use super::error_code;
use super::known::Known;
use super::options::RedisOptions;
use crate::error::StoreError;
use crate::host::Host;
use crate::store_errors::{Meaning, Store};
use crate::tcp::prepare;
use crate::tls::Tls;

/// The oldest server that has what is used here: scripts whose effects are replicated, so that they may read the clock
/// and then write (5.0), and SET that gives the value it replaced (6.2).
const OLDEST: ((u32, u32), &str) = ((6, 2), "6.2");

/// Everything needed to make a connection.
#[derive(Debug)]
pub(crate) struct Dialler {
    pub(crate) options: Arc<RedisOptions>,
    pub(crate) address: Arc<Address>,
    tls: Option<Tls>,
    /// The servers of a cluster.
    pub(super) known: Known,
}

/// A command connection, its driver, and where it goes.
pub(crate) struct Line {
    pub(crate) connection: MultiplexedConnection,
    pub(crate) driver: std::pin::Pin<Box<dyn Future<Output = ()> + Send>>,
    pub(crate) host: Host,
}

trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

impl Dialler {
    pub(crate) fn new(
        options: Arc<RedisOptions>,
        address: Arc<Address>,
    ) -> Result<Self, StoreError> {
        let tls = match address.tls {
            true => {
                let wrong = |reason| StoreError::Address { reason, form: FORM };
                let (trust, identity) = (options.trust.as_deref(), options.identity.as_ref());
                Some(Tls::new(trust, identity, wrong)?)
            }
            false => None,
        };
        Ok(Self { options, address, tls, known: Known::default() })
    }

    /// Names where this goes, for messages.
    pub(crate) fn place(&self) -> String {
        match &self.address.place {
            Place::At(host) => host.to_string(),
            Place::Behind { sentinels, master } => {
                let all: Vec<_> = sentinels.iter().map(Host::to_string).collect();
                format!("master {master} of {}", all.join(","))
            }
            Place::In { cluster } => {
                let all: Vec<_> = cluster.iter().map(Host::to_string).collect();
                format!("slot {} of the cluster of {}", self.options.slot.0, all.join(","))
            }
        }
    }

    pub(super) async fn line_to(&self, host: Host) -> Result<Line, StoreError> {
        let stream = self.stream(&host).await?;
        let (connection, driver) = self.log_in(&self.login(), stream, &host, None).await?;
        let mut line = Line { connection, driver, host };
        // The driver has to run for the line to answer.
        tokio::select! {
            looked = self.look(&mut line.connection, &line.host) => looked?,
            () = &mut line.driver => return Err(unreachable(&line.host, "it closed the connection")),
        }
        Ok(line)
    }

    /// Connects to a sentinel.
    pub(crate) async fn sentinel_line(&self, host: &Host) -> Result<Line, StoreError> {
        let stream = self.stream(host).await?;
        let (connection, driver) = self.log_in(&self.sentinel_login(), stream, host, None).await?;
        Ok(Line { connection, driver, host: host.clone() })
    }

    /// Connects to any server of a cluster, to ask it about the others.
    pub(super) async fn line_for_questions(&self, host: &Host) -> Result<Line, StoreError> {
        let stream = self.stream(host).await?;
        let (connection, driver) = self.log_in(&self.login(), stream, host, None).await?;
        Ok(Line { connection, driver, host: host.clone() })
    }

    /// Connects for subscriptions to the server at `host`; messages come beside the answers.
    pub(super) async fn subscriber(
        &self,
        host: &Host,
    ) -> Result<(Line, UnboundedReceiver<PushInfo>), StoreError> {
        let (sender, pushes) = unbounded_channel();
        // Only this version of the protocol distinguishes a message from an answer.
        let login = self.login().set_protocol(ProtocolVersion::RESP3);
        let connect = async {
            let stream = self.stream(host).await?;
            self.log_in(&login, stream, host, Some(sender)).await
        };
        let (connection, driver) = self.within(connect).await?;
        Ok((Line { connection, driver, host: host.clone() }, pushes))
    }

    /// Connects for subscriptions to a sentinel.
    pub(super) async fn sentinel_subscriber(&self, host: &Host) -> Result<PubSub, StoreError> {
        let connect = async {
            let stream = self.stream(host).await?;
            let subscriber = PubSub::new(&self.sentinel_login(), stream).await;
            subscriber.map_err(|error| refused(host, &error))
        };
        self.within(connect).await
    }

    fn login(&self) -> RedisConnectionInfo {
        let address = &self.address;
        let login = RedisConnectionInfo::default().set_db(address.database).set_skip_set_lib_name();
        with_password(login, address.user.as_deref(), address.password.as_deref())
    }

    fn sentinel_login(&self) -> RedisConnectionInfo {
        let login = RedisConnectionInfo::default().set_skip_set_lib_name();
        match &self.options.sentinel_user {
            None => login,
            Some((user, password)) => with_password(login, user.as_deref(), Some(password)),
        }
    }

    async fn log_in(
        &self,
        login: &RedisConnectionInfo,
        stream: Box<dyn Stream>,
        host: &Host,
        pushes: Option<UnboundedSender<PushInfo>>,
    ) -> Result<
        (MultiplexedConnection, std::pin::Pin<Box<dyn Future<Output = ()> + Send>>),
        StoreError,
    > {
        // Every command has its own deadline; the driver ends when the task that runs it is stopped.
        let mut config = AsyncConnectionConfig::new().set_response_timeout(None);
        if let Some(pushes) = pushes {
            config = config.set_push_sender(pushes);
        }
        let (connection, driver) = MultiplexedConnection::new_with_config(login, stream, config)
            .await
            .map_err(|error| refused(host, &error))?;
        Ok((connection, Box::pin(driver)))
    }

    async fn stream(&self, host: &Host) -> Result<Box<dyn Stream>, StoreError> {
        let stream = TcpStream::connect((host.name.as_str(), host.port))
            .await
            .and_then(|stream| prepare(stream, self.options.heartbeat))
            .map_err(|error| unreachable(host, error.to_string()))?;
        let Some(tls) = &self.tls else {
            return Ok(Box::new(stream));
        };
        let tls =
            tls.to(&host.name).map_err(|reason| StoreError::Address { reason, form: FORM })?;
        match tls.connect(stream).await {
            Ok(stream) => Ok(Box::new(stream)),
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                Err(StoreError::Tls { place: host.to_string(), source: Arc::new(error) })
            }
            Err(error) => Err(unreachable(host, error.to_string())),
        }
    }

    pub(super) async fn within<T>(
        &self,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let limit = self.options.connect_within;
        tokio::time::timeout(limit, work).await.unwrap_or_else(|_| {
            let reason = format!("no connection within {limit:?}");
            Err(StoreError::Unreachable { place: self.place(), reason })
        })
    }
}

impl Dialler {
    /// Refuses a server that is too old or part of a cluster that was not asked for, and, where others named it, one that is no
    /// master (any more).
    async fn look(
        &self,
        connection: &mut MultiplexedConnection,
        host: &Host,
    ) -> Result<(), StoreError> {
        let named_by = match &self.address.place {
            Place::At(_) => None,
            Place::Behind { .. } => Some("the sentinels name it"),
            Place::In { .. } => Some("its cluster names it"),
        };
        let info = redis::cmd("INFO").arg("server").query_async::<String>(connection).await;
        if let Err(error) = &info
            && error.code() == Some("NOAUTH")
        {
            let (code, detail) = error_code::read(error);
            return Err(StoreError::Denied { code, detail });
        }
        // A user without the right to INFO is believed to have a server that is new enough and stands by itself.
        let info = info.unwrap_or_default();
        let said = |what: &str| info.lines().find_map(|line| line.strip_prefix(what));
        if said("redis_mode:") == Some("cluster") && !matches!(self.address.place, Place::In { .. })
        {
            return Err(StoreError::Cluster { place: host.to_string() });
        }
        let version = said("redis_version:").map(str::to_owned);
        if let Some(version) = version {
            let mut numbers = version.split('.').map_while(|number| number.parse::<u32>().ok());
            let release = numbers.next().zip(numbers.next());
            if release.is_some_and(|release| release < OLDEST.0) {
                let feature = "a script that reads the server's clock, and SET with GET,";
                return Err(StoreError::TooOld { version, needed: OLDEST.1, feature });
            }
        }
        if let Some(named_by) = named_by {
            let role = redis::cmd("ROLE").query_async::<Vec<redis::Value>>(connection).await;
            let master = role.is_ok_and(|role| {
            matches!(role.first(), Some(redis::Value::BulkString(name)) if name == b"master")
        });
            if !master {
                return Err(unreachable(host, format!("{named_by}, but it is no master yet")));
            }
        }
        Ok(())
    }
}

pub(crate) fn unreachable(host: &Host, reason: impl Into<String>) -> StoreError {
    StoreError::Unreachable { place: host.to_string(), reason: reason.into() }
}

fn with_password(
    login: RedisConnectionInfo,
    user: Option<&str>,
    password: Option<&str>,
) -> RedisConnectionInfo {
    let login = match user {
        Some(user) => login.set_username(user),
        None => login,
    };
    match password {
        Some(password) => login.set_password(password),
        None => login,
    }
}

pub(super) fn refused(host: &Host, error: &RedisError) -> StoreError {
    if error.is_io_error() {
        return unreachable(host, error.to_string());
    }
    let (code, detail) = error_code::read(error);
    let denied = Store::Redis.meaning(&code) == Some(Meaning::NoAccess);
    if denied || error.kind() == ErrorKind::AuthenticationFailed {
        StoreError::Denied { code, detail }
    } else {
        StoreError::Refused { code, detail }
    }
}
