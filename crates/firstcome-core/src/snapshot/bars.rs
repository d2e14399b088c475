//! Bars in a snapshot, written and read.

use super::restore::Restore;
use crate::bars::Bar;
use crate::limits::{BARS, REASON_BYTES, WHO_BYTES};
use crate::names::{check_subject, check_text};
use crate::time::Timestamp;
use crate::wire::{Malformed, Value, Write};

pub(super) fn bar_fields(out: &mut Vec<u8>, campaign: u32, number: u32, bar: &Bar) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(number));
    out.text(3, &bar.subject);
    out.time(4, bar.at);
    if !bar.reason.is_empty() {
        out.text(5, &bar.reason);
    }
    if !bar.who.is_empty() {
        out.text(6, &bar.who);
    }
}

pub(super) fn text<'a>(value: Value<'a>, most: usize) -> Result<&'a str, Malformed> {
    let text = value.text()?;
    if text.len() > most || check_text(text).is_err() {
        return Err(value.wrong("a text outside its bounds"));
    }
    Ok(text)
}

impl Restore {
    pub(super) fn bar(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut number, mut subject) = (0, 0, "");
        let (mut at, mut reason, mut who) = (Timestamp::default(), "", "");
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => number = value.number32()?,
                3 => subject = value.text()?,
                4 => at = value.time()?,
                5 => reason = text(value, REASON_BYTES)?,
                6 => who = text(value, WHO_BYTES)?,
                _ => return Err(value.wrong("an unknown field of a bar")),
            }
            Ok(())
        })?;
        check_subject(subject).map_err(|_| value.wrong("a subject outside its bounds"))?;
        let campaign = self.state.campaigns.get_mut(&campaign);
        let campaign = campaign.ok_or_else(|| value.wrong("a part of an unknown campaign"))?;
        let bars = &mut campaign.bars;
        if number == 0 || number > bars.last || bars.len() >= BARS {
            return Err(value.wrong("a bar beyond the last one"));
        }
        if bars.of(subject).is_some() || bars.has(number) {
            return Err(value.wrong("a bar that is there already"));
        }
        let (subject, reason, who) = (subject.into(), reason.into(), who.into());
        bars.put(number, Bar { subject, at, reason, who });
        Ok(())
    }
}
