//! Whose turn it is: what comes free goes to who has waited longest, and to nobody who does not wait.

use super::super::record::{Record, Waited};
use super::super::violation::{Found, Promised};

/// Checks that offers were made in the order in which people joined, and that nobody claimed a code past them.
///
/// Everybody waits for one code of the same pool, so the order is that of joining. Those who joined in one entry of the
/// journal may be offered in any order: an answer does not say which of them was first. A fork may change the order, and
/// then nothing is compared.
pub(super) fn check(record: &Record, found: &mut Found) {
    let epochs = record.waited.iter().map(|waited| waited.joined.epoch);
    let epochs = epochs.chain(record.claimed.iter().map(|(_, at)| at.epoch));
    let seen = record.waited.iter().filter_map(|waited| Some(waited.seen_waiting?.epoch));
    let mut epochs = epochs.chain(seen);
    let first = epochs.next();
    if epochs.any(|epoch| Some(epoch) != first) {
        return;
    }
    let mut waited: Vec<&Waited> = record.waited.iter().collect();
    waited.sort_by_key(|waited| waited.joined.position);
    let mut claimed: Vec<&(String, _)> = record.claimed.iter().collect();
    claimed.sort_by_key(|(_, at)| at.position);
    let mut claimed = claimed.into_iter().peekable();
    let mut before = Before::default();
    let groups = waited.chunk_by(|one, next| one.joined.position == next.joined.position);
    for group in groups {
        let joined = group[0].joined.position;
        while let Some((who, at)) = claimed.next_if(|(_, at)| at.position <= joined) {
            before.claims(who, at.position, found);
        }
        for waited in group {
            before.is_offered(waited, found);
        }
        group.iter().for_each(|waited| before.add(waited));
    }
    for (who, at) in claimed {
        before.claims(who, at.position, found);
    }
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
