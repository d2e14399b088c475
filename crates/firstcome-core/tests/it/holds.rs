//! Stories about holds: who has what until when, and what becomes of it.

use crate::play::play;

#[test]
fn the_first_to_ask_gets_the_seat_and_time_gives_it_back() {
    play(
        "
        0s   op  puts hall: main seated; ttl 60s    -> created 1
        0s   op  adds hall/main: A1                 -> imported 1 seats 0 areas
        0s   ann holds h1 hall A1                   -> held A1 until 60s
        1s   bob holds h2 hall A1                   -> unit_taken A1
        1s   ann holds h1 hall A1                   -> already_held A1 until 60s    # her retry, same id
             look next                              -> 60s
        59s  time passes every 10s                  -> ticked
        59s  bob confirms h1 hall                   -> not_yours
             look units hall/main                   -> 0 free, 1 held, 0 confirmed, 0 blocked
        60s  ann confirms h1 hall                   -> hold_expired     # the deadline itself is too late
        60s  ann holds h1 hall A1                   -> hold_expired     # asking again does not revive it
             look next                              -> nothing
             look units hall/main                   -> 1 free, 0 held, 0 confirmed, 0 blocked
        60s  bob holds h3 hall A1                   -> held A1 until 120s
    ",
    );
}

#[test]
fn places_of_a_counted_pool_are_held_and_get_their_ranks_at_confirm() {
    play(
        "
        0s   op  puts drop: main 5; vip 2           -> created 1
        0s   ann holds h1 drop 2 + vip 1            -> held main*2 vip until 480s
        0s   bob claims drop/main                   -> won 1
        0s   ann claims drop/main                   -> won 2        # a claim is not in the way of a hold
             look units drop/main                   -> 1 free, 2 held, 2 confirmed, 0 blocked
        0s   eve holds h2 drop 2                    -> sold_out
        0s   eve holds h2 drop 1 + vip 2            -> sold_out     # and no half of it
             look units drop/main                   -> 1 free, 2 held, 2 confirmed, 0 blocked
        1s   ann confirms h1 drop                   -> confirmed main=3 main=4 vip=1
        1s   ann confirms h1 drop                   -> confirmed main=3 main=4 vip=1
        2s   ann confirms h1 drop                   -> confirmed main=3 main=4 vip=1 at 1s
             look results                           -> 1 claim bob 1, 2 claim ann 2, 3 claim ann 3 of h1, 4 claim ann 4 of h1, 5 claim ann 1 of h1
        2s   ann cancels drop/main 4                -> cancelled by subject at 2s
             look units drop/main                   -> 2 free, 0 held, 3 confirmed, 0 blocked
        2s   ann claims drop/main                   -> already_won 3 at 1s  # the latest that stands
    ",
    );
}

#[test]
fn overlapping_baskets_are_granted_whole_or_not_at_all() {
    play(
        "
        0s   op  puts hall: main seated; vip seated; ttl 60s    -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4                    -> imported 4 seats 0 areas
        0s   op  adds hall/vip: V1                              -> imported 1 seats 0 areas
        0s   ann holds h1 hall A1 A2 + vip V1                   -> held A1 A2 vip/V1 until 60s
        0s   bob holds h2 hall A2 A3 & eve holds h3 hall A3 A4  -> unit_taken A2 | held A3 A4 until 60s
        0s   joe holds h4 hall A1 A4 + vip V1                   -> unit_taken A1 A4 vip/V1
             look units hall/main                               -> 0 free, 4 held, 0 confirmed, 0 blocked
        1s   ann releases h1 hall                               -> released A1 A2 vip/V1
        1s   bob holds h2 hall A1 A2 + vip V1                   -> held A1 A2 vip/V1 until 61s
    ",
    );
}

#[test]
fn confirm_and_expiry_at_the_same_instant_have_one_winner_in_both_orders() {
    play(
        "
        0s   op  puts hall: main seated; ttl 60s; closes 90s    -> created 1
        0s   op  adds hall/main: A1; B1                         -> imported 2 seats 0 areas
        0s   ann holds h1 hall A1                               -> held A1 until 60s
        0s   bob holds h2 hall B1                               -> held B1 until 60s
        50s  time passes every 10s                              -> ticked
        59999999us ann confirms h1 hall & joe holds h3 hall A1  -> confirmed A1=1 | unit_taken A1
        60s  joe holds h3 hall B1 & bob confirms h2 hall        -> held B1 until 120s | hold_expired
    ",
    );
}

#[test]
fn an_outage_does_not_eat_what_is_held() {
    play(
        "
        0s   op  puts hall: main seated; ttl 60s    -> created 1
        0s   op  adds hall/main: A1                 -> imported 1 seats 0 areas
        0s   ann holds h1 hall A1                   -> held A1 until 60s
        10s  time passes                            -> ticked
        550s bob holds h2 hall A1                   -> unit_taken A1        # nine minutes without a store
             look service                           -> 25s
             look hold h1 hall                      -> live A1=held until 585s
        580s time passes every 10s                  -> ticked
        584999999us ann confirms h1 hall            -> confirmed A1=1
    ",
    );
}

#[test]
fn extending_goes_as_far_as_the_ceiling_and_never_back() {
    play(
        "
        0s   op  puts hall: main seated; ttl 60s; max 100s  -> created 1
        0s   op  adds hall/main: A1                         -> imported 1 seats 0 areas
        0s   ann holds h1 hall A1                           -> held A1 until 60s
        10s  ann extends h1 hall                            -> extended until 70s
        10s  ann extends h1 hall                            -> extended until 70s
        11s  ann extends h1 hall by 10s                     -> extended until 70s   # never earlier
        12s  bob extends h1 hall                            -> not_yours
        12s  ann extends h9 hall                            -> no_such_hold
        60s  time passes every 10s                          -> ticked
        61s  ann extends h1 hall by 24h                     -> extended until 100s
        99s  time passes every 10s                          -> ticked
        99s  ann extends h1 hall                            -> extended until 100s
        100s ann extends h1 hall                            -> hold_expired
    ",
    );
}

#[test]
fn giving_some_back_leaves_the_rest_as_it_was() {
    play(
        "
        0s   op  puts hall: main seated; vip 9              -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4                -> imported 4 seats 0 areas
        0s   ann holds h1 hall A1 A2 A3 A4 + vip 3          -> held A1 A2 A3 A4 vip*3 until 480s
        1s   ann releases h1 hall A4                        -> released A4 left 6
        1s   ann releases h1 hall A4                        -> released A4 left 6
        1s   bob holds h2 hall A4                           -> held A4 until 481s
        1s   ann#s1 releases h1 hall vip 2                  -> released vip*2 left 4
        1s   ann#s1 releases h1 hall vip 2                  -> released vip*2 left 4    # her retry
        1s   ann#s1 releases h1 hall vip 1                  -> id_reused
        1s   ann releases h1 hall vip 4                     -> not_held vip
        1s   ann confirms h1 hall A4                        -> not_held A4
        1s   ann releases h1 hall A9                        -> no_such_unit A9
        2s   ann confirms h1 hall A1 + vip 1                -> confirmed A1=1 vip=1 left 2
        2s   ann releases h1 hall A1                        -> already_confirmed
        3s   ann releases h1 hall                           -> released A2 A3 A4 vip*2
        3s   ann releases h1 hall                           -> released A2 A3 A4 vip*2
        3s   ann holds h1 hall A1 A2 A3 A4 + vip 3          -> confirmed A1=1 vip=1 at 2s
             look hold h1 hall                              -> confirmed A1=1 A2=released A3=released A4=released vip=released vip=released vip=1
        3s   bob releases h2 hall                           -> released A4
        3s   bob confirms h2 hall                           -> hold_released
        3s   bob extends h2 hall                            -> hold_released
        3s   bob holds h2 hall A4                           -> hold_released
        3s   ann extends h1 hall                            -> already_confirmed
    ",
    );
}

#[test]
fn adding_and_dropping_is_all_or_nothing_too() {
    play(
        "
        0s   op  puts hall: main seated; vip 3; limit 4     -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4; B1 B2 B3      -> imported 7 seats 0 areas
        0s   ann holds h1 hall A1 A2 + vip 1                -> held A1 A2 vip until 480s
        0s   bob holds h2 hall B1                           -> held B1 until 480s
        1s   ann changes h1 hall B1 drop A1                 -> unit_taken B1
             look hold h1 hall                              -> live A1=held A2=held vip=held until 480s
        1s   ann changes h1 hall B2 B3                      -> limit_reached
        1s   ann changes h1 hall B2 B3 drop A1              -> held A2 B2 B3 vip until 480s
        1s   bob changes h2 hall A1                         -> held A1 B1 until 480s
        1s   ann changes h1 hall drop B2                    -> held A2 B3 vip until 480s
        1s   ann changes h1 hall drop B2                    -> already_held A2 B3 vip until 480s
        1s   ann changes h1 hall B3                         -> already_held A2 B3 vip until 480s
        2s   ann#s1 changes h1 hall vip 1                   -> held A2 B3 vip*2 until 480s
        2s   ann#s1 changes h1 hall vip 1                   -> already_held A2 B3 vip*2 until 480s
        2s   ann#s1 changes h1 hall vip 2                   -> id_reused
        2s   ann changes h1 hall vip 3 drop A2 B3 + vip 2   -> held vip*3 until 480s
        3s   bob changes h1 hall drop A2                    -> not_yours
        3s   bob changes h2 hall drop A1 B1                 -> held until 480s     # nothing left of it
        3s   bob changes h2 hall A1                         -> hold_released
        4s   ann confirms h1 hall                           -> confirmed vip=1 vip=2 vip=3
        4s   ann changes h1 hall drop vip 1                 -> already_confirmed
        4s   eve changes h9 hall A1                         -> no_such_hold
    ",
    );
}

#[test]
fn one_hold_at_a_time_unless_the_campaign_says_many() {
    play(
        "
        0s   op  puts hall: main seated                 -> created 1
        0s   op  adds hall/main: A1; B1; C1             -> imported 3 seats 0 areas
        0s   ann holds h1 hall A1                       -> held A1 until 480s
        0s   ann holds h2 hall B1                       -> has_hold h1
        0s   ann holds h2 hall A1                       -> already_held A1 until 480s   # exactly what she has
        0s   ann holds h2 hall Z9                       -> has_hold h1
        0s   op  puts hall: main seated; many           -> changed 2
        0s   ann holds h2 hall B1                       -> held B1 until 480s
        0s   ann holds h3 hall A1                       -> already_held A1 until 480s
        0s   ann holds h3 hall A1 C1                    -> unit_taken A1
             look holds ann hall                        -> h1 h2
        1s   ann releases h1 hall                       -> released A1
             look holds ann hall                        -> h2
    ",
    );
}

#[test]
fn an_id_says_how_its_hold_ended_for_a_day() {
    play(
        "
        0s   op  puts hall: main seated; ttl 10s; perhour 1000  -> created 1
        0s   op  adds hall/main: A1; B1; C1             -> imported 3 seats 0 areas
        0s   ann holds h1 hall A1                       -> held A1 until 10s
        0s   ann holds h1 hall B1                       -> id_reused
        0s   bob holds h1 hall A1                       -> id_reused
        1s   ann confirms h1 hall                       -> confirmed A1=1
        1s   ann holds h1 hall A1                       -> confirmed A1=1
        1s   bob holds h2 hall B1                       -> held B1 until 11s
        2s   bob releases h2 hall                       -> released B1
        2s   bob holds h2 hall B1                       -> hold_released
        2s   bob holds h3 hall C1                       -> held C1 until 12s
        12s  time passes                                -> ticked
        24h+1s time passes every 15s                    -> ticked
        24h+2s eve holds h4 hall C1                     -> held C1 until 86412s
             look hold h1 hall                          -> forgotten
        24h+2s ann confirms h1 hall                     -> no_such_hold
        24h+3s ann releases h9 hall                     -> no_such_hold
             look hold h2 hall                          -> forgotten
        24h+3s bob holds h2 hall B1                     -> held B1 until 86413s    # a new one by an old name
             look hold h3 hall                          -> expired C1=expired
    ",
    );
}

#[test]
fn sixty_holds_an_hour_are_enough() {
    play(
        "
        0s     op  puts hall: main seated; perhour 2    -> created 1
        0s     op  adds hall/main: A1                   -> imported 1 seats 0 areas
        0s     ann holds h1 hall A1                     -> held A1 until 480s
        0s     ann releases h1 hall                     -> released A1
        10s    ann holds h2 hall A1                     -> held A1 until 490s
        10s    ann releases h2 hall                     -> released A1
        11s    ann holds h3 hall A1                     -> too_many_holds
        3599s  time passes every 15s                    -> ticked
        3599s  ann holds h3 hall A1                     -> too_many_holds
        3600s  ann holds h3 hall A1                     -> held A1 until 4080s      # the first is an hour old
        3600s  ann releases h3 hall                     -> released A1
        3601s  ann holds h4 hall A1                     -> too_many_holds
    ",
    );
}
