//! Settings that the servers of a space should have in common: each announces its own in its heartbeats, and compares
//! those of the others.
//!
//! What is announced is a line of words with blanks between: the version of this form, now 1, then `NAME=VALUE` for each
//! setting, `stands` where the node can be elected, and `leaving` before it stops. Words that are not known are left out,
//! so a build may add some. A node without the line is of a build that knew none of this: it is not compared.

use crate::appender::signals::Signals;
use firstcome_core::{NodeId, Timestamp, newest_level};
use firstcome_journal::cluster::{Membership, NodeStatus};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;
use tokio::sync::watch;

/// The version of the form of words.
const VERSION: u32 = 1;

/// Which ledger a server has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LedgerMark {
    /// It has not said, or not decided yet.
    #[default]
    Unsaid,
    None,
    /// One that it has not reached yet.
    Unknown,
    /// The one with this id in its `meta`.
    Known(u128),
}

impl SettingDifference {
    /// Says what to do about it.
    pub fn cure(&self) -> &'static str {
        match &*self.setting {
            "ledger" => {
                "set `ledger` alike on every server and restart the wrong one; until then one without it does not settle"
            }
            "level" => "start the newer build on every server",
            "admin_key" => {
                "set FIRSTCOME_ADMIN_KEY alike on every server and restart the wrong one"
            }
            "tokens" => {
                "set `token_secret` and [[token_keys]] alike on every server and restart the wrong one"
            }
            "code_keys" => {
                "set [[code_keys]] alike on every server: one without the key of a campaign cannot answer for its codes"
            }
            "eligibility" => {
                "give every server the same [[eligibility]] entries: one without them checks nobody"
            }
            _ => "set it alike on every server and restart the wrong one",
        }
    }
}

/// What differs, without what is secret, and the cure.
impl std::fmt::Display for SettingDifference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { setting, address, theirs, ours } = self;
        match &**setting {
            "ledger" | "level" => {
                write!(f, "{setting}: the server {address} has {theirs}, this one {ours}; ")?;
            }
            _ => write!(f, "{setting}: the server {address} has another one than this server; ")?,
        }
        f.write_str(self.cure())
    }
}

impl std::fmt::Display for LedgerMark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Unsaid | Self::Unknown => f.write_str("unknown"),
            Self::Known(id) => write!(f, "{id:032x}"),
        }
    }
}

impl LedgerMark {
    fn read(text: &str) -> Self {
        match (text, u128::from_str_radix(text, 16)) {
            ("none", _) => Self::None,
            (_, Ok(id)) => Self::Known(id),
            (_, Err(_)) => Self::Unknown,
        }
    }
}

/// What a node announces beside its position.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announcement {
    pub ledger: LedgerMark,
    /// Its other settings, as texts of their own without a blank: a secret is there as a few bits of a hash.
    pub settings: BTreeMap<String, String>,
    /// Whether it can be elected.
    pub stands: bool,
    /// Whether it is about to stop.
    pub leaving: bool,
}

impl Announcement {
    /// Reads what a node announced; nothing of a build that announces none of this.
    pub fn read(words: &str) -> Option<Self> {
        let mut words = words.split(' ');
        let version: u32 = words.next()?.parse().ok()?;
        if version < VERSION {
            return None;
        }
        let mut read = Self::default();
        for word in words {
            match word.split_once('=') {
                Some(("ledger", value)) => read.ledger = LedgerMark::read(value),
                Some((name, value)) => drop(read.settings.insert(name.into(), value.into())),
                None if word == "stands" => read.stands = true,
                None if word == "leaving" => read.leaving = true,
                None => {}
            }
        }
        Some(read)
    }

    fn words(&self) -> Box<str> {
        let mut words = VERSION.to_string();
        if self.ledger != LedgerMark::Unsaid {
            write!(words, " ledger={}", self.ledger).expect("writing to memory does not fail");
        }
        for (name, value) in &self.settings {
            write!(words, " {name}={value}").expect("writing to memory does not fail");
        }
        for (flag, word) in [(self.stands, " stands"), (self.leaving, " leaving")] {
            if flag {
                words += word;
            }
        }
        words.into()
    }
}

/// A setting in which another server differs from this one.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SettingDifference {
    /// The setting: `ledger`, `level`, or the name of another one.
    pub setting: String,
    /// The other server's address.
    pub address: String,
    /// What it announced.
    pub theirs: String,
    /// What this server has.
    pub ours: String,
}

/// What this node announces, and what the others did.
#[derive(Debug)]
pub struct Agreement {
    own: watch::Sender<Announcement>,
    node: NodeId,
    since: Timestamp,
    signals: Arc<Signals>,
    membership: watch::Receiver<Option<Membership>>,
}

impl Agreement {
    pub(crate) fn new(
        (node, since): (NodeId, Timestamp),
        signals: Arc<Signals>,
        membership: watch::Receiver<Option<Membership>>,
    ) -> Self {
        Self { own: watch::Sender::default(), node, since, signals, membership }
    }

    /// Announces the settings that every server of the space should have alike.
    pub(crate) fn announce(&self, settings: BTreeMap<String, String>) {
        self.change(|own| own.settings = settings);
    }

    /// Announces that this node is about to stop: it answers still, and another one should lead.
    pub fn leave(&self) {
        self.change(|own| own.leaving = true);
        // Now, and not within a second.
        self.signals.endure();
    }

    pub(crate) fn has_ledger(&self, ledger: LedgerMark) {
        self.change(|own| own.ledger = ledger);
    }

    pub(crate) fn stands(&self, stands: bool) {
        self.change(|own| own.stands = stands);
    }

    /// Changes what the next heartbeat announces.
    fn change(&self, change: impl FnOnce(&mut Announcement)) {
        self.own.send_if_modified(|own| {
            let before = own.clone();
            change(own);
            *own != before
        });
    }

    /// Says whether this node is about to stop.
    pub fn is_leaving(&self) -> bool {
        self.own.borrow().leaving
    }

    /// Returns what this node announces.
    pub fn own(&self) -> Announcement {
        self.own.borrow().clone()
    }

    pub(crate) fn words(&self) -> Box<str> {
        self.own.borrow().words()
    }

    /// Returns the settings in which live servers differ from this one, by setting and address.
    ///
    /// A server that is leaving is not compared, nor a ledger that its server has not reached.
    pub fn differences(&self) -> Vec<SettingDifference> {
        let own = self.own();
        let mut found = Vec::new();
        self.others(|node, said| {
            let mut compare = |setting: &str, ours: String, theirs: String| {
                if ours != theirs {
                    let (setting, address) = (setting.to_owned(), node.address.to_string());
                    found.push(SettingDifference { setting, address, theirs, ours });
                }
            };
            compare("level", newest_level().to_string(), node.level.to_string());
            let is_known =
                |ledger: &LedgerMark| matches!(ledger, LedgerMark::None | LedgerMark::Known(_));
            let reached = is_known(&own.ledger) && is_known(&said.ledger);
            if reached {
                compare("ledger", own.ledger.to_string(), said.ledger.to_string());
            }
            for (name, ours) in &own.settings {
                if let Some(theirs) = said.settings.get(name) {
                    compare(name, ours.clone(), theirs.clone());
                }
            }
        });
        found.sort();
        found
    }

    /// Returns the address of a live server that has the ledger of the space where this one has not.
    ///
    /// The ledger of the space is that of the server which has run for longest of those with a ledger.
    pub(crate) fn has_other_ledger(&self) -> Option<String> {
        self.holder(|_| true)
    }

    /// Says whether this node leaves leading to others: one that can be elected has the ledger of the space, and this
    /// one has not.
    pub(crate) fn gives_way(&self) -> bool {
        self.holder(|said| said.stands).is_some()
    }

    /// Returns the address of a server with a ledger, of those that are here or have gone, where this one has none.
    pub(crate) fn lacks_ledger(&self) -> Option<String> {
        if self.own.borrow().ledger != LedgerMark::None {
            return None;
        }
        let membership = self.membership.borrow();
        let membership = membership.as_ref()?;
        let nodes = membership.nodes.iter().chain(&membership.gone);
        let has = |node: &NodeStatus| {
            let said = Announcement::read(&node.words);
            said.is_some_and(|said| {
                matches!(said.ledger, LedgerMark::Known(_) | LedgerMark::Unknown)
            })
        };
        nodes.map(|(node, _)| node).find(|node| has(node)).map(|node| node.address.to_string())
    }

    /// Waits until what this node knows of the others, or of itself, may have changed.
    pub(crate) async fn changed(&self) {
        let (mut own, mut membership) = (self.own.subscribe(), self.membership.clone());
        membership.mark_unchanged();
        tokio::select! {
            // Its sender is in this struct.
            _ = own.changed() => {}
            // Without a sender there is nobody to hear of.
            Ok(()) = membership.changed() => {}
        }
    }

    /// Finds who has the ledger of the space among live servers that may count, if it is not this one's.
    fn holder(&self, counts: impl Fn(&Announcement) -> bool) -> Option<String> {
        let own = self.own.borrow().ledger;
        let mut oldest = match own {
            LedgerMark::Known(id) => Some((self.since, self.node, id, String::new())),
            LedgerMark::Unsaid | LedgerMark::None | LedgerMark::Unknown => None,
        };
        self.others(|node, said| {
            let LedgerMark::Known(id) = said.ledger else { return };
            let older = |known: &(Timestamp, NodeId, u128, String)| {
                (node.since, node.node) < (known.0, known.1)
            };
            if counts(said) && oldest.as_ref().is_none_or(older) {
                oldest = Some((node.since, node.node, id, node.address.to_string()));
            }
        });
        oldest.filter(|(.., id, _)| own != LedgerMark::Known(*id)).map(|(.., address)| address)
    }

    /// Looks at each live server but this one that announces settings and is not leaving.
    fn others(&self, mut look: impl FnMut(&NodeStatus, &Announcement)) {
        let membership = self.membership.borrow();
        let nodes = membership.iter().flat_map(|membership| &membership.nodes);
        for (node, _) in nodes.filter(|(node, _)| node.node != self.node) {
            if let Some(said) = Announcement::read(&node.words).filter(|said| !said.leaving) {
                look(node, &said);
            }
        }
    }
}

#[cfg(test)]
mod tests;
