//! A space out of a file, into a store that has nothing of it.

use firstcome_journal::archive::Archive;
use firstcome_journal::folder::DataFolder;
use firstcome_journal::space_file::{Purpose, SpaceFile};
use firstcome_journal::sqlite::{Options, Sqlite};
use firstcome_journal::{Journal, JournalError};
use std::path::Path;

/// How many entries are given to the archive together.
const ENTRIES: usize = 64;
/// The folder in a data folder in which a journal is put together.
const UNDER_WAY: &str = "importing";

/// Has the archive in a folder take in the entries of a file, and which of them are skipped. What it has already is left as
/// it is.
///
/// `progress` hears the position taken in and the last one.
///
/// # Errors
///
/// The folder cannot be used, or belongs to another space.
pub fn archive(
    file: &SpaceFile,
    folder: &Path,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), JournalError> {
    let (sealer, last) = (file.sealer(), file.seed().position);
    // The journal keeps none of these entries.
    let mut archive = Archive::open(folder, sealer, last + 1, |_| Ok(None))?;
    for skip in file.skips()? {
        archive.add_skip(&skip)?;
    }
    let mut entries = Vec::with_capacity(ENTRIES);
    for entry in file.entries(file.first()?) {
        let entry = entry?;
        progress(entry.0.position, last);
        entries.push(entry);
        if entries.len() == ENTRIES {
            archive.add(&entries)?;
            entries.clear();
        }
    }
    archive.add(&entries)
}

/// Stores the state of a file in a journal that has nothing, and has it begin there. The space is there with the last step.
///
/// `progress` hears how many pieces are stored, and how many there are.
///
/// # Errors
///
/// Those of the store; [`JournalError::Moved`] when somebody made a space there meanwhile. There is no space then, unless it is
/// [`JournalError::Unknown`].
pub async fn begin(
    file: &SpaceFile,
    journal: &Journal,
    mut progress: impl FnMut(u64, u64),
) -> Result<(), JournalError> {
    let mut seed = file.seed();
    if file.about().purpose == Purpose::Backup {
        // Whoever remembers a position behind the backup finds out that it is of another history.
        seed.epoch += 1;
    }
    let pieces = seed.pieces.len() as u64;
    for (done, name) in (1..).zip(&seed.pieces) {
        let bytes = file.piece(*name)?.ok_or(JournalError::PieceMissing(*name))?;
        journal.put_piece(*name, bytes).await?;
        progress(done, pieces);
    }
    let wanted = (seed.position, seed.name);
    match journal.begin_after(seed).await {
        Err(lost @ JournalError::Unknown(_)) => {
            let head = journal.head().await?;
            if (head.position, head.name) == wanted { Ok(()) } else { Err(lost) }
        }
        begun => begun,
    }
}

/// Puts the journal of a file into a data folder: in a folder of its own first, and then, whole, in its place.
///
/// # Errors
///
/// There is a journal in the folder, or it cannot be written. There is no new journal then.
pub async fn into_folder(
    file: &SpaceFile,
    folder: &DataFolder,
    progress: impl FnMut(u64, u64),
) -> Result<(), JournalError> {
    let path = folder.path().join(UNDER_WAY);
    let cannot = |error: std::io::Error| JournalError::Folder {
        folder: path.display().to_string(),
        why: error.to_string(),
    };
    // What is left of one that ended early. Nobody else is at it: this process has the folder around it.
    if path.exists() {
        std::fs::remove_dir_all(&path).map_err(cannot)?;
    }
    let under_way = DataFolder::take(&path)?;
    let about = file.about();
    let options = Options {
        space: Some(about.space),
        fresh_level: about.level,
        archive: false,
        ..Options::new(about.space)
    };
    let sqlite = Sqlite::open(&under_way, options)?;
    let begun = begin(file, &Journal::Sqlite(sqlite.clone()), progress).await;
    sqlite.close().await;
    begun?;
    let from = under_way.journal();
    let mut log = from.clone().into_os_string();
    log.push("-wal");
    if Path::new(&log).exists() {
        let why = "the log of the new journal could not be written into its file".to_owned();
        return Err(JournalError::Unavailable(why));
    }
    std::fs::rename(&from, folder.journal()).map_err(cannot)?;
    std::fs::File::open(folder.path()).and_then(|open| open.sync_all()).map_err(cannot)?;
    drop(under_way);
    std::fs::remove_dir_all(&path).map_err(cannot)
}
