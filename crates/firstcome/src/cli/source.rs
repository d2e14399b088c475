//! Which journal a verb reads.

use std::path::PathBuf;

use clap::Args;
#[cfg(feature = "locks")]
use firstcome_journal::Journal;
use firstcome_journal::sqlite::ReadOnly;
use firstcome_journal::{Failure, Reading};

use super::complaint::{Complaint, Exit};
use super::connect::FolderArgs;
use super::out;
use crate::config::{StoreKind, StoreUrl};

/// Where a journal is: in a server's data folder, or in a store that several servers share.
#[derive(Debug, Args)]
pub(super) struct SourceArgs {
    #[command(flatten)]
    pub(super) folder: FolderArgs,
    /// The shared store, instead of a data folder; if it has a password, set it as FIRSTCOME_STORE.
    #[arg(long, env = "FIRSTCOME_STORE", hide_env_values = true, value_name = "URL")]
    // Read later: what the parser of arguments refuses it repeats, and there may be a password in it.
    store: Option<String>,
    /// PEM file with the certificate authorities for a rediss://, postgres://, mysql:// or tls:// store.
    #[arg(long, env = "FIRSTCOME_STORE_CA", value_name = "FILE")]
    store_ca: Option<PathBuf>,
    /// A folder with entries that were trimmed from the journal in the store: DATA/archive of a server that was leader.
    /// May be given several times.
    #[arg(long, value_name = "FOLDER")]
    archive: Vec<PathBuf>,
    /// Write on stderr what is read, and each request to a server, with the status of its answer and how long it took.
    #[arg(short, long)]
    pub(super) verbose: bool,
}

/// The name of a space.
#[derive(Debug, Args)]
pub(super) struct SpaceArgs {
    /// The name of the space in the store, as for `serve`.
    #[arg(long, env = "FIRSTCOME_SPACE", default_value = "main", value_name = "NAME")]
    pub(super) space: String,
}

/// A space that is there: its name, the number of the journal in it, its identity.
#[cfg(feature = "locks")]
pub(super) struct Wanted<'a> {
    pub(super) name: &'a str,
    pub(super) shard: u32,
    pub(super) space: firstcome_core::SpaceId,
}

impl SourceArgs {
    /// Says whether it is a shared store.
    pub(super) fn is_shared(&self) -> bool {
        self.store.as_deref().is_some_and(|url| !url.is_empty())
    }

    /// Opens the journal. It makes nothing, and refuses where there is none.
    pub(super) fn open(&self, space: &str) -> Result<Reading, Complaint> {
        let journal = self.open_any(space)?;
        if self.verbose {
            self.tell(&journal, space)?;
        }
        Ok(journal)
    }

    /// Says which journal it is, and which entries it has.
    fn tell(&self, journal: &Reading, space: &str) -> Result<(), Complaint> {
        let place = match self.store.as_deref().filter(|url| !url.is_empty()) {
            // Its password is left out.
            Some(url) => {
                let url: StoreUrl =
                    url.parse().map_err(|why| Complaint::usage(format!("the store: it {why}")))?;
                format!("{space} in {url}")
            }
            None => self.folder.data.display().to_string(),
        };
        let (first, last) = (journal.first()?, journal.head()?.position);
        match first > last {
            true => out::talk(format!("journal of {place}: no entry")),
            false => out::talk(format!("journal of {place}: entries {first} to {last}")),
        }
        Ok(())
    }

    fn open_any(&self, space: &str) -> Result<Reading, Complaint> {
        match self.store.as_deref().filter(|url| !url.is_empty()) {
            Some(url) => self.open_store(url, space),
            None if !self.archive.is_empty() => {
                let complaint = Complaint::usage("--archive is for a journal in a store");
                Err(complaint
                    .hint("name the store with --store; the archive of a data folder is found automatically"))
            }
            None => self.open_folder(),
        }
    }

    fn open_folder(&self) -> Result<Reading, Complaint> {
        let data = self.folder.data.display();
        ReadOnly::open(&self.folder.data).map(Reading::Sqlite).map_err(|failure| {
            let complaint = Complaint::own(format!("cannot read the journal in {data}: {failure}"));
            let otherwise = "name a server's data folder with --data or FIRSTCOME_DATA, or a store with --store";
            complaint.hint(failure.hint().unwrap_or(otherwise))
        })
    }

    fn open_store(&self, url: &str, space: &str) -> Result<Reading, Complaint> {
        let url: StoreUrl =
            url.parse().map_err(|why| Complaint::usage(format!("the store: it {why}")))?;
        if let Some(folder) = self.archive.iter().find(|folder| !folder.is_dir()) {
            let folder = folder.display();
            return Err(Complaint::usage(format!("there is no archive folder {folder}")));
        }
        self.open_url(&url, space)
    }

    /// Gives the store that is named.
    #[cfg(feature = "locks")]
    pub(super) fn url(&self) -> Result<StoreUrl, Complaint> {
        let url = self.store.as_deref().unwrap_or_default();
        url.parse().map_err(|why| Complaint::usage(format!("the store: it {why}")))
    }

    /// Opens the journal of a space that is there, in a store that is named, to write to it.
    #[cfg(feature = "locks")]
    pub(super) async fn open_to_write(
        &self,
        url: &StoreUrl,
        wanted: &Wanted<'_>,
    ) -> Result<Journal, Complaint> {
        let Wanted { name, shard, space } = *wanted;
        let about = |failure| Complaint::about_store(url, &failure);
        match url.kind() {
            #[cfg(feature = "redis")]
            StoreKind::Redis => {
                use firstcome_journal::redis::{Durability, Options, Redis};
                let options = Options {
                    space_name: name.to_owned(),
                    shard,
                    wanted: Some(space),
                    ..Options::new(space, Durability::Memory)
                };
                let redis = Redis::open(self.redis(url)?, options).await;
                redis.map(Journal::Redis).map_err(about)
            }
            #[cfg(feature = "postgres")]
            StoreKind::Postgres => {
                use firstcome_journal::postgres::{Durability, Options, Postgres};
                let options = Options {
                    space_name: name.to_owned(),
                    shard,
                    wanted: Some(space),
                    ..Options::new(space, Durability::Memory)
                };
                let postgres = Postgres::open(self.postgres(url), options).await;
                postgres.map(Journal::Postgres).map_err(about)
            }
            #[cfg(feature = "mysql")]
            StoreKind::MySql => {
                use firstcome_journal::mysql::{Durability, MySql, Options};
                let options = Options {
                    space_name: name.to_owned(),
                    shard,
                    wanted: Some(space),
                    ..Options::new(space, Durability::Memory)
                };
                let mysql = MySql::open(self.mysql(url), options).await;
                mysql.map(Journal::MySql).map_err(about)
            }
            #[cfg(feature = "nats")]
            StoreKind::Nats => {
                use firstcome_journal::nats::{Durability, Nats, Options};
                let options = Options {
                    space_name: name.to_owned(),
                    shard,
                    wanted: Some(space),
                    ..Options::new(space, Durability::Memory)
                };
                let nats = Nats::open(self.nats(url), options).await;
                nats.map(Journal::Nats).map_err(about)
            }
            #[cfg(not(all(
                feature = "redis",
                feature = "postgres",
                feature = "mysql",
                feature = "nats"
            )))]
            StoreKind::Redis | StoreKind::Postgres | StoreKind::MySql | StoreKind::Nats => {
                let _ = (name, shard, space, about);
                Err(Complaint::usage("this build has no such store"))
            }
        }
    }

    /// Gives how a Redis is connected to.
    #[cfg(feature = "redis")]
    pub(super) fn redis(&self, url: &StoreUrl) -> Result<firstcome_store::Options, Complaint> {
        let mut options = firstcome_store::Options::new(url.reveal());
        if let Some(file) = &self.store_ca {
            let authorities = std::fs::read_to_string(file).map_err(|why| {
                Complaint::usage(format!(
                    "cannot read the authorities in {}: {why}",
                    file.display()
                ))
            })?;
            options = options.trust(authorities);
        }
        Ok(options)
    }

    /// Gives how a PostgreSQL is connected to.
    #[cfg(feature = "postgres")]
    pub(super) fn postgres(&self, url: &StoreUrl) -> firstcome_store::postgres::Options {
        firstcome_store::postgres::Options::new(url.with_authorities(self.store_ca.as_deref()))
    }

    /// Gives how a MariaDB is connected to.
    #[cfg(feature = "mysql")]
    pub(super) fn mysql(&self, url: &StoreUrl) -> firstcome_store::mysql::Options {
        firstcome_store::mysql::Options::new(url.with_authorities(self.store_ca.as_deref()))
    }

    /// Gives how a NATS server is connected to.
    #[cfg(feature = "nats")]
    pub(super) fn nats(&self, url: &StoreUrl) -> firstcome_store::nats::Options {
        firstcome_store::nats::Options::new(&*url.with_authorities(self.store_ca.as_deref()))
    }

    fn open_url(&self, url: &StoreUrl, space: &str) -> Result<Reading, Complaint> {
        match url.kind() {
            #[cfg(feature = "redis")]
            StoreKind::Redis => {
                let (options, archive) = (self.redis(url)?, self.archive.clone());
                firstcome_journal::redis::ReadOnly::open(options, space, 0, archive)
                    .map(Reading::Redis)
                    .map_err(|failure| Complaint::about_store(url, &failure))
            }
            #[cfg(feature = "postgres")]
            StoreKind::Postgres => {
                let (options, archive) = (self.postgres(url), self.archive.clone());
                firstcome_journal::postgres::open_read_only(options, space, 0, archive)
                    .map(Reading::Database)
                    .map_err(|failure| Complaint::about_store(url, &failure))
            }
            #[cfg(feature = "mysql")]
            StoreKind::MySql => {
                let (options, archive) = (self.mysql(url), self.archive.clone());
                firstcome_journal::mysql::open_read_only(options, space, 0, archive)
                    .map(Reading::Database)
                    .map_err(|failure| Complaint::about_store(url, &failure))
            }
            #[cfg(feature = "nats")]
            StoreKind::Nats => {
                let (options, archive) = (self.nats(url), self.archive.clone());
                firstcome_journal::nats::open_read_only(options, space, 0, archive)
                    .map(Reading::Database)
                    .map_err(|failure| Complaint::about_store(url, &failure))
            }
            #[cfg(not(all(
                feature = "redis",
                feature = "postgres",
                feature = "mysql",
                feature = "nats"
            )))]
            StoreKind::Redis | StoreKind::Postgres | StoreKind::MySql | StoreKind::Nats => {
                let _: &str = space;
                Err(Complaint::usage(format!(
                    "{url} cannot be read: this build has no such store (features `redis`, `postgres`, `mysql`, `nats`)"
                )))
            }
        }
    }
}

impl From<Failure> for Complaint {
    fn from(failure: Failure) -> Self {
        let damaged = matches!(failure, Failure::Damaged { .. } | Failure::Broken(_));
        let exit = if damaged { Exit::Refused } else { Exit::Unchanged };
        let complaint = Self::new(exit, failure.to_string());
        match failure.hint() {
            Some(hint) => complaint.hint(hint),
            None => complaint,
        }
    }
}

#[cfg(feature = "locks")]
impl Complaint {
    /// Names the store that a failure is about; its password is left out.
    pub(super) fn about_store(url: &StoreUrl, failure: &Failure) -> Self {
        let damaged = matches!(failure, Failure::Damaged { .. } | Failure::Broken(_));
        let exit = if damaged { Exit::Refused } else { Exit::Unchanged };
        let complaint = Self::new(exit, format!("the store {url} cannot be used: {failure}"));
        match (failure.hint(), failure) {
            (Some(hint), _) => complaint.hint(hint),
            (None, Failure::Unavailable(_)) => complaint.hint(
                "check that it runs and can be reached from here, or name another with --store",
            ),
            (None, _) => complaint,
        }
    }
}
