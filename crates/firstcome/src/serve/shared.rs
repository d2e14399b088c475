//! The stores that several servers share.

use crate::config::{Config, Durability as Wanted, StoreOptions};
use firstcome_core::SpaceId;
use firstcome_http::Durability;
use firstcome_journal::mysql::MySql;
use firstcome_journal::nats::{self, Nats};
use firstcome_journal::postgres as database;
use firstcome_journal::postgres::Postgres;
use firstcome_journal::redis::{self, Redis};
use firstcome_journal::{Journal, Warning};
use firstcome_lock::Locks;
use firstcome_node::log;
use firstcome_store::RedisOptions;
use firstcome_store::mysql::MySqlOptions;
use firstcome_store::nats::NatsOptions;
use firstcome_store::postgres::PostgresOptions;
use std::path::PathBuf;
use tokio::sync::watch;

use super::nats_monitor::{self, watch_proof};
use super::settings::{Watching, watch_settings};

/// A journal that several servers share, opened.
pub(super) struct SharedJournal {
    journal: Journal,
    /// Settings of the store that weaken the promises, as they were when it was opened.
    warnings: Vec<Warning>,
    durability: watch::Receiver<Durability>,
    /// Watches what is promised, as long as this is there.
    _watching: Option<Watching>,
}

/// How the space of a server is entered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// The identity of a space that is made.
    pub(super) fresh: SpaceId,
    /// The one that the space must have.
    pub(super) wanted: Option<SpaceId>,
    /// Whether a space is made where there is none.
    pub(super) make: bool,
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
    entry: Entry,
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
        when_less_durable: config.when_less_durable,
        wanted: entry.wanted,
        make: entry.make,
        ..database::DatabaseOptions::new(entry.fresh, durability)
    })
}

impl SharedJournal {
    pub(super) async fn redis(
        config: &Config,
        options: RedisOptions,
        archive: Option<PathBuf>,
        entry: Entry,
    ) -> anyhow::Result<(Self, StoreOptions)> {
        let durability = match config.durability {
            Wanted::Auto => redis::Durability::default_for(options.clone(), &config.space).await?,
            Wanted::Memory => redis::Durability::Memory,
            Wanted::Copies(copies) => redis::Durability::Copies(copies),
            Wanted::Fsync => redis::Durability::Fsync,
            Wanted::QuorumMemory => anyhow::bail!("quorum-memory is for NATS"),
        };
        let journal = redis::Options {
            space_name: config.space.clone(),
            archive,
            when_less_durable: config.when_less_durable,
            wanted: entry.wanted,
            make: entry.make,
            ..redis::Options::new(entry.fresh, durability)
        };
        let redis = Redis::open(options.clone(), journal).await?;
        let (promise, warnings) = (redis.promise(), redis.warnings().to_vec());
        let opened = Self::by_its_settings(Journal::Redis(redis), promise, warnings);
        Ok((opened, StoreOptions::Redis(options)))
    }

    pub(super) async fn postgres(
        config: &Config,
        options: PostgresOptions,
        archive: Option<PathBuf>,
        entry: Entry,
    ) -> anyhow::Result<(Self, StoreOptions)> {
        let journal = in_database(config, archive, entry)?;
        let postgres = Postgres::open(options.clone(), journal).await?;
        // Beside the journal, so that one right to one schema is enough.
        let locks = options
            .schema(postgres.schema())
            .connections(1)
            .answer_within(LOCKS_ANSWER_WITHIN)
            .lock_within(LOCKS_ANSWER_WITHIN / 2);
        let (promise, warnings) = (postgres.promise(), postgres.warnings().to_vec());
        let opened = Self::by_its_settings(Journal::Postgres(postgres), promise, warnings);
        Ok((opened, StoreOptions::Postgres(locks)))
    }

    pub(super) async fn mysql(
        config: &Config,
        options: MySqlOptions,
        archive: Option<PathBuf>,
        entry: Entry,
    ) -> anyhow::Result<(Self, StoreOptions)> {
        let journal = in_database(config, archive, entry)?;
        let mysql = MySql::open(options.clone(), journal).await?;
        // In the same database: its tables have names of their own.
        let locks = options
            .connections(1)
            .answer_within(LOCKS_ANSWER_WITHIN)
            .lock_within(LOCKS_ANSWER_WITHIN / 2);
        let (promise, warnings) = (mysql.promise(), mysql.warnings().to_vec());
        let opened = Self::by_its_settings(Journal::MySql(mysql), promise, warnings);
        Ok((opened, StoreOptions::MySql(locks)))
    }

    pub(super) async fn nats(
        config: &Config,
        options: NatsOptions,
        archive: Option<PathBuf>,
        entry: Entry,
    ) -> anyhow::Result<(Self, StoreOptions)> {
        let journal = nats::DatabaseOptions {
            space_name: config.space.clone(),
            archive,
            wanted: entry.wanted,
            make: entry.make,
            ..nats::DatabaseOptions::new(entry.fresh, nats::Durability::Memory)
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
                let (durability, watching) = watch_proof(&nats, monitors, every, proof);
                (durability, Some(watching))
            }
        };
        let locks = options.answer_within(LOCKS_ANSWER_WITHIN);
        let warnings = nats.warnings(at_start);
        let journal = Journal::Nats(nats);
        let opened = Self { journal, warnings, durability, _watching: watching };
        Ok((opened, StoreOptions::Nats(locks)))
    }

    /// A journal in a store that promises what its settings say.
    fn by_its_settings(journal: Journal, promise: String, warnings: Vec<Warning>) -> Self {
        let (durability, watching) = watch_settings(&journal, promise, &warnings);
        Self { journal, warnings, durability, _watching: Some(watching) }
    }

    /// Logs settings of the store that weaken the promises, and what to do.
    pub(super) fn warn(&self) {
        for warning in &self.warnings {
            log!(StoreWarning, "{}; {}", warning.what, warning.fix);
        }
    }

    pub(super) fn journal(&self) -> Journal {
        self.journal.clone()
    }

    /// Says what an answer that left is safe against.
    pub(super) fn durability(&self) -> watch::Receiver<Durability> {
        self.durability.clone()
    }

    pub(super) async fn close(self) {
        self.journal.close().await;
    }
}

/// How long a step of the leader's lock may take in a database.
const LOCKS_ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(3);
