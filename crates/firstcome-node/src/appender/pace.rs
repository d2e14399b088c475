//! How long a node waits between two appends, so that many nodes together ask the store for less.
//!
//! Each append brings back what the others appended meanwhile: with longer pauses the store has fewer
//! and larger entries to write and to give. Counting *nodes*, not entries, keeps a node that appends
//! often from being slowed down less than the others.

use firstcome_core::NodeId;
use std::time::Duration;
use tokio::time::Instant;

/// The pause for each other node seen.
const EACH: Duration = Duration::from_micros(300);
/// The longest pause.
const LONGEST: Duration = Duration::from_millis(4);
/// For how long an entry says that its writer appends.
const SEEN_FOR: Duration = Duration::from_millis(100);
/// Nodes that are remembered at most; the pause is the longest long before.
const MOST: usize = 64;

/// Who else was seen appending, and when.
#[derive(Debug, Default)]
pub struct Pace {
    others: Vec<(NodeId, Instant)>,
}

impl Pace {
    /// Notes that another node appended.
    pub fn saw(&mut self, node: NodeId, now: Instant) {
        if let Some((_, last)) = self.others.iter_mut().find(|(known, _)| *known == node) {
            *last = now;
        } else if self.others.len() < MOST {
            self.others.push((node, now));
        }
    }

    /// Returns the pause after an append.
    ///
    /// Two nodes take none: it would cost those who wait more than it spares the store.
    pub fn pause(&mut self, now: Instant) -> Option<Duration> {
        self.others.retain(|(_, last)| now - *last <= SEEN_FOR);
        let others = u32::try_from(self.others.len()).unwrap_or(u32::MAX);
        (others > 1).then(|| (EACH * others).min(LONGEST))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_pause_grows_with_the_nodes_seen_and_ends_with_them() {
        let mut pace = Pace::default();
        let now = Instant::now();
        assert_eq!(pace.pause(now), None, "alone there is nothing to wait for");
        pace.saw(NodeId([0; 16]), now);
        assert_eq!(pace.pause(now), None, "and with one other it does not pay");
        for node in 0..10 {
            pace.saw(NodeId([node; 16]), now);
            pace.saw(NodeId([node; 16]), now);
        }
        assert_eq!(pace.pause(now), Some(EACH * 10));
        for node in 0..40 {
            pace.saw(NodeId([node; 16]), now);
        }
        assert_eq!(pace.pause(now), Some(LONGEST));
        assert_eq!(pace.pause(now + SEEN_FOR * 2), None);
    }
}
