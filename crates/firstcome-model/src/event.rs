//! What a command came to, and what an entry did, by the judge's own rules.

use firstcome_core::codes::CodeKey;
use firstcome_core::results::Kind;
use firstcome_core::{Outcome, Settings, Timestamp};

/// What a command came to.
#[derive(Clone, Debug)]
pub struct Decision {
    /// What its caller is told.
    pub outcome: Outcome,
    /// The entry that made true what the outcome says: the index that it was applied with.
    pub origin: usize,
}

/// What came of an entry.
#[derive(Clone, Debug)]
pub struct Applied<'a> {
    /// What each command came to; nothing of a copy.
    pub decisions: Option<Vec<Decision>>,
    /// What the entry did, in order.
    pub events: Vec<Event<'a>>,
}

/// What an entry did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// A campaign stands under these terms from here on.
    Terms {
        /// Its name.
        campaign: &'a str,
        /// As they stand now.
        settings: Box<Settings>,
        /// Whether it is paused, closed by hand, or archived.
        shut: bool,
    },
    /// A pool has areas of so many units.
    Areas {
        campaign: &'a str,
        pool: &'a str,
        /// The name and the capacity of each.
        areas: Vec<(&'a str, u32)>,
    },
    /// A result: of which kind, and about which claim.
    Result(Kind, Claimed<'a>),
    /// A claim has this code now.
    Issued(Issued<'a>),
}

impl<'a> Event<'a> {
    /// Returns the result, if it is one, and of which kind.
    pub fn result(&self) -> Option<(Kind, &Claimed<'a>)> {
        if let Self::Result(kind, claimed) = self { Some((*kind, claimed)) } else { None }
    }
}

/// A code and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Issued<'a> {
    pub campaign: &'a str,
    pub pool: Box<str>,
    pub code: CodeKey,
    /// Whose claim has it.
    pub subject: &'a str,
}

/// A result: which claim of whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed<'a> {
    /// The result's number, over the whole journal.
    pub number: u64,
    /// Its number among the results of its campaign.
    pub in_campaign: u32,
    pub campaign: &'a str,
    pub pool: Box<str>,
    /// Which claim; 0 where it is about none.
    pub rank: u32,
    /// Whose.
    pub subject: &'a str,
    /// When.
    pub at: Timestamp,
    /// Which unit of a seated pool; of an exchange the new one.
    pub unit: Option<&'a str>,
    /// The hold it came from.
    pub hold: Option<&'a str>,
    /// Of an exchange the old unit.
    pub from: Option<&'a str>,
}
