//! Stories about the limit that comes with a command: how many units somebody was found to be entitled to.

use crate::play::play;

#[test]
fn what_comes_with_a_claim_counts_like_the_campaigns_limit() {
    play(
        "
        0s   op  puts drop: red 9; blue 9; green 9; limit 2; again  -> created 1
        0s   ann claims drop/red within 1       -> won 1
        1s   ann claims drop/red within 1       -> already_won 1 at 0s
        1s   ann claims drop/blue within 1      -> limit_reached
        1s   ann claims drop/blue               -> won 1            # nobody said anything: the campaign's own
        2s   ann claims drop/green within 9     -> limit_reached    # the smaller one counts
        2s   ann cancels drop/red 1             -> cancelled by subject at 2s
        2s   ann claims drop/green within 1     -> limit_reached
        2s   ann claims drop/green within 2     -> won 1
        3s   bob claims drop/red within 1       -> won 2
        3s   op  pauses drop                    -> changed 2
        3s   bob claims drop/blue within 1      -> paused
    ",
    );
}

#[test]
fn what_comes_with_a_hold_counts_what_is_held_confirmed_and_claimed() {
    play(
        "
        0s   op  puts hall: main seated; vip 9; gold 9; many; limit 5; orphans -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4 A5 A6; GA area=9              -> imported 6 seats 1 areas
        0s   ann holds h1 hall A1 A2 A3 within 2        -> limit_reached
        0s   ann holds h1 hall A1 + GA*1 within 2       -> held A1 GA until 480s
        0s   ann holds h1 hall A1 + GA*1 within 1       -> already_held A1 GA until 480s   # a smaller one takes nothing
        0s   ann holds h2 hall A2 within 2              -> limit_reached
        0s   ann changes h1 hall A2 within 2            -> limit_reached
        0s   ann changes h1 hall A2 drop A1 within 2    -> held A2 GA until 480s
        0s   ann changes h1 hall best 1 within 2        -> limit_reached
        0s   ann claims hall/gold within 2              -> limit_reached
        1s   ann confirms h1 hall                       -> confirmed A2=1 GA=2
        1s   ann holds h2 hall A4 within 2              -> limit_reached
        1s   ann claims hall/gold within 3              -> won 1
        1s   ann holds h2 hall A4 within 3              -> limit_reached
        1s   ann holds h2 hall vip 2                    -> held vip*2 until 481s           # the campaign's own
        1s   ann holds h3 hall A4 within 9              -> limit_reached                   # the smaller one counts
    ",
    );
}

#[test]
fn a_later_limit_takes_nothing_away_and_lets_give_back() {
    play(
        "
        0s   op  puts hall: main seated; many           -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4 A5         -> imported 5 seats 0 areas
        0s   ann holds h1 hall A1 A2 A3 within 3        -> held A1 A2 A3 until 480s
        1s   ann changes h1 hall A4 within 1            -> limit_reached
        1s   ann changes h1 hall drop A3 within 1       -> held A1 A2 until 480s
        1s   ann confirms h1 hall                       -> confirmed A1=1 A2=2
    ",
    );
}

/// The campaign's own limit went down below what is held: giving back is no reason to say so.
#[test]
fn giving_back_is_never_beyond_a_limit() {
    play(
        "
        0s   op  puts hall: main seated; limit 4        -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4            -> imported 4 seats 0 areas
        0s   ann holds h1 hall A1 A2 A3 A4              -> held A1 A2 A3 A4 until 480s
        1s   op  puts hall: main seated; limit 1        -> changed 2
        1s   ann changes h1 hall drop A4                -> held A1 A2 A3 until 480s
        1s   ann changes h1 hall A4 drop A3             -> limit_reached
    ",
    );
}

#[test]
fn who_pays_late_is_held_to_what_was_said_last() {
    play(
        "
        0s   op  puts hall: main seated; ttl 10s; max 10s; many; orphans  -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4 A5 A6      -> imported 6 seats 0 areas
        0s   ann holds h1 hall A1 A2 within 2           -> held A1 A2 until 10s
        10s  ann holds h2 hall A3 within 2              -> held A3 until 20s
        11s  ann confirms h1 hall A1 late               -> confirmed A1=1 retaken
        11s  ann confirms h1 hall A2 late               -> refund_due A2
        12s  bob holds h3 hall A4 within 1              -> held A4 until 22s
        13s  bob changes h3 hall A5 within 2            -> held A4 A5 until 22s
        22s  bob holds h4 hall A6                       -> held A6 until 32s
        23s  bob confirms h3 hall late                  -> refund_due A4 A5
    ",
    );
    // The twin: with nothing said, both have all of it.
    play(
        "
        0s   op  puts hall: main seated; ttl 10s; max 10s; many; orphans  -> created 1
        0s   op  adds hall/main: A1 A2 A3               -> imported 3 seats 0 areas
        0s   ann holds h1 hall A1 A2                    -> held A1 A2 until 10s
        10s  ann holds h2 hall A3                       -> held A3 until 20s
        11s  ann confirms h1 hall late                  -> confirmed A1=1 A2=2 retaken
    ",
    );
}
