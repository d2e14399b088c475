//! Reads commands about holds and seats.

use super::content::{BLOCK, CHANGE, CHANGE_SEATS, CONFIRM, EXTEND, HOLD, MOVE, RELEASE, SEATS};
use super::field::{Target, at_least_one, bounded, name};
use super::pick::{Wanted, push};
use super::{Command, Late, Order, Step, order_field};
use crate::hall::settings::check_unit_name;
use crate::hall::{Chunk, SeatChange};
use crate::limits::{CHUNK_BYTES, REASON_BYTES};
use crate::names::{check_hold_id, check_subject};
use crate::wire::{Malformed, Value};

/// Reads the command of one of this file's fields.
pub(super) fn read<'a>(
    field: u32,
    value: Value<'a>,
    targets: &[Target<'a>],
) -> Result<Command<'a>, Malformed> {
    match field {
        SEATS => seats(value),
        BLOCK => block(value),
        MOVE => moved(value),
        CHANGE_SEATS => change_seats(value),
        _ => held(field, value, targets),
    }
}

/// Reads a command on one hold.
fn held<'a>(
    command: u32,
    value: Value<'a>,
    targets: &[Target<'a>],
) -> Result<Command<'a>, Malformed> {
    let (mut target, mut hold, mut subject, mut id) = (None, None, None, None);
    let (mut units, mut drop, mut by_us, mut late) = (Vec::new(), Vec::new(), None, Late::Refuse);
    let mut limit = None;
    value.nested()?.fields(|field, value| {
        match field {
            1 => target = usize::try_from(value.number()?).ok().and_then(|n| targets.get(n)),
            2 => hold = Some(hold_id(value)?),
            3 => {
                let text = value.text()?;
                check_subject(text).map_err(|_| value.wrong("a subject outside its bounds"))?;
                subject = Some(text);
            }
            4 if command != EXTEND => push(&mut units, value)?,
            5 if command == CHANGE => push(&mut drop, value)?,
            6 if command != HOLD => id = Some(hold_id(value)?),
            7 if command == EXTEND => {
                by_us = Some(value.signed()?);
                if by_us.is_some_and(|by| by < 1) {
                    return Err(value.wrong("a time that is not ahead"));
                }
            }
            8 if command == CONFIRM && value.flag()? => late = Late::Retake,
            9 if matches!(command, HOLD | CHANGE) => limit = Some(at_least_one(value)?),
            _ => return Err(value.wrong("an unknown field of a command on a hold")),
        }
        Ok(())
    })?;
    let Some((campaign, None)) = target.copied() else {
        return Err(value.wrong("a target that was not given"));
    };
    let (Some(hold), Some(subject)) = (hold, subject) else {
        return Err(value.wrong("a command on a hold without its id or its subject"));
    };
    // What is given back, confirmed or dropped is named: the best of it means nothing.
    let given_back = if matches!(command, RELEASE | CONFIRM) { &units } else { &drop };
    if given_back.iter().any(|pick| matches!(pick.wanted, Wanted::Best(_))) {
        return Err(value.wrong("the best units of a hold"));
    }
    let step = Step { campaign, hold, subject, id };
    match command {
        HOLD if units.is_empty() => Err(value.wrong("a hold of nothing")),
        HOLD => Ok(Command::Hold { campaign, id: hold, subject, picks: units, limit }),
        CHANGE if units.is_empty() && drop.is_empty() => Err(value.wrong("a change of nothing")),
        CHANGE => Ok(Command::Change { step, add: units, drop, limit }),
        EXTEND => Ok(Command::Extend { step, by_us }),
        RELEASE => Ok(Command::Release { step, units }),
        CONFIRM => Ok(Command::Confirm { step, units, late }),
        _ => Err(value.wrong("an unknown command")),
    }
}

fn hold_id<'a>(value: Value<'a>) -> Result<&'a str, Malformed> {
    let id = value.text()?;
    check_hold_id(id).map_err(|_| value.wrong("an id outside its bounds"))?;
    Ok(id)
}

fn seat<'a>(value: Value<'a>) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    check_unit_name(text).map_err(|_| value.wrong("a unit's name outside its bounds"))?;
    Ok(text)
}

fn seats<'a>(value: Value<'a>) -> Result<Command<'a>, Malformed> {
    let (mut campaign, mut pool, mut chunk) = ("", "", None);
    let mut order = Order::default();
    value.nested()?.fields(|field, value| {
        match field {
            1 => campaign = name(value)?,
            2 => pool = name(value)?,
            3 => {
                if value.bytes()?.len() > CHUNK_BYTES {
                    return Err(value.wrong("more bytes of seats than a command may have"));
                }
                chunk = Some(Chunk::decode(value.nested()?)?);
            }
            _ => return order_field(&mut order, field, value),
        }
        Ok(())
    })?;
    match chunk {
        Some(chunk) if !campaign.is_empty() && !pool.is_empty() => {
            Ok(Command::Seats { campaign, pool, chunk, order })
        }
        _ => Err(value.wrong("seats without a campaign or a pool")),
    }
}

fn change_seats<'a>(value: Value<'a>) -> Result<Command<'a>, Malformed> {
    let (mut campaign, mut pool, mut seats) = ("", "", Vec::new());
    let mut order = Order::default();
    value.nested()?.fields(|field, value| {
        match field {
            1 => campaign = name(value)?,
            2 => pool = name(value)?,
            3 => SeatChange::push(&mut seats, value)?,
            _ => return order_field(&mut order, field, value),
        }
        Ok(())
    })?;
    if campaign.is_empty() || pool.is_empty() || seats.is_empty() {
        return Err(value.wrong("changed seats without a campaign, a pool or seats"));
    }
    Ok(Command::ChangeSeats { campaign, pool, seats, order })
}

fn block<'a>(value: Value<'a>) -> Result<Command<'a>, Malformed> {
    let (mut campaign, mut units, mut blocked, mut reason) = ("", Vec::new(), None, "");
    let mut order = Order::default();
    value.nested()?.fields(|field, value| {
        match field {
            1 => campaign = name(value)?,
            2 => push(&mut units, value)?,
            3 => blocked = Some(value.flag()?),
            4 => reason = bounded(value, REASON_BYTES)?,
            _ => return order_field(&mut order, field, value),
        }
        Ok(())
    })?;
    if units.iter().any(|pick| matches!(pick.wanted, Wanted::Best(_))) {
        return Err(value.wrong("the best units to block"));
    }
    match blocked {
        Some(blocked) if !campaign.is_empty() && !units.is_empty() => {
            Ok(Command::Block { campaign, units, blocked, reason, order })
        }
        _ => Err(value.wrong("a block without a campaign or units")),
    }
}

fn moved<'a>(value: Value<'a>) -> Result<Command<'a>, Malformed> {
    let (mut campaign, mut pool, mut from, mut to, mut reason) = ("", "", "", "", "");
    let mut order = Order::default();
    value.nested()?.fields(|field, value| {
        match field {
            1 => campaign = name(value)?,
            2 => pool = name(value)?,
            3 => from = seat(value)?,
            4 => to = seat(value)?,
            5 => reason = bounded(value, REASON_BYTES)?,
            _ => return order_field(&mut order, field, value),
        }
        Ok(())
    })?;
    if [campaign, pool, from, to].contains(&"") {
        return Err(value.wrong("a move without a campaign, a pool or seats"));
    }
    Ok(Command::Move { campaign, pool, from, to, reason, order })
}
