//! The parts of a snapshot that have the people of waitlists, read.

use super::restore::Restore;
use super::waiting::{read_kind, small, subject};
use crate::hall::Hall;
use crate::limits::OFFERS_MISSED;
use crate::pool::Pool;
use crate::time::Timestamp;
use crate::waitlist::{Unserved, Waiter, Why};
use crate::wire::{Malformed, Reader, Value};

impl Restore {
    /// Reads the head of a part: the campaign's number, another one, and rows.
    fn rows<'a>(value: Value<'a>) -> Result<(u32, u32, Reader<'a>), Malformed> {
        let (mut campaign, mut second, mut rows) = (0, 0, None);
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => second = value.number32()?,
                3 => rows = Some(value.nested()?),
                _ => return Err(value.wrong("an unknown field of a part of a waitlist")),
            }
            Ok(())
        })?;
        let rows = rows.ok_or_else(|| value.wrong("a part of a waitlist without rows"))?;
        Ok((campaign, second, rows))
    }

    pub(super) fn wish(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (campaign, pool, kind) = Self::rows(value)?;
        let list = self.pool(campaign, pool).and_then(Pool::list_of);
        read_kind(kind, list.ok_or_else(|| value.wrong("a wish for an unknown pool"))?)
    }

    pub(super) fn waiters(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (campaign, pool, mut rows) = Self::rows(value)?;
        let list = self.pool(campaign, pool).and_then(Pool::list_of);
        let list = list.ok_or_else(|| value.wrong("somebody waiting for an unknown pool"))?;
        let (mut ticket, mut at) = (0_u32, 0_i64);
        while !rows.is_empty() {
            let step = small(rows.varint()?).filter(|step| *step > 0);
            let next = step.and_then(|step: u32| ticket.checked_add(step));
            at = at.wrapping_add(rows.zigzag()?);
            let (kind, missed) = (small(rows.varint()?), small(rows.varint()?));
            let (limit, subject) = (small(rows.varint()?), subject(&mut rows)?);
            let (Some(next), Some(kind), Some(missed), Some(limit)) = (next, kind, missed, limit)
            else {
                return Err(rows.wrong("somebody waiting with numbers outside their bounds"));
            };
            ticket = next;
            let fits = ticket <= list.last
                && list.last_waiting().is_none_or(|last| last < ticket)
                && list.kind(kind).is_some()
                && list.find(subject).is_none()
                && missed < OFFERS_MISSED;
            if !fits {
                return Err(rows.wrong("somebody waiting who does not fit the waitlist"));
            }
            let at = Timestamp::from_micros(at);
            list.put(Waiter { ticket, subject: subject.into(), at, limit, kind, missed });
        }
        Ok(())
    }

    pub(super) fn freed(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (campaign, pool, mut rows) = Self::rows(value)?;
        let pool = self.pool(campaign, pool);
        let pool = pool.ok_or_else(|| value.wrong("seats of an unknown pool"))?;
        let seats = pool.hall().map_or(0, Hall::seats);
        let mut next = 0_u32;
        while !rows.is_empty() {
            let seat = small(rows.varint()?).and_then(|step: u32| next.checked_add(step));
            let seat = seat.filter(|seat| *seat < seats);
            let fits = seat
                .is_some_and(|seat| pool.list_of().is_some_and(|list| list.restore_freed(seat)));
            next = seat.map_or(0, |seat| seat + 1);
            if !fits {
                return Err(rows.wrong("a seat that is remembered for nobody"));
            }
        }
        Ok(())
    }

    pub(super) fn unserved(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (campaign, first, mut rows) = Self::rows(value)?;
        let campaign = self.state.campaigns.get_mut(&campaign);
        let campaign = campaign.ok_or_else(|| value.wrong("a part of an unknown campaign"))?;
        if campaign.unserved.len().checked_add(1) != Some(first) {
            return Err(value.wrong("unserved people that do not follow those before them"));
        }
        while !rows.is_empty() {
            let (pool, quantity) = (small(rows.varint()?), small(rows.varint()?));
            let at = Timestamp::from_micros(rows.zigzag()?);
            let (why, subject) = (Why::of(rows.varint()?), subject(&mut rows)?.into());
            let pool = pool.filter(|pool: &u16| usize::from(*pool) < campaign.pools.len());
            let (Some(pool), Some(quantity), Some(why)) = (pool, quantity, why) else {
                return Err(rows.wrong("somebody unserved with numbers outside their bounds"));
            };
            campaign.unserved.push(Unserved { pool, subject, quantity, at, why });
        }
        Ok(())
    }
}
