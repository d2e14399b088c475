//! Checks a campaign after all its pieces were read, and derives what the pieces leave out.

use crate::campaign::Campaign;
use crate::hall::Standing;
use crate::hold::{Fate, UnitId};
use crate::pool::Pool;
use crate::results::{Kind, Record};
use crate::state::State;
use std::collections::BTreeMap;

/// Derives which units each subject has, and checks that claims, holds and seats agree.
///
/// # Errors
///
/// What does not fit together.
pub(super) fn finish(campaign: &mut Campaign) -> Result<(), &'static str> {
    let mut held = vec![0_u32; campaign.pools.len()];
    for take in campaign.holds.iter().flat_map(|hold| &hold.takes) {
        held[usize::from(take.pool)] += u32::from(take.fate == Fate::Held);
    }
    let Campaign { pools, holds, units_return, .. } = campaign;
    for (index, pool) in pools.iter().enumerate() {
        let counts = match pool.hall() {
            None if pool.taken > pool.capacity || pool.held > pool.taken => {
                return Err("a pool with more units taken than it has");
            }
            None | Some(_) => pool.counts(),
        };
        if (counts.held, counts.confirmed) != (held[index], pool.owed(*units_return)) {
            return Err("a pool whose free units are not what its claims and holds leave");
        }
        if !seats_fit(pool) {
            return Err("a seat that is not the one of its claim");
        }
        if holds.is_empty() {
            continue;
        }
        for rank in (1..=pool.last_rank()).filter(|rank| pool.is_live(*rank)) {
            let claim = pool.claim(rank).ok_or("ranks with a gap")?;
            if let Some(holder) = holds.find_holder_mut(claim.subject) {
                let unit = pool.grants.unit(rank).unwrap_or(UnitId::Counted);
                holder.has.push((index as u16, unit));
            } else if pool.grants.of(rank).is_some() {
                return Err("a claim from a hold of a subject that is not known");
            }
        }
    }
    Ok(())
}

/// Says whether every confirmed seat is that of its claim.
fn seats_fit(pool: &Pool) -> bool {
    let Some(hall) = pool.hall() else { return true };
    (0..hall.seats()).all(|seat| match hall.standing(seat) {
        Standing::Confirmed(rank) => pool.grants.unit(rank) == Some(UnitId::Seat(seat)),
        Standing::Free | Standing::Held(_) | Standing::Blocked => true,
    })
}

/// Says whether every refund and every move among the results is about units of the pool the result names.
pub(super) fn units_fit(state: &State) -> bool {
    let fits = |record: &Record| {
        let Some(campaign) = state.campaigns.get(&record.campaign) else { return true };
        let Some(pool) = campaign.pools.get(usize::from(record.pool)) else { return true };
        let nth = (record.rank as usize).wrapping_sub(1);
        match record.kind {
            Kind::Claim | Kind::Cancel => true,
            Kind::RefundDue => campaign.refunds.get(nth).is_none_or(|due| pool.has_unit(due.unit)),
            Kind::Moved => campaign.moves.get(nth).is_none_or(|moved| pool.has_unit(moved.to)),
        }
    };
    state.results.runs().all(|(chunk, skip)| chunk[skip..].iter().all(fits))
}

/// Says whether each campaign has as many results that are not settled as are kept of it.
pub(super) fn results_fit(state: &State) -> bool {
    let mut kept: BTreeMap<u32, u64> = BTreeMap::new();
    for (chunk, skip) in state.results.runs() {
        for record in &chunk[skip..] {
            *kept.entry(record.campaign).or_default() += 1;
        }
    }
    let of = |number| kept.get(number).copied().unwrap_or(0);
    state.campaigns.iter().all(|(number, campaign)| campaign.unsettled == of(number))
}
