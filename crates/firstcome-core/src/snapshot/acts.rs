//! Acts of operators in a snapshot, written and read.

use super::restore::Restore;
use crate::acts::{Act, Acts, Deed, NeighbourActs};
use crate::limits::{ACT_ABOUT_BYTES, ACT_OUTCOME_BYTES, REASON_BYTES, WHO_BYTES};
use crate::time::Timestamp;
use crate::wire::{Malformed, Value, Write};

pub(super) fn act_rows(
    out: &mut Vec<u8>,
    field: u32,
    campaign: u32,
    chunk: u32,
    acts: &NeighbourActs,
) {
    for (number, act) in (Acts::first_of(chunk)..).zip(acts) {
        out.nested(field, |out| act_fields(out, campaign, number, act));
    }
}

fn act_fields(out: &mut Vec<u8>, campaign: u32, number: u32, act: &Act) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(number));
    out.time(3, act.at);
    out.number(4, u64::from(act.deed.code()));
    out.text(5, &act.outcome);
    for (field, text) in [(6, &act.who), (7, &act.about), (8, &act.reason)] {
        if !text.is_empty() {
            out.text(field, text);
        }
    }
}

impl Restore {
    pub(super) fn act(&mut self, value: Value<'_>) -> Result<(), Malformed> {
        let (mut campaign, mut number, mut at, mut deed) = (0, 0, Timestamp::default(), None);
        let (mut outcome, mut who, mut about, mut reason) = ("", "", "", "");
        let text = super::bars::text;
        value.nested()?.fields(|field, value| {
            match field {
                1 => campaign = value.number32()?,
                2 => number = value.number32()?,
                3 => at = value.time()?,
                4 => deed = Deed::of(value.number()?),
                5 => outcome = text(value, ACT_OUTCOME_BYTES)?,
                6 => who = text(value, WHO_BYTES)?,
                7 => about = text(value, ACT_ABOUT_BYTES)?,
                8 => reason = text(value, REASON_BYTES)?,
                _ => return Err(value.wrong("an unknown field of an act")),
            }
            Ok(())
        })?;
        let deed = deed.ok_or_else(|| value.wrong("an act of no known kind"))?;
        let campaign = self.state.campaigns.get_mut(&campaign);
        let campaign = campaign.ok_or_else(|| value.wrong("a part of an unknown campaign"))?;
        if !campaign.acts.follows(number) {
            return Err(value.wrong("an act that does not follow the one before it"));
        }
        let (who, about, reason) = (who.into(), about.into(), reason.into());
        campaign.acts.put(number, Act { at, who, deed, about, reason, outcome: outcome.into() });
        Ok(())
    }
}
