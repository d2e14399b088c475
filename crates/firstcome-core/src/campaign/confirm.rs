//! Rules of confirming and releasing units of a hold.

use super::hold::{held_of, of_unit};
use super::select::{Reach, Selection};
use super::{Campaign, Refunded};
use crate::command::{Late, Pick, Step};
use crate::context::{ApplyContext, NewResult};
use crate::hold::{Allocation, Fate, Hold, UnitId};
use crate::outcome::{CodeRefusal, Outcome, Refusal};
use crate::pool::Pool;
use crate::results::Kind;
use firstcome_inject::{Mistake, inject};
use std::collections::BTreeSet;

impl Campaign {
    /// Makes units of a hold the subject's for good, each with the next rank of its pool.
    ///
    /// A pause or the closing of the campaign takes nothing from a hold that is live.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `pool_required`,
    /// `no_such_hold`, `not_yours`; of a step's id that is known `id_reused` or what it did; `no_such_unit`,
    /// `not_for_sale` (a seat of a group by itself), `hold_released`, `not_held`, `refund_due` as it was,
    /// `confirmed` as it was; of the offer of a code `hold_expired`, `claim_required`; after expiry `hold_expired`, or with [`Late::Retake`] `refund_due`; `barred`;
    /// `sold_out` (a pool has no rank left to give, after 4,294,967,295).
    pub(crate) fn confirm(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &Step<'_>,
        (units, late): (&[Pick<'_>], Late),
        content: u64,
    ) -> Outcome {
        self.holds.forget(context.service);
        self.try_confirm(context, step, (units, late), content).unwrap_or_else(|no| no)
    }

    fn try_confirm(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &Step<'_>,
        (units, late): (&[Pick<'_>], Late),
        content: u64,
    ) -> Result<Outcome, Outcome> {
        for pick in units {
            self.pool_of(pick)?;
        }
        let hold = self.own(step)?;
        let number = hold.number;
        let repeated = self.is_repeated(hold, step, content)?;
        let which = match units {
            [] => (0..hold.takes.len())
                .filter(|index| hold.takes[*index].fate != Fate::Released)
                .collect(),
            units => self.parts(hold, &self.select(units, Reach::Any)?, repeated)?,
        };
        let mut which: Vec<usize> = which;
        if repeated {
            // Units that came later were not meant.
            which.retain(|index| !matches!(hold.takes[*index].fate, Fate::Held | Fate::Expired));
        }
        let fate = |is: fn(Fate) -> bool| which.iter().any(|index| is(hold.takes[*index].fate));
        let expired = fate(|fate| fate == Fate::Expired);
        let kept_out = self.check_barred(step.subject);
        if hold.takes.iter().all(|take| take.fate == Fate::Released) {
            return Err(Refusal::HoldReleased.into());
        }
        if fate(|fate| fate == Fate::Released) {
            let names = self.names_of(hold, &which, |fate| fate == Fate::Released);
            return Err(Outcome::refused_for(Refusal::NotHeld, names));
        }
        if fate(|fate| fate == Fate::Refunded) {
            return Ok(self.refund_expired(context, number, &which));
        }
        if !expired && !fate(|fate| fate == Fate::Held) {
            return Ok(self.confirmed(hold, &which, hold.retaken));
        }
        if self.is_of_codes(hold) {
            // Nobody pays for a claim, so there is nothing to give back to who comes too late.
            return Err(if expired {
                Refusal::HoldExpired.into()
            } else {
                CodeRefusal::ClaimRequired.into()
            });
        }
        if expired && late == Late::Refuse && !inject(Mistake::ConfirmAfterExpiry) {
            return Err(Refusal::HoldExpired.into());
        }
        if expired && (kept_out.is_err() || !self.can_retake(hold, &which)) {
            return Ok(self.refund_expired(context, number, &which));
        }
        kept_out?;
        if !self.has_ranks(hold, &which) {
            return Err(Refusal::SoldOut.into());
        }
        self.give_for_good(context, number, &which);
        let hold = self.holds.at_mut(number);
        hold.remember(step.id, content);
        let offer = hold.offer.filter(|_| expired);
        hold.retaken |= expired;
        if let Some(offer) = offer {
            // It came too late and is taken all the same: nobody waits for what they have.
            self.leave_list(usize::from(offer.pool), step.subject);
        }
        let hold = self.holds.at_mut(number);
        if hold.is_live() && hold.held() == 0 {
            self.end(context, number);
        }
        let hold = self.holds.at(number);
        Ok(self.confirmed(hold, &which, hold.retaken))
    }

    /// Says whether a hold is the offer of a code, which a claim takes with its tag.
    fn is_of_codes(&self, hold: &Hold) -> bool {
        hold.offer.is_some_and(|offer| self.pools[usize::from(offer.pool)].codes().is_some())
    }

    /// Says whether all units that expired are free, nobody on a waitlist is before the subject, and it may have them.
    fn can_retake(&self, hold: &Hold, which: &[usize]) -> bool {
        let takes: Vec<Allocation> = which
            .iter()
            .map(|index| hold.takes[*index])
            .filter(|t| t.fate == Fate::Expired)
            .collect();
        let free = |take: &Allocation| {
            if inject(Mistake::RetakeFromOthers) && matches!(take.unit, UnitId::Seat(_)) {
                return true;
            }
            let wanted = takes.iter().filter(|t| (t.pool, t.unit) == (take.pool, take.unit));
            let pool = &self.pools[usize::from(take.pool)];
            let free = if inject(Mistake::RetakeBeforeList) {
                pool.free(take.unit)
            } else {
                pool.free_to_all(take.unit)
            };
            free >= wanted.count() as u32
        };
        takes.iter().all(free) && self.may_have_again(hold, &takes)
    }

    /// Says whether every pool has a rank left for each unit that is to be given for good.
    fn has_ranks(&self, hold: &Hold, which: &[usize]) -> bool {
        let mut left: Vec<u32> = self.pools.iter().map(Pool::ranks_left).collect();
        let given = which.iter().map(|index| hold.takes[*index]);
        given.filter(|take| matches!(take.fate, Fate::Held | Fate::Expired)).all(|take| {
            let left = &mut left[usize::from(take.pool)];
            let has = *left > 0;
            *left = left.saturating_sub(1);
            has
        })
    }

    fn give_for_good(&mut self, context: &mut ApplyContext<'_>, number: u32, which: &[usize]) {
        let Self { holds, pools, .. } = self;
        let hold = holds.at_mut(number);
        let mut has = Vec::with_capacity(which.len());
        for index in which {
            let take = &mut hold.takes[*index];
            let pool = &mut pools[usize::from(take.pool)];
            match take.fate {
                Fate::Held => {}
                Fate::Expired => pool.hold(take.unit, number),
                Fate::Confirmed(_) | Fate::Refunded | Fate::Released => continue,
            }
            let rank = pool.confirm(take.unit, (&hold.subject, &hold.id), context.at);
            take.fate = Fate::Confirmed(rank);
            has.push((take.pool, take.unit));
            context.emit(&hold.subject, NewResult { kind: Kind::Claim, pool: take.pool, rank });
        }
        let subject = hold.subject.clone();
        holds.holder_mut(&subject).has.extend(has);
    }

    /// Makes a refund due for those units that expired, once for each, and answers with all of which it is due.
    fn refund_expired(
        &mut self,
        context: &mut ApplyContext<'_>,
        number: u32,
        which: &[usize],
    ) -> Outcome {
        let Self { holds, refunds, .. } = self;
        let hold = holds.at_mut(number);
        for index in which {
            let take = &mut hold.takes[*index];
            if take.fate == Fate::Expired {
                take.fate = Fate::Refunded;
                let (subject, id) = (hold.subject.clone(), hold.id.clone());
                refunds.push(Refunded { unit: take.unit, subject, hold: id, at: context.at });
                let rank = refunds.len() as u32;
                context.emit(
                    &hold.subject,
                    NewResult { kind: Kind::RefundDue, pool: take.pool, rank },
                );
                hold.refunded_at.get_or_insert(context.at);
            }
        }
        self.refund(self.holds.at(number), which)
    }

    /// Gives units of a hold back.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `pool_required`,
    /// `no_such_hold`, `not_yours`; of a step's id that is known `id_reused` or what it did; `no_such_unit`,
    /// `not_for_sale` (a seat of a group by itself), `not_held`, `hold_expired`, `already_confirmed`.
    pub(crate) fn release(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &Step<'_>,
        units: &[Pick<'_>],
        content: u64,
    ) -> Outcome {
        self.holds.forget(context.service);
        self.try_release(context, step, units, content).unwrap_or_else(|no| no)
    }

    fn try_release(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &Step<'_>,
        units: &[Pick<'_>],
        content: u64,
    ) -> Result<Outcome, Outcome> {
        for pick in units {
            self.pool_of(pick)?;
        }
        let hold = self.own(step)?;
        let number = hold.number;
        let repeated = self.is_repeated(hold, step, content)?;
        let which: Vec<usize> = match units {
            [] => (0..hold.takes.len()).collect(),
            units => self.parts(hold, &self.select(units, Reach::Any)?, repeated)?,
        };
        let any = |is: fn(Fate) -> bool| which.iter().any(|index| is(hold.takes[*index].fate));
        let given_back = any(|fate| matches!(fate, Fate::Held | Fate::Released));
        if any(|fate| matches!(fate, Fate::Expired | Fate::Refunded)) {
            return Err(Refusal::HoldExpired.into());
        }
        // With everything meant, what is confirmed stays so; named, it cannot be given back.
        if any(|fate| matches!(fate, Fate::Confirmed(_))) && (!given_back || !units.is_empty()) {
            return Err(Refusal::AlreadyConfirmed.into());
        }
        if repeated || !any(|fate| fate == Fate::Held) {
            return Ok(self.released(hold, &which));
        }
        let hold = self.holds.at_mut(number);
        for index in &which {
            let take = &mut hold.takes[*index];
            if take.fate == Fate::Held {
                take.fate = Fate::Released;
                self.pools[usize::from(take.pool)].give_back(take.unit);
                self.pools[usize::from(take.pool)].came_free(take.unit);
            }
        }
        hold.remember(step.id, content);
        if hold.held() == 0 {
            self.end(context, number);
        }
        Ok(self.released(self.holds.at(number), &which))
    }

    /// Returns the indices of a hold's units that are selected: held ones first, then the others.
    ///
    /// Refuses with `not_held` what the hold never had, or not so much of.
    fn parts(
        &self,
        hold: &Hold,
        selection: &Selection<'_>,
        repeated: bool,
    ) -> Result<Vec<usize>, Outcome> {
        let mut found = if repeated { Vec::new() } else { held_of(hold, selection) };
        let got: BTreeSet<usize> = found.iter().copied().collect();
        let mut missing = Vec::new();
        let wanted = selection.seats.iter().map(|(pool, seat)| (*pool, UnitId::Seat(*seat), 1));
        for (pool, unit, count) in wanted.chain(selection.quantities.iter().copied()) {
            let of_unit = of_unit(&hold.takes, pool, unit);
            let got = of_unit.clone().filter(|index| got.contains(index)).count();
            let others = of_unit.filter(|index| hold.takes[*index].fate != Fate::Held);
            // A repeated step may show more than it did: which of a quantity it was is not remembered.
            let most = if repeated { usize::MAX } else { count as usize - got };
            let others: Vec<usize> = others.take(most).collect();
            if !repeated && got + others.len() < count as usize {
                missing.push(self.unit_name(pool, unit));
            }
            found.extend(others);
        }
        if missing.is_empty() {
            return Ok(found);
        }
        Err(Outcome::refused_for(Refusal::NotHeld, missing))
    }
}
