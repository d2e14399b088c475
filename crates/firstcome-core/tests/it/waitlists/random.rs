//! Random commands with waitlists: what must hold after every entry, whatever happened.

use crate::play::{command as said, play};
use crate::snapshots::{restored, taken};
use crate::world::{Gave, SECOND, World, node};
use firstcome_core::campaign::{Campaign, OnList};
use firstcome_core::command::{Late, Mark, Order, Pick, Steer, Step, Wanted, Wish};
use firstcome_core::hall::Standing;
use firstcome_core::hold::{Fate, UnitId};
use firstcome_core::outcome::By;
use firstcome_core::{Command, Outcome, State};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

const SUBJECTS: [&str; 7] = ["ann", "bob", "eve", "joe", "kim", "lee", "mia"];
const SEATS: [&str; 8] = ["A1", "A2", "A3", "A4", "B1", "B2", "R1", "R2"];
/// The rows of the hall.
const ROWS: [Range<u32>; 3] = [0..4, 4..6, 6..8];
const OFFERS: [&str; 12] = [
    "offer-1", "offer-2", "offer-3", "offer-4", "offer-5", "offer-6", "offer-7", "offer-8",
    "offer-9", "offer-10", "h1", "h2",
];

const HOUSE: &str = "
    0s op puts hall: main seated; vip 3; ttl 20s; max 40s; offer 15s; many; orphans; again; limit 5; perhour 200 -> created 1
    0s op adds hall/main: A1 A2 A3 A4; B1 B2; R1 R2 grade=R; GA area=2 -> imported 8 seats 1 areas
";

fn command() -> impl Strategy<Value = Command<'static>> {
    let campaign = "hall";
    let subject = || select(&SUBJECTS[..]);
    let order = Order { id: None, who: "op" };
    let wish = (1..4_u32, 0..5_u8).prop_map(|(quantity, which)| Wish {
        quantity,
        grade: (which == 1).then_some("R"),
        channel: (which == 2).then_some("web"),
        area: (which == 3).then_some("GA"),
        adjacent: which == 4,
    });
    let pool = || select(&["main", "vip"][..]);
    let join = (subject(), pool(), wish, prop::option::weighted(0.1, 1..4_u32));
    let join = join.prop_map(move |(subject, pool, wish, limit)| {
        let wish = if pool == "vip" { Wish::units(wish.quantity) } else { wish };
        Command::Join { campaign, pool: Some(pool), subject, wish, limit }
    });
    let leave = (subject(), pool()).prop_map(move |(subject, pool)| Command::Leave {
        campaign,
        pool: Some(pool),
        subject,
    });
    let claim = subject().prop_map(|subject| Command::claim("hall", Some("vip"), subject));
    let picks = prop_oneof![
        prop::collection::vec(select(&SEATS[..]), 1..4)
            .prop_map(|names| Pick::units("main", names)),
        (1..3_u32).prop_map(|count| Pick {
            pool: Some("vip"),
            wanted: Wanted::Quantity { count, area: None },
            channel: None
        }),
        (1..3_u32).prop_map(|count| Pick {
            pool: Some("main"),
            wanted: Wanted::Quantity { count, area: Some("GA") },
            channel: None
        }),
    ];
    let hold = (select(&["h1", "h2", "h3", "h4", "h5", "h6"][..]), subject(), picks);
    let hold = hold.prop_map(move |(id, subject, pick)| Command::Hold {
        campaign,
        id,
        subject,
        picks: vec![pick],
        limit: None,
    });
    let step = || {
        (select(&OFFERS[..]), subject()).prop_map(move |(hold, subject)| Step {
            campaign,
            hold,
            subject,
            id: None,
        })
    };
    let late = prop_oneof![Just(Late::Refuse), Just(Late::Retake)];
    let confirm =
        (step(), late).prop_map(|(step, late)| Command::Confirm { step, units: Vec::new(), late });
    let release = step().prop_map(|step| Command::Release { step, units: Vec::new() });
    let extend = step().prop_map(|step| Command::Extend { step, by_us: None });
    let cancel = (subject(), pool(), 1..9_u32).prop_map(move |(subject, pool, rank)| {
        let (by, reason, who) = (By::Subject, "", "");
        Command::Cancel { campaign, pool: Some(pool), subject, rank, by, reason, who }
    });
    let block = (select(&SEATS[..]), any::<bool>()).prop_map(move |(seat, blocked)| {
        let units = vec![Pick::units("main", vec![seat])];
        Command::Block { campaign, units, blocked, reason: "", order }
    });
    let bar = (subject(), any::<bool>()).prop_map(move |(subject, bars)| match bars {
        true => Command::Bar { campaign, subject, reason: "", order },
        false => Command::Unbar { campaign, subject, order },
    });
    let steer = prop_oneof![
        6 => Just(Steer::Pause), 6 => Just(Steer::Resume), 1 => Just(Steer::Close)
    ];
    let steer = steer.prop_map(move |steer| Command::Steer { campaign, steer, order });
    let tick = Just(Command::Tick { mark: Mark::default() });
    prop_oneof![
        9 => join, 2 => leave, 2 => claim, 5 => hold, 6 => confirm, 4 => release, 1 => extend,
        3 => cancel, 3 => block, 1 => bar, 1 => steer, 3 => tick
    ]
}

/// Everybody on the list of a pool with the ticket, in order.
fn list(campaign: &Campaign, pool: usize) -> Vec<(u32, String)> {
    let pool = &campaign.pools()[pool];
    pool.waiters_after(0).map(|waiting| (waiting.ticket, waiting.subject.to_owned())).collect()
}

/// Units of live holds, each with how often: a seat in one hold at most.
fn held(campaign: &Campaign) -> BTreeMap<(u16, String), u32> {
    let mut held = BTreeMap::new();
    for hold in campaign.holds() {
        for take in hold.takes().iter().filter(|take| take.fate == Fate::Held) {
            *held.entry((take.pool, format!("{:?}", take.unit))).or_default() += 1;
        }
    }
    held
}

fn invariants(state: &State) -> Result<(), TestCaseError> {
    let campaign = state.campaign("hall").unwrap();
    prop_assert_eq!(state.memory(), state.walked_memory());
    for (index, pool) in campaign.pools().iter().enumerate() {
        let people = list(campaign, index);
        prop_assert!(people.is_sorted_by(|a, b| a.0 < b.0), "{people:?}");
        let alone: BTreeSet<&str> = people.iter().map(|(_, subject)| &**subject).collect();
        prop_assert_eq!(alone.len(), people.len(), "nobody is on it twice");
        let offers = campaign.holds().filter(|hold| hold.is_live() && hold.is_offer());
        let offers = offers.filter(|hold| usize::from(hold.takes()[0].pool) == index);
        let offered: Vec<&str> = offers.map(|hold| hold.subject()).collect();
        let apart: BTreeSet<&str> = offered.iter().copied().collect();
        prop_assert_eq!(apart.len(), offered.len(), "one offer at a time");
        prop_assert!(alone.is_disjoint(&apart), "who has an offer does not wait");
        for (at, (_, subject)) in people.iter().enumerate() {
            let place = campaign.waiting(Some(pool.name()), subject).unwrap();
            let Some(OnList::Waits(place)) = place else { panic!("{subject} waits") };
            prop_assert_eq!(place.ahead as usize, at);
            prop_assert!(campaign.bar_of(subject).is_none());
        }
        let counts = pool.counts();
        prop_assert_eq!(counts.all(), pool.capacity(), "each unit is in one state");
        let open = campaign.phase(state.at()) == firstcome_core::campaign::Phase::Open;
        if open && state.next_deadline() != Some(state.at()) {
            // Nobody waits for what is there: those who want one unit can have any that is for sale.
            for waiting in pool.waiters_after(0) {
                let wish = waiting.wish;
                let free = match (pool.hall(), wish.area) {
                    (None, _) => pool.left() >= wish.quantity,
                    (Some(hall), Some(_)) => hall.area_counts(0).free >= wish.quantity,
                    (Some(hall), None) => {
                        let fits = |seat: &u32| {
                            hall.standing(*seat).is_free()
                                && wish.grade.is_none_or(|grade| hall.grade_of(*seat) == grade)
                        };
                        let together = |row: &Range<u32>| {
                            let row: Vec<bool> = row.clone().map(|seat| fits(&seat)).collect();
                            row.windows(wish.quantity as usize).any(|some| !some.contains(&false))
                        };
                        match wish.adjacent {
                            true => ROWS.iter().any(together),
                            false => {
                                let fitting = (0..hall.seats()).filter(fits).count();
                                fitting >= wish.quantity as usize
                            }
                        }
                    }
                };
                prop_assert!(!free, "{} waits for what is free: {:?}", waiting.subject, wish);
            }
        }
    }
    let held = held(campaign);
    let hall = campaign.pools()[0].hall().unwrap();
    for seat in 0..hall.seats() {
        let holds = held.get(&(0, format!("{:?}", UnitId::Seat(seat)))).copied().unwrap_or(0);
        let stands = matches!(hall.standing(seat), Standing::Held(_));
        prop_assert_eq!(holds, u32::from(stands), "a seat is in one hold, or in none");
    }
    Ok(())
}

/// Says who of a kind of wish was served, and that nobody of the same kind in front of them was left waiting.
fn nobody_overtakes(before: &State, after: &State) -> Result<(), TestCaseError> {
    let (old, new) = (before.campaign("hall").unwrap(), after.campaign("hall").unwrap());
    for pool in 0..2 {
        let left: BTreeSet<u32> = list(new, pool).into_iter().map(|(ticket, _)| ticket).collect();
        let offered: BTreeSet<&str> = new
            .holds()
            .filter(|hold| hold.is_live() && hold.is_offer() && old.hold_of(hold.id()).is_none())
            // Who leaves this list may get an offer of the other pool in the same entry.
            .filter(|hold| usize::from(hold.takes()[0].pool) == pool)
            .map(|hold| hold.subject())
            .collect();
        let waited: Vec<_> = old.pools()[pool].waiters_after(0).collect();
        for (at, served) in waited.iter().enumerate() {
            if left.contains(&served.ticket) || !offered.contains(served.subject) {
                continue;
            }
            for earlier in waited[..at].iter().filter(|earlier| earlier.wish == served.wish) {
                prop_assert!(
                    !left.contains(&earlier.ticket),
                    "{} is served before {}",
                    served.subject,
                    earlier.subject
                );
            }
        }
    }
    Ok(())
}

/// Runs entries; gives how many offers there were, and after how many entries lists were behind.
///
/// Some entries, those with the number of units that another campaign gets before, have no steps left for this hall.
fn run(
    mut world: World,
    entries: Vec<(u8, Option<u32>, Vec<Command<'static>>)>,
) -> Result<(usize, usize), TestCaseError> {
    let (mut offers, mut behind, mut units) = (0, 0, 1);
    for (index, (wait, more, commands)) in entries.into_iter().enumerate() {
        let flood;
        let mut commands = commands;
        if let Some(more) = more {
            units += more;
            flood = Box::leak(format!("op puts crowd: main {units}").into_boxed_str());
            commands.insert(0, said(flood));
        }
        let before = restored(&taken(&world.state, true));
        let at = world.state.at().plus_micros(i64::from(wait) * SECOND);
        let number = world.state.position() + 1;
        let gave = world.entry(at, node(0), number, &commands);
        let Gave::Outcomes(outcomes) = gave else { panic!("no copy") };
        offers += outcomes.iter().filter(|o| matches!(o, Outcome::Offered(_))).count();
        invariants(&world.state)?;
        behind += usize::from(world.state.has_list_work());
        if commands.len() == 1 {
            nobody_overtakes(&before, &world.state)?;
        }
        if index % 5 == 0 {
            let back = restored(&taken(&world.state, true));
            invariants(&back)?;
            world.replace_twin(back);
        }
    }
    for _ in 0..50 {
        if world.state.has_list_work() {
            let (at, number) = (world.state.at(), world.state.position() + 1);
            world.entry(at, node(0), number, &[Command::Tick { mark: Mark::default() }]);
            invariants(&world.state)?;
        }
    }
    prop_assert!(!world.state.has_list_work(), "some entries do all there is to do");
    let campaign = world.state.campaign("hall").unwrap();
    let rows = world.state.results_after(0).count();
    prop_assert_eq!(rows as u64, world.state.last_result());
    Ok((offers + campaign.holds().filter(|hold| hold.is_offer()).count(), behind))
}

/// The hall beside a campaign on whose list so many wait.
fn beside_a_crowd(people: usize) -> World {
    let mut world = play(HOUSE);
    let names: Vec<String> = (0..people).map(|n| format!("p{n}")).collect();
    let put = said("op puts crowd: main 1");
    world.entry(world.state.at(), node(0), 3, &[put, said("ann claims crowd")]);
    let join = |name: &'static str| Command::Join {
        campaign: "crowd",
        pool: None,
        subject: name,
        wish: Wish::units(1),
        limit: None,
    };
    let names = names.into_iter().map(|name| &*Box::leak(name.into_boxed_str()));
    let joins: Vec<_> = names.map(join).collect();
    world.entry(world.state.at(), node(0), 4, &joins);
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn whatever_happens_the_list_is_served_in_order(
        entries in prop::collection::vec(
            (0..9_u8, prop::collection::vec(command(), 1..3)), 1..60
        )
    ) {
        let entries = entries.into_iter().map(|(wait, commands)| (wait, None, commands));
        run(play(HOUSE), entries.collect())?;
    }
}

#[test]
fn nobody_is_left_waiting_for_what_is_free_once_lists_are_done_that_had_no_steps_for_long() {
    let crowd = taken(&beside_a_crowd(4_000).state, true);
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 25,
        ..ProptestConfig::default()
    });
    let entry = (
        0..9_u8,
        prop::option::weighted(0.4, 500..1_100_u32),
        prop::collection::vec(command(), 1..6),
    );
    let (mut behind, entries) = (std::cell::Cell::new(0), prop::collection::vec(entry, 1..30));
    runner
        .run(&entries, |entries| {
            let world = World::of(restored(&crowd), restored(&crowd));
            behind.set(behind.get() + run(world, entries)?.1);
            Ok(())
        })
        .unwrap();
    assert!(*behind.get_mut() > 60, "{behind:?} entries left work");
}
