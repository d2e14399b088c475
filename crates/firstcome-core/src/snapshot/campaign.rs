//! The fields of a campaign and of a note on a claim in a snapshot, written.

use crate::campaign::Campaign;
use crate::pool::Note;
use crate::wire::Write;

pub(super) fn note_fields(out: &mut Vec<u8>, campaign: u32, pool: u32, rank: u32, note: &Note) {
    out.number(1, u64::from(campaign));
    out.number(2, u64::from(pool));
    out.number(3, u64::from(rank));
    if let Some(earlier) = note.earlier {
        out.number(4, u64::from(earlier));
    }
    if let Some(cancel) = &note.cancel {
        out.time(5, cancel.at);
        out.number(6, u64::from(cancel.by.code()));
        out.text(7, &cancel.reason);
        out.text(8, &cancel.who);
    }
}

pub(super) fn campaign_fields(out: &mut Vec<u8>, campaign: &Campaign) {
    out.number(1, u64::from(campaign.number));
    out.text(2, &campaign.name);
    out.number(3, u64::from(campaign.version));
    out.time(4, campaign.created_at);
    out.nested(5, |out| campaign.settings().encode(out));
    out.number(6, u64::from(campaign.paused));
    if let Some(at) = campaign.closed_at {
        out.time(7, at);
    }
    out.number(8, campaign.unsettled);
    for pool in &campaign.pools {
        out.nested(9, |out| {
            out.number(1, u64::from(pool.taken));
            out.number(2, u64::from(pool.last_rank()));
            if pool.held > 0 {
                out.number(3, u64::from(pool.held));
            }
            if let Some(list) = pool.list() {
                out.number(28, u64::from(list.last));
            }
        });
    }
    if campaign.holds.last > 0 {
        out.number(10, u64::from(campaign.holds.last));
        out.number(11, u64::from(campaign.holds.last_holder));
    }
    if campaign.bars.last > 0 {
        out.number(12, u64::from(campaign.bars.last));
    }
    if campaign.results > 0 {
        out.number(13, u64::from(campaign.results));
    }
}
