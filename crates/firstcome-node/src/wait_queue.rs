//! The wait queue for seats that somebody has, in the order of arrival, seat by seat.
//!
//! It is this node's own: a caller that asks another node, or does not wait, may be sooner.
//!
//! Whoever waits sleeps until it becomes the first for all its seats, or until one of them came free while it is: what
//! happens elsewhere wakes nobody.

use firstcome_core::State;
use firstcome_core::hall::{Hall, Unit};
use firstcome_inject::{Mistake, inject};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Callers that may wait at a time at one node; one more is told at once that the seat is taken.
pub const MAX_WAITING: usize = 16_384;
/// Callers that may wait at a time for seats of one campaign; one more is told at once.
pub const MAX_WAITING_IN_CAMPAIGN: usize = 2_048;
/// Holds of one subject that may wait at a time for seats of one campaign; one more is told at once.
pub const MAX_WAITING_OF_SUBJECT: usize = 1;
/// Seats and groups that all who wait at one node may wait for together; who would go beyond it is told at once.
pub const MAX_WAITED_FOR: usize = 262_144;

/// A seat or a group: the number of its campaign, the index of its pool, and which one.
type WaitedUnit = (u32, u16, Unit);

/// What somebody waits for, as of the state it was looked up in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The number of the campaign.
    pub(crate) campaign: u32,
    /// Seats and groups with the index of the pool of each: in order, each once.
    pub(crate) units: Vec<(u16, Unit)>,
    /// Seats that had come free in each pool by then.
    pub(crate) freed: Vec<(u16, u64)>,
}

/// All wait queues of a node.
#[derive(Debug, Default)]
pub(crate) struct WaitQueue {
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    /// The number of whoever came last.
    last: u64,
    waiting: BTreeMap<u64, Waiting>,
    /// Who waits for what: for each unit in the order of arrival.
    by_unit: BTreeSet<(WaitedUnit, u64)>,
    campaigns: BTreeMap<u32, InCampaign>,
    /// How often this node switched to another branch, where numbers may stand for other campaigns and seats.
    branch: u64,
}

#[derive(Debug)]
struct Waiting {
    wanted: Wanted,
    subject: Box<str>,
    /// In how many of its queues somebody is before it.
    behind: usize,
    call: Arc<Notify>,
}

/// What is known of a campaign for seats of which somebody waits.
#[derive(Debug, Default)]
struct InCampaign {
    waiting: usize,
    /// How many times each subject waits.
    subjects: BTreeMap<Box<str>, usize>,
    /// How many seats had come free in each pool when that was looked at last.
    freed: BTreeMap<u16, u64>,
    /// How many subjects were barred when that was looked at last.
    bars: usize,
}

/// A position in the wait queues of some seats; given up when dropped.
#[derive(Debug)]
pub(crate) struct Waiter {
    queue: Arc<WaitQueue>,
    number: u64,
    branch: u64,
    call: Arc<Notify>,
}

impl WaitQueue {
    /// Joins the end of the queue of each unit, all at once.
    ///
    /// None if too many wait, or the subject waits in this campaign already.
    pub(crate) fn join(self: &Arc<Self>, subject: &str, wanted: Wanted) -> Option<Waiter> {
        let mut queues = self.lock();
        let there = queues.campaigns.get(&wanted.campaign);
        let full = queues.waiting.len() >= MAX_WAITING
            || queues.by_unit.len() + wanted.units.len() > MAX_WAITED_FOR
            || there.is_some_and(|there| {
                let of_subject = there.subjects.get(subject).copied().unwrap_or(0);
                there.waiting >= MAX_WAITING_IN_CAMPAIGN || of_subject >= MAX_WAITING_OF_SUBJECT
            });
        if full {
            return None;
        }
        queues.last += 1;
        let (number, branch) = (queues.last, queues.branch);
        let call = Arc::new(Notify::new());
        queues.enter(number, subject.into(), wanted, Arc::clone(&call));
        drop(queues);
        Some(Waiter { queue: Arc::clone(self), number, branch, call })
    }

    /// Gives how many wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Gives those who are to look at their seats again, as an entry was applied: the first in each queue of a seat that
    /// came free, and whoever was barred. They are called when the state can be looked at again.
    pub(crate) fn freed(&self, state: &State) -> Calls {
        let mut calls = Calls::default();
        let mut queues = self.lock();
        if queues.campaigns.is_empty() || inject(Mistake::FreedSeatsUnheard) {
            return calls;
        }
        for number in state.touched() {
            let Some(there) = queues.campaigns.get(number) else { continue };
            let Some(campaign) = state.campaign_numbered(*number) else {
                queues.call_all_of(*number, &mut calls);
                continue;
            };
            let bars = campaign.barred_subjects();
            if bars != there.bars {
                // Who is barred hears so at once, whoever is before them.
                let is_barred = |waiting: &&Waiting| {
                    waiting.wanted.campaign == *number
                        && campaign.bar_of(&waiting.subject).is_some()
                };
                let barred = queues.waiting.values().filter(is_barred);
                calls.0.extend(barred.map(|waiting| waiting.call.clone()));
            }
            let mut seen = Vec::new();
            for (pool, before) in &there.freed {
                let hall = campaign.pools().get(usize::from(*pool)).and_then(|pool| pool.hall());
                let Some(hall) = hall else {
                    queues.call_all_of(*number, &mut calls);
                    break;
                };
                if hall.freed() == *before {
                    continue;
                }
                seen.push((*pool, hall.freed()));
                match hall.freed_since(*before) {
                    Some(seats) => seats.for_each(|seat| {
                        queues.call_for((*number, *pool, unit_of(hall, seat)), &mut calls)
                    }),
                    None => queues.call_all_of(*number, &mut calls),
                }
            }
            if let Some(there) = queues.campaigns.get_mut(number) {
                there.freed.extend(seen);
                there.bars = bars;
            }
        }
        calls
    }

    /// Takes note that this node switched to another branch of the journal: all look again.
    pub(crate) fn switched_branch(&self) {
        let mut queues = self.lock();
        queues.branch += 1;
        // What was counted belongs to another history: the next look tells nothing, so that all are called.
        for there in queues.campaigns.values_mut() {
            there.freed.values_mut().for_each(|freed| *freed = u64::MAX);
        }
        queues.waiting.values().for_each(|waiting| waiting.call.notify_one());
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        // Every change under this lock is complete in itself.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Gives what a seat is waited for as: its group, if it is of one.
fn unit_of(hall: &Hall, seat: u32) -> Unit {
    hall.group_of(seat).map_or(Unit::Seat(seat), Unit::Group)
}

/// Those who are to be called.
#[derive(Debug, Default)]
pub(crate) struct Calls(Vec<Arc<Notify>>);

impl Calls {
    /// Calls them; one that does not listen at this moment hears of it when it does.
    pub(crate) fn make(self) {
        self.0.iter().for_each(|call| call.notify_one());
    }
}

impl Queues {
    fn enter(&mut self, number: u64, subject: Box<str>, wanted: Wanted, call: Arc<Notify>) {
        let mut behind = 0;
        for (pool, unit) in &wanted.units {
            let unit = (wanted.campaign, *pool, *unit);
            // One that came back after a switch of branches may stand before others.
            let first = self.first(unit);
            if first.is_some_and(|first| first < number) {
                behind += 1;
            } else if let Some(next) = first.and_then(|first| self.waiting.get_mut(&first)) {
                next.behind += 1;
            }
            self.by_unit.insert((unit, number));
        }
        let there = self.campaigns.entry(wanted.campaign).or_default();
        there.waiting += 1;
        *there.subjects.entry(subject.clone()).or_default() += 1;
        for (pool, freed) in &wanted.freed {
            // Whoever came before may still have to hear of more.
            there.freed.entry(*pool).or_insert(*freed);
        }
        self.waiting.insert(number, Waiting { wanted, subject, behind, call });
    }

    fn leave(&mut self, number: u64) -> Option<Waiting> {
        let gone = self.waiting.remove(&number)?;
        for (pool, unit) in &gone.wanted.units {
            let unit = (gone.wanted.campaign, *pool, *unit);
            let was_first = self.first(unit) == Some(number);
            self.by_unit.remove(&(unit, number));
            let next = if was_first { self.first(unit) } else { None };
            if let Some(next) = next.and_then(|next| self.waiting.get_mut(&next)) {
                next.behind -= 1;
                if next.behind == 0 {
                    next.call.notify_one();
                }
            }
        }
        if let Some(there) = self.campaigns.get_mut(&gone.wanted.campaign) {
            there.waiting -= 1;
            if let Some(times) = there.subjects.get_mut(&gone.subject) {
                *times -= 1;
                if *times == 0 {
                    there.subjects.remove(&gone.subject);
                }
            }
            if there.waiting == 0 {
                self.campaigns.remove(&gone.wanted.campaign);
            }
        }
        Some(gone)
    }

    /// Gives who is first in the queue of a unit.
    fn first(&self, unit: WaitedUnit) -> Option<u64> {
        self.by_unit.range((unit, 0)..=(unit, u64::MAX)).next().map(|(_, number)| *number)
    }

    fn call_for(&self, unit: WaitedUnit, calls: &mut Calls) {
        let last = || self.by_unit.range((unit, 0)..=(unit, u64::MAX)).next_back();
        let first = if inject(Mistake::WaitQueueJumped) {
            last().map(|(_, number)| *number)
        } else {
            self.first(unit)
        };
        calls.0.extend(first.and_then(|first| self.waiting.get(&first)).map(|w| w.call.clone()));
    }

    fn call_all_of(&self, campaign: u32, calls: &mut Calls) {
        let of = self.waiting.values().filter(|waiting| waiting.wanted.campaign == campaign);
        calls.0.extend(of.map(|waiting| waiting.call.clone()));
    }
}

impl Waiter {
    /// Says whether nobody is before it in any of its queues.
    pub(crate) fn is_first(&self) -> bool {
        inject(Mistake::WaitQueueJumped) || self.of(|waiting| waiting.behind == 0)
    }

    /// Gives what it waits for.
    pub(crate) fn wanted(&self) -> Wanted {
        self.of(|waiting| waiting.wanted.clone())
    }

    /// Waits until it is called: it became the first, or one of its seats came free.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe. A call that comes while nobody waits is heard by whoever waits next.
    pub(crate) async fn called(&self) {
        self.call.notified().await;
    }

    /// Says whether this node switched to another branch since it was last told what it waits for.
    pub(crate) fn is_outdated(&self) -> bool {
        self.queue.lock().branch != self.branch
    }

    /// Goes on waiting, at the position it has, for what it wants on the branch this node is on now.
    pub(crate) fn wants(&mut self, wanted: Wanted) {
        let mut queues = self.queue.lock();
        self.branch = queues.branch;
        if let Some(Waiting { subject, call, .. }) = queues.leave(self.number) {
            queues.enter(self.number, subject, wanted, call);
        }
    }

    fn of<T>(&self, what: impl FnOnce(&Waiting) -> T) -> T {
        let queues = self.queue.lock();
        what(queues.waiting.get(&self.number).expect("it is there until it is dropped"))
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        self.queue.lock().leave(self.number);
    }
}

#[cfg(test)]
mod tests;
