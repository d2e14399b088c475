//! Rules of holding units, changing what is held, extending and expiry.

use super::select::{Reach, Selection};
use super::{Campaign, HoldRequest};
use crate::command::{Pick, Step};
use crate::context::ApplyContext;
use crate::hall::Standing;
use crate::hold::{Allocation, Fate, Hold, HoldStanding, UnitId};
use crate::outcome::{
    Confirmation, Holding, Outcome, RankedUnit, Refund, Refusal, RefusedFor, Release, UnitName,
};
use crate::settings::HoldsEach;
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};
use std::collections::BTreeSet;
use std::ops::Range;

impl Campaign {
    /// Sets units aside for a subject until a deadline.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `pool_required`;
    /// of an id that is known `id_reused` (other content; also an id that begins with `offer-`), `already_held`, or how that hold ended
    /// (`confirmed`, `refund_due`, `hold_expired`, `hold_released`); `barred`; `already_cancelled` (the subject cancelled in
    /// a picked pool, has no claim left there, and nobody may claim again), `paused`, `not_open`,
    /// `closed`; `already_held` (exactly the units that are named), `has_hold`; `not_seated`, `no_such_unit`,
    /// `not_for_sale`, `too_many_units`, `limit_reached`, `too_many_holds`, `unit_taken`, `sold_out`, `orphan_left`.
    pub(crate) fn hold(
        &mut self,
        context: &mut ApplyContext<'_>,
        request: &HoldRequest<'_>,
    ) -> Outcome {
        self.holds.forget(context.service);
        self.try_hold(context, request).unwrap_or_else(|no| no)
    }

    fn try_hold(
        &mut self,
        context: &mut ApplyContext<'_>,
        request: &HoldRequest<'_>,
    ) -> Result<Outcome, Outcome> {
        let selection = self.may_hold(context, request)?;
        // Numbers of holds are never given again: a campaign that has used all of them has no more holds.
        let number = self.holds.last.checked_add(1).ok_or(Refusal::TooManyHolds)?;
        let takes = self.choose(request.subject, number, &selection)?;
        if self.holds.holder(request.subject).is_none() {
            self.holds.add_holder(self.new_holder(request.subject));
        }
        let deadline = context.service + self.holding.ttl_us;
        context.deadlines.insert((deadline, self.number, number));
        self.holds.add(Hold {
            number,
            id: request.id.into(),
            subject: request.subject.into(),
            holder: 0,
            content: request.content,
            at: context.at,
            started: context.service,
            deadline,
            ended: None,
            steps: Vec::new(),
            takes,
            retaken: false,
            refunded_at: None,
            limit: request.limit,
            offer: None,
        });
        Ok(Outcome::Held(self.holding(context, self.holds.at(number))))
    }

    /// Says what a hold would get without being given anything; nothing if it may well be held.
    ///
    /// A unit counts as taken, and a hold as held, only if that lasts for longer than `margin` of service time.
    pub(crate) fn judge_hold(
        &self,
        context: &ApplyContext<'_>,
        request: &HoldRequest<'_>,
        margin: i64,
    ) -> Option<Outcome> {
        let lasts = |hold: &Hold| hold.deadline - context.service > margin;
        let selection = match self.may_hold(context, request) {
            Ok(selection) => selection,
            Err(Outcome::AlreadyHeld(held)) if !self.holds.find(&held.hold).is_some_and(lasts) => {
                return None;
            }
            Err(outcome) => return Some(outcome),
        };
        let mut taken = Vec::new();
        for (pool, seat) in &selection.seats {
            let standing = self.pools[usize::from(*pool)].hall()?.standing(*seat);
            let lasts = match standing {
                Standing::Free => continue,
                Standing::Confirmed(_) => true,
                Standing::Held(number) => {
                    let hold = self.holds.at(number);
                    *hold.subject != *request.subject && lasts(hold)
                }
                Standing::Blocked => false,
            };
            // One that may be free soon, or is the subject's own, is for the journal.
            if !lasts {
                return None;
            }
            taken.push(self.unit_name(*pool, UnitId::Seat(*seat)));
        }
        if !taken.is_empty() {
            return Some(Outcome::refused_for(Refusal::UnitTaken, taken));
        }
        let enough = |(pool, unit, count): &(u16, UnitId, u32)| {
            self.pools[usize::from(*pool)].free(*unit) >= *count
        };
        (!selection.quantities.iter().all(enough)).then(|| Refusal::SoldOut.into())
    }

    /// Returns the selected units if nothing refuses the hold but that they may be taken.
    fn may_hold<'a>(
        &self,
        context: &ApplyContext<'_>,
        request: &HoldRequest<'a>,
    ) -> Result<Selection<'a>, Outcome> {
        for pick in request.picks {
            self.pool_of(pick)?;
        }
        let known = self.holds.find(request.id).filter(|_| !inject(Mistake::NewHoldOnRepeat));
        if let Some(known) = known {
            if known.content != request.content {
                return Err(Refusal::IdReused.into());
            }
            return Err(self.as_it_stands(context, known));
        }
        if request.id.starts_with(super::offers::OFFER) {
            return Err(Refusal::IdReused.into());
        }
        self.check_barred(request.subject)?;
        for pick in request.picks {
            self.check_claims_again(request.subject, self.pool_of(pick)?)?;
        }
        self.admit(context.at, request.subject)?;
        let selection = self.select_for_hold(request.picks, Reach::ForSale);
        let live = self.holds.holder(request.subject).map_or(&[][..], |holder| &holder.live);
        if let Ok(selection) = &selection
            && let Some(same) =
                live.iter().find(|number| has_exactly(self.holds.at(**number), selection))
        {
            return Err(Outcome::AlreadyHeld(self.holding(context, self.holds.at(*same))));
        }
        if let (HoldsEach::One, [first, ..]) = (self.holding.each, live) {
            let hold = Some(self.holds.at(*first).id.clone());
            let (refusal, units) = (Refusal::HasHold, Vec::new());
            let named = RefusedFor { refusal, hold, units, seat: None };
            return Err(Outcome::RefusedFor(Box::new(named)));
        }
        let selection = selection?;
        self.check_picks(request.picks)?;
        check_size(0, &selection)?;
        self.check_limits(request.subject, &selection, request.limit)?;
        let recently =
            self.holds.holder(request.subject).map_or(0, |h| h.recently(context.service));
        if recently >= self.holding.per_hour as usize {
            return Err(Refusal::TooManyHolds.into());
        }
        Ok(selection)
    }

    /// Adds units to a hold and drops others from it.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `pool_required`,
    /// `no_such_hold`, `not_yours`; of a step's id that is known `id_reused` or `already_held`; `hold_expired`,
    /// `hold_released`, `already_confirmed`; `is_offer`; where something is added `barred`, `paused`, `not_open`,
    /// `closed`; `not_seated`, `no_such_unit`, `not_for_sale`, `too_many_units`, `limit_reached`, `unit_taken`,
    /// `sold_out`, `orphan_left`; `already_held` where nothing is left to change.
    pub(crate) fn change(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &Step<'_>,
        (add, drop): (&[Pick<'_>], &[Pick<'_>]),
        limit: Option<u32>,
        content: u64,
    ) -> Outcome {
        self.holds.forget(context.service);
        self.try_change(context, step, (add, drop), limit, content).unwrap_or_else(|no| no)
    }

    fn try_change(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &Step<'_>,
        (add, drop): (&[Pick<'_>], &[Pick<'_>]),
        limit: Option<u32>,
        content: u64,
    ) -> Result<Outcome, Outcome> {
        for pick in add.iter().chain(drop) {
            self.pool_of(pick)?;
        }
        let hold = self.own(step)?;
        let number = hold.number;
        if self.is_repeated(hold, step, content)? {
            return Ok(self.as_it_stands(context, hold));
        }
        self.check_live(hold)?;
        if hold.is_offer() {
            return Err(Refusal::IsOffer.into());
        }
        if !add.is_empty() {
            self.admit(context.at, step.subject)?;
        }
        let dropped = self.select(drop, Reach::Any)?;
        let gone = held_of(hold, &dropped);
        let is_gone: BTreeSet<usize> = gone.iter().copied().collect();
        let stays: Vec<Allocation> = hold
            .takes
            .iter()
            .enumerate()
            .filter(|(index, _)| !is_gone.contains(index))
            .map(|t| *t.1)
            .collect();
        let before: Vec<Allocation> = gone.iter().map(|index| hold.takes[*index]).collect();
        let mut added = self.select_for_hold(add, Reach::Any)?;
        added.seats.retain(|(pool, seat)| {
            let same = &stays[of_unit(&stays, *pool, UnitId::Seat(*seat))];
            !same.iter().any(|take| take.fate == Fate::Held)
        });
        // Only what is really new must be for sale now.
        let new = self.select_for_hold(add, Reach::ForSale);
        if added.units() > 0 {
            new?;
        }
        self.check_picks(add)?;
        if before.is_empty() && added.units() == 0 {
            return Ok(Outcome::AlreadyHeld(self.holding(context, hold)));
        }
        let kept = stays.iter().filter(|take| take.fate != Fate::Released).count();
        check_size(kept, &added)?;
        // From here on the hold is as if the dropped units had never been in it, and put right if that was for nothing.
        let all = std::mem::replace(&mut self.holds.at_mut(number).takes, stays);
        self.give_back(&before);
        let chosen = match self.check_limits(step.subject, &added, limit) {
            Ok(()) => self.choose(step.subject, number, &added),
            Err(refusal) => Err(refusal.into()),
        };
        let chosen = match chosen {
            Ok(chosen) => chosen,
            Err(outcome) => {
                for take in &before {
                    self.pools[usize::from(take.pool)].hold(take.unit, number);
                }
                self.holds.at_mut(number).takes = all;
                return Err(outcome);
            }
        };
        for take in &before {
            self.pools[usize::from(take.pool)].came_free(take.unit);
        }
        let hold = self.holds.at_mut(number);
        hold.put(&chosen);
        hold.limit = limit.or(hold.limit);
        hold.remember(step.id, content);
        if hold.held() == 0 {
            self.end(context, number);
        }
        Ok(Outcome::Held(self.holding(context, self.holds.at(number))))
    }

    /// Moves a hold's deadline on, at most to `hold_max` after its start. It never comes earlier.
    ///
    /// The first answer that applies is given, in this order: `no_such_hold`, `not_yours`; of a step's id that is known
    /// `id_reused`; `hold_expired`, `hold_released`, `already_confirmed`; of a step's id that is known `extended` as it was.
    pub(crate) fn extend(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &Step<'_>,
        by_us: Option<i64>,
        content: u64,
    ) -> Outcome {
        self.try_extend(context, step, by_us, content).unwrap_or_else(|no| no)
    }

    fn try_extend(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &Step<'_>,
        by_us: Option<i64>,
        content: u64,
    ) -> Result<Outcome, Outcome> {
        let hold = self.own(step)?;
        let repeated = self.is_repeated(hold, step, content)?;
        self.check_live(hold)?;
        if repeated && !inject(Mistake::ExtendTwice) {
            let deadline = step.id.and_then(|id| hold.extended(id)).unwrap_or(hold.deadline);
            return Ok(Outcome::Extended { expires_at: context.moment(deadline) });
        }
        let (number, before) = (hold.number, hold.deadline);
        let wanted = context.service.saturating_add(by_us.unwrap_or(self.holding.ttl_us));
        let deadline = wanted.min(hold.started + self.holding.max_us).max(before);
        if deadline != before {
            assert!(context.deadlines.remove(&(before, self.number, number)), "a live hold is due");
            context.deadlines.insert((deadline, self.number, number));
            self.holds.at_mut(number).deadline = deadline;
        }
        if step.id.is_some() {
            self.holds.at_mut(number).remember_extended(step.id, content, deadline);
        }
        Ok(Outcome::Extended { expires_at: context.moment(deadline) })
    }

    /// Frees what a hold still has, because its time is over.
    pub(crate) fn expire(&mut self, context: &mut ApplyContext<'_>, number: u32) {
        let service = context.service;
        let hold = self.holds.at_mut(number);
        assert!(hold.deadline <= service, "no hold expires before its time");
        for take in &mut hold.takes {
            if take.fate == Fate::Held {
                take.fate = Fate::Expired;
                self.pools[usize::from(take.pool)].give_back(take.unit);
                self.pools[usize::from(take.pool)].came_free(take.unit);
            }
        }
        self.holds.end(number, service);
        self.offer_ended(context, number);
    }

    /// Notes that nothing of a hold is held any more.
    pub(super) fn end(&mut self, context: &mut ApplyContext<'_>, number: u32) {
        let deadline = self.holds.at(number).deadline;
        assert!(context.deadlines.remove(&(deadline, self.number, number)), "a live hold is due");
        self.holds.end(number, context.service);
        self.offer_ended(context, number);
    }

    /// Returns the hold a step is about.
    ///
    /// Refuses with `no_such_hold` and `not_yours`.
    pub(super) fn own(&self, step: &Step<'_>) -> Result<&Hold, Outcome> {
        let hold = self.holds.find(step.hold).ok_or(Refusal::NoSuchHold)?;
        if *hold.subject == *step.subject { Ok(hold) } else { Err(Refusal::NotYours.into()) }
    }

    /// Says whether a step was done before, by its id. Refuses with `id_reused`.
    pub(super) fn is_repeated(
        &self,
        hold: &Hold,
        step: &Step<'_>,
        content: u64,
    ) -> Result<bool, Refusal> {
        match step.id.and_then(|id| hold.step(id)) {
            Some(known) if known != content => Err(Refusal::IdReused),
            known => Ok(known.is_some()),
        }
    }

    /// Refuses what only a live hold can do, with how it ended.
    fn check_live(&self, hold: &Hold) -> Result<(), Outcome> {
        match hold.standing() {
            HoldStanding::Live => Ok(()),
            HoldStanding::Confirmed => Err(Refusal::AlreadyConfirmed.into()),
            HoldStanding::Expired | HoldStanding::RefundDue => Err(Refusal::HoldExpired.into()),
            HoldStanding::Released => Err(Refusal::HoldReleased.into()),
        }
    }

    /// Returns the answer to asking for a hold again.
    fn as_it_stands(&self, context: &ApplyContext<'_>, hold: &Hold) -> Outcome {
        let all: Vec<usize> = (0..hold.takes.len()).collect();
        match hold.standing() {
            HoldStanding::Live => Outcome::AlreadyHeld(self.holding(context, hold)),
            HoldStanding::Confirmed => self.confirmed(hold, &all, hold.retaken),
            HoldStanding::RefundDue => self.refund(hold, &all),
            HoldStanding::Expired => Refusal::HoldExpired.into(),
            HoldStanding::Released => Refusal::HoldReleased.into(),
        }
    }

    pub(super) fn holding(&self, context: &ApplyContext<'_>, hold: &Hold) -> Box<Holding> {
        let held = hold.takes.iter().filter(|take| take.fate == Fate::Held);
        Box::new(Holding {
            hold: hold.id.clone(),
            units: held.map(|take| self.unit_name(take.pool, take.unit)).collect(),
            expires_at: context.moment(hold.deadline),
        })
    }

    pub(super) fn names_of(
        &self,
        hold: &Hold,
        which: &[usize],
        is: fn(Fate) -> bool,
    ) -> Vec<UnitName> {
        let takes = which.iter().map(|index| hold.takes[*index]).filter(|take| is(take.fate));
        takes.map(|take| self.unit_name(take.pool, take.unit)).collect()
    }

    pub(super) fn released(&self, hold: &Hold, which: &[usize]) -> Outcome {
        let units = self.names_of(hold, which, |fate| fate == Fate::Released);
        Outcome::Released(Box::new(Release { hold: hold.id.clone(), units, left: hold.held() }))
    }

    pub(super) fn refund(&self, hold: &Hold, which: &[usize]) -> Outcome {
        let units = self.names_of(hold, which, |fate| fate == Fate::Refunded);
        let at = hold.refunded_at.expect("it was noted when a refund became due");
        Outcome::RefundDue(Box::new(Refund { hold: hold.id.clone(), units, at }))
    }

    /// Answers with those of a hold's units that are confirmed.
    pub(super) fn confirmed(&self, hold: &Hold, which: &[usize], retaken: bool) -> Outcome {
        let mut latest = Timestamp::from_micros(0);
        let mut units = Vec::with_capacity(which.len());
        for take in which.iter().map(|index| hold.takes[*index]) {
            if let Fate::Confirmed(rank) = take.fate {
                let pool = &self.pools[usize::from(take.pool)];
                let claim = pool.claim(rank).expect("a confirmed unit has its claim");
                latest = latest.max(claim.at);
                units.push(RankedUnit { unit: self.unit_name(take.pool, take.unit), rank });
            }
        }
        let (hold, left) = (hold.id.clone(), hold.held());
        Outcome::Confirmed(Box::new(Confirmation { hold, units, at: latest, retaken, left }))
    }
}

/// Refuses with `too_many_units` what one hold cannot have.
fn check_size(has: usize, selection: &Selection<'_>) -> Result<(), Refusal> {
    let most = crate::limits::HOLD_UNITS as u64;
    if has as u64 + selection.units() > most { Err(Refusal::TooManyUnits) } else { Ok(()) }
}

/// Says whether a hold has exactly the units that were named.
fn has_exactly(hold: &Hold, selection: &Selection<'_>) -> bool {
    let mut quantities = selection.quantities.iter().map(|(_, _, count)| *count as usize);
    let units = selection.seats.len() + quantities.by_ref().sum::<usize>();
    let held = |pool: u16, unit: UnitId| {
        let takes = &hold.takes[of_unit(&hold.takes, pool, unit)];
        takes.iter().filter(|take| take.fate == Fate::Held).count()
    };
    selection.only_names
        && hold.held() as usize == units
        && selection.seats.iter().all(|(pool, seat)| held(*pool, UnitId::Seat(*seat)) == 1)
        && selection.quantities.iter().all(|(pool, unit, n)| held(*pool, *unit) == *n as usize)
}

/// Returns the indices of a unit among units that are in order.
pub(super) fn of_unit(takes: &[Allocation], pool: u16, unit: UnitId) -> Range<usize> {
    let key = |take: &Allocation| (take.pool, take.unit);
    let first = takes.partition_point(|take| key(take) < (pool, unit));
    first..first + takes[first..].partition_point(|take| key(take) == (pool, unit))
}

/// Returns the indices of a hold's units that are held and selected, as far as there are.
pub(super) fn held_of(hold: &Hold, selection: &Selection<'_>) -> Vec<usize> {
    let mut found = Vec::new();
    let mut pick = |pool: u16, unit: UnitId, count: usize| {
        let held = |index: &usize| hold.takes[*index].fate == Fate::Held;
        found.extend(of_unit(&hold.takes, pool, unit).filter(held).take(count));
    };
    selection.seats.iter().for_each(|(pool, seat)| pick(*pool, UnitId::Seat(*seat), 1));
    selection.quantities.iter().for_each(|(pool, unit, n)| pick(*pool, *unit, *n as usize));
    found
}
