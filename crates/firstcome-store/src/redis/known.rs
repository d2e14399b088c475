//! The servers of a Redis Cluster that are known, in the order in which they are asked about the others.

use std::sync::{Mutex, PoisonError};

use crate::host::Host;

/// How many servers of a cluster are remembered, and asked, beside those of the URL.
const KNOWN: usize = 64;

/// The servers of a cluster that were named by the last one that was asked.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Vec<Host>>);

impl Known {
    /// Returns whom to ask, one after the other: the one that was left last of all, since it may be cut off and know nothing
    /// of who took over.
    pub(super) fn to_ask(&self, seeds: &[Host], left: Option<&Host>) -> Vec<Host> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let seeds = seeds.iter().filter(|seed| !known.contains(seed)).cloned();
        let mut hosts: Vec<Host> = seeds.collect();
        hosts.splice(0..0, known);
        hosts.sort_by_key(|host| Some(host) == left);
        hosts
    }

    pub(super) fn remember(&self, mut servers: Vec<Host>) {
        servers.sort_unstable();
        servers.dedup();
        servers.truncate(KNOWN);
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = servers;
    }

    /// Has a server asked after all others the next time: it did not answer.
    pub(super) fn put_last(&self, silent: &Host) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(place) = known.iter().position(|host| host == silent) {
            let host = known.remove(place);
            known.push(host);
        }
    }
}
