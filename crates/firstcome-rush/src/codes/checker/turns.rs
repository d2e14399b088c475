//! Whose turn it is: what comes free goes to who has waited longest, and to nobody who does not wait.

use std::collections::BTreeSet;

use super::super::promised::Promised;
use super::super::record::{Steps, Waited};
use crate::people::Found;

/// Checks that offers were made in the order in which people joined, and that nobody claimed a code past them.
///
/// Everybody waits for one code of the same pool, so the order is that of joining. Somebody certainly joined before another
/// one, where the answer was there before the other one asked. A fork may change the order, and then nothing is compared.
pub(super) fn check(answers: &Steps, found: &mut Found) {
    let waited = || answers.waited.iter();
    let seen = waited().flat_map(|waited| [Some(waited.joined), waited.seen_waiting]).flatten();
    let epochs = seen.chain(answers.claimed.iter().map(|(_, at)| *at)).map(|at| at.epoch);
    if epochs.collect::<BTreeSet<_>>().len() > 1 {
        return;
    }
    let mut joined: Vec<&Waited> = waited().collect();
    joined.sort_by_key(|waited| waited.joined.position);
    let mut joined = joined.into_iter().peekable();
    // Who was served, and up to which position others certainly joined before.
    let offered = waited().map(|waited| (waited.after.position, Served::Offered(waited)));
    let claimed = answers
        .claimed
        .iter()
        .map(|(who, at)| (at.position.saturating_sub(1), Served::Claimed(who, at.position)));
    let mut served: Vec<(u64, Served<'_>)> = offered.chain(claimed).collect();
    served.sort_by_key(|(before, _)| *before);
    let mut before = Before::default();
    for (position, served) in served {
        while let Some(waited) = joined.next_if(|waited| waited.joined.position <= position) {
            before.add(waited);
        }
        match served {
            Served::Offered(waited) => before.is_offered(waited, found),
            Served::Claimed(who, at) => before.claims(who, at, found),
        }
    }
}

/// Somebody who was served, or may have been.
enum Served<'a> {
    /// Who waited.
    Offered(&'a Waited),
    /// Who claimed a code without waiting, and at which position.
    Claimed(&'a str, u64),
}

/// What is known of all who joined before.
#[derive(Default)]
struct Before<'a> {
    /// The latest first offer of theirs.
    offer: Option<(u64, &'a str)>,
    /// The latest position at which one of them had not been offered anything yet.
    waiting: Option<(u64, &'a str)>,
}

impl<'a> Before<'a> {
    fn add(&mut self, waited: &'a Waited) {
        let who = waited.subject.as_str();
        self.offer = self.offer.max(waited.offered.map(|(number, _)| (number, who)));
        let waiting = waited.seen_waiting.map(|at| (at.position, who));
        self.waiting = self.waiting.max(waiting);
    }

    /// Somebody who joined later is offered something.
    fn is_offered(&self, later: &Waited, found: &mut Found) {
        let (who, Some((number, at))) = (&later.subject, later.offered) else { return };
        if let Some((other, first)) = self.offer.filter(|(other, _)| *other > number) {
            let evidence = format!(
                "{first} joined before {who}, and was offered a code after them (offer {other}, and {number})"
            );
            found.add(Promised::Turns, evidence);
        }
        if let Some((_, first)) = self.waiting.filter(|(waiting, _)| *waiting >= at.position) {
            let evidence = format!(
                "{first} joined before {who}, and waited still when {who} was offered a code"
            );
            found.add(Promised::Turns, evidence);
        }
    }

    /// Somebody who does not wait is given a code.
    fn claims(&self, who: &str, at: u64, found: &mut Found) {
        if let Some((_, first)) = self.waiting.filter(|(waiting, _)| *waiting >= at) {
            found.add(
                Promised::Turns,
                format!("{who} claimed a code that came free while {first} waited"),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::names::Position;

    fn at(position: u64) -> Position {
        Position { epoch: 0, position }
    }

    /// Somebody who asked after one position, was answered at another, waited still at a third and was offered something at
    /// a fourth.
    fn waited(who: &str, [after, joined, seen, offered]: [u64; 4], offer: u64) -> Waited {
        let mut waited = Waited::since(who.to_owned(), at(after), at(joined));
        waited.waits(at(seen));
        if offer > 0 {
            waited.is_offered(Some((offer, at(offered))));
        }
        waited
    }

    fn broken(waited: Vec<Waited>, claimed: &[(&str, u64)]) -> usize {
        let claimed = claimed.iter().map(|(who, position)| ((*who).to_owned(), at(*position)));
        let answers = Steps { waited, claimed: claimed.collect(), ..Steps::default() };
        let mut found = Found::default();
        check(&answers, &mut found);
        found.0.len()
    }

    #[test]
    fn who_certainly_joined_before_is_served_before() {
        let ann = || waited("ann", [1, 2, 5, 6], 1);
        assert_eq!(broken(vec![ann(), waited("bob", [2, 3, 7, 8], 2)], &[("eve", 1)]), 0);
        // Bob was offered something first, though he asked when ann had her place.
        assert_eq!(
            broken(vec![waited("ann", [1, 2, 5, 9], 2), waited("bob", [2, 3, 4, 8], 1)], &[]),
            1
        );
        // Nobody knows who of them was first.
        assert_eq!(
            broken(vec![waited("ann", [1, 2, 5, 9], 2), waited("bob", [1, 3, 4, 8], 1)], &[]),
            0
        );
        // Ann waited still when bob had an offer, and never had one.
        assert_eq!(
            broken(vec![waited("ann", [1, 2, 8, 0], 0), waited("bob", [2, 3, 4, 8], 1)], &[]),
            1
        );
        assert_eq!(
            broken(vec![waited("ann", [1, 2, 7, 0], 0), waited("bob", [2, 3, 4, 8], 1)], &[]),
            0
        );
        // Ann came too late for the last offer she could have, and joined anew: she has another place, and another offer.
        let mut anew = waited("ann", [1, 2, 3, 0], 0);
        anew.is_offered(None);
        anew.waits(at(8));
        anew.is_offered(Some((7, at(12))));
        assert_eq!(broken(vec![anew, waited("bob", [2, 3, 4, 8], 6)], &[("eve", 9)]), 0);
        // Eve claimed what came free while ann waited.
        assert_eq!(broken(vec![ann()], &[("eve", 2)]), 0);
        assert_eq!(broken(vec![ann()], &[("eve", 3)]), 1);
        assert_eq!(broken(vec![ann()], &[("eve", 6)]), 0);
    }
}
