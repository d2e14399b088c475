//! What a command needs to run on a campaign: the time, the deadlines, and a list for new results.

use crate::results::Kind;
use crate::time::Timestamp;
use std::collections::BTreeSet;

/// A result of a command, before it has a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NewResult {
    pub(crate) kind: Kind,
    /// The index of the pool in its campaign.
    pub(crate) pool: u16,
    /// What the record of this kind of result points at.
    pub(crate) rank: u32,
}

/// Results of one command, all about the same subject.
#[derive(Debug, Default)]
pub(crate) struct NewResults {
    pub(crate) subject: String,
    pub(crate) list: Vec<NewResult>,
}

/// Live holds by when their time is over: service time, campaign, number.
pub(crate) type Deadlines = BTreeSet<(i64, u32, u32)>;

/// One command's context.
pub(crate) struct ApplyContext<'a> {
    /// The entry's time.
    pub(crate) at: Timestamp,
    /// Service time, in microseconds.
    pub(crate) service: i64,
    pub(crate) deadlines: &'a mut Deadlines,
    pub(crate) results: &'a mut NewResults,
}

impl ApplyContext<'_> {
    /// Returns the moment at which a service time comes if journal time goes on without a break.
    pub(crate) fn moment(&self, service: i64) -> Timestamp {
        self.at.plus_micros(service - self.service)
    }

    /// Adds a result. All results of one command have the same subject.
    pub(crate) fn emit(&mut self, subject: &str, result: NewResult) {
        self.results.subject.clear();
        self.results.subject.push_str(subject);
        self.results.list.push(result);
    }
}
