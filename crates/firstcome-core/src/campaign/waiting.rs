//! Rules of the waitlist of a pool: joining, leaving, and where somebody stands.

use super::Campaign;
use super::select::Selection;
use crate::command::Wish;
use crate::context::{ApplyContext, NewResult};
use crate::hall::Unit;
use crate::hold::{Fate, Hold};
use crate::limits::WAITLIST;
use crate::outcome::{Outcome, Refusal, UnitName};
use crate::pool::Pool;
use crate::results::Kind;
use crate::waitlist::{Place, Unserved, Waiting, Waitlist, Why};
use firstcome_inject::{Mistake, inject};
use std::cell::Cell;

/// What a command to join a waitlist asks.
pub(crate) struct JoinRequest<'a> {
    pub(crate) pool: Option<&'a str>,
    pub(crate) subject: &'a str,
    pub(crate) wish: Wish<'a>,
    pub(crate) limit: Option<u32>,
}

/// How somebody stands with the waitlist of a pool.
#[derive(Clone, Copy, Debug)]
pub enum OnList<'a> {
    /// They wait.
    Waits(Place<'a>),
    /// They have an offer: a hold that they confirm, release or let expire.
    Offered(&'a Hold),
}

impl Campaign {
    /// Gives a subject what it wants if that is free, or else a place on the waitlist.
    ///
    /// One unit of a counted pool is won at once, like a claim, and so is an imported code that comes back to the subject;
    /// more units, seats, and another code are an offer at once. The offer of a code is taken by a claim, which brings its
    /// tag.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `pool_required`, `already_won` (a
    /// counted or a coded pool), `offered` or `waitlisted` as the subject stands already, whatever it wants now; `barred`,
    /// `already_cancelled`, `paused`, `not_open`, `closed`; `not_seated`, `no_such_unit` (a grade,
    /// a channel or an area that the pool does not have), `limit_reached` (also of more than one code); then `won` or
    /// `offered`, or `no_waitlist`, `waitlist_full`, `too_many_wishes`, or `waitlisted`.
    pub(crate) fn join(
        &mut self,
        context: &mut ApplyContext<'_>,
        request: &JoinRequest<'_>,
    ) -> Outcome {
        self.holds.forget(context.service);
        self.try_join(context, request).unwrap_or_else(|no| no)
    }

    fn try_join(
        &mut self,
        context: &mut ApplyContext<'_>,
        request: &JoinRequest<'_>,
    ) -> Result<Outcome, Outcome> {
        let JoinRequest { pool, subject, wish, limit } = *request;
        let index = self.pool_named(pool)?;
        let (seated, coded) =
            (self.pools[index].hall().is_some(), self.pools[index].codes().is_some());
        if !seated
            && let Some(claim) = self.latest_claim(index, subject)
            && claim.cancel.is_none()
        {
            return Err(self.already_won(index, &claim));
        }
        if let Some(known) = self.on_list(index, subject) {
            return Err(match known {
                OnList::Waits(place) => waitlisted(&place),
                OnList::Offered(hold) => Outcome::Offered(self.holding(context, hold)),
            });
        }
        self.check_barred(subject)?;
        self.check_claims_again(subject, index)?;
        self.admit(context.at, subject)?;
        let wish = self.check_wish(index, wish)?;
        if coded && wish.quantity > 1 {
            // A claim gives one code, and a subject has one claim of a coded pool at a time.
            return Err(Refusal::LimitReached.into());
        }
        let selection = Selection::of_pool(index as u16, wish.quantity);
        self.check_limits(subject, &selection, limit)?;
        let (most, ranks) = (self.pools[index].waitlist_most(), self.pools[index].ranks_left());
        if ranks > 0 && self.pools[index].own_code(subject).is_some() {
            return Ok(self.win(context, index, subject));
        }
        let tried = self.pools[index]
            .list()
            .is_some_and(|list| list.kind_of(&wish).is_some_and(|slot| list.is_tried(slot)));
        // Whoever waits for the same already, and whoever was not looked at yet, comes first.
        let first = !tried && !self.pools[index].is_promised_beside(&wish);
        let free = first.then(|| self.fitting(index, &wish, true, &Cell::new(0))).flatten();
        match free {
            Some(_) if !seated && !coded && wish.quantity == 1 && ranks > 0 => {
                return Ok(self.win(context, index, subject));
            }
            Some(units) if most > 0 && self.fits_grades(index, subject, &units) => {
                self.check_room(index, &wish, u64::MAX)?;
                let slot = self.pools[index].list_mut().kind_for(&wish);
                if let Some(number) = self.offer(context, index, (subject, slot, 0, limit), &units)
                {
                    return Ok(Outcome::Offered(self.holding(context, self.holds.at(number))));
                }
            }
            Some(_) if most > 0 => return Err(Refusal::LimitReached.into()),
            Some(_) | None => {}
        }
        if most == 0 {
            return Err(Refusal::NoWaitlist.into());
        }
        self.check_room(index, &wish, u64::from(most))?;
        let looked = !self.pools[index].is_promised_beside(&wish);
        let some = looked && self.has_some(index, &wish);
        let list = self.pools[index].list_mut();
        let slot = list.kind_for(&wish);
        if !list.push(slot, subject, context.at, (limit, 0)) {
            list.drop_kind(slot);
            return Err(Refusal::WaitlistFull.into());
        }
        if looked {
            list.pass_over(slot, some);
        }
        let place = list.place(subject).map(|place| waitlisted(&place));
        Ok(place.expect("somebody who just joined has a place"))
    }

    /// Gives a subject a unit at once.
    fn win(&mut self, context: &mut ApplyContext<'_>, index: usize, subject: &str) -> Outcome {
        let rank = self.give(index, subject, context.at, None);
        context.emit(subject, NewResult { kind: Kind::Claim, pool: index as u16, rank });
        self.won(index, rank, context.at)
    }

    /// Refuses with `waitlist_full` and `too_many_wishes`.
    fn check_room(&self, index: usize, wish: &Wish<'_>, most: u64) -> Result<(), Refusal> {
        let Some(list) = self.pools[index].list() else { return Ok(()) };
        if list.on_it() >= most || list.last == u32::MAX {
            return Err(Refusal::WaitlistFull);
        }
        if list.has_room_for(wish) { Ok(()) } else { Err(Refusal::TooManyWishes) }
    }

    /// Refuses a wish that the pool cannot fulfil whatever comes free: `not_seated`, `no_such_unit`. Returns it without what
    /// makes no difference, so that the pool's own names bound how many wishes for one unit there are.
    fn check_wish<'w>(&self, index: usize, wish: Wish<'w>) -> Result<Wish<'w>, Outcome> {
        let pool = &self.pools[index];
        let Some(hall) = pool.hall() else {
            return if wish.is_of_seats() { Err(Refusal::NotSeated.into()) } else { Ok(wish) };
        };
        let missing = |name: &str| {
            let unit = UnitName { pool: (*pool.name).into(), unit: Some(name.into()) };
            Err(Outcome::refused_for(Refusal::NoSuchUnit, vec![unit]))
        };
        if let Some(grade) = wish.grade.filter(|grade| hall.grade_counts(grade).all() == 0) {
            return missing(grade);
        }
        if let Some(channel) = wish.channel.filter(|channel| !hall.has_channel(channel)) {
            return missing(channel);
        }
        let Some(name) = wish.area else {
            return Ok(Wish { adjacent: wish.adjacent && wish.quantity > 1, ..wish });
        };
        let Some(Unit::Area(area)) = hall.find(name) else { return missing(name) };
        match hall.area(area).channel {
            "" => Ok(Wish { channel: None, ..wish }),
            through if wish.channel == Some(through) => Ok(wish),
            _ => missing(name),
        }
    }

    /// Takes a subject off a waitlist; an offer that it has ends.
    ///
    /// Refuses with `not_found` (the pool) and `pool_required`. Asked again it says that the subject was not on it.
    pub(crate) fn leave(
        &mut self,
        context: &mut ApplyContext<'_>,
        pool: Option<&str>,
        subject: &str,
    ) -> Outcome {
        let index = match self.pool_named(pool) {
            Ok(index) => index,
            Err(refusal) => return refusal.into(),
        };
        let waited = self.leave_list(index, subject);
        let offer = self.offer_of(index, subject).map(Hold::number);
        if let Some(number) = offer {
            let hold = self.holds.at_mut(number);
            // Nobody comes back from an offer that is none any more.
            let slot = hold.offer.as_mut().map(|offer| {
                offer.left = true;
                offer.kind
            });
            for take in hold.takes.iter_mut().filter(|take| take.fate == Fate::Held) {
                take.fate = Fate::Released;
                self.pools[index].give_back(take.unit);
                self.pools[index].came_free(take.unit);
            }
            self.end(context, number);
            assert!(slot.is_some(), "an offer has a kind of wish");
        }
        Outcome::LeftWaitlist { was_on: waited || offer.is_some() }
    }

    /// Takes a subject off the list of a pool that waits there, and says whether it did.
    pub(super) fn leave_list(&mut self, index: usize, subject: &str) -> bool {
        self.pools[index].list_of().is_some_and(|list| list.remove(subject).is_some())
    }

    /// Takes a barred subject off every list.
    pub(super) fn leave_lists(&mut self, subject: &str) {
        if inject(Mistake::BarKeepsPlace) {
            return;
        }
        for index in 0..self.pools.len() {
            self.leave_list(index, subject);
        }
    }

    /// Says how a subject stands with the waitlist of a pool, or nothing if it has nothing to do with it.
    ///
    /// Costs some hundred additions at most, however many wait.
    ///
    /// # Errors
    ///
    /// `not_found` (the pool) and `pool_required`.
    pub fn waiting(
        &self,
        pool: Option<&str>,
        subject: &str,
    ) -> Result<Option<OnList<'_>>, Refusal> {
        Ok(self.on_list(self.pool_named(pool)?, subject))
    }

    fn on_list(&self, index: usize, subject: &str) -> Option<OnList<'_>> {
        let place = self.pools[index].list().and_then(|list| list.place(subject));
        let offer = || self.offer_of(index, subject).map(OnList::Offered);
        place.map(OnList::Waits).or_else(offer)
    }

    /// Returns the live offer that a subject has in a pool.
    pub(super) fn offer_of(&self, index: usize, subject: &str) -> Option<&Hold> {
        self.pools[index].list()?;
        self.holds_of(subject)
            .find(|hold| hold.offer.as_ref().is_some_and(|offer| usize::from(offer.pool) == index))
    }

    /// Says whether anybody waits, or has an offer and may come back.
    pub(crate) fn has_lists(&self) -> bool {
        self.pools.iter().any(|pool| pool.list().is_some_and(Waitlist::is_used))
    }

    /// Returns how many wait, over all pools.
    pub fn waiters(&self) -> u64 {
        self.pools.iter().map(Pool::waiters).sum()
    }

    /// Returns who left a waitlist without a unit by its number in this campaign, from 1.
    pub fn unserved(&self, number: u32) -> Option<&Unserved> {
        self.unserved.get(number)
    }

    /// Notes somebody who is off the list without a unit; a result says so.
    pub(super) fn leave_unserved(
        &mut self,
        context: &mut ApplyContext<'_>,
        (index, slot): (usize, u32),
        subject: Box<str>,
        why: Why,
    ) {
        let kind = self.pools[index].list().and_then(|list| list.kind(slot));
        let quantity = kind.map_or(1, |kind| kind.wish.get().quantity);
        let pool = index as u16;
        let gone = Unserved { pool, subject, quantity, at: context.at, why };
        self.unserved.push(gone);
    }
}

impl Pool {
    /// Returns how many may wait for its units.
    pub fn waitlist_most(&self) -> u32 {
        self.waitlist.unwrap_or(WAITLIST)
    }

    /// Returns how many wait for its units; whoever has an offer is not among them.
    pub fn waiters(&self) -> u64 {
        self.list().map_or(0, |list| list.len() as u64)
    }

    /// Returns how many have an offer of its units.
    pub fn offered(&self) -> u64 {
        self.list().map_or(0, Waitlist::offers)
    }

    /// Returns those who wait with a ticket beyond this one, in order: 0 for all.
    pub fn waiters_after(&self, ticket: u32) -> impl Iterator<Item = Waiting<'_>> {
        self.list().into_iter().flat_map(move |list| list.after(ticket))
    }
}

fn waitlisted(place: &Place<'_>) -> Outcome {
    let Place { ahead, wish, passed_over, .. } = *place;
    Outcome::Waitlisted { ahead, quantity: wish.quantity, passed_over }
}
