//! The waitlist of one pool: who waits, for what, and in which order.
//!
//! Everybody who joins gets the next *ticket*; the order of tickets is the order of the list. Who wants the same is of
//! one *kind of wish*, and each kind has a queue of its own: when a unit comes free, the first of each kind is looked
//! at once, the lowest ticket first. A kind that cannot be served is not looked at again until something comes free that
//! may be for it by grade, channel and area. Seats that come free are remembered until nobody is to be looked at: one who
//! wants neighbours is looked at beside them only.
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
use crate::hall::Hall;
use crate::hold::UnitId;
use crate::limits::{FREED_SEATS, WISHES};
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};
use std::collections::{BTreeMap, BTreeSet};

/// Units that are known to be for kinds which are to be looked at; beyond it, kinds are compared once more.
const MARKED: usize = 64;
/// Bytes of a kind of wish, about, beside those who have it.
const KIND_BYTES: usize = 320;

/// What somebody waits for, owned.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
    /// Whether the next look is at everything, and not only at the seats that are remembered.
    pub(crate) everywhere: bool,
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
    kinds: BTreeMap<u32, Kind>,
    /// The number of each wish that somebody has.
    numbers: BTreeMap<KeptWish, u32>,
    /// How many of these wishes are for several units.
    several: usize,
    /// Live offers.
    offers: u64,
    /// Kinds of which it is known that what is free now does not do.
    tried: BTreeSet<u32>,
    /// Of each other kind the first ticket, and its number.
    untried: BTreeSet<(u32, u32)>,
    /// Seats that came free since nobody was to be looked at.
    freed: BTreeSet<u32>,
    /// Units that came free since a kind was looked at, one of those that are like each other: they are for the same kinds.
    marked: Vec<UnitId>,
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
        !self.kinds.is_empty()
    }

    /// Returns how many have an offer.
    pub(crate) fn offers(&self) -> u64 {
        self.offers
    }

    /// Returns how many wait or have an offer.
    pub(crate) fn on_it(&self) -> u64 {
        self.order.len() as u64 + self.offers
    }

    /// Returns the number of a wish that somebody has already.
    pub(crate) fn kind_of(&self, wish: &Wish<'_>) -> Option<u32> {
        self.numbers.get(&KeptWish::new(wish)).copied()
    }

    /// Says whether the number of kinds lets somebody join with this wish. Those for one unit are as many as the pool has
    /// names for.
    pub(crate) fn has_room_for(&self, wish: &Wish<'_>) -> bool {
        wish.quantity == 1 || self.several < WISHES || self.kind_of(wish).is_some()
    }

    /// Returns the number of a wish, new or known.
    ///
    /// # Panics
    ///
    /// There are as many kinds as there may be.
    pub(crate) fn kind_for(&mut self, wish: &Wish<'_>) -> u32 {
        if let Some(known) = self.kind_of(wish) {
            return known;
        }
        let next = self.kinds.last_key_value().map_or(0, |(last, _)| last.wrapping_add(1));
        let free = (next..=u32::MAX).find(|number| !self.kinds.contains_key(number));
        let number = free.expect("there are fewer kinds than numbers");
        self.put_kind(number, wish, 0);
        number
    }

    /// Adds a kind under a free number, new or from a snapshot.
    pub(crate) fn put_kind(&mut self, number: u32, wish: &Wish<'_>, passed: u32) {
        assert!(self.has_room_for(wish), "the number of kinds was looked at");
        self.several += usize::from(wish.quantity > 1);
        let wish = KeptWish::new(wish);
        let same = self.numbers.insert(wish.clone(), number);
        let kind = Kind { wish, waiting: BTreeSet::new(), offers: 0, passed, everywhere: true };
        let known = self.kinds.insert(number, kind);
        assert!(same.is_none() && known.is_none(), "a number is given once at a time");
    }

    pub(crate) fn kind(&self, number: u32) -> Option<&Kind> {
        self.kinds.get(&number)
    }

    /// Returns a kind that somebody has.
    fn kind_mut(&mut self, number: u32) -> &mut Kind {
        self.kinds.get_mut(&number).expect("who waits or has an offer keeps the kind")
    }

    /// Returns the first ticket of a kind, with its number.
    fn head(&self, number: u32) -> Option<(u32, u32)> {
        Some((*self.kind(number)?.waiting.first()?, number))
    }

    /// Changes who waits with a wish.
    fn change(&mut self, number: u32, change: impl FnOnce(&mut BTreeSet<u32>) -> bool) {
        let before = self.head(number);
        change(&mut self.kind_mut(number).waiting);
        let after = self.head(number);
        if before != after && !self.tried.contains(&number) {
            if let Some(head) = before {
                self.untried.remove(&head);
            }
            self.untried.extend(after);
            if after.is_none() {
                // What is remembered may be forgotten before somebody waits for it again.
                self.kind_mut(number).everywhere = true;
                self.forget_freed();
            }
        }
    }

    /// Forgets the seats that came free, once nobody is to be looked at.
    fn forget_freed(&mut self) {
        if self.untried.is_empty() {
            self.freed.clear();
        }
    }

    /// Returns the kinds with their numbers, and whether what is free is known not to do for them.
    pub(crate) fn kinds(&self) -> impl Iterator<Item = (u32, &Kind, bool)> {
        self.kinds.iter().map(|(number, kind)| (*number, kind, self.is_tried(*number)))
    }

    /// Puts somebody who is not on the list behind everybody else; says no if tickets have run out.
    ///
    /// The kind is known.
    pub(crate) fn push(
        &mut self,
        kind: u32,
        subject: &str,
        at: Timestamp,
        more: (Option<u32>, u8),
    ) -> bool {
        let Some(ticket) = self.last.checked_add(1) else { return false };
        let (limit, missed) = more;
        let (subject, limit) = (subject.into(), limit.unwrap_or(0));
        self.put(Waiter { ticket, subject, at, limit, kind, missed });
        true
    }

    /// Adds somebody, new or from a snapshot. Tickets go up.
    pub(crate) fn put(&mut self, waiter: Waiter) {
        self.last = self.last.max(waiter.ticket);
        self.change(waiter.kind, |waiting| waiting.insert(waiter.ticket));
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
        self.change(waiter.kind, |waiting| waiting.remove(&ticket));
        waiter
    }

    /// Notes an offer of a kind.
    pub(crate) fn add_offer(&mut self, kind: u32) {
        self.kind_mut(kind).offers += 1;
        self.offers += 1;
    }

    /// Notes that an offer has ended. Who comes back is put on the list before.
    pub(crate) fn end_offer(&mut self, kind: u32) {
        self.kind_mut(kind).offers -= 1;
        self.offers -= 1;
        self.drop_kind(kind);
    }

    /// Forgets a kind that nobody has.
    pub(crate) fn drop_kind(&mut self, number: u32) {
        let kind = self.kind_mut(number);
        if kind.waiting.is_empty() && kind.offers == 0 {
            let wish = kind.wish.clone();
            self.several -= usize::from(wish.quantity > 1);
            self.numbers.remove(&wish);
            self.kinds.remove(&number);
            self.tried.remove(&number);
        }
    }

    /// Notes that a unit came free: whoever may have it by grade, channel and area is looked at anew.
    pub(crate) fn came_free(&mut self, unit: UnitId, hall: Option<&Hall>) {
        if inject(Mistake::FreedUnitsSkipList) {
            return;
        }
        if !self.marked.iter().any(|marked| is_like(hall, *marked, unit)) {
            if self.marked.len() == MARKED {
                self.marked.clear();
            }
            self.marked.push(unit);
            let suits = |number: &&u32| suits(hall, unit, &self.kinds[*number].wish.get());
            let again: Vec<u32> = self.tried.iter().filter(suits).copied().collect();
            for number in again {
                let kind = self.kind_mut(number);
                kind.everywhere = kind.waiting.is_empty();
                self.tried.remove(&number);
                self.untried.extend(self.head(number));
            }
        }
        if let UnitId::Seat(seat) = unit
            && !self.untried.is_empty()
            && !inject(Mistake::FreedSeatsForgotten)
        {
            self.freed.insert(seat);
            if self.freed.len() > FREED_SEATS {
                self.look_everywhere();
            }
        }
    }

    /// Notes that anything may have come free: everybody is looked at anew.
    pub(crate) fn all_came_free(&mut self) {
        for number in std::mem::take(&mut self.tried) {
            self.untried.extend(self.head(number));
        }
        self.look_everywhere();
    }

    /// Has the next look at everybody be at everything.
    fn look_everywhere(&mut self) {
        let Self { kinds, tried, freed, .. } = self;
        let untried = kinds.iter_mut().filter(|(number, _)| !tried.contains(number));
        untried.for_each(|(_, kind)| kind.everywhere = true);
        freed.clear();
    }

    /// Returns what those want who are to be looked at.
    pub(crate) fn untried(&self) -> impl Iterator<Item = Wish<'_>> {
        self.untried.iter().filter_map(|(_, number)| Some(self.kind(*number)?.wish.get()))
    }

    /// Returns the seats that are remembered.
    pub(crate) fn freed(&self) -> &BTreeSet<u32> {
        &self.freed
    }

    /// Adds a seat that a snapshot remembers; says no if nobody is to be looked at.
    pub(crate) fn restore_freed(&mut self, seat: u32) -> bool {
        !self.untried.is_empty() && self.freed.len() < FREED_SEATS && self.freed.insert(seat)
    }

    /// Writes what the digest tells of looks that are left for later entries.
    pub(crate) fn digest_left(&self, out: &mut Vec<u8>) {
        for (ticket, number) in &self.untried {
            let everywhere = self.kind(*number).is_some_and(|kind| kind.everywhere);
            out.extend_from_slice(&ticket.to_le_bytes());
            out.push(u8::from(everywhere));
        }
        self.freed.iter().for_each(|seat| out.extend_from_slice(&seat.to_le_bytes()));
    }

    /// Returns who is to be looked at next: the lowest ticket of the kinds that may be served, and its kind.
    pub(crate) fn next(&self) -> Option<(u32, u32)> {
        if inject(Mistake::WaitlistJumped) {
            return self.untried.last().copied();
        }
        self.untried.first().copied()
    }

    /// Says whether somebody who waits was not looked at since something came free.
    pub(crate) fn is_behind(&self) -> bool {
        !self.untried.is_empty()
    }

    /// Notes that what is free does not do for a kind; `some` if there is something, only too little.
    pub(crate) fn pass_over(&mut self, kind: u32, some: bool) {
        self.set_tried(kind);
        let last = self.last;
        let kind = self.kind_mut(kind);
        if some {
            kind.passed = kind.waiting.last().copied().unwrap_or(last);
        }
    }

    /// Returns the highest ticket of those who wait.
    pub(crate) fn last_waiting(&self) -> Option<u32> {
        self.order.last()
    }

    /// Says whether what is free is known not to do for a kind.
    pub(crate) fn is_tried(&self, kind: u32) -> bool {
        self.tried.contains(&kind)
    }

    /// Returns the lowest ticket and its kind, whatever it waits for.
    pub(crate) fn first(&self) -> Option<(u32, u32)> {
        self.order.first()
    }

    /// Notes of a kind, new or from a snapshot, that what is free does not do for it.
    pub(crate) fn set_tried(&mut self, kind: u32) {
        if self.tried.insert(kind) {
            self.marked.clear();
            self.kind_mut(kind).everywhere = false;
            if let Some(head) = self.head(kind) {
                self.untried.remove(&head);
                self.forget_freed();
            }
        }
    }

    /// Notes of a kind in a snapshot whether the next look is at everything.
    pub(crate) fn set_everywhere(&mut self, kind: u32, everywhere: bool) {
        self.kind_mut(kind).everywhere = everywhere;
    }

    /// Returns those who wait in the parts that a snapshot writes together.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &std::sync::Arc<Neighbours>> {
        self.order.parts()
    }

    /// Returns about how many bytes it takes.
    pub(crate) fn memory(&self) -> usize {
        let kinds = self.kinds.len() * KIND_BYTES;
        self.order.memory() + kinds + self.order.len() * 12 + self.freed.len() * 12
    }

    /// Returns [`Self::memory`] by looking at everybody.
    pub(crate) fn walked_memory(&self) -> usize {
        let waiting: usize = self.kinds.values().map(|kind| kind.waiting.len()).sum();
        let kinds = self.kinds.len() * KIND_BYTES;
        self.order.walked_memory() + kinds + waiting * 12 + self.freed.len() * 12
    }
}

/// Says whether a unit, once it is free, may be for a wish by grade, channel and area.
pub(crate) fn suits(hall: Option<&Hall>, unit: UnitId, wish: &Wish<'_>) -> bool {
    let Some(hall) = hall else { return true };
    match (unit, wish.area) {
        (UnitId::Seat(seat), None) => {
            let kept = hall.keeps(wish.grade, wish.channel);
            kept.is_some_and(|kept| hall.is_kept(seat, kept))
        }
        (UnitId::Area(area), Some(name)) => hall.area_through(name, wish.channel) == Some(area),
        (UnitId::Seat(_) | UnitId::Area(_) | UnitId::Counted, _) => false,
    }
}

/// Says whether two units are for the same wishes.
fn is_like(hall: Option<&Hall>, one: UnitId, other: UnitId) -> bool {
    match (hall, one, other) {
        (Some(hall), UnitId::Seat(one), UnitId::Seat(other)) => hall.are_like(one, other),
        _ => one == other,
    }
}
