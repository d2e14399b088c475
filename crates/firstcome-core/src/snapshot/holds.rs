//! The parts of a snapshot about holds and seats, written and read.

use super::{BEYOND, Restore, service_time, waiting};
use crate::campaign::{Campaign, Moved, Refunded};
use crate::grants::GrantRun;
use crate::hall::Standing;
use crate::hold::{Allocation, Fate, Hold, KnownStep, UnitId};
use crate::holds::Holder;
use crate::limits::{HOLD_STEPS, HOLD_UNITS};
use crate::names::{check_hold_id, check_subject};
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Value, Write, zigzag};

/// What a confirmed unit's rank is stored with, so that other fates have the numbers below.
const FATES: u64 = 3;

impl Fate {
    fn code(self) -> u64 {
        match self {
            Self::Held => 0,
            Self::Expired => 1,
            Self::Refunded => 2,
            Self::Released => 3,
            Self::Confirmed(rank) => FATES + u64::from(rank),
        }
    }

    fn of(code: u64) -> Option<Self> {
        match code {
            0 => Some(Self::Held),
            1 => Some(Self::Expired),
            2 => Some(Self::Refunded),
            3 => Some(Self::Released),
            rank => u32::try_from(rank - FATES).ok().map(Self::Confirmed),
        }
    }
}

pub(super) fn grant_rows(out: &mut Vec<u8>, run: &GrantRun) {
    for (rank, grant) in run.iter() {
        out.varint(u64::from(rank));
        out.varint(grant.unit.code());
        out.varint(grant.hold.len() as u64);
        out.extend_from_slice(grant.hold.as_bytes());
    }
}

pub(super) fn holder_fields(out: &mut Vec<u8>, campaign: u32, number: u32, holder: &Holder) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(number));
    out.text(3, &holder.subject);
    out.nested(4, |out| {
        let mut before = 0;
        for began in &holder.recent {
            out.varint(zigzag(began - before));
            before = *began;
        }
    });
}

pub(super) fn hold_fields(out: &mut Vec<u8>, campaign: u32, hold: &Hold) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(hold.number));
    out.text(3, &hold.id);
    out.text(4, &hold.subject);
    out.number(5, hold.content);
    out.time(6, hold.at);
    out.signed(7, hold.started);
    out.signed(8, hold.deadline);
    if let Some(ended) = hold.ended {
        out.signed(9, ended);
    }
    for KnownStep { id, content, deadline } in &hold.steps {
        out.nested(10, |out| {
            out.text(1, id);
            out.number(2, *content);
            if let Some(deadline) = deadline {
                out.signed(3, *deadline);
            }
        });
    }
    out.nested(11, |out| {
        for take in &hold.takes {
            out.varint(u64::from(take.pool));
            out.varint(take.unit.code());
            out.varint(take.fate.code());
        }
    });
    if hold.retaken {
        out.number(12, 1);
    }
    if let Some(at) = hold.refunded_at {
        out.time(13, at);
    }
    if let Some(limit) = hold.limit {
        out.number(14, u64::from(limit));
    }
    if let Some(offer) = hold.offer {
        out.nested(39, |out| waiting::offer_fields(out, offer));
    }
}

pub(super) fn refund_fields(out: &mut Vec<u8>, campaign: u32, refund: &Refunded) {
    out.number(1, u64::from(campaign));
    out.number(2, refund.unit.code());
    out.text(3, &refund.subject);
    out.text(4, &refund.hold);
    out.time(5, refund.at);
}

pub(super) fn moved_fields(out: &mut Vec<u8>, campaign: u32, moved: &Moved) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(moved.pool));
    out.number(3, moved.from.code());
    out.number(4, moved.to.code());
    out.number(5, u64::from(moved.rank));
    out.text(6, &moved.subject);
    out.text(7, &moved.hold);
    out.time(8, moved.at);
    out.text(9, &moved.reason);
    out.text(10, &moved.who);
}

fn unit_id(value: Value<'_>) -> Result<UnitId, Malformed> {
    UnitId::of(value.number()?).ok_or_else(|| value.wrong("a unit that is none"))
}

fn subject<'a>(value: Value<'a>) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    check_subject(text).map_err(|_| value.wrong("a subject outside its bounds"))?;
    Ok(text)
}

fn id<'a>(value: Value<'a>) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    check_hold_id(text).map_err(|_| value.wrong("an id outside its bounds"))?;
    Ok(text)
}

impl Restore {
    fn of(&mut self, campaign: u32, value: Value<'_>) -> Result<&mut Campaign, Malformed> {
        let campaign = self.state.campaigns.get_mut(&campaign);
        campaign.ok_or_else(|| value.wrong("a part of an unknown campaign"))
    }

    pub(super) fn hall(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut pool, mut part) = (0, 0, None);
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => pool = value.number32()?,
                3 => part = Some(value.nested()?),
                _ => return Err(value.wrong("an unknown field of a hall's part")),
            }
            Ok(())
        })?;
        let (piece, part) = (self.piece, part.ok_or_else(|| value.wrong("no part of a hall"))?);
        let pool = self.pool(campaign, pool).filter(|pool| pool.hall().is_some());
        let hall = pool.ok_or_else(|| value.wrong("a hall of a pool that has none"))?.hall_mut();
        part.fields(|field, value| hall.restore(field, value, piece))
    }

    pub(super) fn grants(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut pool, mut rows) = (0, 0, Reader::new(&[]));
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => pool = value.number32()?,
                3 => rows = value.nested()?,
                _ => return Err(value.wrong("an unknown field of grants")),
            }
            Ok(())
        })?;
        let pool =
            self.pool(campaign, pool).ok_or_else(|| value.wrong("grants of an unknown pool"))?;
        while !rows.is_empty() {
            let (rank, unit) = (rows.varint()?, UnitId::of(rows.varint()?));
            let hold =
                std::str::from_utf8(rows.take()?).ok().filter(|id| check_hold_id(id).is_ok());
            let rank = u32::try_from(rank).ok().filter(|rank| *rank > pool.grants.last_rank());
            let (Some(rank), Some(unit), Some(hold)) = (rank, unit, hold) else {
                return Err(rows.wrong("a grant outside its bounds"));
            };
            if pool.claim(rank).is_none() || !pool.has_unit(unit) {
                return Err(rows.wrong("a grant without its claim or its unit"));
            }
            pool.grants.push(rank, unit, hold);
        }
        Ok(())
    }

    pub(super) fn holder(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut number, mut whose, mut recent) = (0, 0, "", Reader::new(&[]));
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => number = value.number32()?,
                3 => whose = subject(value)?,
                4 => recent = value.nested()?,
                _ => return Err(value.wrong("an unknown field of a holder")),
            }
            Ok(())
        })?;
        let holds = &mut self.of(campaign, value)?.holds;
        let mut holder = Holder::new(whose);
        let mut before = 0_i64;
        while !recent.is_empty() {
            before = before.wrapping_add(recent.zigzag()?);
            if before.unsigned_abs() >= BEYOND {
                return Err(recent.wrong("a service time that cannot have passed"));
            }
            holder.recent.push_back(before);
        }
        if whose.is_empty()
            || number > holds.last_holder
            || holds.has_holder(number)
            || holds.holder(whose).is_some()
        {
            return Err(value.wrong("a holder that is there already, or of no subject"));
        }
        holds.put_holder(number, holder);
        Ok(())
    }

    pub(super) fn hold(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut rows) = (0, Reader::new(&[]));
        let mut hold = Hold {
            number: 0,
            id: "".into(),
            subject: "".into(),
            content: 0,
            at: Timestamp::default(),
            started: 0,
            deadline: 0,
            ended: None,
            steps: Vec::new(),
            takes: Vec::new(),
            retaken: false,
            holder: 0,
            refunded_at: None,
            limit: None,
            offer: None,
        };
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => hold.number = value.number32()?,
                3 => hold.id = id(value)?.into(),
                4 => hold.subject = subject(value)?.into(),
                5 => hold.content = value.number()?,
                6 => hold.at = value.time()?,
                7 => hold.started = service_time(value)?,
                8 => hold.deadline = service_time(value)?,
                9 => hold.ended = Some(service_time(value)?),
                10 => hold.steps.push(step(value)?),
                11 => rows = value.nested()?,
                12 => hold.retaken = value.flag()?,
                13 => hold.refunded_at = Some(value.time()?),
                14 => hold.limit = Some(value.number32()?),
                39 => hold.offer = Some(waiting::read_offer(value)?),
                _ => return Err(value.wrong("an unknown field of a hold")),
            }
            Ok(())
        })?;
        let campaign = self.of(campaign, value)?;
        while !rows.is_empty() {
            let (pool, unit) = (rows.varint()?, UnitId::of(rows.varint()?));
            let (pool, fate) = (u16::try_from(pool).ok(), Fate::of(rows.varint()?));
            let (Some(pool), Some(unit), Some(fate)) = (pool, unit, fate) else {
                return Err(rows.wrong("a unit of a hold outside its bounds"));
            };
            let take = Allocation { pool, unit, fate };
            if !stands(campaign, hold.number, &take) {
                return Err(rows.wrong("a unit of a hold that does not stand so"));
            }
            hold.takes.push(take);
        }
        let refunded = hold.takes.iter().any(|take| take.fate == Fate::Refunded);
        let holds = &mut campaign.holds;
        let fits = hold.number > 0
            && hold.number <= holds.last
            && holds.get(hold.number).is_none()
            && !hold.id.is_empty()
            && holds.find(&hold.id).is_none()
            && holds.holder(&hold.subject).is_some()
            && hold.is_live() == (hold.held() > 0)
            && refunded == hold.refunded_at.is_some()
            && hold.takes.len() <= HOLD_UNITS
            && hold.steps.len() <= HOLD_STEPS;
        if !fits {
            return Err(value.wrong("a hold that does not fit its campaign"));
        }
        holds.put(hold);
        Ok(())
    }

    pub(super) fn refund(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut unit, mut whose, mut hold) = (0, None, "", "");
        let mut at = Timestamp::default();
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => unit = Some(unit_id(value)?),
                3 => whose = subject(value)?,
                4 => hold = id(value)?,
                5 => at = value.time()?,
                _ => return Err(value.wrong("an unknown field of a refund")),
            }
            Ok(())
        })?;
        let unit = unit.ok_or_else(|| value.wrong("a refund of no unit"))?;
        let campaign = self.of(campaign, value)?;
        let (subject, hold) = (whose.into(), hold.into());
        campaign.refunds.push(Refunded { unit, subject, hold, at });
        Ok(())
    }

    pub(super) fn moved(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut pool, mut from, mut to, mut rank) = (0, 0, None, None, 0);
        let (mut whose, mut hold, mut at) = ("", "", Timestamp::default());
        let (mut reason, mut who) = ("", "");
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => pool = value.number32()?,
                3 => from = Some(unit_id(value)?),
                4 => to = Some(unit_id(value)?),
                5 => rank = value.number32()?,
                6 => whose = subject(value)?,
                7 => hold = id(value)?,
                8 => at = value.time()?,
                9 => reason = value.text()?,
                10 => who = value.text()?,
                _ => return Err(value.wrong("an unknown field of a move")),
            }
            Ok(())
        })?;
        let campaign = self.of(campaign, value)?;
        let (Ok(index), Some(from), Some(to)) = (u16::try_from(pool), from, to) else {
            return Err(value.wrong("a move of no unit"));
        };
        let Some(pool) = campaign.pools.get_mut(usize::from(index)).filter(|pool| {
            let granted = rank == 0 || pool.grants.of(rank).is_some();
            granted && pool.has_unit(from) && pool.has_unit(to)
        }) else {
            return Err(value.wrong("a move of an unknown unit or claim"));
        };
        if rank > 0 {
            pool.grants.moved.insert(rank, to);
        }
        campaign.moves.push(Moved {
            pool: index,
            from,
            to,
            rank,
            subject: whose.into(),
            hold: hold.into(),
            at,
            reason: reason.into(),
            who: who.into(),
        });
        Ok(())
    }
}

fn step(value: Value<'_>) -> Result<KnownStep, Malformed> {
    let (mut step, mut content, mut deadline) = ("", 0, None);
    value.nested()?.fields(|field, value| {
        match field {
            1 => step = id(value)?,
            2 => content = value.number()?,
            3 => deadline = Some(service_time(value)?),
            _ => return Err(value.wrong("an unknown field of a step")),
        }
        Ok(())
    })?;
    Ok(KnownStep { id: step.into(), content, deadline })
}

/// Says whether a unit stands as a hold of this number has it.
fn stands(campaign: &Campaign, number: u32, take: &Allocation) -> bool {
    let Some(pool) = campaign.pools.get(usize::from(take.pool)) else { return false };
    let standing = match (take.unit, pool.hall()) {
        _ if !pool.has_unit(take.unit) => return false,
        (UnitId::Seat(seat), Some(hall)) => Some(hall.standing(seat)),
        _ => None,
    };
    match take.fate {
        Fate::Held => standing.is_none_or(|standing| standing == Standing::Held(number)),
        Fate::Confirmed(rank) => pool.claim(rank).is_some(),
        Fate::Expired | Fate::Refunded | Fate::Released => true,
    }
}
