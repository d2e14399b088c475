//! Reader of the fields that every operator command has.

use super::Order;
use super::field::bounded;
use crate::limits::WHO_BYTES;
use crate::names::check_command_id;
use crate::wire::{Malformed, Value};

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
