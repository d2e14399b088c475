//! Readers of the fields that several commands have.

use crate::names::{check_name, check_text};
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
