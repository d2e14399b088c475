//! Checks which of two nodes is wrong that applied the same entries and have different digests.
//!
//! Nodes send the digest of their state in heartbeats, and write it into ticks and settle marks. A node that
//! sees a digest other than its own replays the journal from the newest snapshot. If that agrees with
//! its state it names the other node and goes on; if it does not, it switches to what the journal has:
//! it followed a branch that was abandoned and nobody told it, or its memory is wrong.

use crate::event::Event;
use crate::replica::load;
use crate::replica::{Difference, Replica};
use crate::says::Says;
use firstcome_core::State;
use firstcome_journal::Journal;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, timeout};

/// How long after a replay the next difference makes another.
const AT_MOST_EVERY: Duration = Duration::from_secs(600);
/// How long this node may take to reach what was replayed.
const REACH: Duration = Duration::from_secs(60);

/// Finds out who is wrong.
pub(crate) struct DivergenceCheck {
    pub(crate) journal: Journal,
    pub(crate) replica: Arc<Replica>,
    pub(crate) says: Says,
    pub(crate) last: Option<Instant>,
}

impl DivergenceCheck {
    /// Replays the journal, unless that was done a moment ago; says whether this node is the wrong one.
    pub(crate) async fn resolve(&mut self, difference: Difference) -> bool {
        if self.last.is_some_and(|last| last.elapsed() < AT_MOST_EVERY) {
            return false;
        }
        self.last = Some(Instant::now());
        let Difference { node, position, theirs, ours } = difference;
        (self.says)(
            Event::DivergenceFound,
            &format!(
                "node {node} has digest {theirs:016x} at {position}, this node has {ours:016x}: \
             replaying the journal to see who is wrong"
            ),
        );
        let replayed = match load::state(&self.journal, |_, _| {}, |_, _| {}, u64::MAX).await {
            Ok((state, _)) => (state.position(), state.digest()),
            Err(why) => {
                (self.says)(
                    Event::DivergenceUnresolved,
                    &format!("the journal could not be replayed: {why}"),
                );
                self.last = None;
                return false;
            }
        };
        let (position, digest) = replayed;
        if timeout(REACH, self.replica.reach(position)).await.is_err() {
            (self.says)(
                Event::DivergenceUnresolved,
                &format!("this node did not reach {position} to compare it with a replay"),
            );
            self.last = None;
            return false;
        }
        match self.replica.look(|state: &State| state.digest_at(position)) {
            Some(ours) if ours == digest => {
                (self.says)(
                    Event::DivergenceElsewhere,
                    &format!(
                        "this node agrees with its own replay up to {position}: it is node {node} that differs"
                    ),
                );
                false
            }
            Some(ours) => {
                (self.says)(
                    Event::DivergenceHere,
                    &format!(
                        "this node has digest {ours:016x} at {position}, its own replay {digest:016x}: \
                     it switches to what the journal has"
                    ),
                );
                true
            }
            None => {
                (self.says)(
                    Event::DivergenceUnresolved,
                    &format!("this node is too far beyond {position} to compare it with a replay"),
                );
                false
            }
        }
    }
}
