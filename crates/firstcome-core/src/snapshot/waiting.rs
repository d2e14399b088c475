//! Waitlists in a snapshot, written and read.

use crate::command::{Wish, wish_field, wish_fields};
use crate::hold::Offer;
use crate::names::check_subject;
use crate::waitlist::{Kind, Neighbours, Unserved, Waitlist};
use crate::wire::{Malformed, Reader, Value, Write, zigzag};

/// Writes a kind of wish on the list of a pool.
///
/// Each has a part of its own: a hall has as many kinds for one unit as it has names, and a part has to fit into a piece.
pub(super) fn kind_fields(
    out: &mut Vec<u8>,
    (campaign, pool): (u32, u32),
    (slot, kind, tried): (u32, &Kind, bool),
) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(pool));
    out.nested(3, |out| {
        out.number(1, u64::from(slot));
        if kind.passed > 0 {
            out.number(2, u64::from(kind.passed));
        }
        if tried {
            out.number(3, 1);
        } else if !kind.everywhere {
            out.number(9, 1);
        }
        wish_fields(out, &kind.wish.get());
    });
}

/// Reads a kind of wish.
pub(super) fn read_kind(fields: Reader<'_>, list: &mut Waitlist) -> Result<(), Malformed> {
    let wrong = fields.wrong("a kind of wish that is there already, or beyond their number");
    let (mut slot, mut passed, mut wish) = (None, 0, Wish::units(1));
    let (mut tried, mut everywhere) = (false, true);
    fields.fields(|field, value| {
        match field {
            1 => slot = Some(value.number32()?),
            2 => passed = value.number32()?,
            3 => tried = value.flag()?,
            9 => everywhere = !value.flag()?,
            _ => return wish_field(&mut wish, field, value),
        }
        Ok(())
    })?;
    let new = list.kind_of(&wish).is_none() && list.has_room_for(&wish);
    let Some(slot) = slot.filter(|slot| new && list.kind(*slot).is_none()) else {
        return Err(wrong);
    };
    list.put_kind(slot, &wish, passed);
    list.set_everywhere(slot, everywhere);
    if tried {
        list.set_tried(slot);
    }
    Ok(())
}

/// Writes those whose tickets are neighbours.
pub(super) fn waiter_fields(out: &mut Vec<u8>, (campaign, pool): (u32, u32), part: &Neighbours) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(pool));
    out.nested(3, |out| {
        let (mut ticket, mut at) = (0, 0);
        for waiter in part {
            out.varint(u64::from(waiter.ticket - ticket));
            out.varint(zigzag(waiter.at.as_micros().wrapping_sub(at)));
            (ticket, at) = (waiter.ticket, waiter.at.as_micros());
            out.varint(u64::from(waiter.kind));
            out.varint(u64::from(waiter.missed));
            out.varint(u64::from(waiter.limit));
            out.varint(waiter.subject.len() as u64);
            out.extend_from_slice(waiter.subject.as_bytes());
        }
    });
}

/// Writes the seats that came free and are remembered.
pub(super) fn freed_fields(out: &mut Vec<u8>, (campaign, pool): (u32, u32), list: &Waitlist) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(pool));
    out.nested(3, |out| {
        let mut next = 0;
        for seat in list.freed() {
            out.varint(u64::from(seat - next));
            next = seat + 1;
        }
    });
}

/// Writes those who left without a unit, from a number on.
pub(super) fn unserved_fields(out: &mut Vec<u8>, campaign: u32, first: u32, part: &[Unserved]) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(first));
    out.nested(3, |out| {
        for gone in part {
            out.varint(u64::from(gone.pool));
            out.varint(u64::from(gone.quantity));
            out.varint(zigzag(gone.at.as_micros()));
            out.varint(gone.why.code());
            out.varint(gone.subject.len() as u64);
            out.extend_from_slice(gone.subject.as_bytes());
        }
    });
}

pub(super) fn offer_fields(out: &mut Vec<u8>, offer: Offer) {
    out.number(1, u64::from(offer.pool));
    out.number(2, u64::from(offer.kind));
    out.number(3, u64::from(offer.missed));
    if offer.left {
        out.number(4, 1);
    }
}

pub(super) fn read_offer(value: Value<'_>) -> Result<Offer, Malformed> {
    let mut read = Offer { pool: 0, kind: 0, missed: 0, left: false };
    value.nested()?.fields(|field, value| {
        match field {
            1 => read.pool = small(value.number()?).ok_or_else(|| value.wrong("no pool"))?,
            2 => read.kind = small(value.number()?).ok_or_else(|| value.wrong("no kind"))?,
            3 => read.missed = small(value.number()?).ok_or_else(|| value.wrong("too many"))?,
            4 => read.left = value.flag()?,
            _ => return Err(value.wrong("an unknown field of an offer")),
        }
        Ok(())
    })?;
    Ok(read)
}

pub(super) fn small<N: TryFrom<u64>>(number: u64) -> Option<N> {
    N::try_from(number).ok()
}

pub(super) fn subject<'a>(rows: &mut Reader<'a>) -> Result<&'a str, Malformed> {
    let text = std::str::from_utf8(rows.take()?).ok();
    let text = text.filter(|text| check_subject(text).is_ok());
    text.ok_or_else(|| rows.wrong("a subject outside its bounds"))
}
