//! Hold tokens, best available, orphans, channels, preconditions: what seats.io means by them, asked of these rules.

use crate::play::play;

#[test]
fn a_hold_of_a_quarter_of_an_hour_is_extended_to_two_hours_in_all() {
    // seats.io: a token lasts 15 minutes, and with extensions two hours at most.
    play(
        "
        0s   op  puts hall: main seated; ttl 15m; max 2h    -> created 1
        0s   op  adds hall/main: A1                         -> imported 1 seats 0 areas
        0s   ann holds h1 hall A1                           -> held A1 until 900s
        14m  time passes every 15s                          -> ticked
        14m  ann extends h1 hall                            -> extended until 1740s
        28m  time passes every 15s                          -> ticked
        28m  ann extends h1 hall by 24h                     -> extended until 7200s
        119m time passes every 15s                          -> ticked
        119m ann extends h1 hall                            -> extended until 7200s
        7199999999us time passes every 15s                  -> ticked
        7199999999us bob holds h2 hall A1                   -> unit_taken A1
        2h   ann extends h1 hall                            -> hold_expired
        2h   bob holds h2 hall A1                           -> held A1 until 8100s
    ",
    );
}

#[test]
fn seats_a_table_and_standing_room_are_held_by_one_call_and_given_back_one_by_one() {
    // seats.io: one call books any mix of objects, all or none; release is per object, a table booked as a whole is one.
    play(
        "
        0s   op  puts hall: main seated; orphans                    -> created 1
        0s   op  adds hall/main: A1 A2 A3; T1a T1b group=T1; GA area=9  -> imported 5 seats 1 areas
        0s   ann holds h1 hall A1 A2 T1 + GA*4                      -> held A1 A2 T1a T1b GA*4 until 480s
        1s   ann releases h1 hall A1                                -> released A1 left 7
        1s   ann releases h1 hall GA*1                              -> released GA left 6
        1s   ann releases h1 hall T1a                               -> not_for_sale T1a
        1s   ann releases h1 hall T1                                -> released T1a T1b left 4
        1s   bob holds h2 hall T1 + GA*6                            -> held T1a T1b GA*6 until 481s
        1s   eve holds h3 hall GA                                   -> sold_out
             look hold h1 hall                                      -> live A1=released A2=held T1a=released T1b=released GA=released GA=held GA=held GA=held until 480s
             look units hall/main                                   -> 2 free, 12 held, 0 confirmed, 0 blocked
    ",
    );
}

#[test]
fn the_best_are_together_where_they_can_be_and_apart_only_if_that_will_do() {
    // seats.io: best available looks for seats next to each other first; whether others will do is a flag of the call.
    play(
        "
        0s   op  puts hall: main seated; many                       -> created 1
        0s   op  adds hall/main: A1 A2; B1 B2; C1 C2                -> imported 6 seats 0 areas
        0s   ann holds h1 hall best 3 together                      -> sold_out     # three next to each other: nowhere
        0s   ann holds h1 hall best 3                               -> held A1 A2 B1 until 480s     # B2 alone: nobody can help it
        0s   bob holds h2 hall best 2                               -> held C1 C2 until 480s
        0s   eve holds h3 hall best 2                               -> sold_out
        0s   eve holds h3 hall best 1                               -> held B2 until 480s
    ",
    );
}

#[test]
fn the_best_of_a_grade_a_price_a_channel_and_for_a_wheelchair() {
    // seats.io: best available by categories, within a channel, and for accessible seats.
    play(
        "
        0s   op  puts hall: main seated; many                       -> created 1
        0s   op  adds hall/main: A1 A2 grade=R price=900KRW; B1 B2 grade=S price=500KRW; C1 C2 grade=S price=500KRW channel=fan -> imported 6 seats 0 areas
        0s   op  adds hall/main: D1 wheel                           -> imported 1 seats 0 areas
        0s   ann holds h1 hall best 2 grade=S                       -> held B1 B2 until 480s
        0s   bob holds h2 hall best 2 grade=S                       -> sold_out     # the rest is the fan club's
        0s   bob holds h2 hall best 2 price=500KRW channel=fan      -> held C1 C2 until 480s
        0s   eve holds h3 hall best 1 wheel                         -> held D1 until 480s
        0s   joe holds h4 hall best 1 wheel                         -> sold_out
        0s   joe holds h4 hall best 3                               -> sold_out
        0s   joe holds h4 hall best 2                               -> held A1 A2 until 480s
    ",
    );
}

#[test]
fn a_single_seat_is_left_only_where_that_is_allowed_or_cannot_be_helped() {
    // seats.io: no orphan seats unless that is switched off, and excused where there is no other way. Giving seats back is
    // never refused for what it leaves.
    play(
        "
        0s   op  puts hall: main seated; many                       -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4 A5; B1 B2 B3           -> imported 8 seats 0 areas
        0s   ann holds h1 hall A2                                   -> orphan_left A1
        0s   ann holds h1 hall A1 A2 A3 A4 A5                       -> held A1 A2 A3 A4 A5 until 480s
        0s   bob holds h2 hall B2 B3                                -> held B2 B3 until 480s     # nowhere are two without
        1s   ann releases h1 hall A3                                -> released A3 left 4
        1s   eve holds h3 hall A3                                   -> held A3 until 481s
        1s   joe holds h4 hall B1                                   -> held B1 until 481s
        2s   ann releases h1 hall                                   -> released A1 A2 A3 A4 A5
        2s   eve releases h3 hall                                   -> released A3
        2s   op  puts hall: main seated; many; orphans              -> changed 2
        2s   zoe holds h5 hall A2                                   -> held A2 until 482s
    ",
    );
}

#[test]
fn a_channel_is_a_share_that_others_do_not_see() {
    // seats.io: an object of a channel is only had through it; one without is for everybody. Not for sale is for nobody.
    play(
        "
        0s   op  puts hall: main seated; many                       -> created 1
        0s   op  adds hall/main: A1 channel=web; B1 channel=desk; C1; D1 off; GA area=2 channel=desk -> imported 4 seats 1 areas
        0s   ann holds h1 hall A1                                   -> not_for_sale A1
        0s   ann holds h1 hall B1 channel=web                       -> not_for_sale B1
        0s   ann holds h1 hall GA*1 channel=web                     -> not_for_sale GA
        0s   ann holds h1 hall D1 channel=web                       -> not_for_sale D1
        0s   ann holds h1 hall A1 C1 channel=web                    -> held A1 C1 until 480s
        0s   box holds h2 hall B1 channel=desk + GA*2 channel=desk  -> held B1 GA*2 until 480s
        1s   box confirms h2 hall                                   -> confirmed B1=1 GA=2 GA=3
    ",
    );
}

#[test]
fn nothing_changes_hands_from_a_standing_it_does_not_have() {
    // seats.io: a change of status names the statuses it may start from. Here each step has its own, and there is no
    // step that goes over somebody's head: an operator takes a seat away by a cancel, with a reason.
    play(
        "
        0s   op  puts hall: main seated; many                       -> created 1
        0s   op  adds hall/main: A1; B1; C1; D1                     -> imported 4 seats 0 areas
        0s   ann holds h1 hall A1                                   -> held A1 until 480s
        0s   bob holds h2 hall B1                                   -> held B1 until 480s
        0s   bob confirms h2 hall                                   -> confirmed B1=1
        1s   op  blocks hall A1 B1 C1                               -> unit_taken A1 B1
        1s   op  blocks hall C1                                     -> blocked 1
        1s   op  unblocks hall A1 B1 C1 D1                          -> unblocked 1
        1s   op  moves hall/main C1 D1                              -> not_held C1
        1s   op  moves hall/main A1 B1                              -> unit_taken B1
        1s   op  cancels bob hall/main 1 for fraud                  -> cancelled by operator at 1s
        1s   op  moves hall/main B1 C1                              -> not_held B1
        1s   op  blocks hall B1                                     -> blocked 1
        1s   op  puts hall@9: main seated; many                     -> version_mismatch 1
    ",
    );
}

#[test]
fn a_seat_is_booked_without_waiting_by_two_commands_of_one_entry() {
    // seats.io books free objects directly. Here a claim gives no seat, and a hold that is confirmed at once does.
    play(
        "
        0s   op  puts hall: main seated                             -> created 1
        0s   op  adds hall/main: A1 A2                              -> imported 2 seats 0 areas
        0s   ann claims hall                                        -> hold_required
        0s   ann holds h1 hall A1 A2 & ann confirms h1 hall         -> held A1 A2 until 480s | confirmed A1=1 A2=2
        1s   bob holds h2 hall A1 & bob confirms h2 hall            -> unit_taken A1 | no_such_hold
    ",
    );
}

#[test]
fn looking_first_promises_nothing_and_the_hold_says_which_were_taken() {
    // seats.io offers no list of what a token holds, as to look and then to book is a race. Here a hold lists its units,
    // and is no safer for that: what counts is the answer to the step itself, which names every seat that was taken.
    play(
        "
        0s   op  puts hall: main seated; ttl 60s                    -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4                        -> imported 4 seats 0 areas
             look units hall/main                                   -> 4 free, 0 held, 0 confirmed, 0 blocked
        0s   ann holds h1 hall A1 A2                                -> held A1 A2 until 60s
        0s   bob holds h2 hall A1 A2 A3 A4                          -> unit_taken A1 A2
             look hold h1 hall                                      -> live A1=held A2=held until 60s
        59s  time passes every 10s                                  -> ticked
             look hold h1 hall                                      -> live A1=held A2=held until 60s
        60s  ann confirms h1 hall                                   -> hold_expired
    ",
    );
}
