//! What must hold after every entry, whatever happened.

use super::SUBJECTS;
use super::counted::count;
use firstcome_core::State;
use firstcome_core::hall::Standing;
use firstcome_core::hold::{Fate, Hold, UnitId};
use firstcome_core::settings::HoldsEach;
use std::collections::{BTreeMap, BTreeSet};

/// Looks at everything a state says about its holds.
pub(super) fn invariants(state: &State) {
    let campaign = state.campaign("hall").unwrap();
    let settings = campaign.settings();
    let mut held: BTreeMap<(u16, UnitId), Vec<&Hold>> = BTreeMap::new();
    let mut has: BTreeMap<&str, Vec<(u16, UnitId)>> = BTreeMap::new();
    let mut live = 0;
    for hold in campaign.holds() {
        live += usize::from(hold.is_live());
        assert_eq!(hold.is_live(), hold.held() > 0);
        assert!(!hold.is_live() || hold.deadline() > state.service(), "gone to the microsecond");
        assert!(hold.takes().is_sorted_by_key(|take| (take.pool, take.unit)));
        for take in hold.takes() {
            if take.fate == Fate::Held {
                held.entry((take.pool, take.unit)).or_default().push(hold);
                has.entry(hold.subject()).or_default().push((take.pool, take.unit));
            }
        }
    }
    assert_eq!((live, live), (campaign.live_holds(), state.live_holds()));
    assert_eq!(state.memory(), state.walked_memory(), "what is counted is what there is");
    for subject in SUBJECTS {
        let of = campaign.holds_of(subject).count();
        assert!(of <= 1 || settings.holding.each == HoldsEach::Many, "{subject} has {of} holds");
    }
    for (at, pool) in campaign.pools().iter().enumerate() {
        let at = at as u16;
        let counts = pool.counts();
        assert_eq!(counts.all(), pool.capacity());
        assert_eq!(count(campaign, pool).wrong(), None);
        let (mut claims, mut places) = (0, BTreeSet::new());
        for rank in 1..=pool.last_rank() {
            let claim = pool.claim(rank).expect("ranks have no gap");
            let place = pool.unit_of(rank).unwrap_or(UnitId::Counted);
            if claim.cancel.is_none() || !settings.units_return {
                claims += 1;
                assert!(!matches!(place, UnitId::Seat(_)) || places.insert(place), "a seat twice");
            }
            if claim.cancel.is_none() {
                has.entry(claim.subject).or_default().push((at, place));
            }
        }
        let set_aside: usize =
            held.iter().filter(|((p, _), _)| *p == at).map(|(_, holds)| holds.len()).sum();
        assert_eq!((counts.held as usize, counts.confirmed), (set_aside, claims));
        let Some(hall) = pool.hall() else { continue };
        for seat in 0..hall.seats() {
            let place = UnitId::Seat(seat);
            let by: &[&Hold] = held.get(&(at, place)).map_or(&[], |holds| holds);
            match hall.standing(seat) {
                Standing::Held(number) => {
                    assert!(matches!(by, [hold] if hold.number() == number), "one hold has it");
                }
                Standing::Confirmed(rank) => {
                    assert_eq!((pool.unit_of(rank), by.len()), (Some(place), 0));
                }
                Standing::Free | Standing::Blocked => assert_eq!(by.len(), 0),
            }
        }
        // A table is had whole, as long as nobody gave up one of its claims.
        let kinds = hall.group(0).iter().map(|seat| hall.standing(*seat).kind());
        let mut kinds: Vec<_> = kinds.collect();
        kinds.dedup();
        let cancelled = (1..=pool.last_rank()).any(|rank| !pool.is_live(rank));
        assert!(kinds.len() == 1 || cancelled, "{kinds:?}");
    }
    let grade = |(pool, place): &(u16, UnitId)| match (
        campaign.pools()[usize::from(*pool)].hall(),
        place,
    ) {
        (Some(hall), UnitId::Seat(seat)) => hall.grade_of(*seat).to_owned(),
        _ => String::new(),
    };
    for (subject, units) in has {
        let of = |wanted: u16| units.iter().filter(|(pool, _)| *pool == wanted).count() as u32;
        assert!(settings.limit.is_none_or(|most| units.len() as u32 <= most), "{subject}");
        for (at, pool) in campaign.pools().iter().enumerate() {
            assert!(pool.limit().is_none_or(|most| of(at as u16) <= most), "{subject}");
        }
        for limit in &settings.holding.grades {
            let of_grade = units.iter().filter(|unit| *grade(unit) == *limit.grade).count();
            assert!(of_grade <= limit.limit as usize, "{subject} has {of_grade}");
        }
    }
}
