//! Commands on a waitlist, and what somebody waits for.

use super::Command;
use super::field::{Target, at_least_one};
use crate::hall::settings::check_unit_name;
use crate::limits::WISH_UNITS;
use crate::names::check_subject;
use crate::wire::{Malformed, Value, Write};

/// Field of a command to join.
pub(super) const JOIN: u32 = 51;
/// Field of a command to leave.
pub(super) const LEAVE: u32 = 52;

/// What somebody waits for: so many units of one pool, which come together or not at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish<'a> {
    /// How many units: 1 to [`WISH_UNITS`].
    pub quantity: u32,
    /// Only seats of this grade.
    pub grade: Option<&'a str>,
    /// For whom the seller acts: seats kept for a channel are had by naming it only.
    pub channel: Option<&'a str>,
    /// Units of this area, and no seats.
    pub area: Option<&'a str>,
    /// Only seats next to each other in one row.
    pub adjacent: bool,
}

impl Wish<'_> {
    /// Wants so many units, whichever they are.
    pub fn units(quantity: u32) -> Self {
        Self { quantity, grade: None, channel: None, area: None, adjacent: false }
    }

    /// Says whether it asks for something that only seats and areas have.
    pub(crate) fn is_of_seats(&self) -> bool {
        self.grade.is_some() || self.channel.is_some() || self.area.is_some() || self.adjacent
    }
}

/// Writes a wish: fields 4 to 8, where something is to be said.
pub(crate) fn wish_fields(out: &mut Vec<u8>, wish: &Wish<'_>) {
    if wish.quantity != 1 {
        out.number(4, u64::from(wish.quantity));
    }
    for (field, text) in [(5, wish.grade), (6, wish.channel), (7, wish.area)] {
        if let Some(text) = text {
            out.text(field, text);
        }
    }
    if wish.adjacent {
        out.number(8, 1);
    }
}

/// Reads one field of a wish.
pub(crate) fn wish_field<'a>(
    wish: &mut Wish<'a>,
    field: u32,
    value: Value<'a>,
) -> Result<(), Malformed> {
    match field {
        4 => {
            wish.quantity = value.number32()?;
            if !(1..=WISH_UNITS).contains(&wish.quantity) {
                return Err(value.wrong("a wish for fewer or more units than one may wait for"));
            }
        }
        5 => wish.grade = Some(name(value)?),
        6 => wish.channel = Some(name(value)?),
        7 => wish.area = Some(name(value)?),
        8 => wish.adjacent = value.flag()?,
        _ => return Err(value.wrong("an unknown field of a wish")),
    }
    Ok(())
}

fn name<'a>(value: Value<'a>) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    check_unit_name(text).map_err(|_| value.wrong("a name outside its bounds"))?;
    Ok(text)
}

/// Writes what is asked, whoever asks.
pub(super) fn join_content(out: &mut Vec<u8>, subject: &str, wish: &Wish<'_>) {
    out.text(2, subject);
    wish_fields(out, wish);
}

/// Reads the command of one of this file's fields.
pub(super) fn read<'a>(
    command: u32,
    value: Value<'a>,
    targets: &[Target<'a>],
) -> Result<Command<'a>, Malformed> {
    let (mut target, mut subject, mut limit) = (None, None, None);
    let mut wish = Wish::units(1);
    value.nested()?.fields(|field, value| {
        match field {
            1 => target = usize::try_from(value.number()?).ok().and_then(|n| targets.get(n)),
            2 => {
                let text = value.text()?;
                check_subject(text).map_err(|_| value.wrong("a subject outside its bounds"))?;
                subject = Some(text);
            }
            3 if command == JOIN => limit = Some(at_least_one(value)?),
            _ if command == JOIN => wish_field(&mut wish, field, value)?,
            _ => return Err(value.wrong("an unknown field of a command on a waitlist")),
        }
        Ok(())
    })?;
    let (Some((campaign, pool)), Some(subject)) = (target.copied(), subject) else {
        return Err(value.wrong("a command on a waitlist without its target or its subject"));
    };
    if wish.area.is_some() && (wish.grade.is_some() || wish.adjacent) {
        return Err(value.wrong("a wish for an area that asks for seats"));
    }
    match command {
        JOIN => Ok(Command::Join { campaign, pool, subject, wish, limit }),
        LEAVE => Ok(Command::Leave { campaign, pool, subject }),
        _ => Err(value.wrong("an unknown command")),
    }
}
