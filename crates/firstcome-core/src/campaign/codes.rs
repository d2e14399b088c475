//! Rules of the life of a code: reserving, redeeming, rolling back and giving back.
//!
//! | File | Subject |
//! |---|---|
//! | `operate` | revoking, suspending, restoring and replacing codes |
//! | `import` | bringing codes |
//! | `look` | reading |

mod import;
mod look;
mod operate;

pub use look::{CodeStatus, CodeView};

use super::Campaign;
use crate::codes::{Codes, Found, Use, UseState};
use crate::command::{CodeCommand, CodeStep};
use crate::context::{ApplyContext, NewResult};
use crate::limits::CODE_SPARE_REFERENCES;
use crate::outcome::{CodeOutcome, CodeRefusal, Outcome, Refusal};
use crate::pool::Pool;
use crate::results::Kind;
use crate::time::Timestamp;
use firstcome_inject::{Mistake, inject};

/// A code that a step is about, and what its reference did with it before.
struct Asked<'a> {
    pool: usize,
    rank: u32,
    /// The first rank at which the code was issued.
    code: u32,
    /// Whether the code was replaced by another.
    replaced: bool,
    reference: &'a str,
    /// The last use under the reference.
    own: Option<(u32, UseState, Timestamp)>,
}

impl Campaign {
    /// Runs a command on codes. Those of operators are in `operate` and `import`.
    pub(crate) fn on_codes(
        &mut self,
        context: &mut ApplyContext<'_>,
        command: &CodeCommand<'_>,
    ) -> Outcome {
        let outcome = match command {
            CodeCommand::Reserve { step, subject, ttl_us } => {
                self.reserve(context, step, *subject, *ttl_us)
            }
            CodeCommand::Redeem { step, subject } => self.redeem(context, step, *subject),
            CodeCommand::RollBack { step } => self.roll_back(context, step),
            CodeCommand::EndReservation { step } => self.end_reservation(context, step),
            CodeCommand::Mark { .. }
            | CodeCommand::RevokeImport { .. }
            | CodeCommand::Reissue { .. } => self.operate_codes(context, command),
            CodeCommand::Stage { .. }
            | CodeCommand::Commit { .. }
            | CodeCommand::Discard { .. } => self.import_codes(context, command),
        };
        outcome.unwrap_or_else(Outcome::from)
    }

    /// Finds the code that a step is about.
    ///
    /// The first refusal that applies is given, in this order: `not_found` (the pool), `pool_required`, `not_coded`,
    /// `no_such_code`, `not_issued`.
    fn asked<'a>(&self, step: &CodeStep<'a>) -> Result<Asked<'a>, Refusal> {
        let pool = self.pool_named(step.pool)?;
        let codes = self.pools[pool].codes().ok_or(CodeRefusal::NotCoded)?;
        let (rank, replaced) = match codes.find(step.code) {
            Found::Issued { rank, replaced } => (rank, replaced),
            Found::InStock { .. } => return Err(CodeRefusal::NotIssued.into()),
            Found::No => return Err(CodeRefusal::NoSuchCode.into()),
        };
        let code = codes.first_rank(rank);
        let own = codes.uses.find(code, step.reference);
        let own = own.and_then(|number| Some((number, codes.uses.get(number)?)));
        let own = own.map(|(number, own)| (number, own.state, own.at));
        Ok(Asked { pool, rank, code, replaced, reference: step.reference, own })
    }

    fn codes(&self, pool: usize) -> &Codes {
        self.pools[pool].codes().expect("it was looked whether the pool is coded")
    }

    fn codes_mut(&mut self, pool: usize) -> &mut Codes {
        self.pools[pool].codes_mut().expect("it was looked whether the pool is coded")
    }

    /// Returns whose the code of a rank is.
    fn holder_of(&self, pool: usize, rank: u32) -> &str {
        self.pools[pool].claim(rank).expect("an issued code has its claim").subject
    }

    /// Refuses who may not use a code: `subject_required`, `not_yours`, and `id_reused` where the reference is another
    /// subject's.
    fn check_user(&self, asked: &Asked<'_>, subject: Option<&str>) -> Result<(), Refusal> {
        let holder = self.holder_of(asked.pool, asked.rank);
        let codes = self.codes(asked.pool);
        if codes.settings.only_by_holder && !inject(Mistake::CodeOfAnybody) {
            let subject = subject.ok_or(CodeRefusal::SubjectRequired)?;
            if subject != holder {
                return Err(Refusal::NotYours);
            }
        }
        let Some((number, ..)) = asked.own else { return Ok(()) };
        let own = codes.uses.get(number).and_then(|own| own.user.as_deref()).unwrap_or(holder);
        if subject.is_some_and(|subject| subject != own) {
            return Err(Refusal::IdReused);
        }
        Ok(())
    }

    /// Refuses a code that does not count: `code_revoked`, `code_suspended`.
    fn check_standing(&self, asked: &Asked<'_>) -> Result<(), Refusal> {
        let (pool, codes) = (&self.pools[asked.pool], self.codes(asked.pool));
        let revoked = asked.replaced || codes.is_revoked(asked.rank) || !pool.is_live(asked.rank);
        if revoked && !inject(Mistake::RevokedCodeCounts) {
            return Err(CodeRefusal::CodeRevoked.into());
        }
        if codes.issued.get(asked.rank).is_some_and(|word| word.is_suspended()) {
            return Err(CodeRefusal::CodeSuspended.into());
        }
        Ok(())
    }

    fn is_expired(&self, pool: usize, rank: u32, at: Timestamp) -> bool {
        let claim = self.pools[pool].claim(rank).expect("an issued code has its claim");
        let expires_at = self.codes(pool).settings.expires_at(claim.at);
        expires_at.is_some_and(|expires_at| expires_at <= at)
    }

    /// Refuses one use more of a code: `code_expired`, `barred`, `limit_reached`, `reused_since`, `code_used`,
    /// `code_reserved`, `too_many_references`.
    fn check_new_use(
        &mut self,
        (at, service): (Timestamp, i64),
        asked: &Asked<'_>,
        user: &str,
    ) -> Result<(), Refusal> {
        let (pool, code) = (asked.pool, asked.code);
        if self.is_expired(pool, asked.rank, at) {
            return Err(CodeRefusal::CodeExpired.into());
        }
        self.check_barred(user)?;
        let codes = self.codes_mut(pool);
        let (uses, most) = (codes.settings.uses, codes.settings.uses_per_subject);
        if most.is_some_and(|most| !codes.uses.user_has_left(user, most, service)) {
            return Err(Refusal::LimitReached);
        }
        if !codes.uses.has_left(code, uses, service) && !inject(Mistake::CodeUsedBeyondUses) {
            let tally = codes.uses.tally(code);
            return Err(Refusal::Code(match asked.own {
                Some((_, UseState::RolledBack { .. }, _)) => CodeRefusal::ReusedSince,
                _ if tally.used >= uses => CodeRefusal::CodeUsed,
                _ => CodeRefusal::CodeReserved,
            }));
        }
        let tally = codes.uses.tally(code);
        let adds = !matches!(
            asked.own,
            Some((_, UseState::Reserved { .. } | UseState::Released | UseState::Redeemed, _))
        );
        let full = tally.all >= uses.saturating_add(CODE_SPARE_REFERENCES);
        if adds && (full || codes.uses.last == u32::MAX) {
            return Err(CodeRefusal::TooManyReferences.into());
        }
        Ok(())
    }

    /// Returns the new state to the reference's own use, or makes one.
    fn put_use(
        &mut self,
        asked: &Asked<'_>,
        user: Option<&str>,
        state: UseState,
        at: Timestamp,
    ) -> u32 {
        let (pool, rank) = (asked.pool, asked.rank);
        let holder: Box<str> = self.holder_of(pool, rank).into();
        let codes = self.codes_mut(pool);
        if let Some((number, UseState::Reserved { .. } | UseState::Released, _)) = asked.own {
            let known = codes.uses.get(number).and_then(|own| own.user.clone());
            codes.uses.change(number, &known.unwrap_or(holder), state, (rank, at));
            return number;
        }
        let counted = user.unwrap_or(&holder);
        let user = user.filter(|user| **user != *holder).map(Into::into);
        let reference = asked.reference.into();
        let code = asked.code;
        codes.uses.add(Use { rank, code, reference, user, at, state, earlier: 0 }, counted)
    }

    /// Returns who counts for a step: who is named, or the reference's own user, or the holder.
    fn user_of(&self, asked: &Asked<'_>, subject: Option<&str>) -> Box<str> {
        let own = asked.own.and_then(|(number, ..)| self.codes(asked.pool).uses.get(number));
        let own = own.and_then(|own| own.user.as_deref());
        let holder = || self.holder_of(asked.pool, asked.rank);
        subject.or(own).unwrap_or_else(holder).into()
    }

    /// Sets a use of a code aside until a deadline.
    ///
    /// The first answer that applies is given, in this order: the refusals of finding it (`not_found`,
    /// `pool_required`, `not_coded`, `no_such_code`, `not_issued`), `subject_required`, `not_yours`, `id_reused`,
    /// `already_reserved`, `already_redeemed`, `code_revoked`, `code_suspended`, `code_expired`, `barred`,
    /// `limit_reached`, `reused_since`, `code_used`, `code_reserved`, `too_many_references`.
    fn reserve(
        &mut self,
        context: &ApplyContext<'_>,
        step: &CodeStep<'_>,
        subject: Option<&str>,
        ttl_us: i64,
    ) -> Result<Outcome, Refusal> {
        let (at, service) = (context.at, context.service);
        let asked = self.asked(step)?;
        let rank = asked.rank;
        self.check_user(&asked, subject)?;
        match asked.own {
            Some((_, UseState::Reserved { deadline }, _))
                if deadline > service && !inject(Mistake::OwnReservationRefuses) =>
            {
                let expires_at = context.moment(deadline);
                return Ok(CodeOutcome::AlreadyReserved { rank, expires_at }.into());
            }
            Some((_, UseState::Redeemed, _)) => return Err(CodeRefusal::AlreadyRedeemed.into()),
            Some(_) | None => {}
        }
        self.check_standing(&asked)?;
        let user = self.user_of(&asked, subject);
        self.check_new_use((at, service), &asked, &user)?;
        let deadline = service.saturating_add(ttl_us);
        self.put_use(&asked, subject, UseState::Reserved { deadline }, at);
        Ok(CodeOutcome::Reserved { rank, expires_at: context.moment(deadline) }.into())
    }

    /// Uses a code. A live reservation of the same reference wins over the cap and over expiry.
    ///
    /// The first answer that applies is given, in this order: the refusals of finding it, `subject_required`,
    /// `not_yours`, `id_reused`, `redeemed` as it was the first time, `already_rolled_back`, `code_revoked`,
    /// `code_suspended`, `redeemed` out of a live reservation, `code_expired`, `barred`, `limit_reached`,
    /// `code_used`, `code_reserved`, `too_many_references`.
    fn redeem(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &CodeStep<'_>,
        subject: Option<&str>,
    ) -> Result<Outcome, Refusal> {
        let (at, service) = (context.at, context.service);
        let asked = self.asked(step)?;
        let rank = asked.rank;
        self.check_user(&asked, subject)?;
        match asked.own {
            Some((_, UseState::Redeemed, first)) if !inject(Mistake::RedeemTwice) => {
                return Ok(CodeOutcome::Redeemed { rank, at: first }.into());
            }
            Some((_, UseState::RolledBack { .. }, _)) if !inject(Mistake::RedeemAfterRollback) => {
                return Err(CodeRefusal::AlreadyRolledBack.into());
            }
            Some(_) | None => {}
        }
        self.check_standing(&asked)?;
        let live = matches!(asked.own, Some((_, UseState::Reserved { deadline }, _))
            if deadline > service && !inject(Mistake::ReservationWithoutPriority));
        let user = self.user_of(&asked, subject);
        if !live {
            self.check_new_use((at, service), &asked, &user)?;
        }
        let number = self.put_use(&asked, subject, UseState::Redeemed, at);
        let result = NewResult { kind: Kind::Redeemed, pool: asked.pool as u16, rank: number };
        context.emit(&user, result);
        Ok(CodeOutcome::Redeemed { rank, at }.into())
    }

    /// Undoes a redemption. The use comes back unless the code has expired; a revoked one can be rolled back, too.
    ///
    /// The first answer that applies is given, in this order: the refusals of finding it, `not_redeemed`, `rolled_back`
    /// as it was the first time.
    fn roll_back(
        &mut self,
        context: &mut ApplyContext<'_>,
        step: &CodeStep<'_>,
    ) -> Result<Outcome, Refusal> {
        let asked = self.asked(step)?;
        let (rank, at) = (asked.rank, context.at);
        let (number, redeemed_at) = match asked.own {
            Some((number, UseState::Redeemed, redeemed_at)) => (number, redeemed_at),
            Some((_, UseState::RolledBack { expired, .. }, first)) => {
                return Ok(CodeOutcome::RolledBack { rank, at: first, expired }.into());
            }
            Some((_, UseState::Reserved { .. } | UseState::Released, _)) | None => {
                return Err(CodeRefusal::NotRedeemed.into());
            }
        };
        let expired =
            self.is_expired(asked.pool, rank, at) && !inject(Mistake::ExpiredUseComesBack);
        let user = self.user_of(&asked, None);
        let state = UseState::RolledBack { redeemed_at, expired };
        self.codes_mut(asked.pool).uses.change(number, &user, state, (rank, at));
        let result = NewResult { kind: Kind::RolledBack, pool: asked.pool as u16, rank: number };
        context.emit(&user, result);
        Ok(CodeOutcome::RolledBack { rank, at, expired }.into())
    }

    /// Returns a reservation back, also one that is over.
    ///
    /// The first answer that applies is given, in this order: the refusals of finding it, `not_reserved`,
    /// `already_redeemed`, `already_rolled_back`.
    fn end_reservation(
        &mut self,
        context: &ApplyContext<'_>,
        step: &CodeStep<'_>,
    ) -> Result<Outcome, Refusal> {
        let asked = self.asked(step)?;
        let rank = asked.rank;
        match asked.own {
            None => return Err(CodeRefusal::NotReserved.into()),
            Some((_, UseState::Redeemed, _)) => return Err(CodeRefusal::AlreadyRedeemed.into()),
            Some((_, UseState::RolledBack { .. }, _)) => {
                return Err(CodeRefusal::AlreadyRolledBack.into());
            }
            Some((_, UseState::Released, _)) => {}
            Some((number, UseState::Reserved { .. }, _)) => {
                let user = self.user_of(&asked, None);
                let uses = &mut self.codes_mut(asked.pool).uses;
                uses.change(number, &user, UseState::Released, (rank, context.at));
            }
        }
        Ok(CodeOutcome::ReservationEnded { rank }.into())
    }

    /// Says whether a code of the campaign can still be redeemed, or a reservation of one may still be live. A revoked
    /// code, or that of a cancelled claim, cannot be redeemed; a suspended one may be restored.
    ///
    /// Where some codes were revoked the others are taken to be valid as long as the last one that was issued.
    pub fn has_valid_codes(&self, at: Timestamp) -> bool {
        self.pools.iter().any(|pool| {
            let (Some(codes), Some(last)) = (pool.codes(), pool.claim(pool.last_rank())) else {
                return false;
            };
            let over = codes.settings.expires_at(last.at);
            let over = over.map(|at| at.plus_micros(crate::limits::RESERVATION_MOST_US));
            codes.any_stands() && over.is_none_or(|over| at < over)
        })
    }
}

/// Says whether a claim's code is used or set aside, so that the claim stands.
pub(super) fn is_in_use(pool: &Pool, rank: u32, service: i64) -> bool {
    let Some(codes) = pool.codes() else { return false };
    let code = codes.first_rank(rank);
    codes.uses.tally(code).used > 0 || codes.uses.live(code, service) > 0
}
