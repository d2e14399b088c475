//! Deleting a campaign that has no result.

use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use firstcome_inject::{Mistake, set};

#[test]
fn what_has_no_result_goes_whatever_its_state_and_its_name_is_free() {
    let mut world = play(
        "
        0s  op  puts hall: main seated; vip 9; ttl 60s; orphans -> created 1
        0s  op  adds hall/main: A1 A2 -> imported 2 seats 0 areas
        0s  ann holds h1 hall A1 + vip 2 -> held A1 vip*2 until 60s
        1s  op#a deletes hall -> deleted
        1s  op#a deletes hall -> deleted                             # its retry
        1s  op#b deletes hall -> not_found campaign
        1s  ann confirms h1 hall -> not_found campaign
        2s  op  puts hall: main 1; closes 50s -> created 1
        2s  ann holds h1 hall 1 -> held main until 482s
        ",
    );
    assert_eq!(world.state.live_holds(), 1);
    assert_eq!(world.state.memory(), world.state.walked_memory());
    world.replace_twin(restored(&taken(&world.state, true)));
    let world = play_on(
        world,
        "
        60s time passes -> ticked                                    # the deadline of the first h1
        61s op  deletes hall -> deleted
        62s op  puts hall: main 1; opens never -> created 1
        63s op  deletes hall -> deleted
        ",
    );
    assert_eq!((world.state.live_holds(), world.state.campaigns().count()), (0, 0));
    assert_eq!(world.state.memory(), world.state.walked_memory());
}

#[test]
fn what_has_a_result_stays_and_so_does_an_archived_name() {
    play(
        "
        0s  op  puts one: main 3; ttl 60s -> created 1
        0s  ann claims one -> won 1
        0s  ann cancels one 1 -> cancelled by subject at 0s
        1s  op  deletes one -> has_results
        1s  op  closes one -> changed 2
        1s  op  deletes one -> has_results
        2s  op  drops one -> changed 3
        3s  op  deletes one -> archived
        4s  op  puts two: main 3; ttl 60s -> created 1
        4s  ann holds h1 two 1 -> held main until 64s
        64s time passes every 10s -> ticked
        65s ann confirms h1 two -> hold_expired
        65s bob holds h2 two 3 -> held main*3 until 125s
        66s ann confirms h1 two late -> refund_due main
        67s op  deletes two -> has_results
        ",
    );
}

#[test]
#[should_panic(expected = "came: deleted")]
fn a_campaign_with_results_that_is_deleted_is_noticed() {
    set(Some(Mistake::DeleteWithResults));
    play(
        "
        0s  op  puts one: main 3 -> created 1
        0s  ann claims one -> won 1
        1s  op  deletes one -> has_results
        ",
    );
}
