//! Loads the state from the store: the newest snapshot, then every entry after it.

use crate::replica::{Replica, Stop};
use firstcome_core::snapshot::{BadSnapshot, Manifest, Restore};
use firstcome_core::{LEVEL, State};
use firstcome_journal::{EntriesRead, Entry, Failure, Journal, Looked, Name};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The pause before a journal is read again of which a part is not there yet.
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// How long the store may take to have it.
const LAGS_AT_MOST: Duration = Duration::from_secs(10);

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CannotStart {
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] Failure),
    /// The newest snapshot cannot be used.
    #[error(transparent)]
    Snapshot(#[from] BadSnapshot),
    /// An entry cannot be applied.
    #[error(transparent)]
    Entry(#[from] Stop),
}

/// Puts the state together as of the head of the journal, or of the entry at `through` if that comes before, and says
/// when that was asked for; `seen` gets the entries after the snapshot.
pub(crate) async fn state(
    journal: &Journal,
    mut progress: impl FnMut(u64, u64),
    mut seen: impl FnMut(Entry, Name),
    through: u64,
) -> Result<(State, Instant), CannotStart> {
    let head = journal.head().await?;
    if head.level > LEVEL {
        return Err(Failure::TooNew(head.level).into());
    }
    let mut state = match journal.newest_snapshot().await? {
        // Only the head says at which level a space without entries begins; from the first one on they do.
        None if head.position == 0 => State::new(head.space, head.shard).beginning_at(head.level),
        None => State::new(head.space, head.shard),
        Some(manifest) => restore(journal, &manifest).await?,
    };
    if state.space() != head.space {
        return Err(Failure::OtherSpace { found: state.space(), wanted: head.space }.into());
    }
    if head.skips > 0 {
        state.learn_skips(journal.skips().await?);
    }
    let replica = Replica::new(state, true);
    let (mut outcomes, begun) = (Vec::new(), Instant::now());
    loop {
        let (applied, _) = replica.applied();
        progress(applied, head.position);
        if applied >= through {
            return Ok((replica.into_state(), Instant::now()));
        }
        let EntriesRead { mut entries, looked } = journal.read(applied).await?;
        entries.retain(|entry| entry.position <= through);
        if entries.is_empty() {
            if let Looked::ToEnd { as_of, .. } = looked {
                return Ok((replica.into_state(), as_of));
            }
            if begun.elapsed() >= LAGS_AT_MOST {
                let why = "the store has not got all of the journal where it is read: is a server of it missing?";
                return Err(Failure::Unavailable(why.to_owned()).into());
            }
            sleep(AGAIN_AFTER).await;
        }
        for entry in entries {
            outcomes.clear();
            if let Some(applied) = replica.apply(&entry, &mut outcomes)? {
                seen(entry, applied.name);
            }
        }
    }
}

/// Restores the state of a snapshot, piece by piece.
async fn restore(journal: &Journal, manifest: &[u8]) -> Result<State, CannotStart> {
    let mut restore = Restore::new(Manifest::decode(manifest)?);
    while let Some(name) = restore.wanted() {
        let piece = journal.piece(name).await?.ok_or(Failure::PieceMissing(name))?;
        restore.take(&piece)?;
    }
    Ok(restore.finish()?)
}
