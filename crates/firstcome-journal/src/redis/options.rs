//! How a journal in Redis is opened.

use super::info::replicas;
use super::keys::Keys;
use super::trouble::looked;
use crate::error::JournalError;
use crate::journal::promise::WhenLessDurable;
use crate::sqlite::KEEP_FOR;
use firstcome_core::names::SpaceId;
use firstcome_store::{Command, RedisOptions, Wire};
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// How a journal is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// The name of the space, which its keys carry.
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
    /// What becomes of appends while the server promises less. What a WAIT has to prove is not acknowledged without that.
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

impl Options {
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
}

/// What an entry must have survived to count as durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Nothing: it is in the memory of one server.
    Memory,
    /// It is in the memory of this many replicas, too.
    Copies(u32),
    /// It is on the server's disk.
    Fsync,
}

impl Durability {
    /// Returns what suits the store of a space: one copy where a replica is connected, else memory.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub async fn default_for(store: RedisOptions, space_name: &str) -> Result<Self, JournalError> {
        let store = Keys::of(space_name).at_owner(store);
        let wire = Wire::connect(store).await.map_err(looked)?;
        let replication = wire.send(&Command::new("INFO").arg("replication")).await;
        wire.close().await;
        // Whoever may not ask has no replicas to count on.
        let text = replication.and_then(|reply| reply.text()).unwrap_or_default();
        Ok(if replicas(&text) > 0 { Self::Copies(1) } else { Self::Memory })
    }
}

impl fmt::Display for Durability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory => f.write_str("memory"),
            Self::Copies(copies) => write!(f, "copies={copies}"),
            Self::Fsync => f.write_str("fsync"),
        }
    }
}

/// How long one WAIT waits in the server.
pub(super) const WAIT: Duration = Duration::from_millis(100);

/// What an append waits for before its entry counts as durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waits {
    /// Its answer says it all.
    No,
    /// So many replicas having it.
    Copies(u32),
    /// The server's own disk having it.
    Aof,
}

impl Waits {
    /// The command that waits, for a connection on which something was just written.
    pub(super) fn command(self) -> Option<Command> {
        let millis = WAIT.as_millis() as u64;
        match self {
            Self::No => None,
            Self::Copies(copies) => Some(Command::new("WAIT").arg(copies).arg(millis)),
            Self::Aof => Some(Command::new("WAITAOF").arg(1).arg(0).arg(millis)),
        }
    }
}
