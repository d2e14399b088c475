//! Pending, post, void, expire: what TigerBeetle's two-phase transfers promise, asked of holds.

use crate::play::play;

#[test]
fn a_hold_is_resolved_once() {
    // TigerBeetle: a pending transfer is posted, voided or expires, once; later tries are told which
    // (`pending_transfer_already_posted`, `…_already_voided`, `…_expired`).
    play(
        "
        0s   op  puts hall: main seated; ttl 60s; many  -> created 1
        0s   op  adds hall/main: A1; B1; C1             -> imported 3 seats 0 areas
        0s   ann holds h1 hall A1                       -> held A1 until 60s
        0s   bob holds h2 hall B1                       -> held B1 until 60s
        0s   eve holds h3 hall C1                       -> held C1 until 60s
        1s   ann confirms h1 hall                       -> confirmed A1=1
        1s   ann releases h1 hall                       -> already_confirmed
        1s   ann extends h1 hall                        -> already_confirmed
        1s   ann changes h1 hall drop A1                -> already_confirmed
        1s   bob releases h2 hall                       -> released B1
        1s   bob confirms h2 hall                       -> hold_released
        1s   bob confirms h2 hall late                  -> hold_released    # nor is it revived by paying late
        1s   bob extends h2 hall                        -> hold_released
        59s  time passes every 10s                      -> ticked
        60s  eve confirms h3 hall                       -> hold_expired
        60s  eve releases h3 hall                       -> hold_expired
        60s  eve extends h3 hall                        -> hold_expired
        60s  eve changes h3 hall drop C1                -> hold_expired
             look units hall/main                       -> 2 free, 0 held, 1 confirmed, 0 blocked
             look results                               -> 1 claim ann 1 A1 of h1
    ",
    );
}

#[test]
fn asking_again_finds_what_exists_and_never_something_else() {
    // TigerBeetle: a repeated id is `exists` with the same fields, and `exists_with_different_…` with others.
    play(
        "
        0s   op  puts hall: main seated; ttl 60s; many  -> created 1
        0s   op  puts rush: main 1                      -> created 1
        0s   op  adds hall/main: A1; B1; C1             -> imported 3 seats 0 areas
        0s   ann holds h1 hall A1                       -> held A1 until 60s
        1s   ann holds h1 hall A1                       -> already_held A1 until 60s
        1s   ann holds h1 hall A1 B1                    -> id_reused
        1s   ann holds h1 hall best 1                   -> id_reused
        1s   bob holds h1 hall A1                       -> id_reused
        1s   bob holds h1 rush 1                        -> held main until 481s     # each campaign has its own ids
        1s   ann#c1 changes h1 hall B1                  -> held A1 B1 until 60s
        1s   ann#c1 changes h1 hall B1                  -> already_held A1 B1 until 60s
        1s   ann#c1 changes h1 hall C1                  -> id_reused
        2s   ann#c2 confirms h1 hall A1                 -> confirmed A1=1 left 1
        2s   ann#c2 confirms h1 hall A1                 -> confirmed A1=1 left 1
        2s   ann#c2 confirms h1 hall B1                 -> id_reused
        2s   ann#c2 releases h1 hall                    -> id_reused
             look hold h1 hall                          -> live A1=1 B1=held until 60s
    ",
    );
}

#[test]
fn a_no_leaves_nothing_behind_so_its_id_may_be_used_again() {
    // TigerBeetle answers `id_already_failed` to the id of a transfer that failed for a passing reason: a retry cannot
    // turn a no into a yes. Here a no changed nothing and is not remembered: the same request later is a new question.
    play(
        "
        0s   op  puts hall: main seated; ttl 60s; many  -> created 1
        0s   op  adds hall/main: A1; B1                 -> imported 2 seats 0 areas
        0s   ann holds h1 hall A1                       -> held A1 until 60s
        0s   bob holds h2 hall A1                       -> unit_taken A1
             look hold h2 hall                          -> forgotten
        1s   ann#p1 confirms h1 hall B1                 -> not_held B1
        1s   ann#p1 releases h1 hall                    -> released A1
        1s   bob holds h2 hall A1                       -> held A1 until 61s
        1s   bob holds h2 hall A1                       -> already_held A1 until 61s
    ",
    );
}

#[test]
fn a_chain_is_done_whole_or_not_at_all() {
    // TigerBeetle: linked transfers succeed or fail together, whichever of them is the one that cannot be.
    play(
        "
        0s   op  puts hall: main seated; vip 2; gold 1  -> created 1
        0s   op  adds hall/main: A1 A2; GA area=3       -> imported 2 seats 1 areas
        0s   bob holds h1 hall gold 1                   -> held gold until 480s
        1s   ann holds h2 hall A1 A2 + GA*3 + vip 2 + gold 1    -> sold_out
        1s   ann holds h2 hall gold 1 + A1 A2 + GA*3 + vip 2    -> sold_out
        1s   ann holds h2 hall A1 A2 + GA*4 + vip 2     -> sold_out
        1s   ann holds h2 hall A1 A9 + vip 2            -> no_such_unit A9
        1s   ann holds h2 hall best 3 + vip 2           -> sold_out
             look units hall/main                       -> 5 free, 0 held, 0 confirmed, 0 blocked
             look units hall/vip                        -> 2 free, 0 held, 0 confirmed, 0 blocked
        1s   ann holds h2 hall A1 A2 + GA*3 + vip 2     -> held A1 A2 GA*3 vip*2 until 481s
    ",
    );
}

#[test]
fn confirming_a_part_keeps_the_rest_until_it_is_given_back() {
    // TigerBeetle: a partial post gives the rest back at once. Here the rest stays held, as somebody may pay for a
    // part now and for the rest in time; who wants none of it says so.
    play(
        "
        0s   op  puts drop: main 10; ttl 60s            -> created 1
        0s   ann holds h1 drop 5                        -> held main*5 until 60s
        1s   ann confirms h1 drop 9                     -> not_held main    # TB: exceeds_pending_transfer_amount
        1s   ann confirms h1 drop 2                     -> confirmed main=1 main=2 left 3
             look units drop/main                       -> 5 free, 3 held, 2 confirmed, 0 blocked
        1s   ann releases h1 drop 1                     -> released main left 2
        1s   ann confirms h1 drop 1                     -> confirmed main=3 left 1
        59s  time passes every 10s                      -> ticked
        60s  ann confirms h1 drop                       -> hold_expired     # the one that was left
        60s  ann confirms h1 drop late                  -> confirmed main=1 main=2 main=3 main=4 retaken
             look units drop/main                       -> 6 free, 0 held, 4 confirmed, 0 blocked
    ",
    );
}

#[test]
fn what_is_over_counts_as_free_in_the_very_entry_of_its_deadline() {
    // TigerBeetle #2118: an expired pending amount may be shown as held until the next operation. Here each entry frees
    // what is due before anything else, and where nobody asks for anything a tick comes, as `look next` tells when.
    play(
        "
        0s   op  puts drop: main 3; ttl 60s             -> created 1
        0s   ann holds h1 drop 3                        -> held main*3 until 60s
             look next                                  -> 60s
        59s  time passes every 10s                      -> ticked
        59999999us time passes                          -> ticked
             look units drop/main                       -> 0 free, 3 held, 0 confirmed, 0 blocked
        60s  time passes                                -> ticked
             look units drop/main                       -> 3 free, 0 held, 0 confirmed, 0 blocked
             look hold h1 drop                          -> expired main=expired main=expired main=expired    # mojaloop #3300
             look next                                  -> nothing
    ",
    );
}

#[test]
fn nobody_resolves_what_is_not_there_or_not_theirs() {
    // TigerBeetle: `pending_transfer_not_found`, and other accounts than those of the pending transfer are refused.
    play(
        "
        0s   op  puts drop: main 3                      -> created 1
        0s   ann holds h1 drop 1                        -> held main until 480s
        1s   bob confirms h1 drop                       -> not_yours
        1s   bob releases h1 drop                       -> not_yours
        1s   bob extends h1 drop                        -> not_yours
        1s   bob changes h1 drop drop main 1            -> not_yours
        1s   ann confirms h7 drop                       -> no_such_hold
        1s   ann releases h7 drop                       -> no_such_hold
        1s   ann confirms h1 none                       -> not_found campaign
             look hold h1 drop                          -> live main=held until 480s
    ",
    );
}

#[test]
fn one_order_for_all_even_within_one_microsecond() {
    // TigerBeetle: the cluster gives each transfer a time of its own, always a later one. Here entries may have the same
    // time; the order of the journal decides, and ranks say it.
    play(
        "
        0s   op  puts hall: main seated; many           -> created 1
        0s   op  adds hall/main: A1; B1; C1             -> imported 3 seats 0 areas
        0s   ann holds h1 hall A1 & bob holds h2 hall B1 -> held A1 until 480s | held B1 until 480s
        0s   bob confirms h2 hall & eve holds h3 hall C1 & ann confirms h1 hall -> confirmed B1=1 | held C1 until 480s | confirmed A1=2
        0s   eve confirms h3 hall                       -> confirmed C1=3
    ",
    );
}
