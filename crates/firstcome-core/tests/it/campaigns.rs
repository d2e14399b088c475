//! Stories about operators: what may change when, and what an id is good for.

use crate::play::play;

#[test]
fn a_campaign_opens_and_closes_at_the_microsecond() {
    play(
        "
        0s     op  puts drop: main 9; opens 10s; closes 20s   -> created 1
               look drop                    -> scheduled 1, main 9 of 9 left
               look next                    -> 10s
        9s     ann claims drop              -> not_open until 10s
        9999999us ann claims drop           -> not_open until 10s
        10s    ann claims drop              -> won 1
               look next                    -> 20s
        19999999us bob claims drop          -> won 2
        20s    eve claims drop              -> closed
               look next                    -> nothing
               look drop                    -> closed 1, main 7 of 9 left
        30s    ann cancels drop/main 1      -> cancelled by subject at 30s
    ",
    );
}

#[test]
fn a_draft_waits_for_its_opening_time() {
    play(
        "
        0s   op  puts drop: main 1; opens never     -> created 1
        1s   ann claims drop                        -> not_open
        2s   op  puts drop: main 2; opens 5s        -> changed 2
        3s   ann claims drop                        -> not_open until 5s
        3s   op  puts drop: main 2; vip 1           -> changed 3    # opens with this entry
        3s   ann claims drop/vip                    -> won 1
             look drop                              -> open 3, main 2 of 2 left, vip 0 of 1 left
    ",
    );
}

#[test]
fn pause_holds_everybody_off_and_resume_lets_them_on() {
    play(
        "
        0s   op  puts drop: main 9      -> created 1
        0s   op  resumes drop           -> unchanged 1
        1s   op  pauses drop            -> changed 2
        1s   op  pauses drop            -> unchanged 2
        2s   ann claims drop            -> paused
        3s   op  resumes drop           -> changed 3
        3s   ann claims drop            -> won 1
        4s   op  pauses drop            -> changed 4
        4s   ann claims drop            -> already_won 1 at 3s
        4s   ann cancels drop/main 1    -> cancelled by subject at 4s
        5s   op  pauses rush            -> not_found campaign
    ",
    );
}

#[test]
fn close_is_final() {
    play(
        "
        0s   op  puts drop: main 9; title Spring            -> created 1
        1s   ann claims drop                                -> won 1
        2s   op  closes drop                                -> changed 2
        2s   op  closes drop                                -> unchanged 2
        3s   op  pauses drop                                -> closed
        3s   op  resumes drop                               -> closed
        3s   bob claims drop                                -> closed
        4s   op  puts drop: main 10; title Spring           -> closed
        4s   op  puts drop: main 9; closes 90s; title Spring -> closed
        4s   op  puts drop: main 9; title Spring            -> unchanged 2
        5s   op  puts drop: main 9; title Spring 2027       -> changed 3    # a title may always change
        5s   op  puts drop: main 10; title Other            -> closed
    ",
    );
}

#[test]
fn a_campaign_closed_before_it_opened_stays_closed() {
    play(
        "
        0s   op  puts drop: main 1; opens 10s               -> created 1
        1s   op  closes drop                                -> changed 2
        2s   ann claims drop                                -> closed
        11s  ann claims drop                                -> closed
        12s  op  puts drop: main 1; opens 20s               -> closed
        12s  op  puts drop: main 1                          -> unchanged 2  # its opening time is past
        12s  op  puts drop: main 1; opens 10s; title Off    -> changed 3
    ",
    );
}

#[test]
fn after_opening_the_rules_of_the_game_stand() {
    play(
        "
        0s   op  puts drop: main 9; vip 1; opens 5s          -> created 1
        1s   op  puts drop: vip 2; opens 6s; again; gone     -> changed 2   # before it, everything may change
        2s   op  puts drop: main 9; vip 2; opens 5s          -> changed 3
        5s   op  puts drop: main 9; vip 2; opens 6s          -> not_changeable opens_at
        5s   op  puts drop: main 9; vip 2; opens never       -> not_changeable opens_at
        5s   op  puts drop: main 9; vip 2                    -> unchanged 3  # 'now' of an open one is as it was
        5s   op  puts drop: main 9; vip 2; opens 5s; again   -> not_changeable claim_again
        5s   op  puts drop: main 9; vip 2; opens 5s; gone    -> not_changeable units_return
        5s   op  puts drop: main 9; opens 5s                 -> not_changeable pools
        5s   op  puts drop: vip 2; main 9; opens 5s          -> not_changeable pools
        5s   op  puts drop: main 9; gold 2; opens 5s         -> not_changeable pools
        6s   op  puts drop: main 9; vip 2; gold 3; opens 5s; closes 60s; limit 2; title Ok  -> changed 4
        6s   ann claims drop/gold                            -> won 1
        7s   op  puts drop: main 9; vip 2; gold 3; opens 5s  -> changed 5    # the closing time may go again
    ",
    );
}

#[test]
fn of_several_things_that_may_not_change_the_first_is_named() {
    play(
        "
        0s   op  puts drop: main 9; opens 5s            -> created 1
        6s   op  puts drop: vip 9; opens 7s; again; gone -> not_changeable opens_at
        6s   op  puts drop: vip 9; again; gone          -> not_changeable claim_again
        6s   op  puts drop: vip 9; gone                 -> not_changeable units_return
        6s   op  puts drop: vip 9; closes 1s            -> not_changeable pools     # before closes_too_early
        6s   op  puts drop: main 9; closes 6s           -> closes_too_early
        7s   op  closes drop                            -> changed 2
        7s   op  puts drop: vip 9                       -> closed                   # before not_changeable
    ",
    );
}

#[test]
fn capacity_goes_up_at_any_time_and_down_to_what_was_given() {
    play(
        "
        0s   op  puts drop: main 1; vip 1       -> created 1
        1s   ann claims drop/main               -> won 1
        1s   bob claims drop/main               -> sold_out
        2s   op  puts drop: main 4; vip 1       -> changed 2
        2s   bob claims drop/main               -> won 2
        2s   eve claims drop/main               -> won 3
        3s   op  puts drop: main 1; vip 2       -> changed 3, main only to 3
             look drop                          -> open 3, main 0 of 3 left, vip 2 of 2 left
        4s   ann cancels drop/main 1            -> cancelled by subject at 4s
        5s   op  puts drop: main 1; vip 2       -> changed 4, main only to 2    # it gets further now
        6s   joe claims drop/main               -> sold_out
             look drop                          -> open 4, main 0 of 2 left, vip 2 of 2 left
    ",
    );
}

#[test]
fn times_must_make_sense() {
    play(
        "
        9s   op  puts drop: main 1; closes 9s               -> closes_too_early
        9s   op  puts drop: main 1; opens 20s; closes 20s   -> closes_too_early
        9s   op  puts drop: main 1; opens 20s; closes 15s   -> closes_too_early
        9s   op  puts drop: main 1; opens never; closes 8s  -> closes_too_early
             look drop                                      -> not_found
        9s   op  puts drop: main 1; opens 5s; closes 10s    -> created 1    # an opening that is past is open
        9s   ann claims drop                                -> won 1
    ",
    );
}

#[test]
fn a_put_may_demand_what_it_changes() {
    play(
        "
        0s   op  puts drop@1: main 1            -> not_found campaign
        0s   op  puts drop@0: main 1            -> not_found campaign   # version 0 is not 'there is none'
        0s   op  puts new drop: main 1          -> created 1
        0s   op  puts new drop: main 1          -> version_mismatch 1
        0s   op  puts drop@1: main 2            -> changed 2
        0s   op  puts drop@1: main 3            -> version_mismatch 2
        0s   op  puts drop@2: main 2            -> unchanged 2
        0s   op  puts drop@2: main 3; opens 9s  -> not_changeable opens_at
        0s   op  puts drop@1: main 3; opens 9s  -> version_mismatch 2
    ",
    );
}

#[test]
fn an_operator_command_with_an_id_runs_once() {
    play(
        "
        0s   op#a puts drop: main 1             -> created 1
        1s   op#a puts drop: main 1             -> created 1    # the same answer, not 'unchanged'
        1s   op#a puts drop: main 2             -> id_reused
        1s   op#a pauses drop                   -> id_reused
        1s   op#a puts new drop: main 1         -> id_reused    # another demand is other content
        1s   joe#a puts drop: main 1            -> unchanged 1  # who gave it is: each has ids of their own
        2s   op#b pauses drop                   -> changed 2
        2s   op#c resumes drop                  -> changed 3
        3s   op#b pauses drop                   -> changed 2    # a late copy does not pause it again
             look drop                          -> open 3, main 1 of 1 left
        4s   op#d puts drop@9: main 5           -> version_mismatch 3
        4s   op#d puts drop: main 5             -> changed 4    # a no leaves the id free
        5s   op#e puts drop: main 5             -> unchanged 4
        6s   op   puts drop: main 6             -> changed 5
        7s   op#e puts drop: main 5             -> unchanged 4  # as it was answered
    ",
    );
}

#[test]
fn an_id_is_forgotten_after_a_day_of_service() {
    play(
        "
        0s      op#a puts drop: main 1          -> created 1
        24h     time passes every 15s           -> ticked
                look service                    -> 86400s
        24h     op#a puts drop: main 1          -> unchanged 1  # at 24 h it is new again
    ",
    );
    play(
        "
        0s          op#a puts drop: main 1      -> created 1
        23h+59m+40s time passes every 15s       -> ticked
        48h         op#a puts drop: main 1      -> created 1    # a clock that jumps a day is 15 s of service
                    look service                -> 86395s
        48h+5s      op#a puts drop: main 1      -> unchanged 1
    ",
    );
}

#[test]
fn a_finished_campaign_leaves_memory_and_its_name_stays_taken() {
    play(
        "
        0s   op  puts drop: main 2; title Spring    -> created 1
        1s   ann claims drop                        -> won 1
        1s   bob claims drop                        -> won 2
        2s   op  archives drop                      -> not_closed
        3s   op  closes drop                        -> changed 2
        3s   op  archives drop                      -> unsettled
        4s   ledger has 1                           -> settled 1
        4s   op  archives drop                      -> unsettled
        5s   ledger has 2                           -> settled 2
        6s   op  archives drop                      -> changed 3
        7s   op  archives drop                      -> unchanged 0
        7s   ann claims drop                        -> archived
        7s   ann cancels drop/main 1                -> archived
        7s   op  pauses drop                        -> archived
        7s   op  puts drop: main 2                  -> archived
        7s   op  puts drop@3: main 2                -> archived
        8s   op  archives rush                      -> not_found campaign
             look results                           ->
    ",
    );
}

#[test]
fn an_operator_may_drop_what_no_ledger_has() {
    play(
        "
        0s   op  puts drop: main 2                  -> created 1
        0s   op  puts rush: main 2                  -> created 1
        1s   ann claims drop                        -> won 1
        1s   ann claims rush                        -> won 1
        1s   bob claims drop                        -> won 2
        2s   op  drops drop                         -> not_closed
        2s   op  closes drop                        -> changed 2
        2s   op  drops drop                         -> changed 3
             look results                           -> 2 claim ann 1
        3s   ledger has 3                           -> settled 3
        4s   bob claims rush                        -> won 2
             look results                           -> 4 claim bob 2
    ",
    );
}

#[test]
fn results_are_kept_until_a_ledger_has_them() {
    play(
        "
        0s   op  puts drop: main 9      -> created 1
        1s   ann claims drop            -> won 1
        1s   bob claims drop            -> won 2
        1s   ann cancels drop/main 1    -> cancelled by subject at 1s
        2s   ledger has 4               -> beyond_results
        2s   ledger has 2               -> settled 2
             look results               -> 3 cancel ann 1
        3s   ledger has 1               -> settled 2        # an old mark changes nothing
        3s   ledger has 2 in term 7     -> settled 2
        4s   eve claims drop            -> won 3
        4s   ledger has 4 in term 5     -> settled 4
             look results               ->
    ",
    );
}
