//! The seats that came free last, for waiting requests. They are no part of the rules, and never stored.

use std::collections::VecDeque;

/// Seats that are remembered.
const KEPT: usize = 4_096;

/// The seats that came free last, in that order.
#[derive(Debug, Default)]
pub(super) struct Freed {
    /// How many came free since this node put the hall together.
    count: u64,
    last: VecDeque<u32>,
}

impl Freed {
    pub(super) fn push(&mut self, seat: u32) {
        if self.last.len() == KEPT {
            self.last.pop_front();
        }
        self.last.push_back(seat);
        self.count += 1;
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns those that came free after the first `count`; none if they are not remembered any more.
    pub(super) fn since(&self, count: u64) -> Option<impl Iterator<Item = u32>> {
        let new = usize::try_from(self.count.checked_sub(count)?).ok()?;
        let from = self.last.len().checked_sub(new)?;
        Some(self.last.range(from..).copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_came_free_since_a_count_is_given_as_long_as_it_is_remembered() {
        let mut freed = Freed::default();
        freed.push(7);
        let seen = freed.count();
        let since = |freed: &Freed, count| Some(freed.since(count)?.collect::<Vec<_>>());
        assert_eq!(since(&freed, seen), Some(vec![]));
        freed.push(8);
        freed.push(7);
        assert_eq!(since(&freed, seen), Some(vec![8, 7]));
        assert_eq!(since(&freed, seen + 9), None, "of another hall than the one that was counted");
        (0..KEPT as u32).for_each(|seat| freed.push(seat));
        assert_eq!(since(&freed, seen), None);
        assert_eq!(since(&freed, seen + 2).unwrap().len(), KEPT);
    }
}
