//! What one campaign's list has to do keeps nobody else's from being served.

use crate::play::{command, play, play_on};
use crate::snapshots::{restored, taken};
use crate::world::{World, node};
use firstcome_core::Command;
use firstcome_core::command::{Mark, Wish};
use firstcome_inject::{Mistake, set};

fn entry(world: &mut World, commands: &[Command<'_>]) {
    let (at, number) = (world.state.at(), world.state.position() + 1);
    world.entry(at, node(0), number, commands);
}

fn tick(world: &mut World) {
    entry(world, &[Command::Tick { mark: Mark::default() }]);
}

/// Has so many wait for the one unit of a campaign.
fn crowd(world: &mut World, campaign: &str, people: usize) {
    let said = [format!("op puts {campaign}: main 1"), format!("zoe claims {campaign}")];
    entry(world, &said.each_ref().map(|said| command(said)));
    let names: Vec<String> = (0..people).map(|n| format!("p{n}")).collect();
    let (wish, pool, limit) = (Wish::units(1), None, None);
    let joins = names.iter().map(|subject| Command::Join { campaign, pool, subject, wish, limit });
    entry(world, &joins.collect::<Vec<_>>());
}

fn waiters(world: &World, campaign: &str) -> u64 {
    world.state.campaign(campaign).unwrap().waiters()
}

#[test]
fn wishes_that_cannot_be_stop_neither_other_lists_nor_the_hall() {
    let mut world = play("0s op puts hall: main seated; many; orphans; perhour 1000 -> created 1");
    for part in 0..10 {
        let names: Vec<String> = (0..4_000).map(|n| format!("s{}", part * 4_000 + n)).collect();
        let rows = names.chunks(50).enumerate().map(|(row, names)| {
            let of = match (part, row) {
                (0, 0) => " grade=Z".into(),
                (0, 1..9) => format!(" channel=c{row}"),
                _ => String::new(),
            };
            // Two seats of the grade that is wanted are there.
            format!("{}{of}", names[..if part + row == 0 { 2 } else { 50 }].join(" "))
        });
        let said = format!("op adds hall/main: {}", rows.collect::<Vec<_>>().join("; "));
        entry(&mut world, &[command(&said)]);
    }
    crowd(&mut world, "shop", 9);
    for (quantity, channel) in (3..11).flat_map(|quantity| (1..9).map(move |c| (quantity, c))) {
        let said = format!(
            "k{quantity}{channel} joins hall {quantity} grade=Z channel=c{channel} adjacent"
        );
        entry(&mut world, &[command(&said)]);
    }
    assert_eq!(waiters(&world, "hall"), 64);
    let taken: Vec<String> = (5_000..5_040).map(|n| format!("s{n}")).collect();
    entry(&mut world, &[command(&format!("mal holds h hall {}", taken.join(" ")))]);
    for (at, name) in taken.iter().enumerate() {
        entry(&mut world, &[command(&format!("mal changes h hall drop {name}"))]);
        assert!(!world.state.has_list_work(), "nothing is left to later entries");
        // In all 1,000 free seats that no wish names: none is refused.
        let free: Vec<String> = (0..25).map(|n| format!("s{}", 6_000 + at * 25 + n)).collect();
        let free = free.join(" ");
        world =
            play_on(world, &format!("1s bob holds b{at} hall {free} -> held {free} until 481s"));
    }
    world = play_on(
        world,
        "1s zoe cancels shop/main 1 -> cancelled by subject at 1s
        look place p0 shop -> offer-1",
    );
    assert!(!world.state.has_list_work());
}

#[test]
fn more_kinds_of_wish_than_a_piece_holds_go_into_a_snapshot() {
    let mut world = play("0s op puts hall: main seated -> created 1");
    let long = "x".repeat(55);
    let wishes: Vec<(String, String)> = (0..50)
        .flat_map(|grade| (0..50).map(move |channel| (grade, channel)))
        .map(|(grade, channel)| (format!("g{grade}{long}"), format!("c{channel}{long}")))
        .collect();
    for (part, wishes) in wishes.chunks(1_250).enumerate() {
        let row = |(n, (grade, channel)): (usize, &(String, String))| {
            format!("s{part}-{n} grade={grade} channel={channel}")
        };
        let rows: Vec<String> = wishes.iter().enumerate().map(row).collect();
        entry(&mut world, &[command(&format!("op adds hall/main: {}", rows.join("; ")))]);
    }
    let said: Vec<String> = wishes
        .iter()
        .enumerate()
        .map(|(n, (grade, channel))| format!("p{n} joins hall 1 grade={grade} channel={channel}"))
        .collect();
    entry(&mut world, &said.iter().map(|said| command(said)).collect::<Vec<_>>());
    let back = restored(&taken(&world.state, true));
    assert_eq!(back.digest(), world.state.digest());
    world.replace_twin(back);
    tick(&mut world);
}

fn all_campaigns_get_a_look() {
    let mut world = World::new();
    let names: Vec<String> = (0..1_100).map(|n| format!("c{n}")).collect();
    for name in &names {
        crowd(&mut world, name, 2);
    }
    let said: Vec<String> = names.iter().map(|name| format!("op puts {name}: main 9")).collect();
    entry(&mut world, &said.iter().map(|said| command(said)).collect::<Vec<_>>());
    let unserved = |world: &World| names.iter().filter(|name| waiters(world, name) == 2).count();
    // 512 offers in an entry: two for each of the first campaigns, then one each in turn.
    let mut left = vec![unserved(&world)];
    for _ in 0..2 {
        let back = restored(&taken(&world.state, true));
        world.replace_twin(back);
        tick(&mut world);
        left.push(unserved(&world));
    }
    assert_eq!(left, [844, 332, 0]);
    tick(&mut world);
    tick(&mut world);
    assert!(!world.state.has_list_work());
}

#[test]
fn campaigns_take_turns_over_entries() {
    all_campaigns_get_a_look();
}

#[test]
#[should_panic(expected = "left == right")]
fn a_turn_that_is_not_kept_is_noticed() {
    set(Some(Mistake::ListTurnForgotten));
    all_campaigns_get_a_look();
}

#[test]
fn who_gets_nothing_is_numbered_campaign_by_campaign_however_looks_take_turns() {
    play(
        "
        0s op puts hat: main 1; closes 9s & op puts mug: main 1; closes 9s -> created 1 | created 1
        1s ann claims hat & ann claims mug -> won 1 | won 1
        2s bob joins hat & cyd joins mug & dan joins hat & eve joins mug -> waitlisted 0 ahead for 1 | waitlisted 0 ahead for 1 | waitlisted 1 ahead for 1 | waitlisted 1 ahead for 1
        9s time passes -> ticked
           look results -> 1 claim ann 1, 2 claim ann 1, 3 unserved bob 0, 4 unserved dan 0, 5 unserved cyd 0, 6 unserved eve 0
        ",
    );
}

#[test]
fn whose_last_offer_ends_when_no_look_is_left_is_told_in_that_entry() {
    let mut world = World::new();
    let names: Vec<String> = (0..1_100).map(|n| format!("c{n}")).collect();
    for name in &names {
        crowd(&mut world, name, 2);
    }
    world = play_on(
        world,
        "
        0s   op puts last: main 1; offer 60s & zoe claims last & bob joins last & cat joins last 2 -> created 1 | won 1 | waitlisted 0 ahead for 1 | waitlisted 1 ahead for 2
        0s   zoe cancels last/main 1 -> cancelled by subject at 0s
        179s time passes every 15s -> ticked
             look place bob last -> offer-3
        ",
    );
    let said: Vec<String> = names.iter().map(|name| format!("op puts {name}: main 9")).collect();
    entry(&mut world, &said.iter().map(|said| command(said)).collect::<Vec<_>>());
    world = play_on(world, "180s time passes -> ticked");
    assert!(world.state.has_list_work());
    let told = |world: &World| world.state.results_after(0).any(|row| row.claim.subject == "bob");
    assert!(told(&world));
    let back = restored(&taken(&world.state, true));
    world.replace_twin(back);
    (0..4).for_each(|_| tick(&mut world));
    assert!(!world.state.has_list_work());
}

fn only_what_may_be_for_them_is_kept() {
    let mut world = play(
        "
        0s op puts hall: main seated; many; orphans; ttl 300s -> created 1
        0s op adds hall/main: A1 A2 A3 A4 A5; Z1 Z2 grade=Z; W1 channel=web; GA area=2; GB area=2 -> imported 8 seats 2 areas
        0s ann holds h1 hall A1 A2 A3 Z1 Z2 + GA*2 -> held A1 A2 A3 Z1 Z2 GA*2 until 300s
        0s eve joins hall 2 grade=Z adjacent -> waitlisted 0 ahead for 2
        0s joe joins hall area=GA -> waitlisted 1 ahead for 1
        0s kim joins hall 3 grade=Z adjacent -> waitlisted 2 ahead for 3
        ",
    );
    crowd(&mut world, "shop", 3_000);
    world = play_on(
        world,
        "
        1s op puts shop: main 3001 & ann changes h1 hall drop Z1 Z2 + GA*1 & bob holds h2 hall A4 & bob holds h3 hall Z1 & bob holds h4 hall GA*1 & bob holds h5 hall GB*1 & bob holds h6 hall best 1 & bob holds h7 hall best 1 & zoe joins hall grade=Z & mia joins hall channel=web -> changed 2 | held A1 A2 A3 GA until 300s | held A4 until 301s | unit_taken Z1 | sold_out | held GB until 301s | held A5 until 301s | sold_out | waitlisted 3 ahead for 1 | waitlisted 4 ahead for 1
        ",
    );
    assert!(world.state.has_list_work());
    let back = restored(&taken(&world.state, true));
    assert_eq!(back.memory(), back.walked_memory());
    world.replace_twin(back);
    tick(&mut world);
    play_on(
        world,
        "
        look place eve hall -> offer-5
        look hold offer-5 hall -> live Z1=held Z2=held until 601s
        look place joe hall -> offer-6
        look place kim hall -> 0 ahead for 3, 0 missed
        look place mia hall -> offer-7
        ",
    );
}

#[test]
fn until_lists_are_done_only_what_may_be_for_them_is_kept() {
    only_what_may_be_for_them_is_kept();
}

#[test]
#[should_panic(expected = "the script went another way")]
fn a_seat_that_is_not_remembered_is_noticed() {
    set(Some(Mistake::FreedSeatsForgotten));
    only_what_may_be_for_them_is_kept();
}

#[test]
fn where_more_came_free_than_is_remembered_everything_is_looked_at() {
    let mut world =
        play("0s op puts hall: main seated; many; orphans; ttl 60s; offer 600s -> created 1");
    let row = |from: u32| (from..from + 500).map(|n| format!("s{n}")).collect::<Vec<_>>().join(" ");
    // The quality of a seat is its place: the last row was added first, and is the best.
    let said = (0..10).rev().map(|at| row(at * 500)).collect::<Vec<_>>();
    for (at, names) in said.iter().enumerate() {
        entry(&mut world, &[command(&format!("op adds hall/main: {names}"))]);
        entry(&mut world, &[command(&format!("p{at} holds h{at} hall {names}"))]);
    }
    world = play_on(world, "0s eve joins hall 3 adjacent -> waitlisted 0 ahead for 3");
    world = play_on(
        world,
        "
        60s time passes every 15s -> ticked
        look hold offer-11 hall -> live s4500=held s4501=held s4502=held until 660s
        ",
    );
    assert!(!world.state.has_list_work());
    assert_eq!(world.state.memory(), world.state.walked_memory());
}
