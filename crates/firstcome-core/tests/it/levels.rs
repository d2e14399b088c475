//! What changes with the level of a space, and what does not.

use crate::play::{play, play_on};
use crate::snapshots::{Taken, restored, taken};
use crate::world::{SPACE, World, apply, node};
use firstcome_core::command::{BadBody, Body, BodyWriter, Mark};
use firstcome_core::snapshot::{BadSnapshot, Manifest};
use firstcome_core::{Command, Stamp, State};
use firstcome_inject::{Mistake, invent_level, set};

/// An entry of one tick at this level, after these.
fn tick(world: &mut World, level: u32) {
    let position = world.state.position() + 1;
    let (node, number) = (node(9), position);
    let mut body = BodyWriter::at_level(level, node, number, 0);
    assert!(body.push(&Command::Tick { mark: Mark::default() }));
    let stamp =
        Stamp { position, at: world.state.at(), epoch: 0, node, number, again_of: None, level };
    apply(&mut world.state, stamp, &body.finish());
}

/// A build that reads a level more than there is.
#[test]
fn a_space_is_at_the_level_of_its_highest_entry() {
    invent_level(true);
    let mut world = World::new();
    assert_eq!(world.state.level(), 1);
    for (level, of_space) in [(1, 1), (2, 2), (1, 2)] {
        tick(&mut world, level);
        assert_eq!(world.state.level(), of_space);
    }
    assert_eq!(State::new(SPACE).beginning_at(2).level(), 2);
}

#[test]
fn a_space_is_raised_to_the_next_level_and_no_build_without_it_reads_what_comes_then() {
    invent_level(true);
    let mut world = play(
        "
        0s op puts drop: main 3 -> created 1
        ",
    );
    let before = taken(&world.state, true);
    world.replace_twin(restored(&before));
    let world = play_on(
        world,
        "
        1s op raises 2 -> raised 2
        2s op raises 2 -> raised 2
        3s ann claims drop -> won 1
        ",
    );
    let after = taken(&world.state, true);
    assert_eq!(restored(&after).mark(), world.state.mark());
    let level = |taken: &Taken| Manifest::decode(&taken.manifest).map(|read| read.stamp.level);
    assert_eq!((level(&before).unwrap(), level(&after).unwrap()), (1, 2));
    invent_level(false);
    assert_eq!(level(&before).unwrap(), 1);
    assert!(matches!(level(&after), Err(BadSnapshot::TooNew(2))));
    let [created, raised, .., claimed] = &world.journal[..] else { panic!("four entries") };
    assert!(Body::open(&created.1).is_ok());
    for (_, body) in [raised, claimed] {
        assert!(matches!(Body::open(body), Err(BadBody::TooNew(2))));
    }
}

#[test]
fn an_extension_with_an_id_moves_the_deadline_once() {
    play(
        "
        0s  op  puts hall: main seated; vip 9; ttl 60s; max 200s; many; orphans -> created 1
        0s  op  adds hall/main: A1 A2 A3 -> imported 3 seats 0 areas
        0s  ann holds h1 hall A1 -> held A1 until 60s
        1s  ann#e extends h1 hall by 90s -> extended until 91s
        9s  ann#e extends h1 hall by 90s -> extended until 91s
        9s  ann#e extends h1 hall by 80s -> id_reused
        9s  ann#e extends h1 hall -> id_reused
        9s  ann#e changes h1 hall A2 -> id_reused
        9s  bob#e extends h1 hall by 90s -> not_yours
        10s ann extends h1 hall by 90s -> extended until 100s       # without an id each moves it
        11s ann#f extends h1 hall by 95s -> extended until 106s
        12s ann#e extends h1 hall by 90s -> extended until 91s      # as it was told, though it is later now
           look hold h1 hall -> live A1=held until 106s
        13s ann releases h1 hall -> released A1
        14s ann#e extends h1 hall by 90s -> hold_released
        ",
    );
}

#[test]
#[should_panic(expected = "came: extended until 99s")]
fn an_extension_that_is_made_twice_is_noticed() {
    set(Some(Mistake::ExtendTwice));
    play(
        "
        0s  op  puts hall: vip 9; ttl 60s; max 200s -> created 1
        0s  ann holds h1 hall vip 1 -> held vip until 60s
        1s  ann#e extends h1 hall by 90s -> extended until 91s
        9s  ann#e extends h1 hall by 90s -> extended until 91s
        ",
    );
}

#[test]
fn the_last_sixteen_steps_of_a_hold_are_remembered() {
    let mut world = play(
        "
        0s op  puts hall: vip 9; ttl 60s; max 200s; many -> created 1
        0s ann holds h1 hall vip 1 -> held vip until 60s
        0s ann#e0 extends h1 hall by 61s -> extended until 61s
        ",
    );
    for n in 1..16 {
        let line = format!("{n}s ann#e{n} extends h1 hall by 61s -> extended until {}s", 61 + n);
        world = play_on(world, &line);
    }
    world.replace_twin(restored(&taken(&world.state, true)));
    play_on(
        world,
        "
        16s ann#e0 extends h1 hall by 61s -> extended until 61s
        16s ann#new extends h1 hall by 61s -> extended until 77s
        17s ann#e0 extends h1 hall by 61s -> extended until 78s     # it was forgotten
        17s ann#e2 extends h1 hall by 61s -> extended until 63s
        ",
    );
}

#[test]
fn a_cancel_without_a_pool_finds_the_only_one() {
    play(
        "
        0s op  puts two: main 3; vip 3 -> created 1
        0s op  puts one: main 3 -> created 1
        0s ann claims one -> won 1
        0s ann claims two/vip -> won 1
        1s ann cancels one 2 -> no_such_claim
        1s bob cancels one 1 -> no_such_claim
        1s ann cancels one 1 -> cancelled by subject at 1s
        2s ann cancels one 1 -> cancelled by subject at 1s
        2s ann cancels two 1 -> pool_required
        2s ann cancels none 1 -> not_found campaign
        ",
    );
}

#[test]
fn the_ids_of_one_key_are_nothing_to_another() {
    play(
        "
        0s op#old puts a-drop: main 3 -> created 1
        0s desk#old pauses a-drop -> changed 2
        1s desk#order-1 puts b-drop: main 3 -> created 1
        2s shop#order-1 puts c-drop: main 5 -> created 1
        3s desk#order-1 puts b-drop: main 3 -> created 1            # its own, again
        3s desk#order-1 puts b-drop: main 4 -> id_reused
        4s op#old puts a-drop: main 3 -> created 1
        ",
    );
}
