//! Checks a campaign after all its pieces were read, and derives what the pieces leave out.

use crate::campaign::Campaign;
use crate::codes::{Import, Word};
use crate::hall::Standing;
use crate::hold::{Fate, UnitId};
use crate::pool::Pool;
use crate::results::{Kind, Record};
use crate::state::State;
use std::collections::{BTreeMap, BTreeSet};

/// Derives which units each subject has, and checks that claims, holds and seats agree.
///
/// # Errors
///
/// What does not fit together.
pub(super) fn finish(campaign: &mut Campaign, service: i64) -> Result<(), &'static str> {
    for pool in &mut campaign.pools {
        codes_fit(pool, service)?;
    }
    let mut held = vec![0_u32; campaign.pools.len()];
    for take in campaign.holds.iter().flat_map(|hold| &hold.takes) {
        held[usize::from(take.pool)] += u32::from(take.fate == Fate::Held);
    }
    let Campaign { pools, holds, units_return, .. } = campaign;
    for (index, pool) in pools.iter().enumerate() {
        let counts = match pool.hall() {
            // Imported codes may have been withdrawn while they were offered.
            None if pool.taken - pool.held.min(pool.taken) > pool.capacity
                || pool.taken > pool.capacity && !pool.has_stock()
                || pool.held > pool.taken =>
            {
                return Err("a pool with more units taken than it has");
            }
            None | Some(_) => pool.counts(),
        };
        let owed = if pool.has_stock() { counts.confirmed } else { pool.owed(*units_return) };
        if (counts.held, counts.confirmed) != (held[index], owed) {
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
            Kind::Claim | Kind::Cancel | Kind::Unserved => true,
            Kind::Redeemed | Kind::RolledBack | Kind::CodeMarked => pool.codes().is_some(),
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

/// Checks the codes of a pool after all pieces were read, and counts what they leave out.
///
/// # Errors
///
/// What does not fit together.
fn codes_fit(pool: &mut Pool, service: i64) -> Result<(), &'static str> {
    let last_rank = pool.last_rank();
    let Some(codes) = pool.codes() else { return Ok(()) };
    if codes.issued.len() != last_rank {
        return Err("a coded pool with other codes than claims");
    }
    if let Some(stock) = codes.stock.as_deref() {
        // A code that came back is that of the last of its subject's ranks.
        let later = |first: u32, rank: u32| {
            let subject = |rank| pool.claim(rank).map(|claim| claim.subject);
            rank > first
                && codes.first_rank(rank) == codes.first_rank(first)
                && !pool.is_live(first)
                && subject(rank) == subject(first)
        };
        let all = (1..=last_rank).all(|rank| {
            let word = codes.issued.get(rank).map(Word::number);
            let now = word.and_then(|unit| stock.rank(unit as u32));
            now.is_some_and(|now| now == rank || later(rank, now))
        });
        let known = |unit| stock.rank(unit).is_none_or(|rank| rank <= last_rank);
        if !all || !(0..stock.len()).all(known) {
            return Err("a code in stock that is not the one of its claim");
        }
        let withdrawn = |import: &&Import| import.revoked;
        let gone = stock.imports.iter().filter(withdrawn);
        let gone: u32 =
            gone.map(|of| stock.free_among(of.first_unit, of.first_unit + of.added)).sum();
        if (0..stock.next).any(|unit| stock.raw_rank(unit) == 0 && !stock.is_revoked(unit)) {
            return Err("a free code before the next one");
        }
        let given = stock.committed - (stock.free_among(0, stock.committed) - gone);
        if pool.taken.checked_sub(pool.held) != Some(given) {
            return Err("a stock whose free codes are not what was taken leaves");
        }
    }
    let users: Vec<(u32, Box<str>)> = codes
        .uses
        .chunks
        .values()
        .flat_map(|chunk| chunk.iter())
        .filter_map(|(number, known)| {
            let holder = || pool.claim(known.rank).map(|claim| claim.subject);
            Some((*number, known.user.as_deref().or_else(holder)?.into()))
        })
        .collect();
    let live: Vec<u32> = (1..=last_rank).filter(|rank| pool.is_live(*rank)).collect();
    let Some(codes) = pool.codes_mut() else { return Ok(()) };
    for rank in live {
        if codes.issued.get(rank).is_some_and(|word| !word.is_revoked()) {
            codes.stands(rank);
        }
    }
    for (number, user) in users {
        codes.uses.restore_count(number, &user, service);
    }
    Ok(())
}

/// Counts the live offers of every kind of wish, and checks that lists and holds agree.
///
/// # Errors
///
/// What does not fit together.
pub(super) fn lists_fit(campaign: &mut Campaign) -> Result<(), &'static str> {
    let Campaign { pools, holds, .. } = campaign;
    let mut offered = BTreeSet::new();
    for hold in holds.iter().filter(|hold| hold.is_live()) {
        let Some(offer) = hold.offer else { continue };
        let list = pools.get_mut(usize::from(offer.pool)).and_then(Pool::list_of);
        let list = list.filter(|list| list.kind(offer.kind).is_some());
        let Some(list) = list.filter(|list| list.find(&hold.subject).is_none()) else {
            return Err("an offer that does not fit its waitlist");
        };
        if !offered.insert((offer.pool, &*hold.subject)) {
            return Err("two offers of one pool to one subject");
        }
        list.add_offer(offer.kind);
    }
    for pool in pools {
        let Some(list) = pool.list() else { continue };
        let unused = list.kinds().any(|(_, kind, _)| kind.offers == 0 && kind.waiting.is_empty());
        if unused {
            return Err("a waitlist that nobody is on");
        }
    }
    Ok(())
}
