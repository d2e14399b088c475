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
        9s   time passes every 10s                  -> ticked
        59s  time passes every 10s                  -> ticked
        59s  bob confirms h1 hall                   -> not_yours
             look units hall/main                   -> 0 free, 1 held, 0 confirmed, 0 blocked
        60s  ann confirms h1 hall                   -> hold_expired     # the deadline itself is too late
        60s  ann holds h1 hall A1                   -> hold_expired     # asking again does not revive it
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
    ",
    );
}
