use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder below the system's temporary folder, removed with everything in it on drop.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes a new, empty folder whose name begins with `label`.
    ///
    /// # Panics
    ///
    /// Panics where the folder cannot be made: no test can go on without it.
    #[must_use]
    pub fn new(label: &str) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = format!("firstcome-{label}-{}-{number}", std::process::id());
            let path = std::env::temp_dir().join(name);
            match std::fs::create_dir(&path) {
                Ok(()) => return Self(path),
                // One that was killed left it, and its number is that of this process now.
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => panic!("no temporary folder can be made: {error}"),
            }
        }
    }

    /// Returns the folder's path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A folder that stays behind harms nobody, and a panic while dropping would hide the test's own.
        drop(std::fs::remove_dir_all(&self.0));
    }
}
