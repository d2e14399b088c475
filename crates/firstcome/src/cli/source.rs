//! Which journal a verb reads.

mod store;

pub(super) use self::store::StoreArgs;
pub(super) use self::store::{Presence, Wanted};

use std::path::{Path, PathBuf};

use clap::Args;
use firstcome_journal::space_file::SpaceFile;
use firstcome_journal::sqlite::ReadOnly;
use firstcome_journal::{JournalError, Reading};

use super::complaint::{Complaint, Exit};
use super::connect::FolderArgs;
use super::terminal::{out, progress};
use crate::config::StoreUrl;

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
    pub(super) archive: Vec<PathBuf>,
    /// Write on stderr what is read, and each request to a server, with the status of its answer and how long it took.
    #[arg(short, long)]
    pub(super) verbose: bool,
}

/// Where a journal is that is only read: a file of an exported space, too.
#[derive(Debug, Args)]
pub(super) struct ReadArgs {
    #[command(flatten)]
    pub(super) source: SourceArgs,
    /// A file that `firstcome journal export` wrote, instead of a data folder or a store. All of it is checked first.
    #[arg(long, value_name = "FILE", conflicts_with = "archive")]
    file: Option<PathBuf>,
}

/// The name of a space.
#[derive(Debug, Args)]
pub(super) struct SpaceArgs {
    /// The name of the space in the store, as for `serve`.
    #[arg(long, env = "FIRSTCOME_SPACE", default_value = "main", value_name = "NAME")]
    pub(super) space: String,
}

impl ReadArgs {
    /// Says whether it is not in a data folder.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.file.is_some() || self.source.is_shared()
    }

    /// Opens the journal. It makes nothing, and refuses where there is none.
    pub(super) fn open(&self, space: &str) -> Result<Reading, Complaint> {
        let Some(path) = &self.file else { return self.source.open(space) };
        let file = open_file(path)?;
        let journal = Reading::File(file);
        if self.source.verbose {
            tell(&journal, &path.display().to_string())?;
        }
        Ok(journal)
    }
}

/// Opens a file of an exported space and checks all of it.
pub(super) fn open_file(path: &Path) -> Result<SpaceFile, Complaint> {
    let meter = progress::bytes();
    let file = SpaceFile::open(path, |checked, bytes| {
        meter.set_length(bytes);
        meter.set_position(checked);
    });
    meter.finish_and_clear();
    Ok(file?)
}

/// Says which journal it is, and which entries it has.
fn tell(journal: &Reading, place: &str) -> Result<(), Complaint> {
    let (first, last) = (journal.first()?, journal.head()?.position);
    match first > last {
        true => out::talk(format!("journal of {place}: no entry")),
        false => out::talk(format!("journal of {place}: entries {first} to {last}")),
    }
    Ok(())
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
        tell(journal, &place)
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
        self.store.read(&url, space, self.archive.clone())
    }
}

/// Returns what a failure of a journal ends a command with: what was looked at is not good, or it could not be looked at.
fn exit_of(failure: &JournalError) -> Exit {
    let refused = matches!(
        failure,
        JournalError::Damaged { .. }
            | JournalError::Broken(_)
            | JournalError::BadFile { .. }
            | JournalError::HasSpace(_)
            | JournalError::StillThere { .. }
            | JournalError::SpaceMoved { .. }
    );
    if refused { Exit::Refused } else { Exit::Unchanged }
}

impl From<JournalError> for Complaint {
    fn from(failure: JournalError) -> Self {
        let complaint = Self::new(exit_of(&failure), failure.to_string());
        match failure.hint() {
            Some(hint) => complaint.hint(hint),
            None => complaint,
        }
    }
}

impl Complaint {
    /// Names the store that a failure is about; its password is left out.
    pub(super) fn about_store(url: &StoreUrl, failure: &JournalError) -> Self {
        let complaint =
            Self::new(exit_of(failure), format!("the store {url} cannot be used: {failure}"));
        match (failure.hint(), failure) {
            (Some(hint), _) => complaint.hint(hint),
            (None, JournalError::Unavailable(_)) => complaint.hint(
                "check that it runs and can be reached from here, or name another with --store",
            ),
            (None, _) => complaint,
        }
    }
}
