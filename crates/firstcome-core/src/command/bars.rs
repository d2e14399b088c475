//! Reads commands that bar a subject, or take that back.

use super::content::BAR;
use super::field::{bounded, name};
use super::{Command, Order, order_field};
use crate::limits::REASON_BYTES;
use crate::names::check_subject;
use crate::wire::{Malformed, Value};

/// Reads the command of one of this file's fields.
pub(super) fn read(command: u32, value: Value<'_>) -> Result<Command<'_>, Malformed> {
    let (mut campaign, mut subject, mut reason, mut order) = ("", None, "", Order::default());
    value.nested()?.fields(|field, value| {
        match field {
            1 => campaign = name(value)?,
            2 => {
                let text = value.text()?;
                check_subject(text).map_err(|_| value.wrong("a subject outside its bounds"))?;
                subject = Some(text);
            }
            3 if command == BAR => reason = bounded(value, REASON_BYTES)?,
            _ => return order_field(&mut order, field, value),
        }
        Ok(())
    })?;
    match subject {
        Some(subject) if !campaign.is_empty() && command == BAR => {
            Ok(Command::Bar { campaign, subject, reason, order })
        }
        Some(subject) if !campaign.is_empty() => Ok(Command::Unbar { campaign, subject, order }),
        _ => Err(value.wrong("a bar without a campaign or a subject")),
    }
}
