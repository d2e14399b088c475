//! Rules of claiming a unit of a counted pool, and of cancelling a claim.

use super::codes::is_in_use;
use super::select::Selection;
use super::{Campaign, Phase};
use crate::bars::Bar;
use crate::context::{ApplyContext, NewResult};
use crate::hold::{Fate, Hold, UnitId};
use crate::holds::Holder;
use crate::limits::CLAIMS_OF_SUBJECT;
use crate::outcome::{By, CodeRefusal, Outcome, Refusal};
use crate::pool::{Cancel, Claim, Pool};
use crate::results::Kind;
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};

impl Campaign {
    /// Says what a claim would get, without giving anything: the index of the pool, or the answer. `limit` is what comes with
    /// the claim, and counts like the campaign's.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `pool_required`,
    /// `hold_required` (a seated pool), `already_won`, `barred`, `already_cancelled`, `paused`, `not_open`,
    /// `closed`, `limit_reached`, `sold_out`. A closed campaign is neither paused nor yet to open. What somebody on the
    /// waitlist may have counts as sold; an imported code that comes back to its subject does not.
    ///
    /// Who was offered a code takes the offer with a claim: then only `not_found`, `pool_required`, `already_won`,
    /// `barred` and `sold_out` (the operator withdrew the imported codes) can refuse it. A pause or the
    /// closing of the campaign takes nothing from a live offer.
    pub fn judge_claim(
        &self,
        at: Timestamp,
        pool: Option<&str>,
        subject: &str,
        limit: Option<u32>,
    ) -> Result<usize, Outcome> {
        let index = self.pool_named(pool)?;
        let pool = &self.pools[index];
        if pool.hall().is_some() {
            return Err(Refusal::HoldRequired.into());
        }
        let latest = self.latest_claim(index, subject);
        if let Some(claim) = &latest {
            if claim.cancel.is_none() {
                return Err(self.already_won(index, claim));
            }
            self.check_barred(subject)?;
            if !self.claim_again {
                return Err(Refusal::AlreadyCancelled.into());
            }
        }
        if self.code_offer(index, subject).is_some() {
            self.check_barred(subject)?;
            return if pool.has_code_left() { Ok(index) } else { Err(Refusal::SoldOut.into()) };
        }
        self.admit(at, subject)?;
        if !self.holds.is_empty() {
            // Who holds something may have more than one unit of a pool.
            self.check_limits(subject, &Selection::counted(index as u16), limit)?;
        } else if latest.is_some_and(|claim| pool.claims_up_to(claim.rank) >= CLAIMS_OF_SUBJECT)
            || self.most(limit).is_some_and(|most| self.has_live_claims(subject, most))
        {
            return Err(Refusal::LimitReached.into());
        }
        let promised = pool.is_promised() && !inject(Mistake::ClaimPromisedUnits);
        let none = pool.left() == 0 || promised;
        if none && pool.own_code(subject).is_none() || pool.ranks_left() == 0 {
            return Err(Refusal::SoldOut.into());
        }
        Ok(index)
    }

    /// Refuses a subject or a moment with the first that applies: `barred`, `paused`, `not_open`, `closed`.
    pub(super) fn admit(&self, at: Timestamp, subject: &str) -> Result<(), Refusal> {
        self.check_barred(subject)?;
        match self.phase(at) {
            Phase::Paused => Err(Refusal::Paused),
            Phase::Draft | Phase::Scheduled => Err(Refusal::NotOpen { opens_at: self.opens_at }),
            Phase::Closed => Err(Refusal::Closed),
            Phase::Open => Ok(()),
        }
    }

    /// Returns a subject's latest live claim in a pool, or else its latest.
    pub(super) fn latest_claim(&self, index: usize, subject: &str) -> Option<Claim<'_>> {
        let pool = &self.pools[index];
        let latest = pool.claim(pool.latest(subject)?)?;
        // Only a subject that holds units can have a live claim before a cancelled one.
        let has = |holder: &Holder| holder.has.iter().any(|(pool, _)| usize::from(*pool) == index);
        if latest.cancel.is_none() || !self.holds.holder(subject).is_some_and(has) {
            return Some(latest);
        }
        pool.claims_of(subject).find(|claim| claim.cancel.is_none())
    }

    /// Refuses with `already_cancelled` a subject that gave up every claim in a pool, if nobody may claim again.
    pub(super) fn check_claims_again(&self, subject: &str, index: usize) -> Result<(), Refusal> {
        match self.latest_claim(index, subject) {
            Some(claim) if claim.cancel.is_some() && !self.claim_again => {
                Err(Refusal::AlreadyCancelled)
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Gives a subject a unit: it was judged that it may have one.
    pub(crate) fn give(
        &mut self,
        index: usize,
        subject: &str,
        at: Timestamp,
        tag: Option<u64>,
    ) -> u32 {
        if let Some(holder) = self.holds.find_holder_mut(subject) {
            holder.has.push((index as u16, UnitId::Counted));
        }
        // Who has a unit of a pool does not wait for one.
        self.leave_list(index, subject);
        self.pools[index].give(subject, at, tag)
    }

    /// Returns the number of the live offer of a code that a subject has in a pool: a claim takes it.
    pub(crate) fn code_offer(&self, index: usize, subject: &str) -> Option<u32> {
        if self.pools[index].codes().is_none() || inject(Mistake::ClaimBesideOffer) {
            return None;
        }
        self.offer_of(index, subject).map(Hold::number)
    }

    /// Gives a subject the code that it was offered: it was judged that it may have one.
    pub(crate) fn take_offer(
        &mut self,
        context: &mut ApplyContext<'_>,
        (index, number): (usize, u32),
        tag: Option<u64>,
    ) -> Outcome {
        let Self { holds, pools, .. } = self;
        let hold = holds.at_mut(number);
        let (subject, id) = (hold.subject.clone(), hold.id.clone());
        let rank = pools[index].take_held_code((&subject, &id), context.at, tag);
        hold.takes.iter_mut().for_each(|take| take.fate = Fate::Confirmed(rank));
        holds.holder_mut(&subject).has.push((index as u16, UnitId::Counted));
        context.emit(&subject, NewResult { kind: Kind::Claim, pool: index as u16, rank });
        self.end(context, number);
        self.won(index, rank, context.at)
    }

    /// Returns the outcome of a claim that was given a rank.
    pub(crate) fn won(&self, index: usize, rank: u32, at: Timestamp) -> Outcome {
        let code = self.pools[index].codes().and_then(|codes| codes.of_rank(rank));
        Outcome::Won { rank, at, pool: index as u16, code }
    }

    /// Returns the outcome of a claim whose subject has won before.
    pub(super) fn already_won(&self, index: usize, claim: &Claim<'_>) -> Outcome {
        let code = self.pools[index].codes().and_then(|codes| codes.of_rank(claim.rank));
        Outcome::AlreadyWon { rank: claim.rank, at: claim.at, pool: index as u16, code }
    }

    /// Says whether a claim of a pool needs a tag: the pool's codes are generated.
    pub fn needs_tag(&self, index: usize) -> bool {
        self.pools.get(index).is_some_and(|pool| pool.codes().is_some() && !pool.has_stock())
    }

    /// Says whether a subject has this many live claims or more. It has at most one in each pool.
    fn has_live_claims(&self, subject: &str, limit: u32) -> bool {
        if limit as usize > self.pools.len() {
            return false;
        }
        // Selection only when this pool has no live claim of the subject, so one pool cannot reach any limit.
        if self.pools.len() == 1 {
            return false;
        }
        let has = |pool: &&Pool| pool.latest(subject).is_some_and(|rank| pool.is_live(rank));
        self.pools.iter().filter(has).take(limit as usize).count() == limit as usize
    }

    /// Undoes a claim. Gives the outcome, and the index of the pool if something changed.
    ///
    /// The first answer that applies is given, in this order: `not_found` (the pool), `pool_required`, `no_such_claim`,
    /// `cancelled` as it was the first time, `code_in_use`.
    pub(crate) fn cancel(
        &mut self,
        (at, service): (Timestamp, i64),
        pool: Option<&str>,
        subject: &str,
        rank: u32,
        ask: (By, &str, &str),
    ) -> (Outcome, Option<usize>) {
        let index = match self.pool_named(pool) {
            Err(Refusal::PoolRequired) if inject(Mistake::CancelInFirstPool) => 0,
            Ok(index) => index,
            Err(refusal) => return (refusal.into(), None),
        };
        let pool = &mut self.pools[index];
        match pool.claim(rank).filter(|claim| claim.subject == subject) {
            None => return (Refusal::NoSuchClaim.into(), None),
            Some(claim) => {
                if let Some(cancel) = claim.cancel {
                    return (Outcome::Cancelled { by: cancel.by, at: cancel.at }, None);
                }
                if is_in_use(pool, rank, service) && !inject(Mistake::CancelUsedCode) {
                    return (CodeRefusal::CodeInUse.into(), None);
                }
            }
        }
        let (by, reason, who) = ask;
        let cancel = Cancel { at, by, reason: reason.into(), who: who.into() };
        let unit = (index as u16, pool.unit_of(rank).unwrap_or(UnitId::Counted));
        pool.undo(rank, cancel, self.units_return);
        if let Some(holder) = self.holds.find_holder_mut(subject) {
            let had = holder.has.iter().position(|has| *has == unit);
            holder.has.swap_remove(had.expect("whoever holds something has its live claims noted"));
        }
        if by == By::Operator && inject(Mistake::CancelBars) {
            let bar = Bar { subject: subject.into(), at, reason: "".into(), who: "".into() };
            self.bars.add(bar);
        }
        (Outcome::Cancelled { by, at }, Some(index))
    }
}
