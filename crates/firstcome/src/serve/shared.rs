//! The stores that several servers share.

use crate::config::{Config, Durability as Wanted, StoreOptions};
use firstcome_core::SpaceId;
use firstcome_http::Durability;
use firstcome_journal::Journal;
use firstcome_journal::mysql::MySql;
use firstcome_journal::nats::{self, Nats};
use firstcome_journal::postgres as database;
use firstcome_journal::postgres::Postgres;
use firstcome_journal::redis::{self, Redis};
use firstcome_lock::Locks;
use firstcome_node::log;
use firstcome_store::RedisOptions;
use firstcome_store::mysql::MySqlOptions;
use firstcome_store::nats::NatsOptions;
use firstcome_store::postgres::PostgresOptions;
use std::path::PathBuf;
use tokio::sync::watch;

use super::nats_monitor::{self, Watching};

/// A journal that several servers share, opened.
pub(super) enum SharedJournal {
    Redis(Redis),
    Postgres(Postgres),
    MySql(MySql),
    Nats {
        nats: Nats,
        /// What was proven when it was opened.
        at_start: nats::Durability,
        durability: watch::Receiver<Durability>,
        /// Proves `fsync` anew, as long as this is there.
        _watching: Option<Watching>,
    },
}

/// Connects to where it is decided who leads; the watchdog's lease is that of locks without one of their own, and the leader's
/// has one.
pub(super) async fn connect(options: StoreOptions) -> Result<Locks, firstcome_lock::Error> {
    let locks = Locks::builder();
    match options {
        StoreOptions::Redis(options) => locks.connect(options).await,
        StoreOptions::Postgres(options) => locks.postgres(options).await,
        StoreOptions::MySql(options) => locks.mysql(options).await,
        StoreOptions::Nats(options) => locks.nats(options).await,
    }
}

/// Returns how a journal in a database is opened: PostgreSQL and MariaDB have the same options.
fn in_database(
    config: &Config,
    archive: Option<PathBuf>,
    fresh: SpaceId,
) -> anyhow::Result<database::DatabaseOptions> {
    let durability = match config.durability {
        Wanted::Auto | Wanted::Fsync => database::Durability::Fsync,
        Wanted::Memory => database::Durability::Memory,
        Wanted::Copies(_) => anyhow::bail!("copies=N is for Redis"),
        Wanted::QuorumMemory => anyhow::bail!("quorum-memory is for NATS"),
    };
    Ok(database::DatabaseOptions {
        space_name: config.space.clone(),
        archive,
        ..database::DatabaseOptions::new(fresh, durability)
    })
}

impl SharedJournal {
    pub(super) async fn redis(
        config: &Config,
        options: RedisOptions,
        archive: Option<PathBuf>,
        fresh: SpaceId,
    ) -> anyhow::Result<(Self, StoreOptions)> {
        let durability = match config.durability {
            Wanted::Auto => redis::Durability::default_for(options.clone()).await?,
            Wanted::Memory => redis::Durability::Memory,
            Wanted::Copies(copies) => redis::Durability::Copies(copies),
            Wanted::Fsync => redis::Durability::Fsync,
            Wanted::QuorumMemory => anyhow::bail!("quorum-memory is for NATS"),
        };
        let journal = redis::Options {
            space_name: config.space.clone(),
            archive,
            ..redis::Options::new(fresh, durability)
        };
        let redis = Redis::open(options.clone(), journal).await?;
        Ok((Self::Redis(redis), StoreOptions::Redis(options)))
    }

    pub(super) async fn postgres(
        config: &Config,
        options: PostgresOptions,
        archive: Option<PathBuf>,
        fresh: SpaceId,
    ) -> anyhow::Result<(Self, StoreOptions)> {
        let journal = in_database(config, archive, fresh)?;
        let postgres = Postgres::open(options.clone(), journal).await?;
        // Beside the journal, so that one right to one schema is enough.
        let locks = options
            .schema(postgres.schema())
            .connections(1)
            .answer_within(LOCKS_ANSWER_WITHIN)
            .lock_within(LOCKS_ANSWER_WITHIN / 2);
        Ok((Self::Postgres(postgres), StoreOptions::Postgres(locks)))
    }

    pub(super) async fn mysql(
        config: &Config,
        options: MySqlOptions,
        archive: Option<PathBuf>,
        fresh: SpaceId,
    ) -> anyhow::Result<(Self, StoreOptions)> {
        let journal = in_database(config, archive, fresh)?;
        let mysql = MySql::open(options.clone(), journal).await?;
        // In the same database: its tables have names of their own.
        let locks = options
            .connections(1)
            .answer_within(LOCKS_ANSWER_WITHIN)
            .lock_within(LOCKS_ANSWER_WITHIN / 2);
        Ok((Self::MySql(mysql), StoreOptions::MySql(locks)))
    }

    pub(super) async fn nats(
        config: &Config,
        options: NatsOptions,
        archive: Option<PathBuf>,
        fresh: SpaceId,
    ) -> anyhow::Result<(Self, StoreOptions)> {
        let journal = nats::DatabaseOptions {
            space_name: config.space.clone(),
            archive,
            ..nats::DatabaseOptions::new(fresh, nats::Durability::Memory)
        };
        let nats = Nats::open(options.clone(), journal).await?;
        let monitors = &config.nats_monitor;
        let proof = match config.durability {
            Wanted::QuorumMemory => None,
            Wanted::Auto if monitors.is_empty() => None,
            Wanted::Auto => Some(nats_monitor::prove(&nats, monitors).await),
            Wanted::Fsync => {
                let proof = nats_monitor::prove(&nats, monitors).await;
                proof.as_ref().map_err(|why| anyhow::anyhow!("fsync is not proven: {why}"))?;
                Some(proof)
            }
            Wanted::Memory | Wanted::Copies(_) => anyhow::bail!("choose quorum-memory or fsync"),
        };
        let at_start = match proof {
            Some(Ok(())) => nats::Durability::Fsync,
            Some(Err(_)) | None => nats::Durability::Memory,
        };
        let (durability, watching) = match proof {
            None => (Durability::fixed(nats.promise(at_start)), None),
            Some(proof) => {
                let every = config.nats_monitor_every;
                let (durability, watching) = Watching::start(&nats, monitors, every, proof);
                (durability, Some(watching))
            }
        };
        let locks = options.answer_within(LOCKS_ANSWER_WITHIN);
        let opened = Self::Nats { nats, at_start, durability, _watching: watching };
        Ok((opened, StoreOptions::Nats(locks)))
    }

    /// Logs settings of the store that weaken the promises, and what to do.
    pub(super) fn warn(&self) {
        let warnings = match self {
            Self::Redis(redis) => redis.warnings().to_vec(),
            Self::Postgres(postgres) => postgres.warnings().to_vec(),
            Self::MySql(mysql) => mysql.warnings().to_vec(),
            Self::Nats { nats, at_start, .. } => nats.warnings(*at_start),
        };
        for warning in warnings {
            log!(StoreWarning, "{}; {}", warning.what, warning.fix);
        }
    }

    pub(super) fn journal(&self) -> Journal {
        match self {
            Self::Redis(redis) => Journal::Redis(redis.clone()),
            Self::Postgres(postgres) => Journal::Postgres(postgres.clone()),
            Self::MySql(mysql) => Journal::MySql(mysql.clone()),
            Self::Nats { nats, .. } => Journal::Nats(nats.clone()),
        }
    }

    /// Says what an answer that left is safe against.
    pub(super) fn durability(&self) -> watch::Receiver<Durability> {
        match self {
            Self::Redis(redis) => Durability::fixed(redis.promise()),
            Self::Postgres(postgres) => Durability::fixed(postgres.promise()),
            Self::MySql(mysql) => Durability::fixed(mysql.promise()),
            Self::Nats { durability, .. } => durability.clone(),
        }
    }

    pub(super) async fn close(self) {
        self.journal().close().await;
    }
}

/// How long a step of the leader's lock may take in a database.
const LOCKS_ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(3);
