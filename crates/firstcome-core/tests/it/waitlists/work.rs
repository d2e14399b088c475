//! Much to do at once: what one entry does not get done is done by the next ones, and nobody comes between.

use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use crate::world::{SECOND, START, World, node};
use firstcome_core::command::{Mark, Wish};
use firstcome_core::limits::{LIST_STEPS, OFFER_STEPS};
use firstcome_core::results::Kind;
use firstcome_core::{Command, Outcome};
use firstcome_inject::{Mistake, set};

const PEOPLE: usize = 20_000;

fn crowd() -> World {
    let mut world = play(
        "
        0s op puts drop: main 1; offer 60s; closes 3000s -> created 1
        0s ann claims drop -> won 1
        ",
    );
    let names: Vec<String> = (0..PEOPLE).map(|n| format!("p{n}")).collect();
    for names in names.chunks(4_000) {
        let join = |subject| Command::Join {
            campaign: "drop",
            pool: None,
            subject,
            wish: Wish::units(1),
            limit: None,
        };
        let commands: Vec<_> = names.iter().map(|name| join(name)).collect();
        let number = world.state.position() + 1;
        world.entry(START.plus_micros(SECOND), node(0), number, &commands);
    }
    assert_eq!(world.state.campaign("drop").unwrap().waiters(), PEOPLE as u64);
    world
}

fn tick(world: &mut World) {
    let number = world.state.position() + 1;
    let at = world.state.at();
    world.entry(at, node(0), number, &[Command::Tick { mark: Mark::default() }]);
}

fn raised_by_many_units() {
    let world = crowd();
    let once = u64::from(LIST_STEPS / OFFER_STEPS);
    let mut world = play_on(
        world,
        "
        2s op puts drop: main 3000; offer 60s; closes 3000s & zoe claims drop & zoe joins drop & zoe holds h1 drop 2 -> changed 2 | sold_out | waitlisted 19488 ahead for 1 | sold_out
        ",
    );
    let waiters = |world: &World| world.state.campaign("drop").unwrap().waiters();
    assert_eq!(waiters(&world), PEOPLE as u64 + 1 - once);
    assert_eq!(world.state.next_deadline(), Some(world.state.at()), "more is to be done at once");
    let mut world = {
        let back = restored(&taken(&world.state, true));
        world.replace_twin(back);
        world
    };
    let mut entries = 0;
    while world.state.next_deadline() == Some(world.state.at()) {
        tick(&mut world);
        entries += 1;
        assert!(entries < 100);
    }
    assert_eq!((entries, waiters(&world)), (5, PEOPLE as u64 + 1 - 2_999));
    play_on(world, "2s zoe claims drop -> sold_out");
}

#[test]
fn units_for_many_are_offered_in_order_over_some_entries_and_nobody_comes_between() {
    raised_by_many_units();
}

#[test]
#[should_panic(expected = "sold_out")]
fn a_claim_that_comes_between_is_noticed() {
    set(Some(Mistake::ClaimPromisedUnits));
    raised_by_many_units();
}

#[test]
fn the_end_of_a_long_list_is_told_over_some_entries() {
    let mut world = crowd();
    let told = |world: &World| {
        let unserved = world.state.results_after(0).filter(|row| row.kind == Kind::Unserved);
        unserved.map(|row| row.claim.subject.to_owned()).collect::<Vec<_>>()
    };
    world = play_on(world, "9s op closes drop & op archives drop -> changed 2 | unsettled");
    assert_eq!(told(&world).len(), LIST_STEPS as usize);
    while world.state.next_deadline() == Some(world.state.at()) {
        let back = restored(&taken(&world.state, true));
        world.replace_twin(back);
        tick(&mut world);
    }
    assert_eq!(told(&world), (0..PEOPLE).map(|n| format!("p{n}")).collect::<Vec<_>>());
    assert_eq!(world.state.memory(), world.state.walked_memory());
}

#[test]
fn a_place_is_known_without_a_walk() {
    let world = crowd();
    let campaign = world.state.campaign("drop").unwrap();
    for n in [0, 1, 255, 256, 4_000, PEOPLE - 1] {
        let place = campaign.waiting(None, &format!("p{n}")).unwrap();
        let Some(firstcome_core::campaign::OnList::Waits(place)) = place else { panic!("p{n}") };
        assert_eq!(place.ahead as usize, n);
    }
    let pool = &campaign.pools()[0];
    let tail: Vec<_> = pool.waiters_after(19_998).map(|waiting| waiting.subject).collect();
    assert_eq!(tail, ["p19998", "p19999"]);
}

#[test]
fn a_repeated_join_is_no_second_place() {
    let mut world = crowd();
    let join = Command::Join {
        campaign: "drop",
        pool: Some("main"),
        subject: "p7",
        wish: Wish { quantity: 3, ..Wish::units(1) },
        limit: None,
    };
    let number = world.state.position() + 1;
    let at = world.state.at();
    let gave = world.entry(at, node(0), number, std::slice::from_ref(&join));
    // Whatever is wanted now: the place is that of the first time.
    let place = Outcome::Waitlisted { ahead: 7, quantity: 1, passed_over: false };
    assert_eq!(gave, crate::world::Gave::Outcomes(vec![place]));
}
