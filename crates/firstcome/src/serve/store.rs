//! The store a server runs on: the embedded file of this process, or one that several servers share.

use super::shared::{SharedJournal, connect};
use crate::config::{Config, StoreOptions};
use anyhow::Context;
use firstcome_core::{NodeId, SpaceId};
use firstcome_http::Durability;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::sqlite::{self, Sqlite};
use firstcome_journal::{Clock, Journal};
use firstcome_lock::Locks;
use firstcome_node::leader::Election;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// The store, opened.
pub(super) enum Store {
    Embedded(Sqlite),
    Shared { journal: SharedJournal, locks: Locks },
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
        main: &Handle,
    ) -> anyhow::Result<Self> {
        let Some(url) = &config.store else {
            let folder = folder.expect("the embedded store has a data folder");
            let options =
                sqlite::Options { archive: config.archive, ..sqlite::Options::new(fresh) };
            return Ok(Self::Embedded(Sqlite::open(folder, options)?));
        };
        let about = || format!("the store {url} cannot be used");
        let archive = folder.filter(|_| config.archive).map(DataFolder::archive);
        let options = url.options(config.store_ca.as_deref()).map_err(anyhow::Error::msg);
        let opened = match options.with_context(about)? {
            StoreOptions::Redis(options) => {
                SharedJournal::redis(config, options, archive, fresh).await
            }
            StoreOptions::Postgres(options) => {
                SharedJournal::postgres(config, options, archive, fresh).await
            }
            StoreOptions::MySql(options) => {
                SharedJournal::mysql(config, options, archive, fresh).await
            }
            StoreOptions::Nats(options) => {
                SharedJournal::nats(config, options, archive, fresh).await
            }
        };
        let (journal, locks) = opened.with_context(about)?;
        journal.warn();
        let locks = main.spawn(connect(locks)).await?.with_context(about)?;
        Ok(Self::Shared { journal, locks })
    }

    pub(super) fn journal(&self) -> Journal {
        match self {
            Self::Embedded(sqlite) => Journal::Sqlite(sqlite.clone()),
            Self::Shared { journal, .. } => journal.journal(),
        }
    }

    /// Returns the store's clock, where this process reads it itself.
    pub(super) fn clock(&self) -> Option<Clock> {
        match self {
            Self::Embedded(_) => Some(Clock::system()),
            Self::Shared { .. } => None,
        }
    }

    /// Says what an answer that left is safe against.
    pub(super) fn durability(&self) -> watch::Receiver<Durability> {
        match self {
            Self::Embedded(_) => Durability::fixed(
                "fsync: an answer leaves after its entry is on the disk; \
                 a killed process or a power cut loses none, a lost disk loses all"
                    .to_owned(),
            ),
            Self::Shared { journal, .. } => journal.durability(),
        }
    }

    /// Returns how it is decided who leads.
    pub(super) async fn election(&self, config: &Config, node: NodeId) -> anyhow::Result<Election> {
        match self {
            Self::Embedded(_) => Ok(Election::Alone),
            Self::Shared { locks, .. } => {
                let name = format!("fc:{{{}}}:leader", config.space);
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
            Self::Shared { journal, locks } => {
                locks.close().await;
                journal.close().await;
            }
        }
    }
}
