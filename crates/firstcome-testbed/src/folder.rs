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
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("firstcome-{label}-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary folder can be made");
        Self(path)
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
