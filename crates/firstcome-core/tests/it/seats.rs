//! Stories about seats, limits, late payers and operators.

use crate::play::play;

#[test]
fn a_late_payer_gets_the_same_seats_if_all_are_free_and_else_a_refund_once() {
    play(
        "
        0s   op  puts hall: main seated; vip 1; ttl 10s; many   -> created 1
        0s   op  adds hall/main: A1 A2; B1; C1                  -> imported 4 seats 0 areas
        0s   ann holds h1 hall A1 A2 + vip 1                    -> held A1 A2 vip until 10s
        0s   bob holds h2 hall B1                               -> held B1 until 10s
        10s  ann confirms h1 hall                               -> hold_expired
        10s  ann confirms h1 hall late                          -> confirmed A1=1 A2=2 vip=1 retaken
        11s  ann confirms h1 hall late                          -> confirmed A1=1 A2=2 vip=1 retaken at 10s
        11s  ann confirms h1 hall                               -> confirmed A1=1 A2=2 vip=1 retaken at 10s
        11s  eve holds h3 hall B1                               -> held B1 until 21s
        12s  bob confirms h2 hall late                          -> refund_due B1
        13s  bob confirms h2 hall late                          -> refund_due B1 at 12s
        13s  eve releases h3 hall                               -> released B1
        14s  bob confirms h2 hall                               -> refund_due B1 at 12s     # though it is free again
        14s  bob holds h2 hall B1                               -> refund_due B1 at 12s
             look hold h2 hall                                  -> refund_due B1=refunded
             look results                                       -> 1 claim ann 1 A1 of h1, 2 claim ann 2 A2 of h1, 3 claim ann 1 of h1, 4 refund_due bob 0 B1 of h2
    ",
    );
}

#[test]
fn seats_that_are_there_may_be_added_again_after_the_closing_and_others_not() {
    play(
        "
        0s   op  puts hall: main seated     -> created 1
        0s   op  adds hall/main: A1 A2; GA area=5   -> imported 2 seats 1 areas
        0s   op  closes hall                -> changed 2
        1s   op  adds hall/main: A1 A2; GA area=5   -> imported 0 seats 0 areas
        1s   op  adds hall/main: A1 A2; A3  -> closed
        1s   op  adds hall/main: GA area=6  -> closed
    ",
    );
}

#[test]
fn a_late_payer_is_refunded_where_the_limit_or_the_operator_says_no() {
    play(
        "
        0s   op  puts hall: main seated; ttl 10s; many; limit 1; again  -> created 1
        0s   op  adds hall/main: A1; B1; C1; D1                         -> imported 4 seats 0 areas
        0s   ann holds h1 hall A1                               -> held A1 until 10s
        0s   bob holds h2 hall B1                               -> held B1 until 10s
        0s   eve holds h3 hall C1                               -> held C1 until 10s
        10s  ann holds h4 hall D1                               -> held D1 until 20s
        10s  ann confirms h1 hall late                          -> refund_due A1        # one more than she may have
        10s  op  blocks hall B1                                 -> blocked 1
        10s  bob confirms h2 hall late                          -> refund_due B1
        10s  eve confirms h3 hall late                          -> confirmed C1=1 retaken
        11s  op  cancels eve hall/main 1 for fraud              -> cancelled by operator at 11s
        11s  eve holds h5 hall C1                               -> held C1 until 21s
        11s  eve confirms h3 hall                               -> confirmed C1=1 retaken at 10s
    ",
    );
}

#[test]
fn who_is_barred_cannot_confirm_what_was_held() {
    play(
        "
        0s   op  puts hall: main seated; ttl 10s; many; again   -> created 1
        0s   op  adds hall/main: A1; B1; C1                     -> imported 3 seats 0 areas
        0s   eve holds h1 hall A1                               -> held A1 until 10s
        0s   eve confirms h1 hall                               -> confirmed A1=1
        0s   eve holds h2 hall B1                               -> held B1 until 10s
        0s   eve holds h3 hall C1                               -> held C1 until 10s
        1s   op  bars eve hall for fraud                        -> bar_set at 1s holds 2
        1s   eve confirms h2 hall                               -> hold_released
        10s  eve confirms h3 hall late                          -> hold_released
    ",
    );
}

#[test]
fn a_subject_has_no_more_than_one_may_over_holds_and_claims() {
    play(
        "
        0s   op  puts hall: main seated; vip 9; gold 9; many; limit 4; vip max 2; grade R 2 -> created 1
        0s   op  adds hall/main: A1 grade=R; B1 grade=R; C1 grade=R; D1; E1                 -> imported 5 seats 0 areas
        0s   ann holds h1 hall vip 3                            -> limit_reached    # of the pool
        0s   ann holds h1 hall A1 B1 C1                         -> limit_reached    # of the grade
        0s   ann holds h1 hall A1 B1                            -> held A1 B1 until 480s
        0s   ann holds h2 hall C1                               -> limit_reached
        0s   ann holds h2 hall best 1 grade=R                   -> limit_reached
        0s   ann holds h2 hall vip 2                            -> held vip*2 until 480s
        0s   ann holds h3 hall D1                               -> limit_reached    # of the campaign
        0s   ann claims hall/gold                               -> limit_reached
        1s   ann confirms h1 hall A1                            -> confirmed A1=1 left 1
        1s   ann releases h1 hall                               -> released B1
        1s   ann claims hall/gold                               -> won 1
        1s   ann holds h3 hall D1                               -> limit_reached
        2s   ann cancels hall/main 1                            -> cancelled by subject at 2s
        2s   bob claims hall/vip                                -> won 1
        2s   bob holds h4 hall vip 2                            -> limit_reached    # his claim counts
        2s   bob holds h4 hall vip 1                            -> held vip until 482s
        2s   bob claims hall/vip                                -> already_won 1 at 2s
    ",
    );
}

#[test]
fn names_groups_and_areas() {
    play(
        "
        0s   op  puts hall: main seated; vip 2; many                    -> created 1
        0s   op  adds hall/main: A1 A2; B1 off; T1a T1b T1c group=T1; GA area=5; K1 channel=web -> imported 7 seats 1 areas
        0s   op  adds hall/main: A1 A2                                  -> imported 0 seats 0 areas
        0s   op  adds hall/main: A3; A1 grade=R                         -> bad_seat A1 1: its name is given already
        0s   op  adds hall/vip: A1                                      -> not_seated
        0s   op  adds hall/gold: A1                                     -> not_found pool
        0s   ann claims hall/main                                       -> hold_required
        0s   ann holds h1 hall A1 Z1 + vip Z2                           -> no_such_unit Z1 vip/Z2
        0s   ann holds h1 hall B1 T1a K1                                -> not_for_sale B1 T1a K1
        0s   ann holds h1 hall gold 1                                   -> not_found pool
        0s   ann holds h1 hall main 1                                   -> no_such_unit main
        0s   ann holds h1 hall vip best 1                               -> not_seated
        0s   ann holds h1 hall T1 GA*2 + GA                             -> no_such_unit GA*2
        0s   ann holds h1 hall T1 GA + GA*2                             -> held T1a T1b T1c GA*3 until 480s
        0s   bob holds h2 hall T1                                       -> unit_taken T1a T1b T1c
        0s   bob holds h2 hall GA*3                                     -> sold_out
        0s   bob holds h2 hall K1 channel=web                           -> held K1 until 480s
        1s   ann releases h1 hall T1a                                   -> not_for_sale T1a
        1s   ann confirms h1 hall T1 + GA*1                             -> confirmed T1a=1 T1b=2 T1c=3 GA=4 left 2
        1s   ann changes h1 hall drop GA*2                              -> held until 480s
             look units hall/main                                       -> 7 free, 1 held, 4 confirmed, 0 blocked
        2s   ann cancels hall/main 4                                    -> cancelled by subject at 2s
        2s   ann cancels hall/main 1                                    -> cancelled by subject at 2s
             look units hall/main                                       -> 9 free, 1 held, 2 confirmed, 0 blocked
    ",
    );
}

#[test]
fn the_best_seats_are_chosen_inside_the_step_and_next_to_each_other_where_they_can_be() {
    play(
        "
        0s   op  puts hall: main seated; many                       -> created 1
        0s   op  adds hall/main: A1 A2 A3; B1 B2 B3 B4; R1 R2 grade=R price=900KRW   -> imported 9 seats 0 areas
        0s   ann holds h1 hall best 2 grade=R                       -> held R1 R2 until 480s
        0s   bob holds h2 hall best 1 grade=R                       -> sold_out
        0s   bob holds h2 hall best 1 price=900KRW                  -> sold_out
        0s   bob holds h2 hall best 3 together & eve holds h3 hall best 4 together -> held A1 A2 A3 until 480s | held B1 B2 B3 B4 until 480s
        0s   joe holds h4 hall best 1                               -> sold_out
        1s   eve releases h3 hall B2                                -> released B2 left 3
        1s   joe holds h4 hall best 1                               -> held B2 until 481s
    ",
    );
}

#[test]
fn no_single_seat_is_left_unless_that_is_allowed() {
    play(
        "
        0s   op  puts hall: main seated; many                       -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4 A5; B1 B2 B3           -> imported 8 seats 0 areas
        0s   ann holds h1 hall A1 A2 + A4                           -> orphan_left A3
        0s   ann holds h1 hall A2 A3                                -> orphan_left A1
        0s   ann holds h1 hall A1 A2                                -> held A1 A2 until 480s
        0s   bob holds h2 hall A4                                   -> orphan_left A3
        0s   bob holds h2 hall B1 B2                                -> held B1 B2 until 480s     # nowhere else are two without
        0s   bob releases h2 hall                                   -> released B1 B2
        0s   op  puts hall: main seated; many; orphans              -> changed 2
        0s   bob holds h3 hall A4 + B1 B2 B3                        -> held A4 B1 B2 B3 until 480s
        1s   ann changes h1 hall drop A2                            -> held A1 until 480s
    ",
    );
}

#[test]
fn an_operator_blocks_frees_and_moves() {
    play(
        "
        0s   op  puts hall: main seated; vip 3; many                -> created 1
        0s   op  adds hall/main: A1; B1; C1; D1; T1 T2 group=T; GA area=4 -> imported 6 seats 1 areas
        0s   op#b1 blocks hall A1 B1 + T + GA*3                     -> blocked 7
        0s   op#b1 blocks hall A1 B1 + T + GA*3                     -> blocked 7        # the same command again
        0s   op  blocks hall A1                                     -> blocked 0
        0s   op  blocks hall GA*2                                   -> sold_out
        0s   op  blocks hall T1                                     -> not_for_sale T1
        0s   op  blocks hall vip 1                                  -> not_seated
        0s   op  blocks hall Z1                                     -> no_such_unit Z1
        0s   ann holds h1 hall A1 T                                 -> not_for_sale A1 T
        0s   ann holds h1 hall C1                                   -> held C1 until 480s
        0s   op  blocks hall C1 D1                                  -> unit_taken C1
        0s   op  unblocks hall B1 C1 + GA*9                         -> unblocked 4
        1s   op  moves hall/main C1 A1                              -> not_for_sale A1
        1s   op  moves hall/main C1 T1                              -> not_for_sale T1
        1s   op  moves hall/main C1 Z1                              -> no_such_unit Z1
        1s   op  moves hall/main D1 B1                              -> not_held D1
        1s   op#m1 moves hall/main C1 B1 for view                   -> moved C1 to B1 rank 0
        1s   op#m1 moves hall/main C1 B1 for view                   -> moved C1 to B1 rank 0
             look hold h1 hall                                      -> live B1=held until 480s
        2s   ann confirms h1 hall                                   -> confirmed B1=1
        3s   bob holds h2 hall C1                                   -> held C1 until 483s
        3s   op  moves hall/main B1 C1                              -> unit_taken C1
        3s   op  moves hall/main B1 D1                              -> moved B1 to D1 rank 1
        4s   ann confirms h1 hall                                   -> confirmed D1=1 at 2s
        5s   ann cancels hall/main 1                                -> cancelled by subject at 5s
        5s   op  moves hall/main D1 B1                              -> not_held D1
             look units hall/main                                   -> 6 free, 1 held, 0 confirmed, 3 blocked
             look results                                           -> 1 moved ann 0 C1>B1 of h1, 2 claim ann 1 B1 of h1, 3 moved ann 1 B1>D1 of h1, 4 cancel ann 1 D1 of h1
    ",
    );
}

#[test]
fn the_campaigns_state_counts_for_what_is_new_and_not_for_what_is_held() {
    play(
        "
        0s   op  puts hall: main seated; opens 5s; closes 20s; ttl 60s; many  -> created 1
        0s   op  adds hall/main: A1; B1; C1                         -> imported 3 seats 0 areas
        0s   ann holds h1 hall A1                                   -> not_open until 5s
        5s   ann holds h1 hall A1                                   -> held A1 until 65s
        5s   bob holds h2 hall B1                                   -> held B1 until 65s
        6s   op  pauses hall                                        -> changed 2
        6s   ann holds h3 hall C1                                   -> paused
        6s   ann changes h1 hall C1                                 -> paused
        6s   ann extends h1 hall                                    -> extended until 66s
        7s   op  resumes hall                                       -> changed 3
        20s  ann holds h3 hall C1                                   -> closed
        20s  op  adds hall/main: D1                                 -> closed
        20s  ann confirms h1 hall                                   -> confirmed A1=1
        20s  ledger has 1                                           -> settled 1
        20s  op  archives hall                                      -> unsettled      # bob may still pay
        20s  op  drops hall                                         -> changed 4
             look next                                              -> nothing
        20s  bob confirms h2 hall                                   -> archived
        20s  bob holds h4 none A1                                   -> not_found campaign
    ",
    );
}

#[test]
fn who_gave_up_everything_holds_again_only_where_one_may_claim_again() {
    play(
        "
        0s   op  puts hall: main seated; many                       -> created 1
        0s   op  adds hall/main: A1; B1; C1                         -> imported 3 seats 0 areas
        0s   ann holds h1 hall A1 B1                                -> held A1 B1 until 480s
        0s   ann confirms h1 hall                                   -> confirmed A1=1 B1=2
        1s   ann cancels hall/main 1                                -> cancelled by subject at 1s
        1s   ann holds h2 hall A1                                   -> held A1 until 481s
        1s   ann releases h2 hall                                   -> released A1
        2s   ann cancels hall/main 2                                -> cancelled by subject at 2s
        2s   ann holds h3 hall A1                                   -> already_cancelled
    ",
    );
}

#[test]
fn a_cancelled_seat_stays_gone_where_units_do_not_return() {
    play(
        "
        0s   op  puts hall: main seated; vip 1; many; gone          -> created 1
        0s   op  adds hall/main: A1                                 -> imported 1 seats 0 areas
        0s   ann holds h1 hall A1 + vip 1                           -> held A1 vip until 480s
        0s   ann confirms h1 hall                                   -> confirmed A1=1 vip=1
        1s   ann cancels hall/main 1                                -> cancelled by subject at 1s
        1s   ann cancels hall/vip 1                                 -> cancelled by subject at 1s
        1s   bob holds h2 hall A1                                   -> unit_taken A1
        1s   bob holds h2 hall vip 1                                -> sold_out
    ",
    );
}

#[test]
fn one_hold_has_at_most_five_hundred_units() {
    play(
        "
        0s   op  puts drop: main 2000                               -> created 1
        0s   ann holds h1 drop 500                                  -> held main*500 until 480s
        0s   ann changes h1 drop 1                                  -> too_many_units
        0s   bob holds h2 drop 300 + 300                            -> too_many_units
             look units drop/main                                   -> 1500 free, 500 held, 0 confirmed, 0 blocked
    ",
    );
}
