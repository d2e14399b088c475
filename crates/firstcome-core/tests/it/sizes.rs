//! What campaigns take in memory, compared with what is counted for their settings before they are made.

use crate::play::play;
use crate::world::{SECOND, START, World, node};
use firstcome_core::codes::CodeKey;
use firstcome_core::command::{CodeCommand, CodeStep, Wish};
use firstcome_core::settings::sizes::{
    BYTES_PER_CODE, BYTES_PER_UNIT, BYTES_PER_USE, BYTES_PER_WAITER,
};
use firstcome_core::{Command, Outcome};

/// A name of 32 bytes.
fn name(number: usize) -> String {
    format!("somebody-with-a-long-name-{number:06}")
}

/// Applies commands, all of which are a yes, and gives by how many bytes the state grew.
fn grown(world: &mut World, commands: &[Command<'_>]) -> usize {
    let before = world.state.walked_memory();
    for commands in commands.chunks(4_000) {
        let (number, at) = (world.state.position() + 1, START.plus_micros(SECOND));
        let stamp = firstcome_core::Stamp {
            position: number,
            at,
            epoch: 0,
            node: node(0),
            number,
            again_of: None,
            level: firstcome_core::LEVEL,
        };
        let mut outcomes = Vec::new();
        world.state.apply(stamp, commands, &mut outcomes);
        let no = outcomes.iter().find(|outcome| outcome.is_refusal());
        assert!(no.is_none(), "{}", no.map_or("", Outcome::as_str));
    }
    assert_eq!(world.state.memory(), world.state.walked_memory());
    world.state.walked_memory() - before
}

#[test]
fn who_waits_takes_as_much_as_is_counted_and_no_less_than_half_of_it() {
    const PEOPLE: usize = 100_000;
    let mut world = play(
        "
        0s op  puts drop: main 1 -> created 1
        0s ann claims drop -> won 1
        ",
    );
    let names: Vec<String> = (0..PEOPLE).map(name).collect();
    let join = |subject| Command::Join {
        campaign: "drop",
        pool: None,
        subject,
        wish: Wish::units(1),
        limit: None,
    };
    let all: Vec<_> = names.iter().map(|name| join(name)).collect();
    let each = grown(&mut world, &all) as u64 / PEOPLE as u64;
    println!("{each} bytes of each who waits");
    assert!((BYTES_PER_WAITER / 2..=BYTES_PER_WAITER).contains(&each), "{each} bytes each");
}

#[test]
fn codes_and_their_uses_take_as_much_as_is_counted() {
    const CODES: usize = 20_000;
    let mut world = play(
        "
        0s op  puts sale: main coded 20000 -> created 1
        ",
    );
    let names: Vec<String> = (1..=CODES).map(name).collect();
    let (campaign, pool) = ("sale", None);
    let claim = |(unit, subject): (usize, &'static str)| Command::Claim {
        campaign,
        pool,
        subject,
        limit: None,
        tag: Some(unit as u64),
    };
    // They last as long as the test.
    let names: &'static [String] = names.leak();
    let all: Vec<_> = names.iter().enumerate().map(|(n, name)| claim((n + 1, name))).collect();
    let each = grown(&mut world, &all) as u64 / CODES as u64;
    // The state keeps results, too, until a ledger has them.
    println!("{each} bytes of an issued code with its unit and its result");
    let counted = BYTES_PER_UNIT + BYTES_PER_CODE + 16;
    assert!((counted / 2..=counted).contains(&each), "{each} bytes an issued code");
    let redeem = |(n, reference): (usize, &'static str)| {
        let code = CodeKey::Generated { unit: n as u32 + 1, tag: n as u64 + 1 };
        let step = CodeStep { campaign, pool, code, reference };
        Command::Code(CodeCommand::Redeem { step, subject: None })
    };
    let all: Vec<_> =
        names.iter().enumerate().map(|(n, reference)| redeem((n, reference))).collect();
    let each = grown(&mut world, &all) as u64 / CODES as u64;
    println!("{each} bytes of a use and its result");
    let counted = BYTES_PER_USE + 16;
    assert!((counted / 2..=counted).contains(&each), "{each} bytes a use");
}

#[test]
fn what_all_campaigns_may_become_is_kept_as_a_sum() {
    let world = play(
        "
        0s op puts one: main 5; main waits 70 -> created 1
        0s op puts two: main 7 -> created 1
        0s op puts sale: main coded 9 -> created 1
        ",
    );
    let sizes = |world: &World| world.state.sizes();
    let all = sizes(&world);
    assert_eq!((all.units, all.codes, all.uses), (21, 9, 9));
    let mut by_walking = firstcome_core::settings::Sizes::default();
    for campaign in world.state.campaigns() {
        assert_eq!(campaign.sizes(), campaign.settings().sizes());
        by_walking = by_walking.plus(campaign.sizes());
    }
    assert_eq!(all, by_walking);
    let world = crate::play::play_on(world, "1s op deletes two -> deleted");
    assert_eq!(sizes(&world).units, 14);
}
