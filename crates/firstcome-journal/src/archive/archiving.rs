//! Has the archive of a node take in entries of a shared store before they are trimmed.

use super::Archive;
use crate::entry::{Entry, Sealer};
use crate::error::JournalError;
use firstcome_core::state::Skip;
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::Mutex;

/// The archive of a node, opened with the first entries that it takes in; nothing without a folder.
#[derive(Clone, Debug)]
pub(crate) struct Archiving {
    folder: Option<PathBuf>,
    sealer: Sealer,
    archive: Arc<Mutex<Option<Archive>>>,
}

impl Archiving {
    pub(crate) fn new(folder: Option<PathBuf>, sealer: Sealer) -> Self {
        Self { folder, sealer, archive: Arc::default() }
    }

    /// Takes in the entries from `first` to `last`, which `read` gives beyond a position, and which of them are skipped.
    pub(crate) async fn take_in<F>(
        &self,
        first: u64,
        last: u64,
        skips: Vec<Skip>,
        read: impl Fn(u64) -> F + Send + 'static,
    ) -> Result<(), JournalError>
    where
        F: Future<Output = Result<Vec<Entry>, JournalError>>,
    {
        let (Some(folder), sealer) = (self.folder.clone(), self.sealer) else { return Ok(()) };
        let mut entries = Vec::new();
        for entry in read(first - 1).await? {
            if entry.position <= last {
                let name = entry.name()?;
                entries.push((entry, name));
            }
        }
        let mut archive = Arc::clone(&self.archive).lock_owned().await;
        let runtime = tokio::runtime::Handle::current();
        let work = move || {
            if archive.is_none() {
                // A trim that was cut short left entries in both: they must be the same.
                let seal_of = |position: u64| {
                    let there = runtime.block_on(read(position - 1))?;
                    Ok(there.first().map(|entry| sealer.seal(entry)))
                };
                *archive = Some(Archive::open(&folder, sealer, first, seal_of)?);
            }
            let Some(archive) = archive.as_mut() else { return Ok(()) };
            skips.iter().try_for_each(|skip| archive.add_skip(skip))?;
            archive.add(&entries)
        };
        let archived = tokio::task::spawn_blocking(work).await;
        archived.unwrap_or_else(|ended| Err(JournalError::Unavailable(ended.to_string())))
    }
}
