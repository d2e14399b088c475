//! A cache of answers: each is kept for a while, and so many at most.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use tokio::time::Instant;

/// Answers by what was asked. The caller gives the time: it reads no clock.
#[derive(Debug)]
pub(super) struct Cache<A> {
    most: usize,
    answers: HashMap<Arc<str>, (A, Instant, u64)>,
    /// The same by when they end; the number distinguishes those that end together.
    ends: BTreeMap<(Instant, u64), Arc<str>>,
    number: u64,
}

impl<A: Clone> Cache<A> {
    pub(super) fn new(most: usize) -> Self {
        Self { most, answers: HashMap::new(), ends: BTreeMap::new(), number: 0 }
    }

    /// Returns the answer, unless its time is over.
    pub(super) fn get(&self, asked: &str, now: Instant) -> Option<&A> {
        let (answer, until, _) = self.answers.get(asked)?;
        (now < *until).then_some(answer)
    }

    /// Keeps an answer; expired answers are removed, and if there is no space, the one that expires first.
    pub(super) fn keep(&mut self, asked: Arc<str>, answer: A, until: Instant, now: Instant) {
        if until <= now || self.most == 0 {
            return;
        }
        if let Some((_, until, number)) = self.answers.remove(&asked) {
            self.ends.remove(&(until, number));
        }
        while let Some(first) = self.ends.first_entry()
            && (first.key().0 <= now || self.answers.len() >= self.most)
        {
            self.answers.remove(&first.remove());
        }
        self.number += 1;
        self.ends.insert((until, self.number), Arc::clone(&asked));
        self.answers.insert(asked, (answer, until, self.number));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn answers_leave_in_time_and_the_first_to_leave_makes_room() {
        let begin = Instant::now();
        let end = |seconds: u64| begin + Duration::from_secs(seconds);
        let mut kept = Cache::new(2);
        kept.keep("ann".into(), 1, end(9), begin);
        kept.keep("bob".into(), 2, end(5), begin);
        assert_eq!((kept.get("ann", end(8)), kept.get("ann", end(9))), (Some(&1), None));
        kept.keep("cem".into(), 3, end(7), begin);
        assert_eq!(
            ["ann", "bob", "cem"].map(|who| kept.get(who, begin).copied()),
            [Some(1), None, Some(3)]
        );
        // Once more, for longer: one entry all the same.
        kept.keep("cem".into(), 4, end(20), end(1));
        assert_eq!((kept.answers.len(), kept.ends.len()), (2, 2));
        kept.keep("dan".into(), 5, end(30), end(10));
        assert_eq!((kept.get("cem", end(10)), kept.get("dan", end(10))), (Some(&4), Some(&5)));
        assert_eq!((kept.answers.len(), kept.ends.len()), (2, 2), "what was over has left");
        kept.keep("eve".into(), 6, end(10), end(10));
        assert_eq!(kept.get("eve", end(10)), None, "kept for no time");
    }
}
