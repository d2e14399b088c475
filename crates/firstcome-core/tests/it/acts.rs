//! The list of what operators did to a campaign.

use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use crate::world::World;
use firstcome_inject::{Mistake, set};

/// Returns the acts of a campaign as lines, the newest first.
fn acts(world: &World, campaign: &str) -> Vec<String> {
    let acts = world.state.campaign(campaign).unwrap().acts();
    let line = |(number, act): (u32, &firstcome_core::acts::Act)| {
        let (who, deed, about, reason, outcome) =
            (&act.who, act.deed.as_str(), &act.about, &act.reason, &act.outcome);
        let why = if reason.is_empty() { String::new() } else { format!(" for {reason}") };
        let about = if about.is_empty() { String::new() } else { format!(" [{about}]") };
        format!("{number} {who} {deed}{about}{why}: {outcome}")
    };
    acts.map(line).collect()
}

fn what_operators_did_is_listed() {
    let world = play(
        "
        0s   op    puts drop: main 5; opens 10s              -> created 1
        1s   op    puts drop: main 9; title T; opens 10s; limit 2 -> changed 2
        1s   op    puts drop: main 9; title T; opens 10s; limit 2 -> unchanged 2
        2s   op#a  pauses drop                               -> changed 3
        2s   op#a  pauses drop                               -> changed 3   # the same again is no act
        2s   op#a  resumes drop                              -> id_reused
        2s   op    puts drop@1: main 9; opens 10s            -> version_mismatch 3
        3s   desk  resumes drop                              -> changed 4
        3s   desk  bars ann drop for resale                  -> bar_set at 3s holds 0
        11s  bob   claims drop                               -> won 1
        12s  bob   cancels drop/main 1                       -> cancelled by subject at 12s
        13s  eve   claims drop                               -> won 2
        14s  op    cancels eve drop/main 2 for fraud         -> cancelled by operator at 14s
        15s  op    closes drop                               -> changed 5
        16s  desk  pauses drop                               -> closed
        16s  desk  unbars ann drop                           -> bar_lifted true
        17s  op    deletes drop                              -> has_results
        17s  op    pauses nowhere                            -> not_found campaign
        ",
    );
    let expected = [
        "11 op delete: has_results",
        "10 desk unbar [ann]: bar_lifted",
        "9 desk pause: closed",
        "8 op close: changed",
        "7 op cancel [main/2 eve] for fraud: cancelled",
        "6 desk bar [ann] for resale: bar_set",
        "5 desk resume: changed",
        "4 op put: version_mismatch",
        "3 op resume: id_reused",
        "2 op pause: changed",
        "1 op put [title, limits.campaign – → 2, main.capacity 5 → 9]: changed",
    ];
    let mut listed = acts(&world, "drop");
    // The creation, and a put of what stands already, have nothing that changed.
    assert_eq!(listed.pop().as_deref(), Some("1 op put: created"));
    let renumbered = expected.iter().map(|line| {
        let (number, rest) = line.split_once(' ').unwrap();
        let number: u32 = number.parse().unwrap();
        // One more before all of them, and one more for the put that changed nothing.
        format!("{} {rest}", number + if number == 1 { 1 } else { 2 })
    });
    let mut expected: Vec<_> = renumbered.collect();
    expected.insert(expected.len() - 1, "3 op put: unchanged".into());
    assert_eq!(listed, expected);
}

#[test]
fn each_command_of_an_operator_is_listed_once_with_what_came_of_it() {
    what_operators_did_is_listed();
}

#[test]
fn planted_mistakes_are_noticed() {
    for mistake in [Mistake::RefusedActForgotten, Mistake::RepeatedActListed] {
        set(Some(mistake));
        let noticed = std::panic::catch_unwind(what_operators_did_is_listed).is_err();
        set(None);
        assert!(noticed, "{mistake:?}");
    }
}

#[test]
fn seats_that_operators_touch_are_named_and_many_are_counted() {
    let world = play(
        "
        0s   op  puts hall: main seated                       -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4; GA area=9       -> imported 4 seats 1 areas
        1s   op  blocks hall A1 A2                            -> blocked 2
        1s   op  unblocks hall A1 A2                          -> unblocked 2
        2s   ann holds h1 hall A1                             -> held A1 until 482s
        3s   op  moves hall/main A1 A3 for broken             -> moved A1 to A3 rank 0
        4s   op  reseats hall/main: A4 grade=R                -> seats_changed 1
        ",
    );
    assert_eq!(
        acts(&world, "hall"),
        [
            "6 op change_seats [main/A4]: seats_changed",
            "5 op move [main/A1 → main/A3] for broken: moved",
            "4 op unblock [main/A1 main/A2]: unblocked",
            "3 op block [main/A1 main/A2]: blocked",
            "2 op add_seats [main +5]: imported",
            "1 op put: created",
        ]
    );
}

#[test]
fn a_snapshot_has_the_last_thousand_and_goes_on_behind_them() {
    let mut world = play("0s op puts drop: main 5 -> created 1");
    let mut script = String::new();
    for round in 0..700 {
        script.push_str(&format!("1s op pauses drop -> changed {}\n", 2 * round + 2));
        script.push_str(&format!("1s op resumes drop -> changed {}\n", 2 * round + 3));
    }
    world = play_on(world, &script);
    let listed = acts(&world, "drop");
    assert_eq!((listed.len(), &*listed[0]), (1_000, "1401 op resume: changed"));
    assert_eq!(listed[999], "402 op pause: changed");
    let kept = taken(&world.state, true);
    let back = restored(&kept);
    assert_eq!(taken(&back, true), kept);
    assert_eq!(
        back.campaign("drop").unwrap().memory(),
        world.state.campaign("drop").unwrap().memory()
    );
    world.replace_twin(back);
    let world = play_on(world, "2s desk closes drop -> changed 1402");
    let listed = acts(&world, "drop");
    assert_eq!((listed.len(), &*listed[0]), (1_000, "1402 desk close: changed"));
    assert_eq!(listed[999], "403 op resume: changed");
}
