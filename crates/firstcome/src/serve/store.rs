//! The store a server runs on: the embedded file of this process, or one that several servers share.

use super::dev::SPACE;
use super::entering::Entering;
use super::shared::{Entry, SharedJournal, connect};
use crate::config::{Config, StoreOptions, StoreUrl};
use anyhow::Context;
use firstcome_core::{NodeId, SpaceId};
use firstcome_http::Durability;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::memory::Memory;
use firstcome_journal::sqlite::{self, Sqlite};
use firstcome_journal::{Clock, Journal};
use firstcome_lock::Locks;
use firstcome_node::leader::Election;
use std::path::PathBuf;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// The store, opened.
pub(super) enum Store {
    /// That of a server for tests, with its clock.
    InMemory(Memory, Clock),
    Embedded(Sqlite),
    Shared {
        journal: SharedJournal,
        locks: Locks,
    },
}

impl Store {
    /// Makes one that ends with this process, and reads this clock.
    pub(super) fn in_memory(clock: Clock) -> Self {
        Self::InMemory(Memory::new(SPACE, clock.clone()), clock)
    }

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
        let mut entering = Entering::new(config, folder, fresh)?;
        let opened = loop {
            match open_once(config, url, archive.clone(), entering.entry).await {
                Err(failure) => entering.once_more(failure).await.with_context(about)?,
                opened => break opened,
            }
        };
        let (journal, locks) = opened.with_context(about)?;
        if let Some(folder) = folder {
            let head = journal.journal().head().await?;
            folder.remember_space(&config.space, head.space)?;
        }
        journal.warn();
        let locks = main.spawn(connect(locks)).await?.with_context(about)?;
        Ok(Self::Shared { journal, locks })
    }

    /// Says whether this process alone has it.
    pub(super) fn is_of_this_process(&self) -> bool {
        match self {
            Self::InMemory(..) | Self::Embedded(_) => true,
            Self::Shared { .. } => false,
        }
    }

    pub(super) fn journal(&self) -> Journal {
        match self {
            Self::InMemory(memory, _) => Journal::Memory(memory.clone()),
            Self::Embedded(sqlite) => Journal::Sqlite(sqlite.clone()),
            Self::Shared { journal, .. } => journal.journal(),
        }
    }

    /// Returns the store's clock, where this process reads it itself.
    pub(super) fn clock(&self) -> Option<Clock> {
        match self {
            Self::InMemory(_, clock) => Some(clock.clone()),
            Self::Embedded(_) => Some(Clock::system()),
            Self::Shared { .. } => None,
        }
    }

    /// Says what an answer that left is safe against.
    pub(super) fn durability(&self) -> watch::Receiver<Durability> {
        match self {
            Self::InMemory(..) => {
                Durability::fixed("none: everything ends with this process".to_owned())
            }
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
            Self::InMemory(..) | Self::Embedded(_) => Ok(Election::Alone),
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
            Self::InMemory(..) => {}
            Self::Embedded(sqlite) => sqlite.close().await,
            Self::Shared { journal, locks } => {
                locks.close().await;
                journal.close().await;
            }
        }
    }
}

/// Opens the journal in a shared store; returns it with how the leader's lock is reached.
async fn open_once(
    config: &Config,
    url: &StoreUrl,
    archive: Option<PathBuf>,
    entry: Entry,
) -> anyhow::Result<(SharedJournal, StoreOptions)> {
    match url.options(config.store_ca.as_deref()).map_err(anyhow::Error::msg)? {
        StoreOptions::Redis(options) => SharedJournal::redis(config, options, archive, entry).await,
        StoreOptions::Postgres(options) => {
            SharedJournal::postgres(config, options, archive, entry).await
        }
        StoreOptions::MySql(options) => SharedJournal::mysql(config, options, archive, entry).await,
        StoreOptions::Nats(options) => SharedJournal::nats(config, options, archive, entry).await,
    }
}
