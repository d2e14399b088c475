//! Trims entries and pieces that no reader needs any more, in small steps.

use super::Redis;
use super::scripts::number;
use super::trouble::unexpected;
use crate::archive::Archive;
use crate::failure::Failure;
use crate::name::Name;
use firstcome_core::state::Skip;
use firstcome_store::Reply;
use std::path::Path;
use std::sync::Arc;

/// Entries dropped in one go.
const BITE_ENTRIES: u64 = 64;
/// Pieces dropped in one go.
const BITE_PIECES: u64 = 16;

/// Which entries a bite may take.
#[derive(Clone, Copy)]
enum May {
    /// None: only say which.
    Say,
    /// As many as there are.
    Any,
    /// Those up to a position.
    Through(u64),
}

/// What one bite left.
struct Bite {
    /// The first position kept.
    first: u64,
    /// The last position it took or may take; 0 if none.
    last: u64,
    /// Whether there may be more to drop.
    more: bool,
}

impl Redis {
    pub(crate) async fn trim(&self, term: u64) -> Result<u64, Failure> {
        loop {
            // One bite a call, so that appends go in between. It ends with what is old enough now.
            let bite = match &self.inner.options.archive {
                None => self.bite(term, May::Any).await?,
                Some(folder) => {
                    let bite = self.bite(term, May::Say).await?;
                    if bite.last >= bite.first {
                        self.archive(folder, bite.first, bite.last).await?;
                        self.bite(term, May::Through(bite.last)).await?
                    } else {
                        bite
                    }
                }
            };
            if !bite.more {
                return Ok(bite.first);
            }
        }
    }

    async fn bite(&self, term: u64, may: May) -> Result<Bite, Failure> {
        let (step, keys) = (&self.inner.scripts.trim, &self.inner.keys);
        let keep = i64::try_from(self.inner.options.keep_for.as_micros()).unwrap_or(i64::MAX);
        let command = self
            .call(step, &[&keys.journal, &keys.head, &keys.manifests, &keys.pieces])
            .arg(term)
            .arg(keep)
            .arg(BITE_ENTRIES)
            .arg(BITE_PIECES);
        let command = match may {
            May::Say => command.arg(-1),
            May::Any => command.arg(0),
            May::Through(last) => command.arg(last),
        };
        let command = command.arg(&keys.piece);
        let parts = self.run_resting_on(step, command, (0, Name::default()), term).await?;
        let [first, last, more] = &parts[..] else {
            return Err(unexpected(&Reply::List(parts), "three numbers"));
        };
        Ok(Bite { first: number(first)?, last: number(last)?, more: number(more)? == 1 })
    }

    /// Has the archive take entries in, durably.
    async fn archive(&self, folder: &Path, first: u64, last: u64) -> Result<(), Failure> {
        let mut entries = Vec::new();
        for entry in self.read(first - 1).await? {
            if entry.position <= last {
                let name = entry.name()?;
                entries.push((entry, name));
            }
        }
        let skips = self.skips().await?;
        let mut archive = Arc::clone(&self.inner.archive).lock_owned().await;
        let (folder, sealer, journal) = (folder.to_owned(), self.sealer(), self.clone());
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
            let gone = |skip: &&Skip| (first..=last).contains(&skip.position);
            skips.iter().filter(gone).try_for_each(|skip| archive.add_skip(skip))?;
            archive.add(&entries)
        };
        let archived = tokio::task::spawn_blocking(work).await;
        archived.unwrap_or_else(|ended| Err(Failure::Unavailable(ended.to_string())))
    }
}
