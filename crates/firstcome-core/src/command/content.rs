//! The fields of a body and of each command in it, and writing a command.

use super::pick::{Pick, picks_fields};
use super::waiting::{JOIN, LEAVE, join_content};
use super::{Command, Expect, Late, Mark, Order, Steer, Step};
use crate::hall::{Chunk, SeatChange};
use crate::settings::Settings;
use crate::wire::Write;
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// Bytes of the checksum that ends a body.
pub(super) const CHECKSUM: usize = 8;

pub(super) const LEVEL_FIELD: u32 = 1;
pub(super) const NODE: u32 = 2;
pub(super) const NUMBER: u32 = 3;
pub(super) const DURABLE: u32 = 4;
pub(super) const TARGET: u32 = 5;
pub(super) const AGAIN_OF: u32 = 6;
pub(super) const CLAIM: u32 = 8;
pub(super) const CANCEL: u32 = 9;
pub(super) const PUT: u32 = 10;
pub(super) const STEER: u32 = 11;
pub(super) const TICK: u32 = 12;
pub(super) const SETTLED: u32 = 13;
pub(super) const HOLD: u32 = 14;
pub(super) const CHANGE: u32 = 15;
pub(super) const EXTEND: u32 = 16;
pub(super) const RELEASE: u32 = 17;
pub(super) const CONFIRM: u32 = 18;
pub(super) const SEATS: u32 = 19;
pub(super) const BLOCK: u32 = 20;
pub(super) const MOVE: u32 = 21;
pub(super) const CLAIM_WITHIN: u32 = 22;
pub(super) const RAISE: u32 = 23;
pub(super) const BAR: u32 = 24;
pub(super) const UNBAR: u32 = 25;
pub(super) const CHANGE_SEATS: u32 = 26;

/// Returns the campaign and the pool that a body names for a command, if it does.
pub(super) fn target_of<'a>(command: &Command<'a>) -> Option<(&'a str, Option<&'a str>)> {
    match command {
        Command::Claim { campaign, pool, .. } => Some((campaign, *pool)),
        Command::Cancel { campaign, pool, .. }
        | Command::Join { campaign, pool, .. }
        | Command::Leave { campaign, pool, .. } => Some((campaign, *pool)),
        Command::Hold { campaign, .. } => Some((campaign, None)),
        Command::Change { step, .. }
        | Command::Extend { step, .. }
        | Command::Release { step, .. }
        | Command::Confirm { step, .. } => Some((step.campaign, None)),
        Command::Code(code) => code.step().map(|step| (step.campaign, step.pool)),
        Command::Put { .. }
        | Command::Steer { .. }
        | Command::Seats { .. }
        | Command::Block { .. }
        | Command::Move { .. }
        | Command::ChangeSeats { .. }
        | Command::Bar { .. }
        | Command::Unbar { .. }
        | Command::Raise { .. }
        | Command::Tick { .. }
        | Command::Settled { .. } => None,
    }
}

/// The number of the target that every command says until a body gives it another.
const FIRST_TARGET: u64 = 0;

/// Writes the content of the field of a command, for a body whose first target is the command's; gives the field's
/// number.
pub(super) fn content(command: &Command<'_>, out: &mut Vec<u8>) -> u32 {
    match command {
        Command::Claim { subject, limit, tag, .. } if limit.is_some() || tag.is_some() => {
            out.number(1, FIRST_TARGET);
            out.text(2, subject);
            if let Some(limit) = limit {
                out.number(3, u64::from(*limit));
            }
            if let Some(tag) = tag {
                out.number(4, *tag);
            }
            CLAIM_WITHIN
        }
        Command::Claim { subject, .. } => {
            out.varint(FIRST_TARGET);
            out.extend_from_slice(subject.as_bytes());
            CLAIM
        }
        Command::Cancel { subject, rank, by, reason, who, .. } => {
            out.number(1, FIRST_TARGET);
            out.text(2, subject);
            out.number(3, u64::from(*rank));
            out.number(4, u64::from(by.code()));
            if !reason.is_empty() {
                out.text(5, reason);
            }
            out.text(6, who);
            CANCEL
        }
        Command::Put { campaign, settings, expect, order } => {
            put_fields(out, campaign, settings, *expect, *order);
            PUT
        }
        Command::Steer { campaign, steer, order } => {
            steer_fields(out, campaign, *steer, *order);
            STEER
        }
        Command::Hold { id, subject, picks, limit, .. } => {
            out.number(1, FIRST_TARGET);
            out.text(2, id);
            hold_content(out, subject, picks);
            limit_field(out, *limit);
            HOLD
        }
        Command::Change { step, add, drop, limit } => {
            step_fields(out, step);
            change_content(out, add, drop);
            limit_field(out, *limit);
            CHANGE
        }
        Command::Extend { step, by_us } => {
            step_fields(out, step);
            extend_content(out, *by_us);
            EXTEND
        }
        Command::Release { step, units } => {
            step_fields(out, step);
            release_content(out, units);
            RELEASE
        }
        Command::Confirm { step, units, late } => {
            step_fields(out, step);
            confirm_content(out, units, *late);
            CONFIRM
        }
        Command::Seats { campaign, pool, chunk, order } => {
            seats_fields(out, campaign, pool, chunk, *order);
            SEATS
        }
        Command::Block { campaign, units, blocked, reason, order } => {
            block_fields(out, campaign, units, (*blocked, *reason), *order);
            BLOCK
        }
        Command::Move { campaign, pool, from, to, reason, order } => {
            move_fields(out, (*campaign, *pool), (*from, *to), reason, *order);
            MOVE
        }
        Command::ChangeSeats { campaign, pool, seats, order } => {
            change_seats_fields(out, (*campaign, *pool), seats, *order);
            CHANGE_SEATS
        }
        Command::Bar { campaign, subject, reason, order } => {
            bar_fields(out, (*campaign, *subject), reason, *order);
            BAR
        }
        Command::Unbar { campaign, subject, order } => {
            bar_fields(out, (*campaign, *subject), "", *order);
            UNBAR
        }
        Command::Join { subject, wish, limit, .. } => {
            out.number(1, FIRST_TARGET);
            if let Some(limit) = limit {
                out.number(3, u64::from(*limit));
            }
            join_content(out, subject, wish);
            JOIN
        }
        Command::Leave { subject, .. } => {
            out.number(1, FIRST_TARGET);
            out.text(2, subject);
            LEAVE
        }
        Command::Code(code) => {
            match (code.target(), code.order()) {
                ((campaign, Some(pool)), Some(order)) => {
                    pool_fields(out, campaign, pool);
                    code.encode(out);
                    order_fields(out, order);
                }
                _ => {
                    out.number(1, FIRST_TARGET);
                    code.encode(out);
                }
            }
            code.field()
        }
        Command::Raise { level, who } => {
            out.number(1, u64::from(*level));
            order_fields(out, Order { id: None, who });
            RAISE
        }
        Command::Tick { mark } => {
            mark_fields(out, *mark);
            TICK
        }
        Command::Settled { through, term, mark } => {
            mark_fields(out, *mark);
            out.number(3, *through);
            out.number(4, *term);
            SETTLED
        }
    }
}

fn pool_fields(out: &mut Vec<u8>, campaign: &str, pool: &str) {
    out.nested(1, |out| {
        out.text(1, campaign);
        out.text(2, pool);
    });
}

fn step_fields(out: &mut Vec<u8>, step: &Step<'_>) {
    out.number(1, FIRST_TARGET);
    out.text(2, step.hold);
    out.text(3, step.subject);
    if let Some(id) = step.id {
        out.text(6, id);
    }
}

fn put_fields(
    out: &mut Vec<u8>,
    name: &str,
    settings: &Settings,
    expect: Expect,
    order: Order<'_>,
) {
    out.text(1, name);
    out.nested(2, |out| settings.encode(out));
    match expect {
        Expect::Anything => {}
        Expect::Absent => out.number(3, 1),
        Expect::Version(version) => out.number(4, u64::from(version)),
    }
    order_fields(out, order);
}

fn steer_fields(out: &mut Vec<u8>, campaign: &str, steer: Steer, order: Order<'_>) {
    out.text(1, campaign);
    let code = match steer {
        Steer::Pause => 1,
        Steer::Resume => 2,
        Steer::Close => 3,
        Steer::Archive { drop_unsettled: false } => 4,
        Steer::Archive { drop_unsettled: true } => 5,
        Steer::Delete => 6,
    };
    out.number(2, code);
    order_fields(out, order);
}

fn order_fields(out: &mut Vec<u8>, order: Order<'_>) {
    if let Some(id) = order.id {
        out.text(6, id);
    }
    if !order.who.is_empty() {
        out.text(7, order.who);
    }
}

fn mark_fields(out: &mut Vec<u8>, mark: Mark) {
    out.number(1, mark.position);
    out.number(2, mark.digest);
}

fn hold_content(out: &mut Vec<u8>, subject: &str, picks: &[Pick<'_>]) {
    out.text(3, subject);
    picks_fields(out, 4, picks);
}

fn change_content(out: &mut Vec<u8>, add: &[Pick<'_>], drop: &[Pick<'_>]) {
    picks_fields(out, 4, add);
    picks_fields(out, 5, drop);
}

fn limit_field(out: &mut Vec<u8>, limit: Option<u32>) {
    if let Some(limit) = limit {
        out.number(9, u64::from(limit));
    }
}

fn extend_content(out: &mut Vec<u8>, by_us: Option<i64>) {
    if let Some(by) = by_us {
        out.signed(7, by);
    }
}

fn release_content(out: &mut Vec<u8>, units: &[Pick<'_>]) {
    picks_fields(out, 4, units);
}

fn confirm_content(out: &mut Vec<u8>, units: &[Pick<'_>], late: Late) {
    picks_fields(out, 4, units);
    if late == Late::Retake {
        out.number(8, 1);
    }
}

fn seats_fields(
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

fn block_fields(
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

fn move_fields(
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

fn change_seats_fields(
    out: &mut Vec<u8>,
    (campaign, pool): (&str, &str),
    seats: &[SeatChange<'_>],
    order: Order<'_>,
) {
    out.text(1, campaign);
    out.text(2, pool);
    for seat in seats {
        out.nested(3, |out| seat.encode(out));
    }
    order_fields(out, order);
}

fn bar_fields(
    out: &mut Vec<u8>,
    (campaign, subject): (&str, &str),
    reason: &str,
    order: Order<'_>,
) {
    out.text(1, campaign);
    out.text(2, subject);
    if !reason.is_empty() {
        out.text(3, reason);
    }
    order_fields(out, order);
}

impl Command<'_> {
    /// Returns a number that two commands with ids share if they ask the same, whatever their ids.
    pub fn content(&self) -> u64 {
        let mut bytes = Vec::new();
        let field = match self {
            Self::Put { campaign, settings, expect, .. } => {
                put_fields(&mut bytes, campaign, settings, *expect, Order::default());
                PUT
            }
            Self::Steer { campaign, steer, .. } => {
                steer_fields(&mut bytes, campaign, *steer, Order::default());
                STEER
            }
            Self::Hold { subject, picks, .. } => {
                hold_content(&mut bytes, subject, picks);
                HOLD
            }
            Self::Change { add, drop, .. } => {
                change_content(&mut bytes, add, drop);
                CHANGE
            }
            Self::Extend { by_us, .. } => {
                extend_content(&mut bytes, *by_us);
                EXTEND
            }
            Self::Release { units, .. } => {
                release_content(&mut bytes, units);
                RELEASE
            }
            Self::Confirm { units, late, .. } => {
                confirm_content(&mut bytes, units, *late);
                CONFIRM
            }
            Self::Seats { campaign, pool, chunk, .. } => {
                seats_fields(&mut bytes, campaign, pool, chunk, Order::default());
                SEATS
            }
            Self::Block { campaign, units, blocked, reason, .. } => {
                let why = (*blocked, *reason);
                block_fields(&mut bytes, campaign, units, why, Order::default());
                BLOCK
            }
            Self::Move { campaign, pool, from, to, reason, .. } => {
                move_fields(&mut bytes, (campaign, pool), (from, to), reason, Order::default());
                MOVE
            }
            Self::ChangeSeats { campaign, pool, seats, .. } => {
                change_seats_fields(&mut bytes, (campaign, pool), seats, Order::default());
                CHANGE_SEATS
            }
            Self::Bar { campaign, subject, reason, .. } => {
                bar_fields(&mut bytes, (campaign, subject), reason, Order::default());
                BAR
            }
            Self::Unbar { campaign, subject, .. } => {
                bar_fields(&mut bytes, (campaign, subject), "", Order::default());
                UNBAR
            }
            Self::Join { subject, wish, .. } => {
                join_content(&mut bytes, subject, wish);
                JOIN
            }
            Self::Leave { subject, .. } => {
                bytes.text(2, subject);
                LEAVE
            }
            Self::Code(code) => {
                if let ((campaign, Some(pool)), Some(_)) = (code.target(), code.order()) {
                    pool_fields(&mut bytes, campaign, pool);
                }
                code.encode(&mut bytes);
                code.field()
            }
            Self::Claim { .. }
            | Self::Cancel { .. }
            | Self::Raise { .. }
            | Self::Tick { .. }
            | Self::Settled { .. } => return 0,
        };
        xxh3_64_with_seed(&bytes, u64::from(field))
    }
}
