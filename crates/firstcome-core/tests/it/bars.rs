//! Barring a subject, and taking that back.

use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use crate::world::{Gave, SECOND, START, node};
use firstcome_core::command::Order;
use firstcome_core::limits::BARS;
use firstcome_core::{Command, Outcome, Refusal};
use firstcome_inject::{Mistake, set};

#[test]
fn who_is_barred_keeps_what_they_have_and_gets_nothing_more() {
    let mut world = play(
        "
        0s  op  puts hall: main seated; vip 9; ttl 60s; many; orphans -> created 1
        0s  op  adds hall/main: A1 A2 A3 A4 -> imported 4 seats 0 areas
        0s  ann claims hall/vip -> won 1
        0s  ann holds h1 hall A1 A2 -> held A1 A2 until 60s
        0s  ann confirms h1 hall A1 -> confirmed A1=1 left 1
        0s  ann holds h2 hall A3 + vip 2 -> held A3 vip*2 until 60s
        1s  op  bars ann hall for resale -> bar_set at 1s holds 2
           look hold h1 hall -> confirmed A1=1 A2=released
           look hold h2 hall -> released A3=released vip=released vip=released
        2s  op  bars ann hall for more -> bar_set at 1s holds 0      # as it was the first time
        2s  bob holds h3 hall A2 A3 -> held A2 A3 until 62s
        2s  ann claims hall/vip -> already_won 1 at 0s
        2s  ann holds h4 hall A4 -> barred
        2s  ann holds h2 hall A3 + vip 2 -> hold_released
        2s  ann changes h1 hall A4 -> already_confirmed
        3s  ann cancels hall/vip 1 -> cancelled by subject at 3s
        3s  ann claims hall/vip -> barred                            # before already_cancelled
        4s  op  unbars eve hall -> bar_lifted false
        4s  op  bars eve none -> not_found campaign
        ",
    );
    let bar = world.state.campaign("hall").unwrap().bar_of("ann").unwrap().clone();
    assert_eq!((&*bar.reason, &*bar.who, bar.at), ("resale", "op", START.plus_micros(SECOND)));
    let back = restored(&taken(&world.state, true));
    assert_eq!(back.campaign("hall").unwrap().bar_of("ann"), Some(&bar));
    assert_eq!(back.memory(), back.walked_memory());
    world.replace_twin(back);
    let world = play_on(
        world,
        "
        5s  ann holds h4 hall A4 -> barred
        6s  op  unbars ann hall -> bar_lifted true
        7s  ann holds h5 hall A4 -> held A4 until 67s
        8s  op  bars ann hall -> bar_set at 8s holds 1
        70s ann confirms h5 hall late -> hold_released
        ",
    );
    assert_eq!(world.state.memory(), world.state.walked_memory());
}

#[test]
#[should_panic(expected = "came: bar_set at 1s holds 0")]
fn holds_that_outlive_a_bar_are_noticed() {
    set(Some(Mistake::BarKeepsHolds));
    play(
        "
        0s op  puts new: main 3 -> created 1
        0s ann holds h1 new 2 -> held main*2 until 480s
        1s op  bars ann new -> bar_set at 1s holds 1
        ",
    );
}

#[test]
fn a_campaign_has_so_many_bars_at_most() {
    let mut world = play(
        "
        0s op puts new: main 3 -> created 1
        ",
    );
    let names: Vec<String> = (0..=BARS).map(|n| format!("s{n}")).collect();
    let reason = "r".repeat(256);
    let mut last = Outcome::Ticked;
    for (number, names) in (10..).zip(names.chunks(2_000)) {
        let bar = |subject| {
            let (campaign, order) = ("new", Order { id: None, who: "ops" });
            Command::Bar { campaign, subject, reason: &reason, order }
        };
        let bars: Vec<_> = names.iter().map(|name| bar(name)).collect();
        let Gave::Outcomes(gave) = world.entry(START, node(1), number, &bars) else {
            panic!("it is new");
        };
        last = gave.last().unwrap().clone();
    }
    assert_eq!(last, Refusal::TooManyBars.into());
    let campaign = world.state.campaign("new").unwrap();
    assert_eq!(campaign.barred_subjects(), BARS);
    let all: Vec<u32> = campaign.bars_after(0).map(|(number, _)| number).collect();
    assert!(all.len() == BARS && all.is_sorted());
    assert_eq!(campaign.bars_after(99_000).count(), 1_000);
    let back = restored(&taken(&world.state, true));
    assert_eq!(back.memory(), back.walked_memory());
    world.replace_twin(back);
    play_on(
        world,
        "
        1s op unbars s7 new -> bar_lifted true
        1s op bars eve new -> bar_set at 1s holds 0
        1s op bars joe new -> too_many_bars
        ",
    );
}
