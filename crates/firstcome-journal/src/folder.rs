//! The data folder: one process at a time, and who it is.
//!
//! A process that serves a folder holds the operating system's lock on the file `lock` in it for as
//! long as it lives; the lock goes with the process, however that ends. The file's content says who
//! it is, for people and for clients that want to reach it.

use crate::error::JournalError;
use firstcome_core::names::SpaceId;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// How often a taker looks again while somebody may only be looking who the owner is.
const LOOKS: u32 = 10;
/// How long it waits between two looks.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// A data folder that this process alone may use.
///
/// Clones are the same folder: it is free again when the last one is dropped.
#[derive(Clone, Debug)]
pub struct DataFolder {
    path: Arc<Path>,
    lock: Arc<Lock>,
}

/// Who has a data folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owner {
    /// Its process number, once it wrote it.
    pub pid: Option<u32>,
    /// Where it listens, once it does.
    pub address: Option<String>,
}

#[derive(Debug)]
struct Lock(Mutex<File>);

impl Drop for Lock {
    fn drop(&mut self) {
        let file = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        // The content is for reading only: the lock itself goes with the file's closing.
        drop(file.set_len(0));
    }
}

impl DataFolder {
    /// Takes a folder, made with access for its owner only if it is not there.
    ///
    /// # Errors
    ///
    /// [`JournalError::InUse`] when another process, or this one, has it; [`JournalError::Folder`] when it
    /// cannot be made or written to.
    pub fn take(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        let path = path.as_ref();
        let cannot = |error: io::Error| cannot_use(path, &error.to_string());
        create(path).map_err(cannot)?;
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = regular_file(path).and_then(|lock| options.open(lock)).map_err(cannot)?;
        if !lock(&file).map_err(cannot)? {
            let owner = read_owner(path);
            return Err(JournalError::InUse {
                folder: path.display().to_string(),
                owner: owner.to_string(),
            });
        }
        let taken = Self { path: path.into(), lock: Arc::new(Lock(Mutex::new(file))) };
        taken.write(&format!("pid {}\n", std::process::id()))?;
        Ok(taken)
    }

    /// Says where this process listens, for [`owner`] and for whoever tries to take the folder.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn announce(&self, address: &str) -> Result<(), JournalError> {
        self.write(&format!("pid {}\naddress {address}\n", std::process::id()))
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns where the journal is.
    pub fn journal(&self) -> PathBuf {
        journal_file(&self.path)
    }

    /// Returns where the ledger is.
    pub fn ledger(&self) -> PathBuf {
        ledger_file(&self.path)
    }

    /// Returns the folder of what was trimmed.
    pub fn archive(&self) -> PathBuf {
        archive_folder(&self.path)
    }

    /// Returns which space a shared store had when this folder was used with it last, by the space's name.
    ///
    /// # Errors
    ///
    /// [`JournalError::Folder`] when the file that says so cannot be read.
    pub fn known_space(&self, name: &str) -> Result<Option<SpaceId>, JournalError> {
        let file = self.space_file();
        // A pipe would be waited for.
        if file.symlink_metadata().is_ok_and(|found| !found.is_file()) {
            return Err(cannot_use(&file, "it is no regular file: remove it"));
        }
        let text = match std::fs::read_to_string(&file) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(cannot_use(&file, &error.to_string())),
        };
        let of_name = text.lines().filter_map(|line| line.split_once(' '));
        let Some((_, id)) = of_name.into_iter().find(|(known, _)| *known == name) else {
            return Ok(None);
        };
        let id = id.trim().parse();
        id.map(Some)
            .map_err(|why: &str| cannot_use(&file, &format!("the space {name} in it {why}")))
    }

    /// Remembers which space a shared store has under a name.
    ///
    /// # Errors
    ///
    /// [`JournalError::Folder`] when the file cannot be written.
    pub fn remember_space(&self, name: &str, space: SpaceId) -> Result<(), JournalError> {
        let file = self.space_file();
        let before = std::fs::read_to_string(&file).unwrap_or_default();
        let line = format!("{name} {space}");
        if before.lines().any(|known| known == line) {
            return Ok(());
        }
        let others = before
            .lines()
            .filter(|known| known.split_once(' ').is_some_and(|(known, _)| known != name));
        let text = others.chain([&*line]).fold(String::new(), |text, line| text + line + "\n");
        let replace = || {
            let new = self.path.join("spaces.new");
            // One that a killed process left, or a link: what that leads to would be written over.
            drop(std::fs::remove_file(&new));
            let mut written = File::create_new(&new)?;
            written.write_all(text.as_bytes())?;
            written.sync_all()?;
            std::fs::rename(&new, &file)?;
            sync_folder(&self.path)
        };
        replace().map_err(|error| cannot_use(&file, &error.to_string()))
    }

    /// Returns where it is remembered which spaces shared stores had.
    pub fn space_file(&self) -> PathBuf {
        self.path.join("spaces")
    }

    fn write(&self, text: &str) -> Result<(), JournalError> {
        let mut file = self.lock.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut write = || {
            file.seek(SeekFrom::Start(0))?;
            // What stands there already is a beginning of what is written, so that nobody reads half of it.
            file.write_all(text.as_bytes())?;
            file.set_len(text.len() as u64)
        };
        write().map_err(|error| cannot_use(&self.path, &error.to_string()))
    }
}

/// Returns where the journal of a data folder is.
pub fn journal_file(folder: &Path) -> PathBuf {
    folder.join("journal.sqlite")
}

/// Returns where the ledger of a data folder is.
pub fn ledger_file(folder: &Path) -> PathBuf {
    folder.join("ledger.sqlite")
}

/// Returns the folder of what was trimmed in a data folder.
pub fn archive_folder(folder: &Path) -> PathBuf {
    folder.join("archive")
}

/// Says whether a server has used a folder, whether it runs or not.
pub fn is_a_servers(path: impl AsRef<Path>) -> bool {
    lock_file(path.as_ref()).exists()
}

/// Says who has a folder right now; nobody if its lock is free.
pub fn owner(path: impl AsRef<Path>) -> Option<Owner> {
    let path = path.as_ref();
    let file = regular_file(path).and_then(File::open).ok()?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => Some(read_owner(path)),
        // Held for no longer than this: see `lock`.
        Ok(()) | Err(TryLockError::Error(_)) => None,
    }
}

impl std::fmt::Display for Owner {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.pid, &self.address) {
            (Some(pid), Some(address)) => write!(f, "process {pid} at {address}"),
            (Some(pid), None) => write!(f, "process {pid}"),
            (None, _) => f.write_str("another process"),
        }
    }
}

/// Takes the lock if nobody has it. A client that looks who has it holds it for a moment: one look
/// is not enough to call it taken.
fn lock(file: &File) -> io::Result<bool> {
    for look in 1..=LOOKS {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if look < LOOKS => std::thread::sleep(LOOK_EVERY),
            Err(TryLockError::WouldBlock) => {}
        }
    }
    Ok(false)
}

fn read_owner(path: &Path) -> Owner {
    let mut text = String::new();
    if let Ok(file) = regular_file(path).and_then(File::open) {
        // What cannot be read says nothing.
        drop(file.take(4096).read_to_string(&mut text));
    }
    let value = |key: &str| text.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    Owner {
        pid: value("pid ").and_then(|pid| pid.parse().ok()),
        address: value("address ").map(str::to_owned),
    }
}

fn lock_file(folder: &Path) -> PathBuf {
    folder.join("lock")
}

/// Returns the path of the lock's file, which is a file or not there: what a link leads to would be written over, and a pipe
/// would be waited for.
fn regular_file(folder: &Path) -> io::Result<PathBuf> {
    let path = lock_file(folder);
    match path.symlink_metadata() {
        Ok(found) if !found.is_file() => {
            Err(io::Error::other("`lock` in it is no regular file: remove it"))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        Ok(_) | Err(_) => Ok(path),
    }
}

fn cannot_use(folder: &Path, why: &str) -> JournalError {
    JournalError::Folder { folder: folder.display().to_string(), why: why.to_owned() }
}

fn create(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)?;
    match path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
        Some(parent) => sync_folder(parent),
        None => sync_folder(Path::new(".")),
    }
}

/// Makes the names in a folder durable.
pub(crate) fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_remembered_by_name_and_no_link_is_written_through() {
        let path = std::env::temp_dir().join(format!("firstcome-spaces-{}", std::process::id()));
        let folder = DataFolder::take(&path).expect("a folder");
        let known = |name| folder.known_space(name).expect("it can be read");
        assert_eq!(known("main"), None);
        let victim = path.join("victim");
        std::fs::write(&victim, "kept").expect("a file");
        std::os::unix::fs::symlink(&victim, path.join("spaces.new")).expect("a link");
        let (one, other) = (SpaceId([1; 16]), SpaceId([2; 16]));
        for (name, space) in [("main", other), ("second", other), ("main", one), ("main", one)] {
            folder.remember_space(name, space).expect("it can be written");
        }
        assert_eq!((known("main"), known("second"), known("mai")), (Some(one), Some(other), None));
        assert_eq!(std::fs::read_to_string(&victim).expect("it is there"), "kept");
        std::fs::write(folder.space_file(), "main 12\n").expect("written over");
        assert!(folder.known_space("main").is_err(), "no identity");
        std::fs::remove_file(folder.space_file()).expect("removed");
        std::fs::create_dir(folder.space_file()).expect("a folder in its place");
        assert!(folder.known_space("main").is_err(), "no file");
        drop(folder);
        std::fs::remove_dir_all(&path).expect("removed");
    }
}
