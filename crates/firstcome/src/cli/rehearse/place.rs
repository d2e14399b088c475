//! Where a rehearsal takes place: a data folder beside the real one, or a space of its own in a shared store.

use std::fmt;
use std::path::{Path, PathBuf};

use super::RehearseArgs;
use crate::cli::complaint::{Complaint, Exit};
use crate::cli::source::StoreArgs;
use firstcome_journal::Journal;
use firstcome_journal::folder;

/// What the name of a space and of a data folder ends with.
const ENDING: &str = "-rehearsal";

/// The file by which the folder of a rehearsal is known.
const CONFIG: &str = "rehearsal.toml";

/// Where a rehearsal takes place.
pub(super) struct Place {
    pub(super) space: String,
    pub(super) folder: PathBuf,
    /// The store as it is shown.
    store: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.store {
            Some(store) => write!(f, "the space {} of {store}", self.space),
            None => write!(f, "the folder {}", self.folder.display()),
        }
    }
}

impl Place {
    /// Finds the place, and clears away what a rehearsal left that was killed or kept.
    pub(super) async fn prepare(args: &RehearseArgs) -> Result<Self, Complaint> {
        let space = format!("{}{ENDING}", args.space.space);
        firstcome_core::names::check_name(&space)
            .map_err(|why| Complaint::usage(format!("the name {space} {why}")))?;
        if args.store.named().is_none() {
            let folder = beside(&args.data)?;
            clear_folder(&folder)?;
            return Ok(Self { space, folder, store: None });
        }
        let store = Some(args.store.shown()?);
        let name = format!("firstcome-rehearsal-{}-{:08x}", std::process::id(), fastrand::u32(..));
        let place = Self { space, folder: std::env::temp_dir().join(name), store };
        make_space(&args.store, &place.space).await?;
        Ok(place)
    }

    /// The settings of the server that name the place.
    pub(super) fn settings(&self, args: &RehearseArgs) -> Vec<(&'static str, String)> {
        let mut settings = vec![
            ("FIRSTCOME_SPACE", self.space.clone()),
            // What it says last before it ends is shown.
            ("FIRSTCOME_LOG_FORMAT", "text".to_owned()),
            ("FIRSTCOME_LOG_LEVEL", "warn".to_owned()),
            ("FIRSTCOME_LEDGER", format!("sqlite:{}", self.ledger().display())),
        ];
        settings.extend(args.durability.clone().map(|level| ("FIRSTCOME_DURABILITY", level)));
        settings
    }

    fn ledger(&self) -> PathBuf {
        folder::ledger_file(&self.folder)
    }

    /// Removes what is left of the rehearsal.
    pub(super) async fn remove(&self, args: &RehearseArgs) -> Result<(), Complaint> {
        if self.store.is_some() {
            remove_space(&args.store, &self.space).await?;
        }
        Ok(())
    }

    /// Says what is kept, and until when.
    pub(super) fn kept(&self) -> String {
        format!("kept {self}: the next rehearsal removes it")
    }
}

/// The configuration of the server: a key for codes, of its own.
pub(super) fn config() -> (&'static str, String) {
    let secret = format!("{:032x}{:032x}", fastrand::u128(..), fastrand::u128(..));
    let text = format!(
        "# The server of a rehearsal. `firstcome rehearse` removes this folder.\n\
         [[code_keys]]\nid = \"rehearsal\"\nsecret = \"{secret}\"\n"
    );
    (CONFIG, text)
}

/// The folder of a rehearsal, beside the real one.
fn beside(data: &Path) -> Result<PathBuf, Complaint> {
    let name = data.file_name().and_then(|name| name.to_str());
    let name =
        name.ok_or_else(|| Complaint::usage(format!("--data {}: name a folder", data.display())))?;
    Ok(data.with_file_name(format!("{name}{ENDING}")))
}

/// Removes the folder of a rehearsal that was killed or kept; no other.
fn clear_folder(path: &Path) -> Result<(), Complaint> {
    if !path.exists() {
        return Ok(());
    }
    let shown = path.display();
    if !path.join(CONFIG).exists() {
        return Err(Complaint::new(
            Exit::Refused,
            format!("{shown} is there, and no rehearsal made it"),
        )
        .hint("move it away, or name another folder with --data"));
    }
    if let Some(owner) = folder::owner(path) {
        return Err(Complaint::new(
            Exit::Refused,
            format!("a rehearsal is under way in {shown}: {owner}"),
        )
        .hint("wait until it ends"));
    }
    std::fs::remove_dir_all(path)
        .map_err(|why| Complaint::own(format!("cannot remove {shown}: {why}")))
}

/// What the id of a space begins with that is made for a rehearsal: one that somebody else made is never removed.
const MARK: &[u8; 9] = b"rehearsal";

/// Makes the space of a rehearsal in its store, empty, in the place of what another one left there.
async fn make_space(store: &StoreArgs, name: &str) -> Result<(), Complaint> {
    let journal = open_space(store, name).await?;
    let done = async {
        let url = store.url()?;
        let about = |failure| Complaint::about_store(&url, &failure);
        if let Some((node, _)) = journal.members().await.map_err(about)?.first() {
            let address = &node.address;
            let why =
                format!("a rehearsal is under way in the space {name}: a server at {address}");
            return Err(Complaint::new(Exit::Refused, why)
                .hint("wait until it ends; one that was killed counts for ten seconds"));
        }
        let is_empty = journal.head().await.map_err(about)?.position == 0;
        if !is_empty {
            journal.remove().await.map_err(about)?;
        }
        Ok(is_empty)
    };
    let done = done.await;
    journal.close().await;
    if !done? {
        // A server that finds none would make one without the mark.
        open_space(store, name).await?.close().await;
    }
    Ok(())
}

/// Removes the space of a rehearsal from its store.
async fn remove_space(store: &StoreArgs, name: &str) -> Result<(), Complaint> {
    let journal = open_space(store, name).await?;
    let removed = journal.remove().await;
    journal.close().await;
    let url = store.url()?;
    removed.map_err(|failure| Complaint::about_store(&url, &failure))
}

/// Opens the space of a rehearsal, which is made where there is none; refuses one that no rehearsal made.
async fn open_space(store: &StoreArgs, name: &str) -> Result<Journal, Complaint> {
    use crate::cli::source::{Presence, Wanted};
    let url = store.url()?;
    let mut id = fastrand::u128(..).to_be_bytes();
    id[..MARK.len()].copy_from_slice(MARK);
    let space = firstcome_core::SpaceId(id);
    let wanted = Wanted { name, space, presence: Presence::Any };
    let journal = store.open_to_write(&url, &wanted).await?;
    let head = journal.head().await;
    let complaint = match head {
        Ok(head) if head.space.0.starts_with(MARK) => return Ok(journal),
        Ok(_) => Complaint::new(
            Exit::Refused,
            format!("the space {name} of {url} is there, and no rehearsal made it"),
        )
        .hint("name another space with --space: the rehearsal's has -rehearsal behind it"),
        Err(failure) => Complaint::about_store(&url, &failure),
    };
    journal.close().await;
    Err(complaint)
}
