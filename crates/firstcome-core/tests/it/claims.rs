//! Stories about people who claim, come back, and cancel.

use crate::comparison::same_as_the_model;
use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use firstcome_core::limits::CLAIMS_OF_SUBJECT;
use std::ops::RangeInclusive;

#[test]
fn the_first_to_ask_win_and_the_next_is_too_late() {
    play(
        "
        0s   op  puts drop: main 2          -> created 1
        1s   ann claims drop                -> won 1
        1s   bob claims drop                -> won 2        # the same microsecond: journal order decides
        1s   eve claims drop                -> sold_out
        9s   ann claims drop                -> already_won 1 at 1s
        9s   eve claims drop                -> sold_out     # a repeated no is decided again
        9s   op  puts drop: main 3          -> changed 2
        9s   eve claims drop                -> won 3
             look drop                      -> open 2, main 0 of 3 left
             look results                   -> 1 claim ann 1, 2 claim bob 2, 3 claim eve 3
    ",
    );
}

#[test]
fn a_place_given_back_goes_to_somebody_else_under_a_new_rank() {
    play(
        "
        0s   op  puts drop: main 1          -> created 1
        1s   ann claims drop                -> won 1
        2s   bob claims drop                -> sold_out
        3s   ann cancels drop/main 1        -> cancelled by subject at 3s
        4s   ann cancels drop/main 1        -> cancelled by subject at 3s   # her retry changes nothing
        4s   ann claims drop                -> already_cancelled
        5s   bob claims drop                -> won 2                        # rank 1 stays ann's for ever
             look results                   -> 1 claim ann 1, 2 cancel ann 1, 3 claim bob 2
    ",
    );
}

#[test]
fn where_units_do_not_return_a_cancelled_place_is_nobodys() {
    play(
        "
        0s   op  puts drop: main 1; gone    -> created 1
        1s   ann claims drop                -> won 1
        2s   ann cancels drop/main 1        -> cancelled by subject at 2s
        3s   bob claims drop                -> sold_out
             look drop                      -> open 1, main 0 of 1 left
    ",
    );
}

#[test]
fn who_may_claim_again_gets_a_higher_rank_and_a_late_retry_cannot_hurt_it() {
    play(
        "
        0s   op  puts drop: main 5; again   -> created 1
        1s   ann claims drop                -> won 1
        2s   bob claims drop                -> won 2
        3s   ann cancels drop/main 1        -> cancelled by subject at 3s
        4s   ann claims drop                -> won 3
        5s   ann cancels drop/main 1        -> cancelled by subject at 3s   # the retry of the first cancel
        5s   ann claims drop                -> already_won 3 at 4s
        6s   ann cancels drop/main 3        -> cancelled by subject at 6s
        7s   ann claims drop                -> won 4
             look drop                      -> open 1, main 3 of 5 left
    ",
    );
}

#[test]
fn nobody_cancels_what_is_not_theirs() {
    play(
        "
        0s   op  puts drop: main 5          -> created 1
        1s   ann claims drop                -> won 1
        2s   bob cancels drop/main 1        -> no_such_claim
        2s   ann cancels drop/main 2        -> no_such_claim
        2s   ann cancels drop/main 0        -> no_such_claim
        2s   ann cancels drop/vip 1         -> not_found pool
        2s   ann cancels rush/main 1        -> not_found campaign
        2s   op  cancels bob drop/main 1 for fraud  -> no_such_claim
             look results                   -> 1 claim ann 1
    ",
    );
}

#[test]
fn whose_claim_the_operator_cancels_is_as_free_as_before() {
    play(
        "
        0s   op  puts drop: main 2; vip 1; again    -> created 1
        1s   eve claims drop/main                   -> won 1
        2s   op  cancels eve drop/main 1 for fraud  -> cancelled by operator at 2s
        3s   op  cancels eve drop/main 1 for other  -> cancelled by operator at 2s
        3s   eve cancels drop/main 1                -> cancelled by operator at 2s
        4s   eve claims drop/main                   -> won 2
        4s   eve claims drop/vip                    -> won 1
        4s   ann claims drop/main                   -> won 3
    ",
    );
    play(
        "
        0s   op  puts drop: main 2; vip 1           -> created 1
        1s   eve claims drop/vip                    -> won 1
        1s   eve claims drop/main                   -> won 1
        2s   op  cancels eve drop/main 1 for fraud  -> cancelled by operator at 2s
        3s   eve claims drop/vip                    -> already_won 1 at 1s   # the operator took one, not both
    ",
    );
}

#[test]
fn one_subject_has_as_many_claims_as_the_limit_over_all_pools() {
    play(
        "
        0s   op  puts drop: red 9; blue 9; green 9; limit 2; again   -> created 1
        1s   ann claims drop/red        -> won 1
        1s   ann claims drop/blue       -> won 1
        1s   ann claims drop/green      -> limit_reached
        2s   ann cancels drop/red 1     -> cancelled by subject at 2s
        3s   ann claims drop/green      -> won 1            # only live claims count
        3s   ann claims drop/red        -> limit_reached
        4s   op  puts drop: red 9; blue 9; green 9; limit 3; again   -> changed 2
        4s   ann claims drop/red        -> won 2
        5s   op  puts drop: red 9; blue 9; green 9; limit 1; again   -> changed 3
        5s   ann claims drop/blue       -> already_won 1 at 1s   # a lower limit takes nothing back
        6s   bob claims drop/blue       -> won 2
        6s   bob claims drop/red        -> limit_reached
    ",
    );
}

#[test]
fn a_pool_must_be_named_where_there_are_several() {
    play(
        "
        0s   op  puts drop: main 1; vip 1   -> created 1
        1s   ann claims drop                -> pool_required
        1s   ann claims drop/gold           -> not_found pool
        1s   ann claims rush                -> not_found campaign
        1s   ann claims drop/vip            -> won 1
        1s   ann claims drop/main           -> won 1        # ranks are the pool's own
    ",
    );
}

#[test]
fn names_are_compared_byte_by_byte() {
    play(
        "
        0s   op  puts drop: main 9      -> created 1
        1s   Ann claims drop            -> won 1
        1s   ann claims drop            -> won 2
        1s   안나 claims drop            -> won 3
        1s   \u{e9} claims drop         -> won 4            # é as one sign
        1s   e\u{301} claims drop       -> won 5            # é as e and the accent after it
        1s   🎟️ claims drop              -> won 6
        2s   안나 claims drop            -> already_won 3 at 1s
    ",
    );
}

#[test]
fn one_batch_is_decided_in_its_own_order() {
    play(
        "
        0s   op  puts drop: main 1 & ann claims drop & bob claims drop   -> created 1 | won 1 | sold_out
        1s   ann cancels drop/main 1 & bob claims drop & ann claims drop -> cancelled by subject at 1s | won 2 | already_cancelled
        2s   n1.1 op closes drop & eve claims drop                       -> changed 2 | closed
        3s   n1.1 op closes drop & eve claims drop                       -> copy    # the whole batch
    ",
    );
}

/// Each claim stays for good, cancelled or not: without a bound, whatever shows what somebody had would grow with them.
#[test]
fn a_subject_has_so_many_claims_of_a_pool_at_most_with_those_it_cancelled_and_what_it_holds() {
    let both = |ranks: RangeInclusive<u32>| -> String {
        let both = |rank| {
            format!(
                "1s ann claims drop/main -> won {rank}
                 1s ann cancels drop/main {rank} -> cancelled by subject at 1s
                "
            )
        };
        ranks.map(both).collect()
    };
    let most = CLAIMS_OF_SUBJECT;
    let mut world = play("0s op puts drop: main 5; vip 5; again -> created 1");
    world = play_on(world, &both(1..=most));
    let again = "
        1s ann claims drop/main -> limit_reached
        1s ann holds h1 drop main 1 -> limit_reached
        1s ann joins drop/main -> limit_reached
        1s ann claims drop/vip -> won 1
        ";
    world = play_on(world, again);
    // Counted from a snapshot it is the same number.
    world.replace_twin(restored(&taken(&world.state, true)));
    world = play_on(world, "2s ann claims drop/main -> limit_reached");
    let pool = world.state.campaign("drop").unwrap().pool("main").unwrap();
    assert_eq!(pool.claims_of("ann").count(), most as usize);
    same_as_the_model(&world);

    let mut world = play("0s op puts drop: main 5; again; many -> created 1");
    world = play_on(world, &both(1..=most - 2));
    let held = format!(
        "
        1s ann holds h1 drop main 3 -> limit_reached
        1s ann holds h2 drop main 2 -> held main*2 until 481s
        1s ann claims drop -> limit_reached
        1s ann releases h2 drop main 1 -> released main left 1
        1s ann claims drop -> won {}
        1s ann holds h3 drop main 1 -> limit_reached
        2s ann confirms h2 drop -> confirmed main={most}
        ",
        most - 1
    );
    same_as_the_model(&play_on(world, &held));
}
