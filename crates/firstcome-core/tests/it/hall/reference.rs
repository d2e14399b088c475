//! Best seats and orphans as their documentation defines them, by trying everything.

use super::made_up::{MadeUp, ask, hall, seats};
use firstcome_core::hall::{Best, NoBest, Orphans};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Seats by row, in their order; a seat without a row is by itself.
fn rows(seats: &[MadeUp]) -> Vec<Vec<u32>> {
    let mut rows: BTreeMap<(&str, &str, usize), Vec<u32>> = BTreeMap::new();
    for (number, seat) in seats.iter().enumerate() {
        let alone = if seat.row.is_empty() { number } else { 0 };
        rows.entry((seat.section, seat.row, alone)).or_default().push(number as u32);
    }
    rows.into_values().collect()
}

/// Free ordinary seats of one grade that are next to each other, as far as they go.
fn stretches(seats: &[MadeUp], taken: &[u32]) -> Vec<Vec<u32>> {
    let mut found = Vec::new();
    for row in rows(seats) {
        let mut stretch: Vec<u32> = Vec::new();
        for number in row {
            let seat = &seats[number as usize];
            let within = seat.is_open() && seat.is_ordinary() && !taken.contains(&number);
            let goes_on = stretch.last().is_none_or(|l| seats[*l as usize].grade == seat.grade);
            if (!within || !goes_on) && !stretch.is_empty() {
                found.push(std::mem::take(&mut stretch));
            }
            if within {
                stretch.push(number);
            }
        }
        found.extend(Some(stretch).filter(|stretch| !stretch.is_empty()));
    }
    found
}

pub(crate) fn orphans(seats: &[MadeUp], taken: &[u32]) -> Vec<u32> {
    let single = |stretches: Vec<Vec<u32>>| {
        let single = stretches.into_iter().filter(|stretch| stretch.len() == 1);
        single.map(|stretch| stretch[0]).collect::<Vec<_>>()
    };
    let before = single(stretches(seats, &[]));
    let mut after = single(stretches(seats, taken));
    after.retain(|seat| !before.contains(seat));
    after.sort_unstable();
    after
}

fn fits(seat: &MadeUp, ask: &Best<'_>) -> bool {
    seat.is_open()
        && seat.is_ordinary() != ask.accessible
        && ask.grade.is_none_or(|grade| grade == seat.grade)
        && ask.price.is_none_or(|price| Some(price) == seat.price)
        && (seat.channel.is_empty() || Some(seat.channel) == ask.channel)
}

fn enough(seats: &[MadeUp], ask: &Best<'_>, chosen: &[u32]) -> bool {
    chosen.len() == ask.quantity as usize
        && chosen.iter().all(|seat| fits(&seats[*seat as usize], ask))
        && (!ask.accessible || chosen.iter().any(|seat| seats[*seat as usize].accessible))
}

/// Every choice of neighbours.
fn windows(seats: &[MadeUp], ask: &Best<'_>) -> Vec<Vec<u32>> {
    let all = rows(seats);
    let windows = all.iter().flat_map(|row| row.windows(ask.quantity as usize));
    windows.filter(|chosen| enough(seats, ask, chosen)).map(<[u32]>::to_vec).collect()
}

/// Every choice at all.
fn subsets(seats: &[MadeUp], ask: &Best<'_>) -> Vec<Vec<u32>> {
    let all = 0..1_u32 << seats.len();
    let of = |set: u32| (0..seats.len() as u32).filter(move |seat| set >> seat & 1 == 1);
    all.filter(|set| set.count_ones() == ask.quantity)
        .map(|set| of(set).collect::<Vec<_>>())
        .filter(|chosen| enough(seats, ask, chosen))
        .collect()
}

/// What is the best, if seats next to each other can be had.
fn best_together(seats: &[MadeUp], ask: &Best<'_>) -> Option<Vec<u32>> {
    let all = windows(seats, ask);
    let quality = |chosen: &Vec<u32>| -> u64 {
        chosen.iter().map(|seat| u64::from(seats[*seat as usize].quality)).sum()
    };
    let least = |choices: Vec<Vec<u32>>| choices.into_iter().min_by_key(|c| (quality(c), c[0]));
    let whole: Vec<_> =
        all.iter().filter(|chosen| orphans(seats, chosen).is_empty()).cloned().collect();
    match ask.orphans {
        Orphans::Allowed => least(all),
        Orphans::Never => least(whole),
        Orphans::LastResort => least(whole).or_else(|| least(all)),
    }
}

fn within<K: PartialEq>(chosen: &[u32], key: impl Fn(u32) -> K) -> bool {
    chosen.iter().all(|seat| key(*seat) == key(chosen[0]))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    #[test]
    fn the_best_is_what_trying_everything_finds(seats in seats(12), ask in ask()) {
        let found = hall(&seats).best(&ask);
        if let Some(best) = best_together(&seats, &ask) {
            prop_assert_eq!(found, Ok(best));
            return Ok(());
        }
        let left = seats.iter().filter(|seat| fits(seat, &ask)).count() as u32;
        let every = subsets(&seats, &ask);
        if every.is_empty() {
            let none = ask.accessible && !seats.iter().any(|s| fits(s, &ask) && s.accessible);
            prop_assert_eq!(found, Err(NoBest::TooFew { left: if none { 0 } else { left } }));
            return Ok(());
        }
        if ask.adjacent {
            let why = if windows(&seats, &ask).is_empty() { NoBest::Apart } else { NoBest::Orphan };
            prop_assert_eq!(found, Err(why));
            return Ok(());
        }
        let whole: Vec<_> =
            every.iter().filter(|chosen| orphans(&seats, chosen).is_empty()).cloned().collect();
        let allowed = match ask.orphans {
            Orphans::Allowed => every,
            Orphans::Never => whole,
            Orphans::LastResort if whole.is_empty() => every,
            Orphans::LastResort => whole,
        };
        match found {
            Err(why) => {
                prop_assert_eq!(why, NoBest::Orphan);
                prop_assert!(allowed.is_empty(), "refused, but {allowed:?}");
            }
            Ok(found) => {
                prop_assert!(allowed.contains(&found), "{found:?} is none of {allowed:?}");
                // As near as is reasonable: never over more rows or sections than one if one has enough.
                let all = rows(&seats);
                let row = |seat: u32| all.iter().position(|row| row.contains(&seat));
                let section = |seat: u32| seats[seat as usize].section;
                if !ask.accessible && allowed.iter().any(|chosen| within(chosen, row)) {
                    prop_assert!(within(&found, row), "{found:?}");
                }
                if !ask.accessible && allowed.iter().any(|chosen| within(chosen, section)) {
                    prop_assert!(within(&found, section), "{found:?}");
                }
            }
        }
    }

    #[test]
    fn an_orphan_is_what_its_definition_says(
        seats in seats(12), chosen in prop::collection::vec(any::<prop::sample::Index>(), 1..6),
    ) {
        let free: Vec<u32> = (0..seats.len() as u32)
            .filter(|seat| seats[*seat as usize].for_sale && seats[*seat as usize].standing.is_free())
            .collect();
        prop_assume!(!free.is_empty());
        let mut taken: Vec<u32> = chosen.iter().map(|index| *index.get(&free)).collect();
        taken.sort_unstable();
        taken.dedup();
        let hall = hall(&seats);
        let first = orphans(&seats, &taken).first().copied();
        prop_assert_eq!(hall.orphan(&taken, Orphans::Never), first);
        prop_assert_eq!(hall.orphan(&taken, Orphans::Allowed), None);
        let of = |seat: &u32| &seats[*seat as usize];
        let grade = of(&taken[0]).grade;
        let ask = Best {
            grade: taken.iter().all(|seat| of(seat).grade == grade).then_some(grade),
            channel: taken.iter().map(|seat| of(seat).channel).find(|channel| !channel.is_empty()),
            adjacent: true,
            orphans: Orphans::Never,
            ..Best::of(taken.len() as u32)
        };
        let helped = best_together(&seats, &ask).is_none();
        let last_resort = if helped { None } else { first };
        prop_assert_eq!(hall.orphan(&taken, Orphans::LastResort), last_resort);
        taken.reverse();
        prop_assert_eq!(hall.orphan(&taken, Orphans::Never), first);
    }
}
