//! Loads the state from the store: the newest snapshot, then every entry after it.

use crate::event::log;
use crate::heal::retransmit::{Buffered, RetransmitBuffer};
use crate::replica::{Replica, Stop};
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::snapshot::{BadSnapshot, Manifest, Restore};
use firstcome_core::{State, newest_level};
use firstcome_inject::{Mistake, inject};
use firstcome_journal::{EntriesRead, Entry, Journal, JournalError, Looked, Name};
use std::time::Duration;
use tokio::time::{Instant, sleep};

/// The pause before a journal is read again of which a part is not there yet.
const AGAIN_AFTER: Duration = Duration::from_millis(20);
/// How long the store may take to have more of it.
const LAGS_AT_MOST: Duration = Duration::from_secs(10);

/// Why a node cannot start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CannotStart {
    /// The journal cannot be used.
    #[error(transparent)]
    Journal(#[from] JournalError),
    /// The newest snapshot cannot be used.
    #[error(transparent)]
    Snapshot(#[from] BadSnapshot),
    /// An entry cannot be applied.
    #[error(transparent)]
    Entry(#[from] Stop),
}

/// What the store has.
pub(crate) struct Branch {
    pub(crate) state: State,
    /// When the end of the journal was asked for.
    pub(crate) asked: Instant,
    /// Its last entries: those that a node keeps which applied all of them, as far back as the store has them.
    pub(crate) kept: RetransmitBuffer,
    /// The last position at which it has the same entry as another branch, as far as the entries tell.
    pub(crate) fork: Option<u64>,
}

/// Puts the state together as [`state`] does, with the entries that lead to it back to where `ours` has the same one.
///
/// They are read even where a snapshot stands for them. A node that knew only those after it could put back less than others
/// after a loss; and after a fork it would re-propose the later bodies of a writer without the earlier ones, which run no more
/// then, whoever has them.
pub(crate) async fn branch(
    journal: &Journal,
    progress: impl FnMut(u64, u64),
    through: u64,
    ours: &RetransmitBuffer,
) -> Result<Branch, CannotStart> {
    let mut kept = RetransmitBuffer::default();
    let keep = |entry, name| kept.push(entry, name);
    let (state, asked) = state(journal, progress, keep, through).await?;
    let is_same = |position, name| ours.name_at(position) == Some(name);
    let same = kept.after(0).rev().find(|(entry, name)| is_same(entry.position, *name));
    let mut fork = same.map(|(entry, _)| entry.position);
    let stamp = state.stamp();
    let tip = (stamp.position, stamp.name());
    let (mut position, mut name) = kept.before().unwrap_or(tip);
    let since = Instant::now();
    let first = ours.first();
    while fork.is_none()
        && (kept.reaches_further() || first.is_some_and(|first| first <= position))
        && !inject(Mistake::SnapshotForEntries)
    {
        let older = before(journal, position, name).await?;
        if older.is_empty() {
            break;
        }
        for (entry, its_name) in older {
            (position, name) = (entry.position - 1, entry.before);
            if is_same(entry.position, its_name) {
                fork = Some(entry.position);
                break;
            }
            if kept.reaches_further() {
                kept.push_before(Buffered { since, entry, name: its_name });
            }
        }
    }
    // Every branch begins with nothing.
    let fork = fork.or_else(|| (position == 0 && first == Some(1)).then_some(0));
    Ok(Branch { state, asked, kept, fork })
}

/// Reads the entry of a position and a name and some before it, the newest first; none where the store does not have them
/// any more.
///
/// # Errors
///
/// [`JournalError::Changed`] where they do not lead there: the store has another branch since that was read.
async fn before(
    journal: &Journal,
    position: u64,
    name: Name,
) -> Result<Vec<(Entry, Name)>, CannotStart> {
    let mut entries = Vec::new();
    let mut after = position.saturating_sub(READ_ENTRIES as u64);
    while after < position {
        match journal.read(after).await {
            Ok(read) => {
                let Some(last) = read.entries.last() else {
                    return Err(JournalError::Changed.into());
                };
                after = last.position;
                entries.extend(read.entries);
            }
            Err(JournalError::Trimmed { first, .. }) if (after + 2..=position).contains(&first) => {
                entries.clear();
                after = first - 1;
            }
            // Nothing rests on what is damaged there: a snapshot stands for it.
            Err(JournalError::Trimmed { .. } | JournalError::Damaged { .. }) => {
                return Ok(Vec::new());
            }
            Err(failure) => return Err(failure.into()),
        }
    }
    entries.retain(|entry| entry.position <= position);
    let mut next = (position, name);
    let mut older = Vec::with_capacity(entries.len());
    for entry in entries.into_iter().rev() {
        let its_name = entry.name()?;
        if (entry.position, its_name) != next {
            return Err(JournalError::Changed.into());
        }
        next = (entry.position - 1, entry.before);
        older.push((entry, its_name));
    }
    Ok(older)
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
    if head.level > newest_level() {
        return Err(JournalError::TooNew(head.level).into());
    }
    let mut state = match restored(journal, head.first).await? {
        // Only the head says at which level a space without entries begins; from the first one on they do.
        None if head.position == 0 => State::new(head.space).beginning_at(head.level),
        None => State::new(head.space),
        Some(state) => state,
    };
    if state.space() != head.space {
        return Err(JournalError::OtherSpace { found: state.space(), wanted: head.space }.into());
    }
    if head.skips > 0 {
        state.learn_skips(journal.skips().await?);
    }
    let replica = Replica::new(state, true);
    let (mut outcomes, mut lags_since) = (Vec::new(), Instant::now());
    loop {
        let (applied, _) = replica.applied();
        progress(applied, head.position);
        if applied >= through {
            return Ok((replica.into_state(), Instant::now()));
        }
        let EntriesRead { mut entries, looked } = journal.read(applied).await?;
        entries.retain(|entry| entry.position <= through);
        let nothing = entries.is_empty();
        for entry in entries {
            outcomes.clear();
            match replica.apply(&entry, &mut outcomes) {
                Ok(Some(applied)) => seen(entry, applied.name),
                Ok(None) => {}
                Err(stop @ Stop::NotNext { .. }) => {
                    // Read together they are damaged, if they do not follow each other then either.
                    match journal.read(entry.position.saturating_sub(2)).await {
                        Err(damaged @ JournalError::Damaged { .. }) => return Err(damaged.into()),
                        Ok(_) | Err(_) => return Err(stop.into()),
                    }
                }
                Err(stop) => return Err(stop.into()),
            }
        }
        // Where others append all the time, the next read brings entries again: it would never end.
        if let Looked::ToEnd { as_of, .. } = looked {
            return Ok((replica.into_state(), as_of));
        }
        if !nothing {
            lags_since = Instant::now();
            continue;
        }
        if lags_since.elapsed() >= LAGS_AT_MOST {
            let why = "the store has not got all of the journal where it is read: is a server of it missing?";
            return Err(JournalError::Unavailable(why.to_owned()).into());
        }
        sleep(AGAIN_AFTER).await;
    }
}

/// Restores the newest snapshot that is not damaged; nothing where the journal begins with its first entry.
async fn restored(journal: &Journal, first: u64) -> Result<Option<State>, CannotStart> {
    let mut damaged = None;
    for manifest in journal.kept_snapshots().await? {
        match restore(journal, &manifest).await {
            Err(newer @ CannotStart::Snapshot(BadSnapshot::TooNew(_))) => return Err(newer),
            Err(
                why @ (CannotStart::Snapshot(_)
                | CannotStart::Journal(
                    JournalError::Broken(_) | JournalError::PieceMissing(_),
                )),
            ) => {
                log!(
                    SnapshotDamaged,
                    "a snapshot cannot be used, and an older one or the entries themselves are: {why}"
                );
                damaged = damaged.or(Some(why));
            }
            restored => return restored.map(Some),
        }
    }
    match damaged {
        Some(why) if first > 1 => Err(why),
        Some(_) | None => Ok(None),
    }
}

/// Restores the state of a snapshot, piece by piece.
async fn restore(journal: &Journal, manifest: &[u8]) -> Result<State, CannotStart> {
    let mut restore = Restore::new(Manifest::decode(manifest)?);
    while let Some(name) = restore.wanted() {
        let piece = journal.piece(name).await?.ok_or(JournalError::PieceMissing(name))?;
        restore.take(&piece)?;
    }
    Ok(restore.finish()?)
}
