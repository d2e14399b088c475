//! Everything is counted again, unit by unit: free, held, confirmed and blocked are all there are, everywhere.

use firstcome_core::campaign::Campaign;
use firstcome_core::hall::{Standing, UnitCounts};
use firstcome_core::hold::{Allocation, Fate, UnitId};
use firstcome_core::pool::Pool;

use std::collections::BTreeMap;

/// What a pool says of itself, next to what is found by looking at each of its units.
#[derive(Clone, Debug, Default)]
pub(super) struct Counted {
    pub(super) said: BTreeMap<String, UnitCounts>,
    pub(super) found: BTreeMap<String, UnitCounts>,
}

impl Counted {
    /// Returns the first thing that does not add up.
    pub(super) fn wrong(&self) -> Option<String> {
        let wrong = self.found.iter().find_map(|(of, found)| {
            let said = self.said.get(of).copied().unwrap_or_default();
            let all = [said.free, said.held, said.confirmed, said.blocked];
            let all: u64 = all.into_iter().map(u64::from).sum();
            let right = said == *found && all == u64::from(found.all()) && said.left <= said.free;
            (!right).then(|| format!("{of} says {said:?}, found are {found:?}"))
        });
        let unknown = self.said.keys().find(|of| !self.found.contains_key(*of));
        wrong.or_else(|| unknown.map(|of| format!("there is no {of}")))
    }

    fn add(&mut self, of: &[String], found: UnitCounts) {
        for of in of {
            let known = self.found.entry(of.clone()).or_default();
            known.free += found.free;
            known.held += found.held;
            known.confirmed += found.confirmed;
            known.blocked += found.blocked;
            known.left += found.left;
        }
    }
}

/// Looks at one pool of a campaign.
pub(super) fn count(campaign: &Campaign, pool: &Pool) -> Counted {
    let mut counted = Counted::default();
    let whole = "the pool".to_owned();
    counted.said.insert(whole.clone(), pool.counts());
    let units_return = campaign.settings().units_return;
    // Units without a name of their own, by what holds and claims say of them.
    let nameless = |place: UnitId| {
        let at = campaign.pools().iter().position(|p| p.name() == pool.name()).unwrap();
        let takes = campaign.holds().flat_map(|hold| hold.takes());
        let ours = |take: &&Allocation| {
            (usize::from(take.pool), take.unit, take.fate) == (at, place, Fate::Held)
        };
        let held = takes.filter(ours).count() as u32;
        let claims = (1..=pool.last_rank()).filter(|rank| {
            let of = pool.unit_of(*rank).unwrap_or(UnitId::Counted);
            of == place && (pool.is_live(*rank) || !units_return)
        });
        (held, claims.count() as u32)
    };
    let Some(hall) = pool.hall() else {
        let (held, confirmed) = nameless(UnitId::Counted);
        let free = pool.capacity() - held - confirmed;
        counted.add(&[whole], UnitCounts { free, held, confirmed, blocked: 0, left: free });
        return counted;
    };
    for (grade, counts) in hall.grades() {
        counted.said.insert(format!("grade {grade:?}"), counts);
    }
    for seat in 0..hall.seats() {
        let one = match hall.standing(seat) {
            Standing::Free => UnitCounts {
                free: 1,
                left: u32::from(hall.is_for_sale(seat)),
                ..UnitCounts::default()
            },
            Standing::Held(_) => UnitCounts { held: 1, ..UnitCounts::default() },
            Standing::Confirmed(_) => UnitCounts { confirmed: 1, ..UnitCounts::default() },
            Standing::Blocked => UnitCounts { blocked: 1, ..UnitCounts::default() },
        };
        counted.add(&[whole.clone(), format!("grade {:?}", hall.grade_of(seat))], one);
    }
    for area in 0..hall.areas() {
        let (settings, said) = (hall.area(area), hall.area_counts(area));
        let name = format!("area {}", settings.name);
        counted.said.insert(name.clone(), said);
        let (held, confirmed) = nameless(UnitId::Area(area));
        // How many are blocked nobody else knows.
        let blocked = said.blocked;
        let free = settings.capacity - held - confirmed - blocked;
        let left = if settings.for_sale { free } else { 0 };
        let found = UnitCounts { free, held, confirmed, blocked, left };
        counted.add(&[whole.clone(), name, format!("grade {:?}", settings.grade)], found);
    }
    counted
}

/// What is off by one unit in any way is seen.
#[test]
fn a_count_that_is_off_is_seen() {
    let world = crate::play::play(
        "
        0s   op  puts hall: main seated; vip 3; many    -> created 1
        0s   op  adds hall/main: A1 A2 grade=R; B1; X1 off; GA area=3 -> imported 4 seats 1 areas
        0s   op  blocks hall B1 + GA*1                  -> blocked 2
        0s   ann holds h1 hall A1 A2 + GA*1 + vip 2     -> held A1 A2 GA vip*2 until 480s
        0s   ann confirms h1 hall A1 + vip 1            -> confirmed A1=1 vip=1 left 3
    ",
    );
    let campaign = world.state.campaign("hall").unwrap();
    for pool in campaign.pools() {
        let right = count(campaign, pool);
        assert_eq!(right.wrong(), None);
        for of in right.said.keys() {
            let changes: [fn(&mut UnitCounts); 5] = [
                |c| c.free += 1,
                |c| c.held += 1,
                |c| (c.held, c.free) = (c.held.wrapping_sub(1), c.free + 1),
                |c| (c.confirmed, c.blocked) = (c.confirmed + 1, c.blocked.wrapping_sub(1)),
                |c| c.left = c.left.wrapping_sub(1),
            ];
            for change in changes {
                let mut doctored = right.clone();
                change(doctored.said.get_mut(of).unwrap());
                assert!(doctored.wrong().is_some(), "{of}: {doctored:?}");
            }
        }
    }
}
