//! Writes outcomes for the digest, and reads those in snapshots.

use super::{Clamped, CodeOutcome, Holding, Move, Outcome, UnitName};
use crate::codes::IssuedCode;
use crate::time::Timestamp;
use crate::wire::{Malformed, Reader, Write};

impl Holding {
    fn encode(&self, code: u32, out: &mut Vec<u8>) {
        out.number(code, self.units.len() as u64);
        out.time(16, self.expires_at);
        out.text(18, &self.hold);
        self.units.iter().for_each(|unit| unit_fields(out, unit, 0));
    }
}

fn unit_fields(out: &mut Vec<u8>, unit: &UnitName, rank: u32) {
    out.nested(19, |out| {
        out.text(1, &unit.pool);
        if let Some(unit) = &unit.unit {
            out.text(2, unit);
        }
        if rank > 0 {
            out.number(3, u64::from(rank));
        }
    });
}

/// Writes of which pool a claim is, and what its code is made from.
fn of_pool(out: &mut Vec<u8>, pool: u16, code: Option<IssuedCode>) {
    out.number(100, u64::from(pool));
    match code {
        None => {}
        Some(IssuedCode::Generated { unit, tag }) => {
            out.number(101, u64::from(unit));
            out.number(102, tag);
        }
        Some(IssuedCode::Imported { unit }) => out.number(101, u64::from(unit)),
    }
}

impl Outcome {
    /// Writes the outcome for the digest and for snapshots: its code, then what it carries.
    pub fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Won { rank, at, pool, code } => {
                out.number(1, u64::from(*rank));
                out.time(16, *at);
                of_pool(out, *pool, *code);
            }
            Self::AlreadyWon { rank, at, pool, code } => {
                out.number(2, u64::from(*rank));
                out.time(16, *at);
                of_pool(out, *pool, *code);
            }
            Self::Cancelled { by, at } => {
                out.number(3, u64::from(by.code()));
                out.time(16, *at);
            }
            Self::Created { version } => out.number(4, u64::from(*version)),
            Self::Changed { version, clamped } => {
                out.number(5, u64::from(*version));
                for pool in clamped {
                    out.nested(17, |out| {
                        out.text(1, &pool.pool);
                        out.number(2, u64::from(pool.capacity));
                    });
                }
            }
            Self::Unchanged { version } => out.number(6, u64::from(*version)),
            Self::Ticked => out.number(7, 0),
            Self::Settled { through } => out.number(8, *through),
            Self::Raised { level } => out.number(25, u64::from(*level)),
            Self::Refused(refusal) => {
                out.number(refusal.code(), refusal.content());
            }
            Self::Held(holding) => holding.encode(9, out),
            Self::AlreadyHeld(holding) => holding.encode(10, out),
            Self::Extended { expires_at } => {
                out.number(11, 0);
                out.time(16, *expires_at);
            }
            Self::Released(release) => {
                out.number(12, u64::from(release.left));
                out.text(18, &release.hold);
                release.units.iter().for_each(|unit| unit_fields(out, unit, 0));
            }
            Self::Confirmed(confirmed) => {
                out.number(13, u64::from(confirmed.left) << 1 | u64::from(confirmed.retaken));
                out.time(16, confirmed.at);
                out.text(18, &confirmed.hold);
                confirmed
                    .units
                    .iter()
                    .for_each(|ranked| unit_fields(out, &ranked.unit, ranked.rank));
            }
            Self::RefundDue(refund) => {
                out.number(14, 0);
                out.time(16, refund.at);
                out.text(18, &refund.hold);
                refund.units.iter().for_each(|unit| unit_fields(out, unit, 0));
            }
            Self::Imported { seats, areas } => {
                out.number(15, u64::from(*seats) << 32 | u64::from(*areas));
            }
            Self::Blocked { units } => out.number(20, u64::from(*units)),
            Self::Unblocked { units } => out.number(21, u64::from(*units)),
            Self::Moved(moved) => {
                out.number(22, u64::from(moved.rank));
                out.nested(23, |out| {
                    out.text(1, &moved.pool);
                    out.text(2, &moved.from);
                    out.text(3, &moved.to);
                });
            }
            Self::BarSet { at, holds } => {
                out.number(26, u64::from(*holds));
                out.time(16, *at);
            }
            Self::BarLifted { was_barred } => out.number(27, u64::from(*was_barred)),
            Self::Deleted => out.number(28, 0),
            Self::Waitlisted { ahead, quantity, passed_over } => {
                out.number(93, u64::from(*ahead));
                out.number(48, u64::from(*quantity) << 1 | u64::from(*passed_over));
            }
            Self::Offered(holding) => holding.encode(94, out),
            Self::LeftWaitlist { was_on } => out.number(95, u64::from(*was_on)),
            Self::SeatsChanged { seats } => out.number(29, u64::from(*seats)),
            Self::Code(outcome) => outcome.encode(out),
            Self::RefusedFor(named) => {
                out.number(named.refusal.code(), named.refusal.content());
                if let Some(hold) = &named.hold {
                    out.text(18, hold);
                }
                named.units.iter().for_each(|unit| unit_fields(out, unit, 0));
                if let Some(seat) = &named.seat {
                    out.number(24, (seat.at as u64) << 1 | u64::from(seat.area));
                }
            }
        }
    }

    /// Reads the outcome of an operator command; only a yes is ever kept.
    ///
    /// # Errors
    ///
    /// Bytes of another form, or an outcome that is not a yes to an operator.
    pub fn decode_kept(fields: Reader<'_>) -> Result<Self, Malformed> {
        let end = fields;
        let first = Reader::clone(&fields).field()?;
        if first.is_some_and(|(field, _)| super::codes::is_ours(field)) {
            return CodeOutcome::decode_kept(fields).map(Self::from);
        }
        let (mut read, mut clamped) = (None, Vec::new());
        fields.fields(|field, value| {
            match field {
                4 => read = Some(Self::Created { version: value.number32()? }),
                5 => read = Some(Self::Changed { version: value.number32()?, clamped: Vec::new() }),
                6 => read = Some(Self::Unchanged { version: value.number32()? }),
                15 => {
                    let both = value.number()?;
                    let (seats, areas) = ((both >> 32) as u32, both as u32);
                    read = Some(Self::Imported { seats, areas });
                }
                20 => read = Some(Self::Blocked { units: value.number32()? }),
                21 => read = Some(Self::Unblocked { units: value.number32()? }),
                22 => {
                    let (pool, from, to) = <(Box<str>, Box<str>, Box<str>)>::default();
                    let moved = Move { pool, from, to, rank: value.number32()? };
                    read = Some(Self::Moved(Box::new(moved)));
                }
                23 => {
                    let Some(Self::Moved(moved)) = &mut read else {
                        return Err(value.wrong("units of a move without one"));
                    };
                    value.nested()?.fields(|field, value| {
                        match field {
                            1 => moved.pool = value.text()?.into(),
                            2 => moved.from = value.text()?.into(),
                            3 => moved.to = value.text()?.into(),
                            _ => return Err(value.wrong("an unknown field of a move")),
                        }
                        Ok(())
                    })?;
                }
                17 => {
                    let mut pool = Clamped { pool: "".into(), capacity: 0 };
                    value.nested()?.fields(|field, value| {
                        match field {
                            1 => pool.pool = value.text()?.into(),
                            2 => pool.capacity = value.number32()?,
                            _ => return Err(value.wrong("an unknown field of a clamped pool")),
                        }
                        Ok(())
                    })?;
                    clamped.push(pool);
                }
                26 => {
                    let at = Timestamp::default();
                    read = Some(Self::BarSet { at, holds: value.number32()? });
                }
                16 => {
                    let Some(Self::BarSet { at, .. }) = &mut read else {
                        return Err(value.wrong("a moment of what has none"));
                    };
                    *at = value.time()?;
                }
                27 => read = Some(Self::BarLifted { was_barred: value.flag()? }),
                28 => read = Some(Self::Deleted),
                29 => read = Some(Self::SeatsChanged { seats: value.number32()? }),
                _ => return Err(value.wrong("an outcome that is never kept")),
            }
            Ok(())
        })?;
        if let Some(Self::Changed { clamped: kept, .. }) = &mut read {
            *kept = clamped;
        }
        read.ok_or_else(|| end.wrong("an outcome without a code"))
    }
}
