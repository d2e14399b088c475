//! The model's rules for the end of a hold by its subject: confirm and release.

use crate::campaign::{ModelCampaign, Row};
use crate::hall::{SeatOwner, Unit};
use crate::holding::{Fate, Made, ModelHold, SaidBy, Turn, asks};
use crate::wanted::{Wanted, refused};
use firstcome_core::command::Late;
use firstcome_core::outcome::{Confirmation, RankedUnit, Refund, Release, UnitName};
use firstcome_core::results::Kind;
use firstcome_core::{CodeRefusal, Command, Outcome, Refusal, Timestamp};

impl<'a> ModelCampaign<'a> {
    pub(crate) fn confirm(
        &mut self,
        turn: &Turn,
        command: &Command<'a>,
        made: &mut Vec<Made<'a>>,
    ) -> Result<SaidBy, SaidBy> {
        let Command::Confirm { step, units, late } = command else {
            unreachable!("it is a confirm");
        };
        self.check_pools(units.iter())?;
        let at = self.own(step)?;
        let hold = &self.holds[at];
        let repeated = hold.is_repeated(step.id, &asks(command))?;
        let mut which: Vec<usize> = if units.is_empty() {
            (0..hold.takes.len()).filter(|take| hold.takes[*take].fate != Fate::Released).collect()
        } else {
            let wanted = self.wanted(units, false)?;
            self.parts(hold, &wanted, repeated)?
        };
        if repeated {
            // What came later was not meant.
            which.retain(|take| !matches!(hold.takes[*take].fate, Fate::Held | Fate::Expired));
        }
        if hold.takes.iter().all(|take| take.fate == Fate::Released) {
            return Err(Refusal::HoldReleased.into());
        }
        let any = |fate: Fate| which.iter().any(|take| hold.takes[*take].fate == fate);
        if any(Fate::Released) {
            let units = self.names_of(hold, &which, Fate::Released);
            return Err(refused(Refusal::NotHeld, units).into());
        }
        if any(Fate::Refunded) {
            return Ok(self.refund_expired(turn, at, &which, made));
        }
        if !any(Fate::Held) && !any(Fate::Expired) {
            return Ok(SaidBy::since(hold.entry, self.confirmed(at, &which)));
        }
        if hold.takes.iter().any(|take| self.pools[take.pool].coupons.is_some()) {
            // An offered code is had by a claim.
            let late = any(Fate::Expired);
            let no = Refusal::Code(CodeRefusal::ClaimRequired);
            return Err(SaidBy::from(if late { Refusal::HoldExpired } else { no }));
        }
        let kept_out = self.check_barred(step.subject);
        if any(Fate::Expired) {
            if *late == Late::Refuse {
                return Err(Refusal::HoldExpired.into());
            }
            if kept_out.is_err() || !self.can_retake(hold, &which) {
                return Ok(self.refund_expired(turn, at, &which, made));
            }
        }
        if !any(Fate::Expired) {
            kept_out?;
        }
        self.give_for_good(turn, at, &which, made);
        self.is_late_and_served(at);
        let hold = &mut self.holds[at];
        hold.remember(step.id, asks(command));
        hold.live = hold.held() > 0;
        hold.entry = turn.entry;
        Ok(self.confirmed(at, &which).into())
    }

    /// Says whether what expired is free, and the subject may have it.
    fn can_retake(&self, hold: &ModelHold<'_>, which: &[usize]) -> bool {
        let mut again = Wanted::default();
        for take in which.iter().map(|take| hold.takes[*take]) {
            if take.fate != Fate::Expired {
                continue;
            }
            match again.counts.iter_mut().find(|known| (known.0, known.1) == (take.pool, take.unit))
            {
                Some((_, _, known)) => *known += 1,
                None => again.counts.push((take.pool, take.unit, 1)),
            }
        }
        let is_free = |(pool, unit, n): &(usize, Unit, u32)| {
            self.free(*pool, *unit) >= *n && !self.has_somebody_first(*pool, *unit)
        };
        again.counts.iter().all(is_free)
            && self.check_limits(hold.subject, &again, hold.limit).is_ok()
    }

    fn give_for_good(&mut self, turn: &Turn, at: usize, which: &[usize], made: &mut Vec<Made<'a>>) {
        for take in which {
            let found = self.holds[at].takes[*take];
            match found.fate {
                Fate::Held => {}
                Fate::Expired => {
                    self.set_aside(found.pool, found.unit, at);
                    self.holds[at].retaken = true;
                }
                Fate::Confirmed(_) | Fate::Refunded | Fate::Released => continue,
            }
            let (subject, id) = (self.holds[at].subject, self.holds[at].id);
            let pool = &mut self.pools[found.pool];
            let rank = pool.push(Row {
                subject,
                at: turn.at,
                entry: turn.entry,
                undone: None,
                unit: found.unit,
                hold: Some(id),
            });
            match (found.unit, &mut pool.hall) {
                (Unit::Seat(seat), Some(hall)) => hall.seats[seat].owner = SeatOwner::Rank(rank),
                (Unit::Area(area), Some(hall)) => {
                    hall.areas[area].held -= 1;
                    hall.areas[area].given += 1;
                }
                (Unit::Counted, _) | (_, None) => pool.held -= 1,
            }
            let unit = pool.hall.as_ref().and_then(|hall| hall.name(found.unit));
            self.holds[at].takes[*take].fate = Fate::Confirmed(rank);
            let (kind, pool) = (Kind::Claim, found.pool);
            made.push(Made { kind, pool, rank, subject, unit, hold: Some(id), from: None });
        }
    }

    fn refund_expired(
        &mut self,
        turn: &Turn,
        at: usize,
        which: &[usize],
        made: &mut Vec<Made<'a>>,
    ) -> SaidBy {
        for take in which {
            let found = self.holds[at].takes[*take];
            if found.fate != Fate::Expired {
                continue;
            }
            let hold = &mut self.holds[at];
            hold.takes[*take].fate = Fate::Refunded;
            hold.refunded_at.get_or_insert(turn.at);
            hold.entry = turn.entry;
            let (subject, id, pool) = (hold.subject, hold.id, found.pool);
            let hall = self.pools[pool].hall.as_ref();
            let unit = hall.and_then(|hall| hall.name(found.unit));
            let (kind, rank) = (Kind::RefundDue, 0);
            made.push(Made { kind, pool, rank, subject, unit, hold: Some(id), from: None });
        }
        SaidBy::since(self.holds[at].entry, self.refund(at, which))
    }

    /// Says that those of a hold's units are due a refund that are.
    pub(crate) fn refund(&self, at: usize, which: &[usize]) -> Outcome {
        let hold = &self.holds[at];
        let takes = which.iter().map(|take| hold.takes[*take]);
        let due = takes.filter(|take| take.fate == Fate::Refunded);
        let units = due.map(|take| self.unit_name(take.pool, take.unit)).collect();
        let when = hold.refunded_at.unwrap_or(Timestamp::from_micros(0));
        Outcome::RefundDue(Box::new(Refund { hold: hold.id.into(), units, at: when }))
    }

    /// Says that those of a hold's units are confirmed that are.
    pub(crate) fn confirmed(&self, at: usize, which: &[usize]) -> Outcome {
        let hold = &self.holds[at];
        let (mut units, mut latest) = (Vec::new(), Timestamp::from_micros(0));
        for take in which.iter().map(|take| hold.takes[*take]) {
            let Fate::Confirmed(rank) = take.fate else { continue };
            let row = self.pools[take.pool].row(rank);
            latest = latest.max(row.map_or(latest, |row| row.at));
            units.push(RankedUnit { unit: self.unit_name(take.pool, take.unit), rank });
        }
        Outcome::Confirmed(Box::new(Confirmation {
            hold: hold.id.into(),
            units,
            at: latest,
            retaken: hold.retaken,
            left: hold.held(),
        }))
    }

    pub(crate) fn release(&mut self, turn: &Turn, command: &Command<'a>) -> Result<SaidBy, SaidBy> {
        let Command::Release { step, units } = command else {
            unreachable!("it is a release");
        };
        self.check_pools(units.iter())?;
        let at = self.own(step)?;
        let hold = &self.holds[at];
        let repeated = hold.is_repeated(step.id, &asks(command))?;
        let which: Vec<usize> = if units.is_empty() {
            (0..hold.takes.len()).collect()
        } else {
            let wanted = self.wanted(units, false)?;
            self.parts(hold, &wanted, repeated)?
        };
        let fates: Vec<Fate> = which.iter().map(|take| hold.takes[*take].fate).collect();
        if fates.iter().any(|fate| matches!(fate, Fate::Expired | Fate::Refunded)) {
            return Err(Refusal::HoldExpired.into());
        }
        let given_back = fates.iter().any(|fate| matches!(fate, Fate::Held | Fate::Released));
        let confirmed = fates.iter().any(|fate| matches!(fate, Fate::Confirmed(_)));
        if confirmed && !(units.is_empty() && given_back) {
            return Err(Refusal::AlreadyConfirmed.into());
        }
        if !repeated && fates.contains(&Fate::Held) {
            self.give_back(turn, at, which.iter().copied(), Fate::Released);
            self.holds[at].remember(step.id, asks(command));
        }
        let hold = &self.holds[at];
        let units = self.names_of(hold, &which, Fate::Released);
        let release = Release { hold: hold.id.into(), units, left: hold.held() };
        Ok(SaidBy::since(hold.entry, Outcome::Released(Box::new(release))))
    }

    fn names_of(&self, hold: &ModelHold<'_>, which: &[usize], fate: Fate) -> Vec<UnitName> {
        let takes = which.iter().map(|take| hold.takes[*take]).filter(|take| take.fate == fate);
        takes.map(|take| self.unit_name(take.pool, take.unit)).collect()
    }

    /// Returns which of a hold's units are asked about: what is held first, then what was.
    fn parts(
        &self,
        hold: &ModelHold<'_>,
        wanted: &Wanted<'_>,
        repeated: bool,
    ) -> Result<Vec<usize>, Outcome> {
        let mut found = if repeated { Vec::new() } else { hold.held_of(wanted) };
        let mut missing = Vec::new();
        for (pool, unit, count) in wanted.quantities() {
            let is = |at: usize| (hold.takes[at].pool, hold.takes[at].unit) == (pool, unit);
            let has = found.iter().filter(|at| is(**at)).count();
            let was =
                (0..hold.takes.len()).filter(|at| is(*at) && hold.takes[*at].fate != Fate::Held);
            if repeated {
                found.extend(was);
                continue;
            }
            let was: Vec<usize> = was.take(count - has).collect();
            if has + was.len() < count {
                missing.push(self.unit_name(pool, unit));
            }
            found.extend(was);
        }
        if missing.is_empty() { Ok(found) } else { Err(refused(Refusal::NotHeld, missing)) }
    }
}
