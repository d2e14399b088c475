//! How a journal in a database is opened.

use crate::cluster::mark::Mark;
use crate::error::JournalError;
use crate::journal::promise::{LessDurable, WhenLessDurable};
use crate::journal::warning::Warning;
use crate::sqlite::KEEP_FOR;
use firstcome_core::names::SpaceId;
use firstcome_inject::{Mistake, inject};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How a journal in a database is opened.
#[derive(Clone, Debug)]
pub struct DatabaseOptions {
    /// The name of the space, which its tables or their schema carry.
    pub space_name: String,
    /// The identity of a space that is made now.
    pub fresh: SpaceId,
    /// The space the journal must be of. With `None` any will do, and one is made where there is none.
    pub wanted: Option<SpaceId>,
    /// Whether a space is made where there is nothing; else that is [`JournalError::NoSpace`].
    pub make: bool,
    /// Whether the wanted space is about to be brought here: nothing is made, and a store that has a space is refused.
    pub vacant: bool,
    /// What an entry must have survived to count as durable.
    pub durability: Durability,
    /// What becomes of appends while the server promises less.
    pub when_less_durable: WhenLessDurable,
    /// How long entries and unnamed pieces are kept at least: [`KEEP_FOR`], shorter in tests.
    pub keep_for: Duration,
    /// The folder that takes in what is trimmed, if any; its parent must be there.
    pub archive: Option<PathBuf>,
    /// A clock in the place of the server's, for tests.
    #[cfg(feature = "inject")]
    #[doc(hidden)]
    pub clock: Option<crate::Clock>,
}

impl DatabaseOptions {
    /// Returns what applies unless chosen otherwise: space `main`, any identity, no archive.
    pub fn new(fresh: SpaceId, durability: Durability) -> Self {
        Self {
            space_name: "main".to_owned(),
            fresh,
            wanted: None,
            make: true,
            vacant: false,
            durability,
            when_less_durable: WhenLessDurable::default(),
            keep_for: KEEP_FOR,
            archive: None,
            #[cfg(feature = "inject")]
            clock: None,
        }
    }

    /// Says what opening a journal comes to where there is no space, but perhaps a mark; nothing where a space is to be made.
    pub(crate) fn without_a_space(
        &self,
        mark: Option<&[u8]>,
    ) -> Result<Option<SpaceId>, JournalError> {
        match (self.wanted, mark) {
            (Some(wanted), _) if self.vacant => Ok(Some(wanted)),
            (_, Some(mark)) if !inject(Mistake::MarkIgnored) => Err(Mark::refusal(mark)),
            // Somebody knows this space: where it is not, it was lost.
            (Some(wanted), _) => Err(JournalError::Gone(wanted)),
            (None, _) if self.make => Ok(None),
            (None, _) => Err(JournalError::NoSpace { name: self.space_name.clone() }),
        }
    }

    /// Says whether an append looks at whether the server forces what it commits to the disk.
    pub(crate) fn refuses_less(&self) -> bool {
        self.durability == Durability::Fsync && self.when_less_durable == WhenLessDurable::Refuse
    }

    /// Says what it comes to that a server promises less than what was chosen.
    pub(crate) fn less_durable(&self, found: Warning) -> LessDurable {
        LessDurable { what: found.what, fix: found.fix, refuses: self.refuses_less() }
    }

    /// Returns the time that a test put in the place of the server's clock.
    pub(crate) fn clock(&self) -> Option<firstcome_core::Timestamp> {
        #[cfg(feature = "inject")]
        return self.clock.as_ref().map(crate::Clock::now);
        #[cfg(not(feature = "inject"))]
        None
    }
}

/// What an entry must have survived to count as durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Nothing: it is in the memory of the server; its commits need not wait for its disk.
    Memory,
    /// It is on the server's disk, and wherever else the server has commits wait for.
    Fsync,
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Memory => "memory",
            Self::Fsync => "fsync",
        })
    }
}
