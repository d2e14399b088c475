//! Has the node's archive take in entries before they are trimmed.

use super::Redis;
use crate::archive::Archive;
use crate::failure::Failure;
use firstcome_core::state::Skip;
use std::sync::Arc;

impl Redis {
    pub(crate) async fn archive(
        &self,
        first: u64,
        last: u64,
        skips: Vec<Skip>,
    ) -> Result<(), Failure> {
        let Some(folder) = self.inner.options.archive.clone() else { return Ok(()) };
        let mut entries = Vec::new();
        for entry in self.read(first - 1).await? {
            if entry.position <= last {
                let name = entry.name()?;
                entries.push((entry, name));
            }
        }
        let mut archive = Arc::clone(&self.inner.archive).lock_owned().await;
        let (sealer, journal) = (self.sealer(), self.clone());
        let runtime = tokio::runtime::Handle::current();
        let work = move || {
            if archive.is_none() {
                // A trim that was cut short left entries in both: they must be the same.
                let seal_of = |position: u64| {
                    let there = runtime.block_on(journal.read(position - 1))?;
                    Ok(there.first().map(|entry| sealer.seal(entry)))
                };
                *archive = Some(Archive::open(&folder, sealer, first, seal_of)?);
            }
            let Some(archive) = archive.as_mut() else { return Ok(()) };
            skips.iter().try_for_each(|skip| archive.add_skip(skip))?;
            archive.add(&entries)
        };
        let archived = tokio::task::spawn_blocking(work).await;
        archived.unwrap_or_else(|ended| Err(Failure::Unavailable(ended.to_string())))
    }
}
