//! Two nodes that applied the same entries and do not know the same: one of them is wrong.
//!
//! Nodes announce the digest of their state, and write it into ticks and settle marks. A node that
//! sees a digest other than its own replays the journal from the newest snapshot. If that agrees with
//! its state it names the other node and goes on; if it does not, it goes over to what the journal has:
//! it followed a history that is over and nobody told it, or its memory is wrong.

use super::Says;
use super::replica::Replica;
use super::start;
use firstcome_core::{NodeId, State};
use firstcome_journal::Journal;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long after a replay the next difference makes another.
const AT_MOST_EVERY: Duration = Duration::from_secs(600);
/// How long this node may take to reach what was replayed.
const REACH: Duration = Duration::from_secs(60);

/// What another node said of a position, and what this one knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Difference {
    pub(crate) node: NodeId,
    pub(crate) position: u64,
    pub(crate) theirs: u64,
    pub(crate) ours: u64,
}

/// Finds out who is wrong.
pub(super) struct Doubt {
    pub(super) journal: Journal,
    pub(super) replica: Arc<Replica>,
    pub(super) says: Says,
    pub(super) last: Option<Instant>,
}

impl Doubt {
    /// Replays the journal, unless that was done a moment ago; says whether this node is the wrong one.
    pub(super) async fn resolve(&mut self, difference: Difference) -> bool {
        if self.last.is_some_and(|last| last.elapsed() < AT_MOST_EVERY) {
            return false;
        }
        self.last = Some(Instant::now());
        let Difference { node, position, theirs, ours } = difference;
        (self.says)(&format!(
            "node {node} has digest {theirs:016x} at {position}, this node has {ours:016x}: \
             replaying the journal to see who is wrong"
        ));
        let replayed = match start::state(&self.journal, |_, _| {}, |_, _| {}).await {
            Ok((state, _)) => (state.position(), state.digest()),
            Err(why) => {
                (self.says)(&format!("the journal could not be replayed: {why}"));
                self.last = None;
                return false;
            }
        };
        let (position, digest) = replayed;
        if timeout(REACH, self.replica.reach(position)).await.is_err() {
            (self.says)(&format!("this node did not reach {position} to compare it with a replay"));
            self.last = None;
            return false;
        }
        match self.replica.look(|state: &State| state.digest_at(position)) {
            Some(ours) if ours == digest => {
                (self.says)(&format!(
                    "this node agrees with its own replay up to {position}: it is node {node} that differs"
                ));
                false
            }
            Some(ours) => {
                (self.says)(&format!(
                    "this node has digest {ours:016x} at {position}, its own replay {digest:016x}: \
                     it goes over to what the journal has"
                ));
                true
            }
            None => {
                (self.says)(&format!(
                    "this node is too far beyond {position} to compare it with a replay"
                ));
                false
            }
        }
    }
}
