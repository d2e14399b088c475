//! Which store the locks are in.

use clap::Args;
use firstcome_lock::{Effect, Error, Locks, SqliteOptions};
use firstcome_store::{Redis, RedisOptions};

use super::super::complaint::{Complaint, Exit};
use super::super::terminal::out;

/// The schemes this build knows.
const KNOWN: &[&str] = &[
    "redis",
    "rediss",
    "redis+sentinel",
    "rediss+sentinel",
    "redis+cluster",
    "rediss+cluster",
    "postgres",
    "postgresql",
    "mysql",
    "mariadb",
    "nats",
    "tls",
    "sqlite",
];

/// Options of every verb that uses a store.
#[derive(Debug, Args)]
pub(in crate::cli) struct StoreArgs {
    /// The store of the locks.
    ///
    /// `redis://USER:PASSWORD@HOST:PORT/DATABASE` (all but the host may be left out), `rediss://…` for TLS,
    /// `redis+sentinel://HOST,HOST/MASTER`, `redis+cluster://HOST,HOST[?pubsub=auto|plain|sharded|both]`, `postgres://USER:PASSWORD@HOST/DATABASE`,
    /// `mysql://USER:PASSWORD@HOST/DATABASE`, `nats://USER:PASSWORD@HOST:PORT,HOST:PORT`, `sqlite://FILE`. If it has a
    /// password, set it as FIRSTCOME_STORE: all users of the machine can read a command line.
    #[arg(long, env = "FIRSTCOME_STORE", hide_env_values = true, value_name = "URL")]
    store: Option<String>,
}

impl StoreArgs {
    /// Connects, or says what is in the way.
    pub(super) async fn locks(&self) -> Result<Locks, Complaint> {
        let locks = Locks::connect(self.url()?).await?;
        // In a SQLite file or MariaDB that is the only way there is.
        if self.is_postgres() && locks.polls() {
            out::talk(
                "note: there is a pooler in front of the database, so releases send no message: waiters \
                 poll instead",
            );
        }
        Ok(locks)
    }

    /// Connects to look: a SQLite file that is not there is not made.
    pub(super) async fn look(&self) -> Result<Locks, Complaint> {
        let url = self.url()?;
        if has_scheme(url, &["sqlite"]) {
            let options = SqliteOptions::from_url(url).map_err(Error::from)?;
            if !options.path().exists() {
                let file = options.path().display();
                let complaint =
                    Complaint::usage(format!("there is no file {file}, so no lock is in it"));
                return Err(complaint.hint("check the path in --store or FIRSTCOME_STORE"));
            }
        }
        self.locks().await
    }

    /// Tells whether the store is a Redis, which keeps no list of locks.
    pub(super) fn is_redis(&self) -> bool {
        self.store.as_deref().is_none_or(|url| !has_scheme(url, &KNOWN[6..]))
    }

    fn is_postgres(&self) -> bool {
        self.store.as_deref().is_some_and(|url| has_scheme(url, &["postgres", "postgresql"]))
    }

    /// Connects to look at the keys of each server that has some: there is one, or those of a cluster.
    pub(super) async fn servers(&self) -> Result<Vec<Redis>, Complaint> {
        let mut servers = Vec::new();
        let failed = |failure| Complaint::from(Error::from(failure));
        let first = Redis::connect(RedisOptions::new(self.url()?)).await.map_err(failed)?;
        for options in first.each_server().await.map_err(failed)? {
            servers.push(Redis::connect(options).await.map_err(failed)?);
        }
        first.close().await;
        Ok(servers)
    }

    fn url(&self) -> Result<&str, Complaint> {
        let Some(url) = self.store.as_deref().filter(|url| !url.is_empty()) else {
            let complaint = Complaint::usage("no store is given for the lock");
            return Err(complaint.hint(
                "name one with --store redis://127.0.0.1:6379, or in the environment as FIRSTCOME_STORE",
            ));
        };
        match url.split_once("://") {
            Some((scheme, _)) if !KNOWN.contains(&scheme) => {
                let complaint =
                    Complaint::usage(format!("this build keeps no locks in `{scheme}://` stores"));
                Err(complaint.hint(format!("use one of {}://", KNOWN.join("://, "))))
            }
            Some(_) | None => Ok(url),
        }
    }
}

fn has_scheme(url: &str, schemes: &[&str]) -> bool {
    url.split_once("://").is_some_and(|(scheme, _)| schemes.contains(&scheme))
}

impl From<Error> for Complaint {
    fn from(failure: Error) -> Self {
        let wrong_words = matches!(
            failure,
            Error::Name { .. }
                | Error::OutOfRange { .. }
                | Error::BareHostName { .. }
                | Error::Store(firstcome_store::StoreError::Address { .. })
        );
        let exit = match failure.effect() {
            Effect::None if wrong_words => Exit::Usage,
            Effect::None => Exit::Unchanged,
            Effect::Unknown | _ => Exit::Unknown,
        };
        let complaint = Self::new(exit, failure.to_string());
        match failure.hint() {
            Some(hint) => complaint.hint(hint),
            None => complaint,
        }
    }
}
