//! Writes and reads commands about holds and seats.

use super::field::{Target, at_least_one, bounded, name};
use super::order::order_field;
use super::pick::{Pick, Wanted, picks_fields, push};
use super::write::{BodyWriter, order_fields};
use super::{Command, Late, Order, Step};
use crate::hall::Chunk;
use crate::hall::settings::check_unit_name;
use crate::limits::{CHUNK_BYTES, REASON_BYTES};
use crate::names::{check_hold_id, check_subject};
use crate::wire::{Malformed, Value, Write};

pub(super) const HOLD: u32 = 14;
pub(super) const CHANGE: u32 = 15;
pub(super) const EXTEND: u32 = 16;
pub(super) const RELEASE: u32 = 17;
pub(super) const CONFIRM: u32 = 18;
pub(super) const SEATS: u32 = 19;
pub(super) const BLOCK: u32 = 20;
pub(super) const MOVE: u32 = 21;

impl BodyWriter {
    pub(super) fn write_holds(&mut self, command: &Command<'_>) {
        match command {
            Command::Hold { campaign, id, subject, picks, limit } => {
                let target = self.target(campaign, None);
                self.bytes.nested(HOLD, |out| {
                    out.number(1, target);
                    out.text(2, id);
                    hold_content(out, subject, picks);
                    limit_field(out, *limit);
                });
            }
            Command::Change { step, add, drop, limit } => self.step(CHANGE, step, |out| {
                change_content(out, add, drop);
                limit_field(out, *limit);
            }),
            Command::Extend { step, by_us } => self.step(EXTEND, step, |out| {
                if let Some(by) = by_us {
                    out.signed(7, *by);
                }
            }),
            Command::Release { step, units } => {
                self.step(RELEASE, step, |out| release_content(out, units));
            }
            Command::Confirm { step, units, late } => {
                self.step(CONFIRM, step, |out| confirm_content(out, units, *late));
            }
            Command::Seats { campaign, pool, chunk, order } => {
                self.bytes.nested(SEATS, |out| seats_fields(out, campaign, pool, chunk, *order));
            }
            Command::Block { campaign, units, blocked, reason, order } => {
                let why = (*blocked, *reason);
                self.bytes.nested(BLOCK, |out| block_fields(out, campaign, units, why, *order));
            }
            Command::Move { campaign, pool, from, to, reason, order } => {
                let (place, seats) = ((*campaign, *pool), (*from, *to));
                self.bytes.nested(MOVE, |out| move_fields(out, place, seats, reason, *order));
            }
            Command::Claim { .. }
            | Command::Cancel { .. }
            | Command::Put { .. }
            | Command::Steer { .. }
            | Command::Tick { .. }
            | Command::Settled { .. } => unreachable!("it is written elsewhere"),
        }
    }

    fn step(&mut self, field: u32, step: &Step<'_>, fill: impl FnOnce(&mut Vec<u8>)) {
        let target = self.target(step.campaign, None);
        self.bytes.nested(field, |out| {
            out.number(1, target);
            out.text(2, step.hold);
            out.text(3, step.subject);
            if let Some(id) = step.id {
                out.text(6, id);
            }
            fill(out);
        });
    }
}

pub(super) fn hold_content(out: &mut Vec<u8>, subject: &str, picks: &[Pick<'_>]) {
    out.text(3, subject);
    picks_fields(out, 4, picks);
}

pub(super) fn change_content(out: &mut Vec<u8>, add: &[Pick<'_>], drop: &[Pick<'_>]) {
    picks_fields(out, 4, add);
    picks_fields(out, 5, drop);
}

fn limit_field(out: &mut Vec<u8>, limit: Option<u32>) {
    if let Some(limit) = limit {
        out.number(9, u64::from(limit));
    }
}

pub(super) fn release_content(out: &mut Vec<u8>, units: &[Pick<'_>]) {
    picks_fields(out, 4, units);
}

pub(super) fn confirm_content(out: &mut Vec<u8>, units: &[Pick<'_>], late: Late) {
    picks_fields(out, 4, units);
    if late == Late::Retake {
        out.number(8, 1);
    }
}

pub(super) fn seats_fields(
    out: &mut Vec<u8>,
    campaign: &str,
    pool: &str,
    chunk: &Chunk<'_>,
    order: Order<'_>,
) {
    out.text(1, campaign);
    out.text(2, pool);
    out.nested(3, |out| chunk.encode(out));
    order_fields(out, order);
}

pub(super) fn block_fields(
    out: &mut Vec<u8>,
    campaign: &str,
    units: &[Pick<'_>],
    (blocked, reason): (bool, &str),
    order: Order<'_>,
) {
    out.text(1, campaign);
    picks_fields(out, 2, units);
    out.number(3, u64::from(blocked));
    if !reason.is_empty() {
        out.text(4, reason);
    }
    order_fields(out, order);
}

pub(super) fn move_fields(
    out: &mut Vec<u8>,
    (campaign, pool): (&str, &str),
    (from, to): (&str, &str),
    reason: &str,
    order: Order<'_>,
) {
    out.text(1, campaign);
    out.text(2, pool);
    out.text(3, from);
    out.text(4, to);
    if !reason.is_empty() {
        out.text(5, reason);
    }
    order_fields(out, order);
}

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
