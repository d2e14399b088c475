//! What the commands of an entry are told of time, and what they tell the state.

use crate::Timestamp;
use crate::results::Kind;
use std::collections::BTreeSet;

/// A result that a command made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Deed {
    pub(crate) kind: Kind,
    /// The place of the pool among the campaign's.
    pub(crate) pool: u16,
    /// What the record of this kind of result points at.
    pub(crate) rank: u32,
}

/// Results of one command, all about the same subject.
#[derive(Debug, Default)]
pub(crate) struct Deeds {
    pub(crate) subject: String,
    pub(crate) made: Vec<Deed>,
}

/// Live holds by when their time is over: service time, campaign, number.
pub(crate) type Deadlines = BTreeSet<(i64, u32, u32)>;

/// One command's turn.
pub(crate) struct Turn<'a> {
    /// The entry's time.
    pub(crate) at: Timestamp,
    /// Service time, in microseconds.
    pub(crate) service: i64,
    pub(crate) deadlines: &'a mut Deadlines,
    pub(crate) deeds: &'a mut Deeds,
}

impl Turn<'_> {
    /// Gives the moment at which a service time comes if journal time goes on without a break.
    pub(crate) fn moment(&self, service: i64) -> Timestamp {
        self.at.plus_micros(service - self.service)
    }

    pub(crate) fn made(&mut self, subject: &str, deed: Deed) {
        self.deeds.subject.clear();
        self.deeds.subject.push_str(subject);
        self.deeds.made.push(deed);
    }
}
