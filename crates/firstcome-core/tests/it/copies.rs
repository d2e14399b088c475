//! Stories about lost answers, batches that arrive twice, and clocks that jump.

use crate::play::play;

#[test]
fn service_time_counts_each_step_as_fifteen_seconds_at_most() {
    play(
        "
        5s      time passes     -> ticked
                look service    -> 0s           # the first entry has none before it
        12s     time passes     -> ticked
                look service    -> 7s
        27s     time passes     -> ticked
                look service    -> 22s
        10m     time passes     -> ticked       # the store was away
                look service    -> 37s
        10m     time passes     -> ticked
                look service    -> 37s
        100h    time passes     -> ticked       # its clock jumped
                look service    -> 52s
    ",
    );
}

#[test]
fn a_batch_sent_twice_gives_one_claim_even_with_a_cancel_between() {
    let script = "
        0s   op  puts drop: main 5; again       -> created 1
        1s   n1.1 ann claims drop               -> won 1
        2s   n2.1 ann cancels drop/main 1       -> cancelled by subject at 2s
        3s   n1.1 ann claims drop               -> copy     # n1 lost the answer and sent it again
             look drop                          -> open 1, main 5 of 5 left
        4s   n1.2 ann claims drop               -> won 2    # she asked anew
        5s   n1.1 ann claims drop               -> copy     # any earlier number is a copy
        6s   n1.3=n1.2 ann claims drop          -> copy     # written again, under another name
        7s   n2.2=n1.2 ann claims drop          -> copy     # and by another node, which brings it to this branch
        8s   n2.3=n1.4 bob claims drop          -> won 3    # one that is not here yet is brought
        9s   n1.4 bob claims drop               -> copy
    ";
    play(script);
    // The twin: were the copy not known by its number, one request would have given two claims.
    play(
        "
        0s   op  puts drop: main 5; again       -> created 1
        1s   n1.1 ann claims drop               -> won 1
        2s   n2.1 ann cancels drop/main 1       -> cancelled by subject at 2s
        3s   n1.2 ann claims drop               -> won 2    # the same request, under a number of its own
             look drop                          -> open 1, main 4 of 5 left
    ",
    );
}

#[test]
fn a_clock_that_jumps_does_not_make_a_copy_new() {
    play(
        "
        0s      op  puts drop: main 5; again        -> created 1
        1s      n1.1 ann claims drop                -> won 1
        2s      n2.1 ann cancels drop/main 1        -> cancelled by subject at 2s
        10m     n1.1 ann claims drop                -> copy     # ten minutes forward
        1h+10m  n1.1 ann claims drop                -> copy     # an hour
        48h     n1.1 ann claims drop                -> copy     # two days
                look drop                           -> open 1, main 5 of 5 left
                look service                        -> 47s
    ",
    );
    // The twin: a number remembered for an hour of `at` is forgotten by 1h+10m, so the copy comes as
    // a batch of a node nobody knows, and one request gives two claims.
    play(
        "
        0s      op  puts drop: main 5; again        -> created 1
        1s      n1.1 ann claims drop                -> won 1
        2s      n2.1 ann cancels drop/main 1        -> cancelled by subject at 2s
        1h+10m  n3.1 ann claims drop                -> won 2
    ",
    );
}

#[test]
fn a_node_is_forgotten_an_hour_of_service_after_its_last_batch() {
    play(
        "
        0s      op  puts drop: main 5; again        -> created 1
        1s      n1.1 ann claims drop                -> won 1
        59m     time passes every 15s               -> ticked
        59m     n1.1 ann claims drop                -> copy     # being seen again keeps it known
        1h+58m  time passes every 15s               -> ticked
        1h+58m  n1.1 ann claims drop                -> copy
        2h+59m  time passes every 15s               -> ticked
        2h+59m  n1.1 ann claims drop                -> already_won 1 at 1s
    ",
    );
}

#[test]
fn numbers_may_leave_gaps_and_nodes_do_not_disturb_each_other() {
    play(
        "
        0s   op   puts drop: main 5         -> created 1
        1s   n1.5 ann claims drop           -> won 1
        1s   n2.3 bob claims drop           -> won 2
        1s   n1.4 eve claims drop           -> copy     # an older batch of n1 that came late: refused whole
        1s   n2.4 eve claims drop           -> won 3
        1s   n1.0 joe claims drop           -> copy     # numbers begin at 1
    ",
    );
}
