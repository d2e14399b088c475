//! A small pool of connections to one MariaDB.

use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mysql_async::prelude::Queryable as _;
use mysql_async::{Conn, Error, Opts, OptsBuilder, Row, SslOpts};
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

use super::options::MySqlOptions;
use crate::database_url::UrlKind;
use crate::error::StoreError;
use crate::store_errors::{Meaning, Store};

/// The URLs of a MariaDB.
const URL: UrlKind = UrlKind {
    schemes: ["mysql", "mariadb"],
    port: 3306,
    form: "write mysql://user[:password]@host[:port]/database[?sslmode=disable|require|verify-full]\
    [&sslrootcert=FILE], with % escapes for special characters",
};

/// Begins a transaction whose statements all read the same moment.
const SNAPSHOT: &str = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; \
    START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY";

/// The longest pause before statements that were undone by the server are sent again.
const PAUSE_MS: u64 = 20;

/// How long a connection that was not used for a while may take to show that it lives.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// A small pool of connections to one MariaDB; they are made when they are needed.
#[derive(Debug)]
pub struct MySqlPool {
    opts: Opts,
    options: MySqlOptions,
    place: String,
    idle: Mutex<Vec<Line>>,
    permits: Arc<Semaphore>,
}

#[derive(Debug)]
pub(super) struct Line {
    pub(super) conn: Conn,
    used: Instant,
}

impl MySqlPool {
    /// Makes a pool; nothing is sent yet.
    ///
    /// # Errors
    ///
    /// [`StoreError::Address`]: the URL cannot be read.
    pub fn new(options: MySqlOptions) -> Result<Self, StoreError> {
        let address = URL.read(&options.url)?;
        #[cfg(not(feature = "tls"))]
        if address.tls {
            return Err(StoreError::no_tls_built());
        }
        let tls = address.tls.then(|| {
            let tls = SslOpts::default();
            match address.authorities {
                Some(file) => {
                    tls.with_disable_built_in_roots(true).with_root_certs(vec![file.into()])
                }
                None => tls,
            }
        });
        let place = address.host.to_string();
        let seconds = options.lock_within.as_secs().max(1);
        // Only MariaDB has it.
        let idle = options.idle_within.map(|time| {
            format!("SET SESSION idle_transaction_timeout = {}", time.as_secs().max(1))
        });
        let builder = OptsBuilder::default()
            .ip_or_hostname(address.host.name)
            .tcp_port(address.host.port)
            .user(Some(address.user))
            .pass(address.password)
            .db_name(Some(address.database))
            .prefer_socket(false)
            .tcp_keepalive(Some(options.heartbeat.max(Duration::from_secs(1))))
            .ssl_opts(tls)
            .stmt_cache_size(0)
            // Whatever the server or the user is set to: the zone in which times are read, the rules by which a
            // statement is understood, that each is a transaction by itself, and that a list is given whole.
            .setup([format!(
                "SET SESSION autocommit = 1, time_zone = '+00:00', innodb_lock_wait_timeout = {seconds}, \
                 group_concat_max_len = 1048576, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'"
            ), "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED".to_owned()]
            .into_iter().chain(idle).collect::<Vec<_>>());
        let permits = Arc::new(Semaphore::new(options.connections));
        Ok(Self { opts: builder.into(), options, place, idle: Mutex::default(), permits })
    }

    /// Returns how long a statement may take: [`MySqlOptions::answer_within`].
    #[must_use]
    pub fn answer_within(&self) -> Duration {
        self.options.answer_within
    }

    /// Runs statements, separated by `;`, each a transaction of its own, and gives the rows of each that has some.
    ///
    /// Where the server undoes one because of a deadlock, all are sent again, for as long as
    /// [`MySqlOptions::answer_within`] allows: only the last one that changes something may be undone so.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`] when the answer was lost: they may have been carried out.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: whether they are carried out is then unknown.
    pub async fn step(&self, sql: &str) -> Result<Vec<Vec<Row>>, StoreError> {
        self.run(sql, AfterRefusal::Keep).await
    }

    /// Runs statements that only read, separated by `;`, which all see the same moment; gives the rows of each.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; they cannot have changed anything.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn snapshot(&self, sql: &str) -> Result<Vec<Vec<Row>>, StoreError> {
        // What is refused in the middle leaves a transaction under way.
        self.run(&format!("{SNAPSHOT}; {sql}; COMMIT"), AfterRefusal::Leave).await
    }

    async fn run(&self, sql: &str, after: AfterRefusal) -> Result<Vec<Vec<Row>>, StoreError> {
        let _permit = self.permit().await?;
        let deadline = Instant::now() + self.options.answer_within;
        loop {
            let mut line = self.line().await?;
            let answer = timeout(self.options.answer_within, ask(&mut line.conn, sql)).await;
            let error = match answer {
                Ok(Ok(sets)) => {
                    self.keep(line);
                    return Ok(sets);
                }
                Ok(Err(error)) => error,
                Err(_) => {
                    let reason = format!("no answer within {:?}", self.options.answer_within);
                    return Err(StoreError::Unknown { place: self.place.clone(), reason });
                }
            };
            if after == AfterRefusal::Keep
                && matches!(&error, Error::Server(refused) if !is_over(refused.code))
            {
                self.keep(line);
            }
            let pause = Duration::from_millis(fastrand::u64(1..=PAUSE_MS));
            if !gave_way(&error) || Instant::now() + pause >= deadline {
                return Err(self.failure(&error, Sent::Yes));
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Closes the connections that are free, and those in use when they come back; nobody gets one any more.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: they close all the same.
    pub async fn close(&self) {
        self.permits.close();
        let idle = std::mem::take(&mut *self.idle.lock().unwrap_or_else(PoisonError::into_inner));
        for line in idle {
            // One that is gone needs no good-bye.
            drop(timeout(SIGN_OF_LIFE, line.conn.disconnect()).await);
        }
    }

    pub(super) async fn permit(&self) -> Result<tokio::sync::SemaphorePermit<'_>, StoreError> {
        let limit = self.options.connect_within;
        match timeout(limit, self.permits.acquire()).await {
            Ok(Ok(permit)) => Ok(permit),
            Ok(Err(_)) => Err(StoreError::Closed),
            Err(_) => {
                let reason = format!("every connection of ours was in use for {limit:?}");
                Err(StoreError::Unreachable { place: self.place.clone(), reason })
            }
        }
    }

    /// Returns a free connection that lives, or a new one.
    pub(super) async fn line(&self) -> Result<Line, StoreError> {
        loop {
            let kept = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let Some(mut line) = kept else { break };
            if line.used.elapsed() < self.options.heartbeat
                || matches!(timeout(SIGN_OF_LIFE, line.conn.ping()).await, Ok(Ok(())))
            {
                return Ok(line);
            }
        }
        let limit = self.options.connect_within;
        match timeout(limit, Conn::new(self.opts.clone())).await {
            Ok(Ok(conn)) => Ok(Line { conn, used: Instant::now() }),
            Ok(Err(error)) => Err(self.failure(&error, Sent::Nothing)),
            Err(_) => {
                let reason = format!("no connection within {limit:?}");
                Err(StoreError::Unreachable { place: self.place.clone(), reason })
            }
        }
    }

    /// Says that there was no answer to what cannot count.
    pub(super) fn silent(&self) -> StoreError {
        let reason = format!("no answer within {:?}", self.options.answer_within);
        StoreError::Unreachable { place: self.place.clone(), reason }
    }

    /// Says that what may count has no answer.
    pub(super) fn unknown(&self, reason: String) -> StoreError {
        StoreError::Unknown { place: self.place.clone(), reason }
    }

    pub(super) fn keep(&self, mut line: Line) {
        if !self.permits.is_closed() {
            line.used = Instant::now();
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(line);
        }
    }

    pub(super) fn failure(&self, error: &Error, sent: Sent) -> StoreError {
        let place = self.place.clone();
        let Error::Server(refused) = error else {
            let reason = error.to_string();
            return match sent {
                Sent::Yes => StoreError::Unknown { place, reason },
                Sent::Nothing => StoreError::Unreachable { place, reason },
            };
        };
        let detail = refused.message.clone();
        let code = refused.code.to_string();
        match Store::MySql.meaning(&code) {
            Some(Meaning::NoAccess) => StoreError::Denied { code, detail },
            Some(Meaning::NoDatabase) => StoreError::NoDatabase { place, detail },
            Some(Meaning::ReadOnly) => StoreError::ReadOnly { place },
            Some(Meaning::NoRoom) => StoreError::Full { place, detail },
            Some(Meaning::InUse) => StoreError::Held { place, detail },
            Some(Meaning::NotReady) => match sent {
                Sent::Yes if is_over(refused.code) => StoreError::Unknown { place, reason: detail },
                Sent::Yes | Sent::Nothing => StoreError::Unreachable { place, reason: detail },
            },
            Some(Meaning::WrongKind) => StoreError::WrongKind { detail },
            None => StoreError::Statement { code: refused.state.clone(), detail },
        }
    }
}

/// What becomes of a connection on which a statement was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterRefusal {
    Keep,
    Leave,
}

/// Whether something was on its way when it failed.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sent {
    Yes,
    Nothing,
}

pub(super) fn ask(
    conn: &mut Conn,
    sql: &str,
) -> impl Future<Output = Result<Vec<Vec<Row>>, Error>> + Send {
    let sql = sql.to_owned();
    async move {
        let mut answer = conn.query_iter(sql).await?;
        let mut sets = Vec::new();
        while !answer.is_empty() {
            let has_rows = answer.columns().is_some_and(|columns| !columns.is_empty());
            let rows: Vec<Row> = answer.collect().await?;
            if has_rows {
                sets.push(rows);
            }
        }
        // An error of a later statement is kept back until somebody asks for what follows.
        answer.drop_result().await?;
        Ok(sets)
    }
}

/// Tells whether the server broke off with this: it is shutting down, or the connection or a statement was killed,
/// which may have been the one that only looks.
fn is_over(code: u16) -> bool {
    OVER.contains(&code)
}

/// The errors with which the server breaks off.
const OVER: [u16; 10] = [1053, 1077, 1079, 1080, 1184, 1317, 1927, 1969, 3024, 4031];

/// Says whether the server undid it in favour of another transaction, or because a table was changed or made since that
/// began, so that it can be sent again.
fn gave_way(error: &Error) -> bool {
    matches!(error, Error::Server(refused) if matches!(refused.code, 1213 | 1020 | 1412))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_server_breaks_off_with_passes() {
        for code in OVER {
            assert_eq!(Store::MySql.meaning(&code.to_string()), Some(Meaning::NotReady), "{code}");
        }
    }
}
