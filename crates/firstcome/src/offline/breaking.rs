//! Finds out whether an entry breaks a rule when it is applied.

use crate::offline::audit::restore;
use firstcome_core::snapshot::Manifest;
use firstcome_core::state::Broke;
use firstcome_core::{Outcome, State, Timestamp};
use firstcome_journal::{Name, Reading};

/// An entry that breaks a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breaks {
    pub name: Name,
    /// Its time.
    pub at: Timestamp,
    /// The number of the last result of the entries before.
    pub last_result: u64,
}

/// Why an entry is not to be skipped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no such entry.
    #[error("there is no entry {position}: the journal ends at {head}")]
    Absent {
        /// What was asked for.
        position: u64,
        /// The last one.
        head: u64,
    },
    /// A snapshot has it.
    #[error("entry {position} was applied: the newest snapshot is of entry {snapshot}")]
    Passed {
        /// What was asked for.
        position: u64,
        /// The entry the snapshot is of.
        snapshot: u64,
    },
    /// Another one comes first.
    #[error("{0}, and comes first")]
    Earlier(Broke),
    /// It breaks before its commands.
    #[error("{0}, so it cannot be skipped")]
    InTime(Broke),
    /// It breaks nothing.
    #[error("entry {0} applies; there is nothing to skip")]
    Applies(u64),
}

/// Applies entries up to one that is to break a rule.
///
/// `progress` hears the position applied and the last one.
///
/// # Errors
///
/// The journal or its newest snapshot cannot be read.
pub fn find(
    journal: &Reading,
    position: u64,
    mut progress: impl FnMut(u64, u64),
) -> anyhow::Result<Result<Breaks, Refused>> {
    let head = journal.head()?;
    if position == 0 || position > head.position {
        return Ok(Err(Refused::Absent { position, head: head.position }));
    }
    let manifest = journal.newest_snapshot()?.map(|bytes| Manifest::decode(&bytes)).transpose()?;
    let mut state = match &manifest {
        Some(manifest) if manifest.stamp.position >= position => {
            let snapshot = manifest.stamp.position;
            return Ok(Err(Refused::Passed { position, snapshot }));
        }
        Some(manifest) => restore(journal, manifest)?,
        None => State::new(head.space),
    };
    state.learn_skips(journal.skips()?);
    let mut outcomes: Vec<Outcome> = Vec::new();
    for entry in journal.entries(state.position() + 1) {
        let (entry, name) = entry?;
        let last_result = state.last_result();
        let (stamp, body) = entry.open()?;
        outcomes.clear();
        let refused = match state.try_apply(stamp, &body.commands()?, &mut outcomes) {
            Ok(_) if entry.position < position => {
                if entry.position.is_multiple_of(64) {
                    progress(entry.position, position);
                }
                continue;
            }
            Ok(_) => Refused::Applies(position),
            Err(broke) if entry.position < position => Refused::Earlier(broke),
            Err(broke) if broke.in_time => Refused::InTime(broke),
            Err(_) => return Ok(Ok(Breaks { name, at: entry.at, last_result })),
        };
        return Ok(Err(refused));
    }
    Ok(Err(Refused::Absent { position, head: state.position() }))
}
