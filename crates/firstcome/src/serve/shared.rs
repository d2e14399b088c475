//! The stores that several servers share.

use crate::config::{Config, Durability as Wanted, StoreUrl};
use anyhow::Context;
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

/// Where it is decided who leads: on the store of the journal.
pub(super) enum Candidates {
    Redis(Box<firstcome_store::RedisOptions>),
    Postgres(Box<firstcome_lock::PostgresOptions>),
    MySql(Box<firstcome_lock::MySqlOptions>),
    Nats(Box<firstcome_lock::NatsOptions>),
}

impl Candidates {
    /// Connects; the watchdog's lease is that of locks without one of their own, and the leader's has one.
    pub(super) async fn connect(self) -> Result<Locks, firstcome_lock::Error> {
        match self {
            Self::Redis(options) => Locks::builder().connect(*options).await,
            Self::Postgres(options) => Locks::builder().postgres(*options).await,
            Self::MySql(options) => Locks::builder().mysql(*options).await,
            Self::Nats(options) => Locks::builder().nats(*options).await,
        }
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
        url: &StoreUrl,
        archive: Option<PathBuf>,
        fresh: SpaceId,
    ) -> anyhow::Result<(Self, Candidates)> {
        let mut options = firstcome_store::RedisOptions::new(url.reveal());
        if let Some(file) = &config.store_ca {
            let authorities = std::fs::read_to_string(file)
                .with_context(|| format!("cannot read the authorities in {}", file.display()))?;
            options = options.trust(authorities);
        }
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
        Ok((Self::Redis(redis), Candidates::Redis(Box::new(options))))
    }

    pub(super) async fn postgres(
        config: &Config,
        url: &StoreUrl,
        archive: Option<PathBuf>,
        fresh: SpaceId,
    ) -> anyhow::Result<(Self, Candidates)> {
        let url = url.with_authorities(config.store_ca.as_deref());
        let options = firstcome_store::postgres::PostgresOptions::new(&*url);
        let journal = in_database(config, archive, fresh)?;
        let postgres = Postgres::open(options, journal).await?;
        // Beside the journal, so that one right to one schema is enough.
        let locks = firstcome_lock::PostgresOptions::new(&*url)
            .schema(postgres.schema())
            .connections(1)
            .answer_within(LOCKS_ANSWER_WITHIN)
            .lock_within(LOCKS_ANSWER_WITHIN / 2);
        Ok((Self::Postgres(postgres), Candidates::Postgres(Box::new(locks))))
    }

    pub(super) async fn mysql(
        config: &Config,
        url: &StoreUrl,
        archive: Option<PathBuf>,
        fresh: SpaceId,
    ) -> anyhow::Result<(Self, Candidates)> {
        let url = url.with_authorities(config.store_ca.as_deref());
        let options = firstcome_store::mysql::MySqlOptions::new(&*url);
        let journal = in_database(config, archive, fresh)?;
        let mysql = MySql::open(options, journal).await?;
        // In the same database: its tables have names of their own.
        let locks = firstcome_lock::MySqlOptions::new(&*url)
            .connections(1)
            .answer_within(LOCKS_ANSWER_WITHIN)
            .lock_within(LOCKS_ANSWER_WITHIN / 2);
        Ok((Self::MySql(mysql), Candidates::MySql(Box::new(locks))))
    }

    pub(super) async fn nats(
        config: &Config,
        url: &StoreUrl,
        archive: Option<PathBuf>,
        fresh: SpaceId,
    ) -> anyhow::Result<(Self, Candidates)> {
        let url = url.with_authorities(config.store_ca.as_deref());
        let journal = nats::DatabaseOptions {
            space_name: config.space.clone(),
            archive,
            ..nats::DatabaseOptions::new(fresh, nats::Durability::Memory)
        };
        let nats = Nats::open(firstcome_store::nats::NatsOptions::new(&*url), journal).await?;
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
        let locks = firstcome_lock::NatsOptions::new(&*url).answer_within(LOCKS_ANSWER_WITHIN);
        let opened = Self::Nats { nats, at_start, durability, _watching: watching };
        Ok((opened, Candidates::Nats(Box::new(locks))))
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
