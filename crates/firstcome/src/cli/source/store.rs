//! The store that several servers share, as it is named on the command line.

use std::path::PathBuf;

use clap::Args;
use firstcome_journal::mysql::{self, MySql};
use firstcome_journal::nats::{self, Nats};
use firstcome_journal::postgres::{self, DatabaseOptions, Durability, Postgres};
use firstcome_journal::redis::{self, Redis};
use firstcome_journal::{Journal, JournalError, Reading};

use crate::cli::complaint::Complaint;
use crate::config::{StoreOptions, StoreUrl};

/// A store that several servers share.
#[derive(Clone, Debug, Args)]
pub(in crate::cli) struct StoreArgs {
    /// The shared store, instead of a data folder; if it has a password, set it as FIRSTCOME_STORE.
    #[arg(long, env = "FIRSTCOME_STORE", hide_env_values = true, value_name = "URL")]
    // Read later: what the parser of arguments refuses it repeats, and there may be a password in it.
    store: Option<String>,
    /// PEM file with the certificate authorities for a rediss://, postgres://, mysql:// or tls:// store.
    #[arg(long, env = "FIRSTCOME_STORE_CA", value_name = "FILE")]
    store_ca: Option<PathBuf>,
}

/// A space: its name, the number of the journal in it, its identity.
pub(in crate::cli) struct Wanted<'a> {
    pub(in crate::cli) name: &'a str,
    pub(in crate::cli) space: firstcome_core::SpaceId,
    pub(in crate::cli) presence: Presence,
}

/// What is expected of the store in which a space is opened to be written to.
#[derive(Debug, Clone, Copy)]
pub(in crate::cli) enum Presence {
    /// It has this space.
    There,
    /// It has a space of this name, or gets one of this identity.
    Any,
    /// It has none of this name: this space is about to be brought there.
    Vacant,
}

impl StoreArgs {
    /// The URL as it was typed, password and all; an empty one names nothing.
    pub(in crate::cli) fn named(&self) -> Option<&str> {
        self.store.as_deref().filter(|url| !url.is_empty())
    }

    /// The URL as it is shown, without its password.
    pub(in crate::cli) fn shown(&self) -> Result<String, Complaint> {
        let url: Result<StoreUrl, String> = self.named().unwrap_or_default().parse();
        let url = url.map_err(|why| Complaint::usage(format!("the store: it {why}")))?;
        Ok(url.to_string())
    }

    /// The settings of a server with the same store.
    pub(in crate::cli) fn settings(&self) -> Vec<(&'static str, String)> {
        let store = self.named().map(|url| ("FIRSTCOME_STORE", url.to_owned()));
        let authorities = self.store_ca.as_ref();
        let authorities =
            authorities.map(|file| ("FIRSTCOME_STORE_CA", file.display().to_string()));
        store.into_iter().chain(authorities).collect()
    }

    /// Returns the store that is named.
    pub(in crate::cli) fn url(&self) -> Result<StoreUrl, Complaint> {
        let url = self.named().unwrap_or_default();
        url.parse().map_err(|why| Complaint::usage(format!("the store: it {why}")))
    }

    /// Opens the journal of a space in a store that is named, to write to it.
    pub(in crate::cli) async fn open_to_write(
        &self,
        url: &StoreUrl,
        wanted: &Wanted<'_>,
    ) -> Result<Journal, Complaint> {
        let opened = self.try_to_write(url, wanted).await?;
        opened.map_err(|failure| Complaint::about_store(url, &failure))
    }

    /// The same, for who knows what a failure means.
    pub(in crate::cli) async fn try_to_write(
        &self,
        url: &StoreUrl,
        wanted: &Wanted<'_>,
    ) -> Result<Result<Journal, JournalError>, Complaint> {
        let Wanted { name, space, presence } = *wanted;
        let vacant = matches!(presence, Presence::Vacant);
        let wanted = (!matches!(presence, Presence::Any)).then_some(space);
        let in_database = || DatabaseOptions {
            space_name: name.to_owned(),
            wanted,
            vacant,
            ..DatabaseOptions::new(space, Durability::Memory)
        };
        Ok(match self.options(url)? {
            StoreOptions::Redis(options) => {
                let journal = redis::Options {
                    space_name: name.to_owned(),
                    wanted,
                    vacant,
                    ..redis::Options::new(space, redis::Durability::Memory)
                };
                Redis::open(options, journal).await.map(Journal::Redis)
            }
            StoreOptions::Postgres(options) => {
                Postgres::open(options, in_database()).await.map(Journal::Postgres)
            }
            StoreOptions::MySql(options) => {
                MySql::open(options, in_database()).await.map(Journal::MySql)
            }
            StoreOptions::Nats(options) => {
                Nats::open(options, in_database()).await.map(Journal::Nats)
            }
        })
    }

    /// Opens the journal of a space in a store that is named, to read it. It makes nothing, and refuses where there is none.
    pub(in crate::cli) fn read(
        &self,
        url: &StoreUrl,
        name: &str,
        archive: Vec<PathBuf>,
    ) -> Result<Reading, Complaint> {
        let opened = match self.options(url)? {
            StoreOptions::Redis(options) => {
                redis::ReadOnly::open(options, name, archive).map(Reading::Redis)
            }
            StoreOptions::Postgres(options) => {
                postgres::open_read_only(options, name, archive).map(Reading::Database)
            }
            StoreOptions::MySql(options) => {
                mysql::open_read_only(options, name, archive).map(Reading::Database)
            }
            StoreOptions::Nats(options) => {
                nats::open_read_only(options, name, archive).map(Reading::Database)
            }
        };
        opened.map_err(|failure| Complaint::about_store(url, &failure))
    }

    /// Returns how a store is connected to.
    pub(in crate::cli) fn options(&self, url: &StoreUrl) -> Result<StoreOptions, Complaint> {
        url.options(self.store_ca.as_deref()).map_err(Complaint::usage)
    }
}
