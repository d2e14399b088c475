//! Says when a shared store no longer delivers what is appended, so that this node has to ask it.

use crate::event::log;
use firstcome_journal::cluster::EndedDeliveries;

/// What was said of deliveries last.
#[derive(Debug, Default)]
pub(crate) struct Deliveries {
    /// How many had ended when they were looked at.
    seen: u64,
    /// How many had ended when it was said.
    said: u64,
}

impl Deliveries {
    /// Returns how many ended since the last look. Says it in the log of the server: the first time, and each time the count
    /// has doubled.
    pub(crate) fn look(&mut self, found: &EndedDeliveries) -> u64 {
        let new = found.count.saturating_sub(self.seen);
        self.seen = found.count;
        if found.count > 0 && found.count >= self.said * 2 {
            self.said = found.count;
            let EndedDeliveries { count, why } = found;
            log!(
                DeliveryEnded,
                count,
                "the store no longer delivered what is appended: {why}; it is asked until it does again. {count} times so far"
            );
        }
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_counted_and_said_only_when_there_are_twice_as_many() {
        let mut deliveries = Deliveries::default();
        let mut look = |count| {
            let new = deliveries.look(&EndedDeliveries { count, why: "cut".into() });
            (new, deliveries.said)
        };
        let looks = [0, 1, 1, 2, 3, 3, 7].map(&mut look);
        assert_eq!(looks, [(0, 0), (1, 1), (0, 1), (1, 2), (1, 2), (0, 2), (4, 7)]);
    }
}
