//! How a journal in a SQLite file is opened.

use crate::clock::Clock;
use firstcome_core::LEVEL;
use firstcome_core::names::SpaceId;
use std::time::Duration;

/// How long entries and unnamed pieces are kept at least.
pub const KEEP_FOR: Duration = Duration::from_secs(600);
/// How many calls wait for the writer's thread at most, unless chosen otherwise.
pub const QUEUE: usize = 64;

/// How a journal is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where the time comes from.
    pub clock: Clock,
    /// The space the journal must be of; any, if none.
    pub space: Option<SpaceId>,
    /// The space of a journal that is made now, unless `space` says which.
    pub fresh_space: SpaceId,
    /// The level at which a journal begins that is made now: the newest, other in tests.
    pub fresh_level: u32,
    /// Whether what is trimmed goes into the folder's archive.
    pub archive: bool,
    /// How many calls may wait for the writer's thread; one more is refused as unavailable.
    pub queue: usize,
    /// How long entries and unnamed pieces are kept at least: [`KEEP_FOR`], shorter in tests.
    pub keep_for: Duration,
}

impl Options {
    /// Returns what applies unless chosen otherwise: the system's clock, any space, an archive.
    pub fn new(fresh_space: SpaceId) -> Self {
        Self {
            clock: Clock::system(),
            space: None,
            fresh_space,
            fresh_level: LEVEL,
            archive: true,
            queue: QUEUE,
            keep_for: KEEP_FOR,
        }
    }
}
