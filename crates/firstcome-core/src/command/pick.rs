//! Which units a command asks for, and how that is stored.

use super::field::name;
use crate::hall::Price;
use crate::hall::settings::check_unit_name;
use crate::limits::{HOLD_UNITS, PICKS};
use crate::wire::{Malformed, Value, Write};

/// The best seats there are, chosen when the command is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BestPick<'a> {
    /// How many: 1 to [`HOLD_UNITS`], but more than [`BEST_SEATS`](crate::limits::BEST_SEATS) are never to be had.
    pub count: u32,
    /// Only of this grade.
    pub grade: Option<&'a str>,
    /// Only at this price.
    pub price: Option<Price>,
    /// All next to each other in one row.
    pub adjacent: bool,
    /// Only seats marked as accessible; otherwise none of them unless nothing else is left.
    pub accessible: bool,
}

/// Which units of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted<'a> {
    /// Those of these names: seats, groups as a whole, areas for one unit each.
    Units(Vec<&'a str>),
    /// So many units of a counted pool or of an area.
    Quantity {
        /// How many: 1 to [`HOLD_UNITS`].
        count: u32,
        /// The area; none in a counted pool.
        area: Option<&'a str>,
    },
    /// So many of the best seats.
    Best(BestPick<'a>),
}

/// Some units of one pool of the campaign.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pick<'a> {
    /// The pool; may be left out where there is one.
    pub pool: Option<&'a str>,
    /// Which of its units.
    pub wanted: Wanted<'a>,
    /// For whom the seller acts: seats kept for a channel are had by naming it only.
    pub channel: Option<&'a str>,
}

impl<'a> Pick<'a> {
    /// Picks units by name.
    pub fn units(pool: &'a str, names: Vec<&'a str>) -> Self {
        Self { pool: Some(pool), wanted: Wanted::Units(names), channel: None }
    }

    /// Picks a quantity of a counted pool.
    pub fn quantity(pool: &'a str, count: u32) -> Self {
        Self { pool: Some(pool), wanted: Wanted::Quantity { count, area: None }, channel: None }
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        if let Some(pool) = self.pool {
            out.text(1, pool);
        }
        match &self.wanted {
            Wanted::Units(names) => names.iter().for_each(|name| out.text(2, name)),
            Wanted::Quantity { count, area } => {
                out.number(3, u64::from(*count));
                if let Some(area) = area {
                    out.text(4, area);
                }
            }
            Wanted::Best(best) => out.nested(5, |out| best.encode(out)),
        }
        if let Some(channel) = self.channel {
            out.text(6, channel);
        }
    }

    pub(super) fn decode(value: Value<'a>) -> Result<Self, Malformed> {
        let (mut pool, mut names, mut count, mut area) = (None, Vec::new(), None, None);
        let (mut best, mut channel) = (None, None);
        value.nested()?.fields(|field, value| {
            match field {
                1 => pool = Some(name(value)?),
                2 => names.push(unit(value)?),
                3 => count = Some(counted(value)?),
                4 => area = Some(unit(value)?),
                5 => best = Some(BestPick::decode(value)?),
                6 => channel = Some(unit(value)?),
                _ => return Err(value.wrong("an unknown field of a pick")),
            }
            Ok(())
        })?;
        if names.len() > HOLD_UNITS {
            return Err(value.wrong("more units than a hold may have"));
        }
        let wanted = match (names.is_empty(), count, area, best) {
            (false, None, None, None) => Wanted::Units(names),
            (true, Some(count), area, None) => Wanted::Quantity { count, area },
            (true, None, None, Some(best)) => Wanted::Best(best),
            _ => return Err(value.wrong("a pick that is not one of its three kinds")),
        };
        Ok(Self { pool, wanted, channel })
    }
}

impl<'a> BestPick<'a> {
    fn encode(&self, out: &mut Vec<u8>) {
        out.number(1, u64::from(self.count));
        if let Some(grade) = self.grade {
            out.text(2, grade);
        }
        if let Some(Price { minor, currency }) = self.price {
            out.signed(3, minor);
            out.bytes(4, &currency);
        }
        if self.adjacent {
            out.number(5, 1);
        }
        if self.accessible {
            out.number(6, 1);
        }
    }

    fn decode(value: Value<'a>) -> Result<Self, Malformed> {
        let (mut minor, mut currency) = (None, None);
        let mut read =
            Self { count: 0, grade: None, price: None, adjacent: false, accessible: false };
        value.nested()?.fields(|field, value| {
            match field {
                1 => read.count = counted(value)?,
                2 => read.grade = Some(unit(value)?),
                3 => minor = Some(value.signed()?),
                4 => {
                    let bytes: Result<[u8; 3], _> = value.bytes()?.try_into();
                    currency =
                        Some(bytes.map_err(|_| value.wrong("a currency without three letters"))?);
                }
                5 if value.flag()? => read.adjacent = true,
                6 if value.flag()? => read.accessible = true,
                _ => return Err(value.wrong("an unknown field of the best units")),
            }
            Ok(())
        })?;
        read.price = match (minor, currency) {
            (Some(minor), Some(currency)) => Some(Price { minor, currency }),
            (None, None) => None,
            _ => return Err(value.wrong("a price without its currency")),
        };
        if read.count == 0 {
            return Err(value.wrong("the best of no units"));
        }
        Ok(read)
    }
}

/// Writes picks, each as a field of this number.
pub(super) fn picks_fields(out: &mut Vec<u8>, field: u32, picks: &[Pick<'_>]) {
    for pick in picks {
        out.nested(field, |out| pick.encode(out));
    }
}

/// Takes one more pick in: at most [`PICKS`].
pub(super) fn push<'a>(picks: &mut Vec<Pick<'a>>, value: Value<'a>) -> Result<(), Malformed> {
    if picks.len() == PICKS {
        return Err(value.wrong("more picks than a command may have"));
    }
    picks.push(Pick::decode(value)?);
    Ok(())
}

fn unit<'a>(value: Value<'a>) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    check_unit_name(text).map_err(|_| value.wrong("a unit's name outside its bounds"))?;
    Ok(text)
}

fn counted(value: Value<'_>) -> Result<u32, Malformed> {
    match value.number32()? {
        count if (1..=HOLD_UNITS as u32).contains(&count) => Ok(count),
        _ => Err(value.wrong("a count outside its bounds")),
    }
}
