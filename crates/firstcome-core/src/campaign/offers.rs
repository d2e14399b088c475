//! Offers: what comes free goes to who is next on the waitlist.
//!
//! After every command, and after time has acted, the lists of a campaign are served: then nobody who waits could have
//! anything that is free. What one entry cannot do is done by the next ones; until then nobody else gets what those may
//! have who are still to be looked at.

use super::select::Selection;
use super::{Campaign, Phase};
use crate::command::Wish;
use crate::context::ApplyContext;
use crate::hall::{Best, Orphans};
use crate::hold::{Allocation, Fate, Hold, Offer, UnitId};
use crate::limits::{OFFER_STEPS, OFFERS_MISSED};
use crate::pool::Pool;
use crate::waitlist::{Waiter, Waitlist, Why};
use firstcome_inject::{Mistake, inject};
use std::cell::Cell;

/// Rows and seats of a hall that are looked at in one step.
const SEATS_A_STEP: u32 = 64;

/// What the ids of offers begin with. No other hold of a campaign with waitlists has such an id.
pub(super) const OFFER: &str = "offer-";

impl Campaign {
    /// Looks at the next who waits: makes an offer, or passes over everybody with the same wish. Once the campaign is over it
    /// lets the first one go. Says whether there was anybody.
    ///
    /// `made` takes in what the digest must tell.
    pub(crate) fn serve_next(
        &mut self,
        context: &mut ApplyContext<'_>,
        steps: &mut u32,
        made: &mut Vec<u8>,
    ) -> bool {
        let phase = self.phase(context.at);
        (0..self.pools.len()).any(|index| {
            self.pools[index].list().is_some()
                && match phase {
                    Phase::Open => self.look_at_next(context, index, (steps, made)),
                    Phase::Closed => self.end_next(context, index, steps),
                    Phase::Draft | Phase::Scheduled | Phase::Paused => false,
                }
        })
    }

    /// Says whether an entry has something to do for its lists, even one without a command.
    pub(crate) fn is_behind(&self, at: crate::time::Timestamp) -> bool {
        match self.phase(at) {
            Phase::Open => self.pools.iter().any(Pool::is_promised),
            Phase::Closed => self.waiters() > 0,
            Phase::Draft | Phase::Scheduled | Phase::Paused => false,
        }
    }

    fn look_at_next(
        &mut self,
        context: &mut ApplyContext<'_>,
        index: usize,
        (steps, made): (&mut u32, &mut Vec<u8>),
    ) -> bool {
        let list = self.pools[index].list();
        let Some((ticket, slot)) = list.and_then(Waitlist::next) else { return false };
        let Some(kind) = list.and_then(|list| list.kind(slot)) else { return false };
        let (wish, looked) = (kind.wish.clone(), Cell::new(0));
        let found = self.fitting(index, &wish.get(), kind.everywhere, &looked);
        let one = if found.is_some() { OFFER_STEPS } else { 1 };
        *steps = steps.saturating_sub(one + looked.get() / SEATS_A_STEP);
        let Some(units) = found else {
            let some = self.has_some(index, &wish.get());
            self.pools[index].list_mut().pass_over(slot, some);
            return true;
        };
        let Waiter { subject, limit, missed, .. } = self.pools[index].list_mut().take(ticket);
        let limit = (limit > 0).then_some(limit);
        let may = self.may_be_offered(index, &subject, &units, limit);
        if !may && !inject(Mistake::OffersBeyondLimit) {
            self.leave_unserved(context, (index, slot), subject, Why::LimitReached);
            self.pools[index].list_mut().drop_kind(slot);
            return true;
        }
        let Some(number) = self.offer(context, index, (&subject, slot, missed, limit), &units)
        else {
            // No hold has a number any more: nobody can have anything.
            let list = self.pools[index].list_mut();
            list.push(slot, &subject, context.at, (limit, missed));
            list.pass_over(slot, false);
            return true;
        };
        made.extend_from_slice(&self.number.to_le_bytes());
        made.extend_from_slice(&(index as u16).to_le_bytes());
        made.extend_from_slice(&ticket.to_le_bytes());
        made.extend_from_slice(&number.to_le_bytes());
        units.iter().for_each(|unit| made.extend_from_slice(&unit.code().to_le_bytes()));
        true
    }

    /// Lets the first one go who waits when the campaign is over.
    fn end_next(&mut self, context: &mut ApplyContext<'_>, index: usize, steps: &mut u32) -> bool {
        if inject(Mistake::EndForgetsList) {
            while self.pools[index].list_mut().pop().is_some() {}
        }
        let list = self.pools[index].list_mut();
        let Some((ticket, slot)) = list.first() else { return false };
        *steps -= 1;
        let subject = list.take(ticket).subject;
        self.leave_unserved(context, (index, slot), subject, Why::Ended);
        self.pools[index].list_mut().drop_kind(slot);
        true
    }

    /// Gives units of a pool that are free and do for a wish: all of them or nothing.
    ///
    /// Neighbours are only looked for beside the seats that are remembered, unless `everywhere`; nothing is looked for that
    /// cannot be there by its counts. This is where another kind of pool says what it has for those who wait.
    pub(super) fn fitting(
        &self,
        index: usize,
        wish: &Wish<'_>,
        everywhere: bool,
        looked: &Cell<u32>,
    ) -> Option<Vec<UnitId>> {
        if self.there_is(index, wish) < wish.quantity {
            return None;
        }
        let pool = &self.pools[index];
        let Some(hall) = pool.hall() else {
            return Some(vec![UnitId::Counted; wish.quantity as usize]);
        };
        if let Some(name) = wish.area {
            let area = hall.area_through(name, wish.channel)?;
            return Some(vec![UnitId::Area(area); wish.quantity as usize]);
        }
        let orphans =
            if self.holding.allow_orphans { Orphans::Allowed } else { Orphans::LastResort };
        let best = Best {
            quantity: wish.quantity,
            grade: wish.grade,
            price: None,
            channel: wish.channel,
            accessible: false,
            adjacent: wish.adjacent,
            orphans,
        };
        let seats = match pool.list() {
            Some(list) if wish.adjacent && !everywhere => {
                hall.best_near(&best, list.freed().iter().copied(), looked)
            }
            Some(_) | None => hall.best_but(&best, &[], looked).ok(),
        };
        Some(seats?.into_iter().map(UnitId::Seat).collect())
    }

    /// Returns how many free units there are for a wish, together or not.
    fn there_is(&self, index: usize, wish: &Wish<'_>) -> u32 {
        let pool = &self.pools[index];
        let Some(hall) = pool.hall() else { return pool.left() };
        match wish.area {
            Some(name) => {
                hall.area_through(name, wish.channel).map_or(0, |area| hall.area_counts(area).free)
            }
            None => hall.offerable(wish.grade, wish.channel),
        }
    }

    /// Says whether something is free that somebody wants, only less than they want.
    pub(super) fn has_some(&self, index: usize, wish: &Wish<'_>) -> bool {
        wish.quantity > 1 && self.there_is(index, wish) > 0
    }

    /// Says whether a subject may have these units besides what it has.
    fn may_be_offered(
        &self,
        index: usize,
        subject: &str,
        units: &[UnitId],
        limit: Option<u32>,
    ) -> bool {
        let selection = Selection::of_units(index as u16, units);
        self.check_limits(subject, &selection, limit).is_ok()
    }

    /// Says whether the limits for single grades let a subject have these units.
    pub(super) fn fits_grades(&self, index: usize, subject: &str, units: &[UnitId]) -> bool {
        self.grades_allow(subject, &takes(index, units))
    }

    /// Holds units for somebody of a kind of wish; gives the number of the hold, or nothing if numbers have run out.
    pub(super) fn offer(
        &mut self,
        context: &mut ApplyContext<'_>,
        index: usize,
        (subject, slot, missed, limit): (&str, u32, u8, Option<u32>),
        units: &[UnitId],
    ) -> Option<u32> {
        self.holds.forget(context.service);
        let number = self.holds.last.checked_add(1)?;
        let mut takes = takes(index, units);
        takes.sort_unstable_by_key(|take| (take.pool, take.unit));
        for take in &takes {
            self.pools[index].hold(take.unit, number);
        }
        if self.holds.holder(subject).is_none() {
            self.holds.add_holder(self.new_holder(subject));
        }
        let deadline = context.service + self.holding.offer_us;
        context.deadlines.insert((deadline, self.number, number));
        self.pools[index].list_mut().add_offer(slot);
        self.holds.add(Hold {
            number,
            id: format!("{OFFER}{number}").into(),
            subject: subject.into(),
            holder: 0,
            content: 0,
            at: context.at,
            started: context.service,
            deadline,
            ended: None,
            steps: Vec::new(),
            takes,
            retaken: false,
            refunded_at: None,
            limit,
            offer: Some(Offer { pool: index as u16, kind: slot, missed, left: false }),
        });
        Some(number)
    }

    /// Decides what becomes of whoever had an offer that has ended.
    ///
    /// Who took some of it is served. Who took nothing goes behind everybody who waits, or off the list: after the
    /// third time, and when the campaign is over.
    pub(super) fn offer_ended(&mut self, context: &mut ApplyContext<'_>, number: u32) {
        let hold = self.holds.at(number);
        let Some(Offer { pool, kind, missed, left }) = hold.offer else { return };
        let (index, subject, limit) = (usize::from(pool), hold.subject.clone(), hold.limit);
        let taken = hold.takes.iter().any(|take| matches!(take.fate, Fate::Confirmed(_)));
        let missed = missed.saturating_add(1);
        let out = if missed >= OFFERS_MISSED && !inject(Mistake::OffersWithoutEnd) {
            Some(Why::NotTaken)
        } else {
            self.closed_since(context.at).map(|_| Why::Ended)
        };
        if taken || left || self.keeps_out(&subject) || inject(Mistake::MissedOfferForgets) {
            // Nothing more is owed to them.
        } else if let Some(why) = out {
            self.leave_unserved(context, (index, kind), subject, why);
        } else if !self.pools[index].list_mut().push(kind, &subject, context.at, (limit, missed)) {
            self.leave_unserved(context, (index, kind), subject, Why::NotTaken);
        }
        self.pools[index].list_mut().end_offer(kind);
    }
}

fn takes(index: usize, units: &[UnitId]) -> Vec<Allocation> {
    let take = |unit: &UnitId| Allocation { pool: index as u16, unit: *unit, fate: Fate::Held };
    units.iter().map(take).collect()
}
