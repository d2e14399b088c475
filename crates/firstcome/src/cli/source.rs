//! Which journal a verb reads.

mod store;

pub(super) use self::store::StoreArgs;
#[cfg(feature = "locks")]
pub(super) use self::store::Wanted;

use std::path::PathBuf;

use clap::Args;
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
    #[command(flatten)]
    pub(super) store: StoreArgs,
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

impl SourceArgs {
    /// Says whether it is a shared store.
    pub(super) fn is_shared(&self) -> bool {
        self.store.named().is_some()
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
        let place = match self.store.named() {
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
        match self.store.named() {
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

    fn open_url(&self, url: &StoreUrl, space: &str) -> Result<Reading, Complaint> {
        match url.kind() {
            #[cfg(feature = "redis")]
            StoreKind::Redis => {
                let (options, archive) = (self.store.redis(url)?, self.archive.clone());
                firstcome_journal::redis::ReadOnly::open(options, space, 0, archive)
                    .map(Reading::Redis)
                    .map_err(|failure| Complaint::about_store(url, &failure))
            }
            #[cfg(feature = "postgres")]
            StoreKind::Postgres => {
                let (options, archive) = (self.store.postgres(url), self.archive.clone());
                firstcome_journal::postgres::open_read_only(options, space, 0, archive)
                    .map(Reading::Database)
                    .map_err(|failure| Complaint::about_store(url, &failure))
            }
            #[cfg(feature = "mysql")]
            StoreKind::MySql => {
                let (options, archive) = (self.store.mysql(url), self.archive.clone());
                firstcome_journal::mysql::open_read_only(options, space, 0, archive)
                    .map(Reading::Database)
                    .map_err(|failure| Complaint::about_store(url, &failure))
            }
            #[cfg(not(all(feature = "redis", feature = "postgres", feature = "mysql")))]
            StoreKind::Redis | StoreKind::Postgres | StoreKind::MySql => {
                let _: &str = space;
                Err(Complaint::usage(format!(
                    "{url} cannot be read: this build has no such store (features `redis`, `postgres`, `mysql`)"
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
