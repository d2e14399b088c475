//! Failures of the journal and of its stores.

use crate::name::Name;
use firstcome_core::names::PieceName;
use firstcome_core::names::SpaceId;
use firstcome_core::newest_level;

/// A journal that did not do as asked.
///
/// All but [`JournalError::Unknown`] changed nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JournalError {
    /// The answer was lost: it may have happened, or still happen.
    #[error("the journal did not answer, so it may have happened: {0}")]
    Unknown(String),
    /// It did not happen, and may succeed later.
    #[error("the journal is out of reach: {0}")]
    Unavailable(String),
    /// What was to be read is not there, or the operating system does not let it be read.
    #[error("{0}")]
    Unreadable(String),
    /// There is no room to write. It did not happen, and may succeed once there is room.
    #[error("the journal's store is full: {0}")]
    Full(String),
    /// The head is lower than what the caller applied: the store lost writes.
    #[error("the journal ends at {head}, this node applied {applied}: the store lost entries")]
    Behind {
        /// Where the journal ends.
        head: u64,
        /// What the caller applied.
        applied: u64,
    },
    /// The entry at a position the caller applied has another name.
    #[error("entry {position} is {found}, this node applied {applied}: the journal forked")]
    Forked {
        position: u64,
        /// The name found there.
        found: Name,
        /// The name the caller applied.
        applied: Name,
    },
    /// The store answers from another server than before, or from one that was started again: what
    /// it has must be looked at first.
    #[error("the store's server is another one, or was started again")]
    Changed,
    /// Somebody else changed what the call rested on.
    #[error("the journal ends at {head}, entry {name}: somebody else changed it")]
    Moved {
        /// Where the journal ends.
        head: u64,
        /// The name of the entry there.
        name: Name,
    },
    /// The store has nothing of the space any more.
    #[error("the store has nothing of space {0} any more: it was emptied or replaced")]
    Gone(SpaceId),
    /// The store has no space of a name.
    #[error("the store has no space {name:?}")]
    NoSpace { name: String },
    /// The store is marked: it was emptied, and a server has the space that was there.
    #[error(
        "the store was emptied: space {space} was there, up to entry {position} at the server {who}; nothing is begun in its place"
    )]
    Marked {
        /// The space that was there.
        space: SpaceId,
        /// Up to which position a server has it.
        position: u64,
        /// Where that server can be reached.
        who: Box<str>,
    },
    /// The store has no mark of a space.
    #[error("the store has no mark of space {0}: there is nothing to forget")]
    NotMarked(SpaceId),
    /// Servers that run have the space whose mark was to be removed: they would mark the store again.
    #[error("space {space} is not forgotten: servers that run have it: {servers}")]
    StillThere {
        space: SpaceId,
        /// Where they can be reached, with commas between.
        servers: String,
    },
    /// The store has a space of the name, and there was to be none.
    #[error("the store has a space there already: {0}")]
    HasSpace(SpaceId),
    /// The store cannot be used as it is, or its settings do not keep what is promised.
    #[error("the store is not fit for a journal: {why}")]
    Unfit {
        /// What is wrong.
        why: String,
        /// The command that changes it, or what else to do.
        fix: String,
    },
    /// The store promises less than what was chosen since its settings were changed. Nothing is appended meanwhile.
    #[error("the store promises less than the durability that was chosen: {what}")]
    LessDurable {
        /// What it is and what may come of it.
        what: String,
        /// The command that changes it, or what else to do.
        fix: String,
    },
    /// The entry asked for is no longer kept.
    #[error("entry {wanted} was trimmed, the journal begins at {first}")]
    Trimmed {
        /// What was asked for.
        wanted: u64,
        /// The first position kept.
        first: u64,
    },
    /// Stored bytes are not what was written.
    #[error("entry {position} is damaged: {why}")]
    Damaged {
        /// The entry.
        position: u64,
        /// In which way.
        why: String,
    },
    /// The store's file is damaged in a way that no single entry answers for.
    #[error("the store is damaged: {0}")]
    Broken(String),
    /// The store may be read and not written to.
    #[error("the store cannot be written to: {0}")]
    ReadOnly(String),
    /// The store was written by a newer build.
    #[error("the store is of level {0}, this build reads up to level {newest}", newest = newest_level())]
    TooNew(u32),
    /// The store belongs to another space.
    #[error("the store is of space {found}, not of {wanted}")]
    OtherSpace {
        /// What stands in the store.
        found: SpaceId,
        /// What was expected.
        wanted: SpaceId,
    },
    /// A manifest names a piece the store does not have.
    #[error("the store has no piece {0}")]
    PieceMissing(PieceName),
    /// A later term was minted.
    #[error("term {ours} is over, the store is at term {theirs}")]
    OldTerm {
        /// The caller's.
        ours: u64,
        /// The store's.
        theirs: u64,
    },
    /// Somebody has applied an entry that was to be skipped.
    #[error("entry {position} was applied by {who}: it cannot be skipped any more")]
    Applied {
        /// The entry.
        position: u64,
        /// Who applied it.
        who: String,
    },
    /// The space was moved to another store.
    #[error("the space was moved to another store: entry {position} ends it here")]
    SpaceMoved {
        /// The entry that ends it.
        position: u64,
    },
    /// A file of an exported space cannot be used.
    #[error("the file {file} cannot be used: {why}")]
    BadFile {
        file: String,
        /// Why, and where in it.
        why: String,
    },
    /// Another process has the data folder.
    #[error("the data folder {folder} is in use by {owner}")]
    InUse {
        folder: String,
        /// Who has it: process number and address, as far as known.
        owner: String,
    },
    /// The data folder cannot be used.
    #[error("the data folder {folder} cannot be used: {why}")]
    Folder { folder: String, why: String },
}

impl JournalError {
    /// Says what went wrong for a running server, and the cure.
    pub fn with_cure(&self) -> String {
        let cure = match self {
            Self::Unavailable(_) | Self::Unknown(_) => {
                "see that the store runs and can be reached from this server: it goes on by itself"
            }
            Self::Behind { .. } | Self::Forked { .. } | Self::Changed | Self::Moved { .. } => {
                "this server looks and mends it by itself"
            }
            Self::Unreadable(_)
            | Self::Full(_)
            | Self::Gone(_)
            | Self::Marked { .. }
            | Self::NotMarked(_)
            | Self::StillThere { .. }
            | Self::NoSpace { .. }
            | Self::HasSpace(_)
            | Self::Unfit { .. }
            | Self::LessDurable { .. }
            | Self::Trimmed { .. }
            | Self::Damaged { .. }
            | Self::Broken(_)
            | Self::ReadOnly(_)
            | Self::TooNew(_)
            | Self::OtherSpace { .. }
            | Self::PieceMissing(_)
            | Self::OldTerm { .. }
            | Self::Applied { .. }
            | Self::SpaceMoved { .. }
            | Self::BadFile { .. }
            | Self::InUse { .. }
            | Self::Folder { .. } => match self.hint() {
                Some(hint) => hint,
                None => return self.to_string(),
            },
        };
        format!("{self}; {cure}")
    }

    /// Says what somebody can do about it, where there is something.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unfit { fix, .. } | Self::LessDurable { fix, .. } => Some(fix),
            Self::Gone(_) => Some(
                "bring its data back; if it is lost, `firstcome nodes reseed` has a running server write its own state there",
            ),
            Self::Marked { .. } => Some(
                "if that space is wanted, run `firstcome nodes reseed` at a server that still has it; if the store was emptied on \
                 purpose, run `firstcome journal forget --store URL SPACE`, and start again",
            ),
            Self::StillThere { .. } => {
                Some("stop them first; one that was killed counts for ten seconds")
            }
            Self::NoSpace { .. } => Some(
                "name its space with --space; a server makes the one it is started with, and nobody else does",
            ),
            Self::HasSpace(_) => {
                Some("choose another --space, store or folder: nothing is ever written over")
            }
            Self::SpaceMoved { .. } => Some(
                "use the store it was moved to; `firstcome journal export` writes its file again",
            ),
            Self::Full(_) => Some("make room on its disk or in its memory: it goes on by itself"),
            Self::TooNew(_) => Some("start a newer build of firstcome on it"),
            Self::InUse { .. } => {
                Some("talk to that server, or stop it first, or choose another --data folder")
            }
            Self::Damaged { .. } => Some(
                "keep a copy of the folder, then restore it from a backup; `firstcome journal verify` lists what is damaged",
            ),
            Self::Broken(_) => Some("keep a copy of the folder, then restore it from a backup"),
            Self::ReadOnly(_) => {
                Some("give this process the right to write to the folder and its files")
            }
            Self::Applied { .. } => Some(
                "if that server can apply it, start its build everywhere; one that has just ended counts for ten seconds",
            ),
            Self::OtherSpace { .. } => Some(
                "give the store that belongs to this space; if the store was emptied and that space begun there by mistake, \
                 `firstcome nodes reseed --replace` puts this one back",
            ),
            Self::Unreadable(_) => Some(
                "name a server's data folder with --data or FIRSTCOME_DATA, or a store with --store; and run this as a \
                 user who may read it, such as the server's own",
            ),
            Self::Unknown(_)
            | Self::Unavailable(_)
            | Self::Behind { .. }
            | Self::Forked { .. }
            | Self::Changed
            | Self::Moved { .. }
            | Self::Trimmed { .. }
            | Self::PieceMissing(_)
            | Self::OldTerm { .. }
            | Self::BadFile { .. }
            | Self::NotMarked(_)
            | Self::Folder { .. } => None,
        }
    }
}
