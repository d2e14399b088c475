//! Conditions and reads of a transaction, for stores that run this code inside their atomic step.
//!
//! A store that evaluates them elsewhere, in a script, does the same in its own language.

use crate::cluster::MEMBER_FOR;
use crate::cluster::heartbeat;
use crate::entry::{Entry, Head};
use crate::error::JournalError;
use crate::name::Name;
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::{Check, OLD_ENTRIES, Read, Seen};
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;

/// Bytes of entries after which no more are named as old.
pub(crate) const OLD_BYTES: usize = 1 << 20;

/// What a store has at the moment of its atomic step.
pub(crate) trait Stored {
    /// Where the journal stands; [`JournalError::Gone`] where there is nothing of the space.
    fn head(&self) -> Result<Head, JournalError>;
    /// What an emptied store is marked with.
    fn mark(&self) -> Option<Vec<u8>>;
    /// The term that was minted last.
    fn term(&self) -> u64;
    /// The store's clock.
    fn now(&self) -> Timestamp;
    /// Up to `limit` entries from a position on that is kept.
    fn entries(&self, from: u64, limit: usize) -> Result<Vec<Entry>, JournalError>;
    /// The kept manifests, the newest first.
    fn manifests(&self) -> Result<Vec<Manifest>, JournalError>;
    /// Whether a piece is stored.
    fn has_piece(&self, name: PieceName) -> Result<bool, JournalError>;
    /// The bytes of a piece.
    fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError>;
    /// All cells of a kind.
    fn cells(&self, kind: Kind) -> Result<Vec<Cell>, JournalError>;

    /// The last of the first entries that may go: see [`Read::Old`]. A store that can tell without their bodies does.
    fn old(&self, through: u64, cutoff: Timestamp) -> Result<Option<u64>, JournalError> {
        let mut bytes = 0;
        let old = |entry: &&Entry| {
            let fits = bytes <= OLD_BYTES && entry.position <= through && entry.at <= cutoff;
            bytes += entry.body.len();
            fits
        };
        let entries = self.entries(self.head()?.first, OLD_ENTRIES)?;
        Ok(entries.iter().take_while(old).last().map(|entry| entry.position))
    }
}

/// Returns the failure of the first condition that does not hold.
pub(crate) fn check(stored: &impl Stored, checks: &[Check]) -> Result<(), JournalError> {
    for check in checks {
        if !holds(stored, check)? {
            let head = stored.head()?;
            return Err(JournalError::Moved { head: head.position, name: head.name });
        }
    }
    Ok(())
}

/// Says whether a condition holds, where its failure is [`JournalError::Moved`]; gives any other failure.
fn holds(stored: &impl Stored, check: &Check) -> Result<bool, JournalError> {
    Ok(match check {
        Check::There => stored.head().map(|_| true)?,
        Check::Nothing => matches!(stored.head(), Err(JournalError::Gone(_))),
        Check::Term(ours) => {
            let (ours, theirs) = (*ours, stored.term());
            if ours < theirs {
                return Err(JournalError::OldTerm { ours, theirs });
            }
            true
        }
        Check::Entry { position, name } => {
            check_entry(stored, *position, *name)?;
            true
        }
        Check::End { position, name, epoch } => {
            let head = stored.head()?;
            (head.position, head.name) == (*position, *name)
                && epoch.is_none_or(|epoch| epoch == head.epoch)
        }
        Check::Manifests(seen) => {
            let kept = stored.manifests()?;
            kept.len() == seen.len() && kept.iter().zip(seen).all(|(one, other)| one.is_like(other))
        }
        Check::Positions(seen) => {
            stored.manifests()?.iter().map(|kept| kept.position).eq(seen.iter().copied())
        }
        Check::Pieces(names) => {
            for name in names {
                if !stored.has_piece(*name)? {
                    return Err(JournalError::PieceMissing(*name));
                }
            }
            true
        }
        Check::NotApplied(position) => {
            let nodes = stored.cells(Kind::Node)?;
            let mut nodes = nodes.iter().filter_map(heartbeat::read);
            let now = stored.now();
            !nodes.any(|(node, said)| {
                node.position >= *position && now.micros_since(said) < MEMBER_FOR
            })
        }
        Check::Same(cell) => stored.cells(cell.kind)?.contains(cell),
    })
}

fn check_entry(stored: &impl Stored, position: u64, name: Name) -> Result<(), JournalError> {
    let head = stored.head()?;
    if position > head.position {
        return Err(JournalError::Behind { head: head.position, applied: position });
    }
    let found = if position == head.position {
        head.name
    } else {
        let trimmed = JournalError::Trimmed { wanted: position, first: head.first };
        if position < head.first {
            return Err(trimmed);
        }
        stored.entries(position, 1)?.pop().ok_or(trimmed)?.name()?
    };
    if found != name {
        return Err(JournalError::Forked { position, found, applied: name });
    }
    Ok(())
}

/// Reads what is asked for.
pub(crate) fn see(
    stored: &impl Stored,
    reads: &[Read],
    dropped: usize,
) -> Result<Seen, JournalError> {
    let head = match stored.head() {
        Err(JournalError::Gone(_)) => None,
        head => Some(head?),
    };
    let mut seen =
        Seen { dropped, mark: stored.mark(), ..Seen::new(head, stored.term(), stored.now()) };
    for read in reads {
        match read {
            Read::Manifests => seen.manifests = stored.manifests()?,
            Read::Cells(kind) => seen.cells.extend(stored.cells(*kind)?),
            Read::Keys(kind) => {
                let bare = |cell| Cell { value: Vec::new(), ..cell };
                seen.cells.extend(stored.cells(*kind)?.into_iter().map(bare));
            }
            Read::Piece(name) => seen.piece = stored.piece(*name)?,
            Read::Old { through, cutoff } => seen.old = stored.old(*through, *cutoff)?,
        }
    }
    Ok(seen)
}
