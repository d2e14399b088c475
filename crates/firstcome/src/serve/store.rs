//! The store a server runs on: the embedded file of this process, or one that several servers share.

use crate::config::Config;
use firstcome_core::{NodeId, SpaceId};
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{self, Sqlite};
use firstcome_journal::{Clock, Journal};
use firstcome_node::leader::Election;
#[cfg(feature = "redis")]
use firstcome_node::log;
use tokio::runtime::Handle;

#[cfg(feature = "redis")]
use anyhow::Context;
#[cfg(feature = "redis")]
use firstcome_journal::redis::{self, Redis};
#[cfg(feature = "redis")]
use firstcome_lock::Locks;

/// The store, opened.
pub(super) enum Store {
    Embedded(Sqlite),
    #[cfg(feature = "redis")]
    Shared {
        redis: Redis,
        locks: Locks,
    },
}

impl Store {
    /// Opens what the configuration names; logs settings that weaken the promises, and what to do.
    ///
    /// The journal's connections live on the runtime that calls this, those of the leader's lock on `main`: a renewal does
    /// not wait while entries are applied.
    pub(super) async fn open(
        config: &Config,
        folder: Option<&DataFolder>,
        fresh: SpaceId,
        #[cfg_attr(
            not(feature = "redis"),
            expect(unused_variables, reason = "one alone elects nobody")
        )]
        main: &Handle,
    ) -> anyhow::Result<Self> {
        let Some(url) = &config.store else {
            let folder = folder.expect("the embedded store has a data folder");
            let options =
                sqlite::Options { archive: config.archive, ..sqlite::Options::new(fresh) };
            return Ok(Self::Embedded(Sqlite::open(folder, options)?));
        };
        #[cfg(not(feature = "redis"))]
        anyhow::bail!("{url} cannot be used: this build has no Redis (feature `redis`)");
        #[cfg(feature = "redis")]
        {
            let options = connection(config, url.reveal())?;
            let about = || format!("the store {url} cannot be used");
            use crate::config::Durability as Wanted;
            let durability = match config.durability {
                Wanted::Auto => {
                    redis::Durability::default_for(options.clone()).await.with_context(about)?
                }
                Wanted::Memory => redis::Durability::Memory,
                Wanted::Copies(copies) => redis::Durability::Copies(copies),
                Wanted::Fsync => redis::Durability::Fsync,
            };
            let archive = folder.filter(|_| config.archive).map(DataFolder::archive);
            let journal = redis::Options {
                space_name: config.space.clone(),
                archive,
                ..redis::Options::new(fresh, durability)
            };
            let redis = Redis::open(options.clone(), journal).await.with_context(about)?;
            for warning in redis.warnings() {
                log!(StoreWarning, "{}; {}", warning.what, warning.fix);
            }
            // The watchdog's lease is that of locks without one of their own: the leader's has one.
            let connecting = async move { Locks::builder().connect(options).await };
            let locks = main.spawn(connecting).await?.with_context(about)?;
            Ok(Self::Shared { redis, locks })
        }
    }

    pub(super) fn journal(&self) -> Journal {
        match self {
            Self::Embedded(sqlite) => Journal::Sqlite(sqlite.clone()),
            #[cfg(feature = "redis")]
            Self::Shared { redis, .. } => Journal::Redis(redis.clone()),
        }
    }

    /// Gives the store's clock, where this process reads it itself.
    pub(super) fn clock(&self) -> Option<Clock> {
        match self {
            Self::Embedded(_) => Some(Clock::system()),
            #[cfg(feature = "redis")]
            Self::Shared { .. } => None,
        }
    }

    /// Says what an answer that left is safe against.
    pub(super) fn promise(&self) -> String {
        match self {
            Self::Embedded(_) => "fsync: an answer leaves after its entry is on the disk; \
                 a killed process or a power cut loses none, a lost disk loses all"
                .to_owned(),
            #[cfg(feature = "redis")]
            Self::Shared { redis, .. } => redis.promise(),
        }
    }

    /// Gives how it is decided who leads.
    #[cfg_attr(
        not(feature = "redis"),
        expect(unused_variables, reason = "one alone elects nobody")
    )]
    pub(super) async fn election(&self, config: &Config, node: NodeId) -> anyhow::Result<Election> {
        match self {
            Self::Embedded(_) => Ok(Election::Alone),
            #[cfg(feature = "redis")]
            Self::Shared { locks, .. } => {
                let name = format!("fc:{{{}/0}}:leader", config.space);
                let candidate = firstcome_lock::Election::new(locks, &name)?
                    .node(node.to_string())
                    .lease(config.leader_lease);
                let watch = candidate.watch().await?;
                Ok(Election::Among { candidate, watch })
            }
        }
    }

    pub(super) async fn close(self) {
        match self {
            Self::Embedded(sqlite) => sqlite.close().await,
            #[cfg(feature = "redis")]
            Self::Shared { redis, locks } => {
                locks.close().await;
                redis.close().await;
            }
        }
    }
}

#[cfg(feature = "redis")]
fn connection(config: &Config, url: &str) -> anyhow::Result<firstcome_store::Options> {
    let options = firstcome_store::Options::new(url);
    let Some(file) = &config.store_ca else { return Ok(options) };
    let authorities = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the authorities in {}", file.display()))?;
    Ok(options.trust(authorities))
}
