//! What a command came to, and what an entry did, by the judge's own rules.

use firstcome_core::codes::CodeKey;
use firstcome_core::results::Kind;
use firstcome_core::{Outcome, Settings, Timestamp};

/// What a command came to.
#[derive(Clone, Debug)]
pub(in crate::judge) struct Decision {
    pub(in crate::judge) outcome: Outcome,
    /// The entry that made true what the outcome says; an index into the stored ones.
    pub(in crate::judge) origin: usize,
}

/// What an entry did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::judge) enum Event<'a> {
    /// A campaign stands under these terms from here on.
    Terms { campaign: &'a str, settings: Box<Settings>, shut: bool },
    /// A pool has areas of so many units.
    Areas { campaign: &'a str, pool: &'a str, areas: Vec<(&'a str, u32)> },
    /// A unit was given.
    Won(Claimed<'a>),
    /// A claim was undone.
    Undone(Claimed<'a>),
    /// A unit was paid for too late, and what was paid is to be given back.
    Refund(Claimed<'a>),
    /// A seat was exchanged for another.
    Moved(Claimed<'a>),
    /// Somebody left a waitlist without a unit.
    Unserved(Claimed<'a>),
    /// A code was redeemed, a redemption undone, or an operator did something to codes.
    OfCode(Kind, Claimed<'a>),
    /// A claim has this code now.
    Issued(Issued<'a>),
}

impl<'a> Event<'a> {
    /// Returns the result, if it is one, and of which kind.
    pub(in crate::judge) fn result(&self) -> Option<(Kind, &Claimed<'a>)> {
        match self {
            Self::Terms { .. } | Self::Areas { .. } | Self::Issued(_) => None,
            Self::Won(claimed) => Some((Kind::Claim, claimed)),
            Self::Undone(claimed) => Some((Kind::Cancel, claimed)),
            Self::Refund(claimed) => Some((Kind::RefundDue, claimed)),
            Self::Moved(claimed) => Some((Kind::Moved, claimed)),
            Self::Unserved(claimed) => Some((Kind::Unserved, claimed)),
            Self::OfCode(kind, claimed) => Some((*kind, claimed)),
        }
    }
}

/// A code and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::judge) struct Issued<'a> {
    pub(in crate::judge) campaign: &'a str,
    pub(in crate::judge) pool: Box<str>,
    pub(in crate::judge) code: CodeKey,
    pub(in crate::judge) subject: &'a str,
}

/// A result: which claim of whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::judge) struct Claimed<'a> {
    /// The result's number, over the whole journal.
    pub(in crate::judge) number: u64,
    pub(in crate::judge) campaign: &'a str,
    pub(in crate::judge) pool: Box<str>,
    pub(in crate::judge) rank: u32,
    pub(in crate::judge) subject: &'a str,
    pub(in crate::judge) at: Timestamp,
    /// Which unit of a seated pool; of an exchange the new one.
    pub(in crate::judge) unit: Option<&'a str>,
    /// The hold it came from.
    pub(in crate::judge) hold: Option<&'a str>,
    /// Of an exchange the old unit.
    pub(in crate::judge) from: Option<&'a str>,
}
