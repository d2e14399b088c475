//! The wait queue for seats that somebody has, in the order of arrival, seat by seat.
//!
//! It is this node's own: a caller that asks another node, or does not wait, may be sooner.
//!
//! Whoever waits sleeps until it becomes the first for all its seats, or until one of them came free while it is: what
//! happens elsewhere wakes nobody.
//!
//! A position is that of the arrival, also where this node does not know the seats yet: it starts, or hears late of
//! them, or has just switched to another branch. Whoever comes later to that campaign may want the same seats, and comes
//! first only when those before it are in the queues of theirs, or have left.

use firstcome_core::State;
use firstcome_core::hall::{Hall, Unit};
use firstcome_inject::{Mistake, inject};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
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
/// The same for seats of one campaign, so that others find room.
pub const MAX_WAITED_FOR_IN_CAMPAIGN: usize = 32_768;

/// A seat or a group: the number of its campaign, the index of its pool, and which one.
type WaitedUnit = (u32, u16, Unit);

/// What somebody waits for, as of the state it was looked up in.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// The number of the campaign.
    pub(crate) campaign: u32,
    /// Seats and groups with the index of the pool of each: in order, each once; none if waiting changes nothing.
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
    /// By name, which stands for the same campaign on every branch.
    campaigns: BTreeMap<Box<str>, InCampaign>,
    /// How many units all who wait have named.
    named: usize,
}

#[derive(Debug)]
struct Waiting {
    campaign: Box<str>,
    subject: Box<str>,
    /// How many units it named.
    named: usize,
    /// None while its seats are not known.
    wanted: Option<Wanted>,
    /// In how many of its queues somebody is before it.
    behind: usize,
    call: Arc<Notify>,
}

/// What is known of a campaign for seats of which somebody waits.
#[derive(Debug, Default)]
struct InCampaign {
    /// Who waits, in the order of arrival.
    waiting: BTreeSet<u64>,
    /// Those of them whose seats are not known: they are in no queue yet.
    unplaced: BTreeSet<u64>,
    /// Those whose seats are not there as of the last entry of the campaign: until the next one they keep nobody waiting.
    aside: BTreeSet<u64>,
    /// How many units those who wait have named.
    named: usize,
    /// How many times each subject waits.
    subjects: BTreeMap<Box<str>, usize>,
    /// How many seats had come free in each pool when that was looked at last.
    freed: BTreeMap<u16, u64>,
    /// How many subjects were barred when that was looked at last.
    bars: usize,
}

/// A position in the wait queues of some seats; given up when dropped.
#[derive(Debug)]
pub(crate) struct SeatWaiter {
    queue: Arc<WaitQueue>,
    number: u64,
    call: Arc<Notify>,
}

impl WaitQueue {
    /// Takes the position behind all who are there, for so many units that are named; [`SeatWaiter::wants`] says for which.
    ///
    /// None if too many wait, or the subject waits in this campaign already.
    pub(crate) fn join(
        self: &Arc<Self>,
        campaign: &str,
        subject: &str,
        named: usize,
    ) -> Option<SeatWaiter> {
        let mut queues = self.lock();
        let there = queues.campaigns.get(campaign);
        let full = queues.waiting.len() >= MAX_WAITING
            || queues.named + named > MAX_WAITED_FOR
            || there.is_some_and(|there| {
                let of_subject = there.subjects.get(subject).copied().unwrap_or(0);
                there.waiting.len() >= MAX_WAITING_IN_CAMPAIGN
                    || there.named + named > MAX_WAITED_FOR_IN_CAMPAIGN
                    || of_subject >= MAX_WAITING_OF_SUBJECT
            });
        if full {
            return None;
        }
        queues.last += 1;
        let (number, call) = (queues.last, Arc::new(Notify::new()));
        let (campaign, subject) = (campaign.into(), subject.into());
        let (wanted, behind) = (None, 0);
        queues.enter(
            number,
            Waiting { campaign, subject, named, wanted, behind, call: Arc::clone(&call) },
        );
        drop(queues);
        Some(SeatWaiter { queue: Arc::clone(self), number, call })
    }

    /// Returns how many wait.
    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    /// Returns those who are to look at their seats again, as an entry was applied: the first in each queue of a seat that
    /// came free, the first whose seats were not known, and whoever was barred. They are called when the state can be
    /// looked at again.
    pub(crate) fn freed(&self, state: &State) -> Calls {
        let mut calls = Calls::default();
        let mut queues = self.lock();
        if queues.campaigns.is_empty() || inject(Mistake::FreedSeatsUnheard) {
            return calls;
        }
        for number in state.touched() {
            let Some(campaign) = state.campaign_numbered(*number) else {
                queues.call_all_of(*number, &mut calls);
                continue;
            };
            if let Some(there) = queues.campaigns.get_mut(campaign.name()) {
                // Their seats may be there now, and they come before others then.
                there.unplaced.append(&mut there.aside);
            }
            let Some(there) = queues.campaigns.get(campaign.name()) else { continue };
            let unplaced = there.unplaced.first().and_then(|first| queues.waiting.get(first));
            calls.0.extend(unplaced.map(|waiting| waiting.call.clone()));
            let bars = campaign.barred_subjects();
            if bars != there.bars {
                // Who is barred hears so at once, whoever is before them.
                let is_barred = |waiting: &&Waiting| {
                    *waiting.campaign == *campaign.name()
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
            if let Some(there) = queues.campaigns.get_mut(campaign.name()) {
                there.freed.extend(seen);
                there.bars = bars;
            }
        }
        calls
    }

    /// Takes note that this node switched to another branch of the journal, where numbers may stand for other campaigns
    /// and seats: all look again, and keep their positions.
    pub(crate) fn switched_branch(&self) {
        let queues = &mut *self.lock();
        queues.by_unit.clear();
        for there in queues.campaigns.values_mut() {
            there.unplaced = there.waiting.clone();
            there.aside.clear();
            there.freed.clear();
        }
        for waiting in queues.waiting.values_mut() {
            (waiting.wanted, waiting.behind) = (None, 0);
            waiting.call.notify_one();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Queues> {
        // Every change under this lock is complete in itself.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns what a seat is waited for as: its group, if it is of one.
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
    fn enter(&mut self, number: u64, waiting: Waiting) {
        let there = self.campaigns.entry(waiting.campaign.clone()).or_default();
        there.waiting.insert(number);
        there.unplaced.insert(number);
        *there.subjects.entry(waiting.subject.clone()).or_default() += 1;
        self.named += waiting.named;
        there.named += waiting.named;
        self.waiting.insert(number, waiting);
    }

    fn leave(&mut self, number: u64) {
        let Some(gone) = self.waiting.remove(&number) else { return };
        for unit in gone.wanted.iter().flat_map(Wanted::waited_units) {
            self.leave_queue(unit, number);
        }
        self.named -= gone.named;
        let Some(there) = self.campaigns.get_mut(&gone.campaign) else { return };
        there.waiting.remove(&number);
        there.named -= gone.named;
        if let Some(times) = there.subjects.get_mut(&gone.subject) {
            *times -= 1;
            if *times == 0 {
                there.subjects.remove(&gone.subject);
            }
        }
        there.aside.remove(&number);
        let (was_unplaced, is_last) = (there.unplaced.remove(&number), there.waiting.is_empty());
        let unplaced = there.unplaced.first().copied();
        if is_last {
            self.campaigns.remove(&gone.campaign);
        } else if was_unplaced {
            self.call_behind(&gone.campaign, number);
        } else if let Some(unplaced) = unplaced {
            // It may be the first of the campaign now.
            self.call(unplaced);
        }
    }

    /// Takes somebody out of its queues, and puts it in those of what it wants now, at its position; in none where its
    /// seats are not known.
    fn place(&mut self, number: u64, wanted: Option<&Wanted>) {
        let Some(waiting) = self.waiting.get_mut(&number) else { return };
        let campaign = waiting.campaign.clone();
        let before = std::mem::replace(&mut waiting.wanted, wanted.cloned());
        for unit in before.iter().flat_map(Wanted::waited_units) {
            self.leave_queue(unit, number);
        }
        let mut behind = 0;
        for unit in wanted.into_iter().flat_map(Wanted::waited_units) {
            behind += usize::from(self.enter_queue(unit, number));
        }
        if let Some(waiting) = self.waiting.get_mut(&number) {
            waiting.behind = behind;
        }
        let Some(there) = self.campaigns.get_mut(&campaign) else { return };
        let Some(wanted) = wanted else {
            there.unplaced.insert(number);
            return;
        };
        there.aside.remove(&number);
        for (pool, freed) in &wanted.freed {
            // Whoever came before may still have to hear of more.
            there.freed.entry(*pool).or_insert(*freed);
        }
        if there.unplaced.remove(&number) {
            self.call_behind(&campaign, number);
        }
    }

    /// Puts somebody in the queue of a unit, before those who came later; says whether somebody is before it there.
    fn enter_queue(&mut self, unit: WaitedUnit, number: u64) -> bool {
        let first = self.first(unit);
        self.by_unit.insert((unit, number));
        let Some(first) = first else { return false };
        if first < number {
            return true;
        }
        if let Some(next) = self.waiting.get_mut(&first) {
            next.behind += 1;
        }
        false
    }

    fn leave_queue(&mut self, unit: WaitedUnit, number: u64) {
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

    /// Calls those of a campaign who may come first now that one before them has left, or has its seats known: up to the next
    /// one whose seats are not.
    fn call_behind(&self, campaign: &str, number: u64) {
        let Some(there) = self.campaigns.get(campaign) else { return };
        let next = there.unplaced.first().copied().unwrap_or(u64::MAX);
        if next > number {
            let behind = there.waiting.range((Bound::Excluded(number), Bound::Included(next)));
            behind.for_each(|number| self.call(*number));
        }
    }

    /// Calls somebody, unless others are before it in a queue.
    fn call(&self, number: u64) {
        if let Some(waiting) = self.waiting.get(&number).filter(|waiting| waiting.behind == 0) {
            waiting.call.notify_one();
        }
    }

    /// Says whether nobody is before somebody of those who could want the same seat.
    fn is_first(&self, number: u64) -> bool {
        let Some(waiting) = self.waiting.get(&number) else { return false };
        let Some(there) = self.campaigns.get(&waiting.campaign) else { return false };
        if waiting.wanted.is_none() {
            return there.waiting.first() == Some(&number);
        }
        let none_unplaced = there.unplaced.first().is_none_or(|first| *first > number);
        waiting.behind == 0 && (none_unplaced || inject(Mistake::UnknownSeatsPassed))
    }

    /// Returns who is first in the queue of a unit.
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
        let of_it = |wanted: &Wanted| wanted.campaign == campaign;
        let of = self.waiting.values().filter(|waiting| waiting.wanted.as_ref().is_some_and(of_it));
        calls.0.extend(of.map(|waiting| waiting.call.clone()));
    }
}

impl Wanted {
    fn waited_units(&self) -> impl Iterator<Item = WaitedUnit> {
        self.units.iter().map(|(pool, unit)| (self.campaign, *pool, *unit))
    }
}

impl SeatWaiter {
    /// Says whether it comes first: nobody is before it in any of its queues, and the seats of all who came before it to
    /// this campaign are known. Where its own are not, nobody came before it.
    pub(crate) fn is_first(&self) -> bool {
        inject(Mistake::WaitQueueJumped) || self.queue.lock().is_first(self.number)
    }

    /// Goes on waiting, at the position it has, for what it wants as far as this node knows now; none if it does not know
    /// the seats.
    pub(crate) fn wants(&self, wanted: Option<&Wanted>) {
        let mut queues = self.queue.lock();
        let same = |before: &Wanted| {
            wanted.is_some_and(|now| (before.campaign, &before.units) == (now.campaign, &now.units))
        };
        let before = queues.waiting.get(&self.number).and_then(|waiting| waiting.wanted.as_ref());
        if before.map_or(wanted.is_some(), |before| !same(before)) {
            queues.place(self.number, wanted);
        }
    }

    /// Lets those behind it come first: what it wants is not there. With the next entry of the campaign it is before them again,
    /// and looks.
    pub(crate) fn stands_aside(&self) {
        let queues = &mut *self.queue.lock();
        let Some(waiting) = queues.waiting.get(&self.number) else { return };
        let campaign = waiting.campaign.clone();
        let Some(there) = queues.campaigns.get_mut(&campaign) else { return };
        if there.unplaced.remove(&self.number) {
            there.aside.insert(self.number);
            queues.call_behind(&campaign, self.number);
        }
    }

    /// Waits until it is called: it became the first, or one of its seats came free.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe. A call that comes while nobody waits is heard by whoever waits next.
    pub(crate) async fn called(&self) {
        self.call.notified().await;
    }
}

impl Drop for SeatWaiter {
    fn drop(&mut self) {
        self.queue.lock().leave(self.number);
    }
}

#[cfg(test)]
mod tests;
