//! The waitlist of one pool: who waits, for what, and in which order.
//!
//! Everybody who joins gets the next *ticket*; the order of tickets is the order of the list. Who wants the same is of
//! one *kind of wish*, and each kind has a queue of its own: when a unit comes free, the first of each kind is looked
//! at once, the lowest ticket first. A kind that cannot be served is not looked at again until something comes free.
//!
//! A freed unit becomes an *offer*, which is a hold: whoever has one is not among those who wait. Who may have what is
//! decided by the rules of the campaign (`campaign/waiting.rs`, `campaign/offers.rs`).

mod order;
mod unserved;

pub(crate) use order::Waiter;
pub(crate) use order::{Neighbours, Order};
pub use unserved::Why;
pub(crate) use unserved::{Unserved, UnservedLog};

use crate::command::Wish;
use crate::limits::WISHES;
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};
use std::collections::BTreeSet;

/// What somebody waits for, owned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptWish {
    quantity: u32,
    grade: Option<Box<str>>,
    channel: Option<Box<str>>,
    area: Option<Box<str>>,
    adjacent: bool,
}

impl KeptWish {
    pub(crate) fn new(wish: &Wish<'_>) -> Self {
        Self {
            quantity: wish.quantity,
            grade: wish.grade.map(Into::into),
            channel: wish.channel.map(Into::into),
            area: wish.area.map(Into::into),
            adjacent: wish.adjacent,
        }
    }

    pub(crate) fn get(&self) -> Wish<'_> {
        Wish {
            quantity: self.quantity,
            grade: self.grade.as_deref(),
            channel: self.channel.as_deref(),
            area: self.area.as_deref(),
            adjacent: self.adjacent,
        }
    }
}

/// Everybody who has the same wish.
#[derive(Debug)]
pub(crate) struct Kind {
    pub(crate) wish: KeptWish,
    /// Tickets of those who wait, in order.
    pub(crate) waiting: BTreeSet<u32>,
    /// Live offers of this kind: whoever does not take one comes back.
    pub(crate) offers: u32,
    /// Whoever has a ticket up to this one was passed over: something they wanted was free, but too little of it.
    pub(crate) passed: u32,
}

/// Where somebody stands on a waitlist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place<'a> {
    /// How many wait in front, whatever they wait for.
    pub ahead: u32,
    /// What they wait for.
    pub wish: Wish<'a>,
    /// Whether something they want was free since they joined, but not as much as they want, or not together: others
    /// could have it, and they kept their place.
    pub passed_over: bool,
    /// How many offers they did not take.
    pub missed: u8,
    /// Since when they have this place.
    pub since: Timestamp,
}

/// One who waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting<'a> {
    /// The ticket: it goes up with each who joins, and shows where to read on.
    pub ticket: u32,
    /// Who waits.
    pub subject: &'a str,
    /// What they wait for.
    pub wish: Wish<'a>,
    /// How many offers they did not take.
    pub missed: u8,
    /// Since when they have this place.
    pub since: Timestamp,
}

/// The waitlist of one pool.
#[derive(Debug, Default)]
pub(crate) struct Waitlist {
    order: Order,
    /// Kinds of wish by their number; a number is free again once nobody has the wish.
    kinds: Vec<Option<Kind>>,
    /// For each kind a bit: what is free now does not do.
    tried: u64,
    /// The last ticket that was given.
    pub(crate) last: u32,
}

impl Waitlist {
    /// Returns how many wait.
    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    /// Says whether anybody waits or has an offer.
    pub(crate) fn is_used(&self) -> bool {
        self.kinds.iter().any(Option::is_some)
    }

    /// Returns how many have an offer: a sum over the kinds of wish, of which there are few.
    pub(crate) fn offers(&self) -> u64 {
        self.kinds.iter().flatten().map(|kind| u64::from(kind.offers)).sum()
    }

    /// Returns how many wait or have an offer.
    pub(crate) fn on_it(&self) -> u64 {
        self.order.len() as u64 + self.offers()
    }

    /// Returns the number of a wish that somebody has already.
    pub(crate) fn kind_of(&self, wish: &Wish<'_>) -> Option<u8> {
        let same = |kind: &Option<Kind>| kind.as_ref().is_some_and(|k| k.wish.get() == *wish);
        self.kinds.iter().position(same).map(|slot| slot as u8)
    }

    /// Says whether the number of kinds lets somebody join with this wish.
    pub(crate) fn has_room_for(&self, wish: &Wish<'_>) -> bool {
        self.kinds.iter().flatten().count() < WISHES || self.kind_of(wish).is_some()
    }

    /// Returns the number of a wish, new or known.
    ///
    /// # Panics
    ///
    /// There are as many kinds as there may be.
    pub(crate) fn kind_for(&mut self, wish: &Wish<'_>) -> u8 {
        if let Some(known) = self.kind_of(wish) {
            return known;
        }
        let free = self.kinds.iter().position(Option::is_none).unwrap_or(self.kinds.len());
        self.put_kind(free as u8, wish, 0);
        free as u8
    }

    /// Adds a kind under a free number, new or from a snapshot.
    pub(crate) fn put_kind(&mut self, slot: u8, wish: &Wish<'_>, passed: u32) {
        let slot = usize::from(slot);
        assert!(slot < WISHES, "the number of kinds was looked at");
        if self.kinds.len() <= slot {
            self.kinds.resize_with(slot + 1, || None);
        }
        assert!(self.kinds[slot].is_none(), "a number is given once at a time");
        let wish = KeptWish::new(wish);
        self.kinds[slot] = Some(Kind { wish, waiting: BTreeSet::new(), offers: 0, passed });
        self.tried &= !(1 << slot);
    }

    pub(crate) fn kind(&self, slot: u8) -> Option<&Kind> {
        self.kinds.get(usize::from(slot))?.as_ref()
    }

    /// Returns a kind that somebody has.
    fn kind_mut(&mut self, slot: u8) -> &mut Kind {
        let kind = self.kinds.get_mut(usize::from(slot)).and_then(Option::as_mut);
        kind.expect("who waits or has an offer keeps the kind")
    }

    /// Returns the kinds with their numbers, and whether what is free does for them is known not to be so.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (u8, &Kind, bool)> {
        let kinds = self.kinds.iter().enumerate();
        kinds.filter_map(|(slot, kind)| {
            Some((slot as u8, kind.as_ref()?, self.tried & (1 << slot) != 0))
        })
    }

    /// Puts somebody who is not on the list behind everybody else; says no if tickets have run out.
    ///
    /// The kind is known.
    pub(crate) fn push(
        &mut self,
        slot: u8,
        subject: &str,
        at: Timestamp,
        more: (Option<u32>, u8),
    ) -> bool {
        let Some(ticket) = self.last.checked_add(1) else { return false };
        let (limit, missed) = more;
        self.put(Waiter {
            ticket,
            subject: subject.into(),
            at,
            limit: limit.unwrap_or(0),
            kind: slot,
            missed,
        });
        true
    }

    /// Adds somebody, new or from a snapshot. Tickets go up.
    pub(crate) fn put(&mut self, waiter: Waiter) {
        self.last = self.last.max(waiter.ticket);
        self.kind_mut(waiter.kind).waiting.insert(waiter.ticket);
        self.order.put(waiter);
    }

    pub(crate) fn find(&self, subject: &str) -> Option<&Waiter> {
        self.order.find(subject)
    }

    /// Says where somebody stands.
    pub(crate) fn place(&self, subject: &str) -> Option<Place<'_>> {
        let waiter = self.order.find(subject)?;
        let kind = self.kind(waiter.kind)?;
        Some(Place {
            ahead: self.order.before(waiter.ticket),
            wish: kind.wish.get(),
            passed_over: waiter.ticket <= kind.passed,
            missed: waiter.missed,
            since: waiter.at,
        })
    }

    /// Returns those who wait with a ticket beyond this one, in order.
    pub(crate) fn after(&self, ticket: u32) -> impl Iterator<Item = Waiting<'_>> {
        self.order.after(ticket).filter_map(|waiter| {
            let wish = self.kind(waiter.kind)?.wish.get();
            let Waiter { ticket, ref subject, at: since, missed, .. } = *waiter;
            Some(Waiting { ticket, subject, wish, missed, since })
        })
    }

    /// Takes somebody off who waits.
    pub(crate) fn remove(&mut self, subject: &str) -> Option<Waiter> {
        let ticket = self.order.find(subject)?.ticket;
        let waiter = self.take(ticket);
        self.drop_kind(waiter.kind);
        Some(waiter)
    }

    /// Takes the first off, whatever they wait for.
    pub(crate) fn pop(&mut self) -> Option<Waiter> {
        let (ticket, _) = self.order.first()?;
        let waiter = self.take(ticket);
        self.drop_kind(waiter.kind);
        Some(waiter)
    }

    /// Takes off who is about to get an offer: the kind stays.
    pub(crate) fn take(&mut self, ticket: u32) -> Waiter {
        let waiter = self.order.remove(ticket).expect("a ticket leads to who waits with it");
        self.kind_mut(waiter.kind).waiting.remove(&ticket);
        waiter
    }

    /// Notes an offer of a kind.
    pub(crate) fn add_offer(&mut self, slot: u8) {
        self.kind_mut(slot).offers += 1;
    }

    /// Notes that an offer has ended. Who comes back is put on the list before.
    pub(crate) fn end_offer(&mut self, slot: u8) {
        self.kind_mut(slot).offers -= 1;
        self.drop_kind(slot);
    }

    /// Forgets a kind that nobody has.
    pub(crate) fn drop_kind(&mut self, slot: u8) {
        let kind = self.kind_mut(slot);
        if kind.waiting.is_empty() && kind.offers == 0 {
            self.kinds[usize::from(slot)] = None;
            self.tried &= !(1 << slot);
        }
    }

    /// Notes that something came free: everybody is looked at anew.
    pub(crate) fn came_free(&mut self) {
        if !inject(Mistake::FreedUnitsSkipList) {
            self.tried = 0;
        }
    }

    /// Returns who is to be looked at next: the lowest ticket of the kinds that may be served, and its kind.
    pub(crate) fn next(&self) -> Option<(u32, u8)> {
        let heads = self.kinds().filter(|(.., tried)| !tried);
        let heads = heads.filter_map(|(slot, kind, _)| Some((*kind.waiting.first()?, slot)));
        if inject(Mistake::WaitlistJumped) {
            return heads.max();
        }
        heads.min()
    }

    /// Says whether somebody who waits was not looked at since something came free.
    pub(crate) fn is_behind(&self) -> bool {
        self.kinds().any(|(_, kind, tried)| !tried && !kind.waiting.is_empty())
    }

    /// Notes that what is free does not do for a kind; `some` if there is something, only too little.
    pub(crate) fn pass_over(&mut self, slot: u8, some: bool) {
        self.tried |= 1 << slot;
        let last = self.last;
        let kind = self.kind_mut(slot);
        if some {
            kind.passed = kind.waiting.last().copied().unwrap_or(last);
        }
    }

    /// Returns the highest ticket of those who wait.
    pub(crate) fn last_waiting(&self) -> Option<u32> {
        self.order.last()
    }

    /// Says whether what is free is known not to do for a kind.
    pub(crate) fn is_tried(&self, slot: u8) -> bool {
        self.tried & (1 << slot) != 0
    }

    /// Returns the lowest ticket and its kind, whatever it waits for.
    pub(crate) fn first(&self) -> Option<(u32, u8)> {
        self.order.first()
    }

    /// Notes of a kind in a snapshot that what is free does not do for it.
    pub(crate) fn set_tried(&mut self, slot: u8) {
        self.tried |= 1 << slot;
    }

    /// Returns those who wait in the parts that a snapshot writes together.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &std::sync::Arc<Neighbours>> {
        self.order.parts()
    }

    /// Returns about how many bytes it takes.
    pub(crate) fn memory(&self) -> usize {
        self.order.memory() + self.kinds.len() * 128 + self.order.len() * 12
    }

    /// Returns [`Self::memory`] by looking at everybody.
    pub(crate) fn walked_memory(&self) -> usize {
        let waiting: usize = self.kinds.iter().flatten().map(|kind| kind.waiting.len()).sum();
        self.order.walked_memory() + self.kinds.len() * 128 + waiting * 12
    }
}
