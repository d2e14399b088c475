//! What keeps results from being settled.

use firstcome_core::SpaceId;
use firstcome_journal::sqlite::Trouble;

/// A ledger that did not do as asked.
///
/// All but [`LedgerError::Unknown`] changed nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The answer was lost: it may have happened.
    #[error("the ledger did not answer, so it may have happened: {0}")]
    Unknown(String),
    /// It did not happen, and may succeed later.
    #[error("the ledger is out of reach: {0}")]
    Unavailable(String),
    /// There is no room to write. It did not happen, and may succeed once there is room.
    #[error("the ledger's database is full: {0}")]
    Full(String),
    /// The ledger may be read and not written to.
    #[error("the ledger cannot be written to: {0}")]
    ReadOnly(String),
    /// The file is not a ledger, or is damaged.
    #[error("the ledger is damaged: {0}")]
    Broken(String),
    /// The database cannot be used until somebody changes something: its address, a password, a right.
    #[error("the ledger's database cannot be used: {0}")]
    Denied(String),
    /// The ledger minted another term since: another leader took over.
    #[error("term {ours} is over, the ledger is at term {theirs}")]
    OldTerm {
        /// The leader's.
        ours: u64,
        /// The ledger's.
        theirs: u64,
    },
    /// The ledger has results up to another number than the leader believes.
    #[error("the ledger has results up to {through}, not up to {after}")]
    Moved {
        /// Up to where the leader believed it to have results.
        after: u64,
        /// Up to where it has.
        through: u64,
    },
    /// What the ledger has already contradicts a result: it is another history's.
    #[error("result {number} does not fit the ledger: {why}")]
    Differs {
        /// The result.
        number: u64,
        /// In which way.
        why: String,
    },
    /// The ledger belongs to another space.
    #[error("the ledger is of space {found}, not of {wanted}")]
    OtherSpace {
        /// What stands in it.
        found: SpaceId,
        /// What was expected.
        wanted: SpaceId,
    },
    /// The ledger was written by a newer build.
    #[error(
        "the ledger's tables are of layout {0}, and this build knows layout {LAYOUT}: start a newer build",
        LAYOUT = super::LAYOUT
    )]
    TooNew(u32),
}

impl From<Trouble> for LedgerError {
    fn from(trouble: Trouble) -> Self {
        match trouble {
            Trouble::Full(text) => Self::Full(text),
            Trouble::ReadOnly(text) => Self::ReadOnly(text),
            Trouble::Broken(text) => Self::Broken(text),
            Trouble::Unavailable(text) => Self::Unavailable(text),
            Trouble::Unknown(text) => Self::Unknown(text),
            Trouble::Missing(text) => Self::Unavailable(format!("{text} is not there")),
            Trouble::Unreadable(text) => Self::Unavailable(text),
        }
    }
}

impl From<rusqlite::Error> for LedgerError {
    fn from(error: rusqlite::Error) -> Self {
        Trouble::from(error).into()
    }
}

impl From<firstcome_store::StoreError> for LedgerError {
    fn from(failure: firstcome_store::StoreError) -> Self {
        use firstcome_store::{Effect, Meaning};
        let text = match failure.hint() {
            Some(hint) => format!("{failure}; {hint}"),
            None => failure.to_string(),
        };
        if failure.effect() == Effect::Unknown {
            return Self::Unknown(text);
        }
        match failure.meaning() {
            Some(Meaning::NotReady | Meaning::InUse) => Self::Unavailable(text),
            Some(Meaning::NoRoom) => Self::Full(text),
            Some(Meaning::ReadOnly) => Self::ReadOnly(text),
            Some(Meaning::NoAccess | Meaning::NoDatabase) => Self::Denied(text),
            Some(Meaning::WrongKind) => Self::Broken(text),
            None => unlisted(&failure, text),
        }
    }
}

/// Says what a failure is whose code is in no list, or that has none.
fn unlisted(failure: &firstcome_store::StoreError, text: String) -> LedgerError {
    use firstcome_store::StoreError;
    if let StoreError::Address { .. }
    | StoreError::TooOld { .. }
    | StoreError::Cluster { .. }
    | StoreError::NoCluster { .. }
    | StoreError::Tls { .. }
    | StoreError::NoTls { .. } = failure
    {
        return LedgerError::Denied(text);
    }
    // What is not there or not of the right kind: somebody else's tables, or ours changed by hand.
    let classes = ["22", "23", "42", "P0", "XX"];
    if let StoreError::Statement { code, .. } = failure
        && classes.iter().any(|class| code.starts_with(class))
    {
        return LedgerError::Broken(text);
    }
    LedgerError::Unavailable(text)
}

impl LedgerError {
    /// Says whether it may pass without anybody changing anything.
    pub fn passes_by_itself(&self) -> bool {
        match self {
            Self::Unknown(_) | Self::Unavailable(_) | Self::Full(_) => true,
            Self::ReadOnly(_)
            | Self::Broken(_)
            | Self::Denied(_)
            | Self::OldTerm { .. }
            | Self::Moved { .. }
            | Self::Differs { .. }
            | Self::OtherSpace { .. }
            | Self::TooNew(_) => false,
        }
    }
}
