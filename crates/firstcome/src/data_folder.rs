//! The data folder of a command: what is made in it is its user's alone.

use firstcome_journal::error::JournalError;
use firstcome_journal::folder::DataFolder;
use rustix::fs::Mode;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Takes a data folder.
///
/// From now on nobody but its user may open a file that this process makes, wherever that is. Where other users may
/// enter the folder, as one that a package or a volume brought along, `warn` hears so.
///
/// # Errors
///
/// As [`DataFolder::take`].
pub(crate) fn take(path: &Path, warn: impl FnOnce(&str)) -> Result<DataFolder, JournalError> {
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    let folder = DataFolder::take(path)?;
    let mode = std::fs::metadata(path).map_or(0, |found| found.permissions().mode());
    if mode & 0o077 != 0 {
        let (mode, path) = (mode & 0o777, path.display());
        warn(&format!(
            "other users of this machine may enter {path} (mode {mode:o}): files made from now on are closed to \
             them, those that are there may not be; `chmod -R go= {path}` closes all of it"
        ));
    }
    Ok(folder)
}
