//! Readers of the fields that several commands have.

use super::Order;
use crate::limits::WHO_BYTES;
use crate::names::{check_command_id, check_name, check_text};
use crate::wire::{Malformed, Value};

/// A campaign, and the pool in it if one is named.
pub(super) type Target<'a> = (&'a str, Option<&'a str>);

/// Reads the name of a campaign or a pool.
pub(super) fn name<'a>(value: Value<'a>) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    check_name(text).map_err(|_| value.wrong("a name outside its bounds"))?;
    Ok(text)
}

/// Reads a text of at most this many bytes.
pub(super) fn bounded<'a>(value: Value<'a>, most: usize) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    if text.len() > most || check_text(text).is_err() {
        return Err(value.wrong("a text outside its bounds"));
    }
    Ok(text)
}

/// Reads the limit that comes with a command.
pub(super) fn at_least_one(value: Value<'_>) -> Result<u32, Malformed> {
    match value.number32()? {
        0 => Err(value.wrong("a limit of nothing")),
        limit => Ok(limit),
    }
}

/// Reads a field that every operator command has.
pub(super) fn order_field<'a>(
    order: &mut Order<'a>,
    field: u32,
    value: Value<'a>,
) -> Result<(), Malformed> {
    match field {
        6 => {
            let id = value.text()?;
            check_command_id(id).map_err(|_| value.wrong("an id outside its bounds"))?;
            order.id = Some(id);
        }
        7 => order.who = bounded(value, WHO_BYTES)?,
        _ => return Err(value.wrong("an unknown field of an operator command")),
    }
    Ok(())
}
