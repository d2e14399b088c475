//! What can be asked, and how it is stored.
//!
//! A *body* is what a node writes into one entry of the journal: who it is, which of its batches
//! this is, and the commands in order. Its bytes are documented in `docs/reference/journal-format.md`.

mod read;
mod write;

pub use read::{BadBody, Body, Head};
pub use write::BodyWriter;

use crate::Settings;
use crate::outcome::By;
use write::{PUT, STEER, put_fields, steer_fields};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Who gave an operator command, and under which id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order<'a> {
    /// The id that makes the command the same when it comes again: 1 to 64 bytes.
    pub id: Option<&'a str>,
    /// The name of the key it was given with: 1 to 64 bytes.
    pub who: &'a str,
}

/// What a put demands of the campaign as it stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Expect {
    /// Nothing: create it or change it.
    #[default]
    Anything,
    /// That there is none yet.
    Absent,
    /// That it is at this version.
    Version(u32),
}

/// How a campaign is steered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steer {
    /// Accept no claims until resumed.
    Pause,
    /// Accept claims again.
    Resume,
    /// Accept no claims any more.
    Close,
    /// Leave memory. With `drop_unsettled`, also when results have not been settled.
    Archive {
        /// Whether results that no ledger has may go.
        drop_unsettled: bool,
    },
}

/// What a node knew when it wrote this: its digest at a position.
///
/// Replicas compare it with their own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// The position.
    pub position: u64,
    /// The digest after applying the entry at that position.
    pub digest: u64,
}

/// Something asked of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Gives a subject a unit for good.
    Claim {
        /// The campaign.
        campaign: &'a str,
        /// The pool; may be left out where there is one.
        pool: Option<&'a str>,
        /// Who competes.
        subject: &'a str,
    },
    /// Undoes a claim.
    Cancel {
        /// The campaign.
        campaign: &'a str,
        /// The pool.
        pool: &'a str,
        /// Whose claim.
        subject: &'a str,
        /// Which of their claims.
        rank: u32,
        /// On whose word.
        by: By,
        /// Why: 0 to 256 bytes; an operator gives one.
        reason: &'a str,
        /// The name of the key it was given with.
        who: &'a str,
    },
    /// Creates a campaign or changes it to these settings.
    Put {
        /// The campaign.
        campaign: &'a str,
        /// What is wanted.
        settings: Settings,
        /// What is demanded of the campaign as it stands.
        expect: Expect,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Pauses, resumes, closes or archives a campaign.
    Steer {
        /// The campaign.
        campaign: &'a str,
        /// How.
        steer: Steer,
        /// Who gave it.
        order: Order<'a>,
    },
    /// Lets time pass.
    Tick {
        /// What the sender knew.
        mark: Mark,
    },
    /// Says that a ledger has the results up to a number.
    Settled {
        /// The last number the ledger has.
        through: u64,
        /// The term under which it was written.
        term: u64,
        /// What the sender knew.
        mark: Mark,
    },
}

impl<'a> Command<'a> {
    /// Gives the name of the campaign this is about, if it is about one.
    pub fn campaign(&self) -> Option<&'a str> {
        match self {
            Self::Claim { campaign, .. }
            | Self::Cancel { campaign, .. }
            | Self::Put { campaign, .. }
            | Self::Steer { campaign, .. } => Some(campaign),
            Self::Tick { .. } | Self::Settled { .. } => None,
        }
    }

    /// Gives a number that two operator commands share if they ask the same, whatever their ids.
    pub fn content(&self) -> u64 {
        let mut bytes = Vec::new();
        match self {
            Self::Put { campaign, settings, expect, .. } => {
                put_fields(&mut bytes, campaign, settings, *expect, Order::default());
                xxh3_64_with_seed(&bytes, u64::from(PUT))
            }
            Self::Steer { campaign, steer, .. } => {
                steer_fields(&mut bytes, campaign, *steer, Order::default());
                xxh3_64_with_seed(&bytes, u64::from(STEER))
            }
            Self::Claim { .. } | Self::Cancel { .. } | Self::Tick { .. } | Self::Settled { .. } => {
                0
            }
        }
    }
}
