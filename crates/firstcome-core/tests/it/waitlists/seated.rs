//! Waitlists of halls: by grade, by channel, next to each other, in areas.

use crate::comparison::same_as_the_model;
use crate::play::play;

#[test]
fn each_wish_has_a_queue_of_its_own_and_the_first_that_fits_is_served() {
    play(
        "
        0s   op  puts hall: main seated; many; orphans; ttl 300s    -> created 1
        0s   op  adds hall/main: A1 A2 A3 grade=R; B1 B2 grade=S; K1 channel=web; GA area=2 -> imported 6 seats 1 areas
        0s   ann holds h1 hall A1 A2 A3 B1 B2   -> held A1 A2 A3 B1 B2 until 300s
        0s   web holds h2 hall GA*2             -> held GA*2 until 300s
        1s   eve joins hall 2 grade=R adjacent  -> waitlisted 0 ahead for 2
        1s   joe joins hall grade=S             -> waitlisted 1 ahead for 1
        1s   kim joins hall                     -> waitlisted 2 ahead for 1
        1s   lee joins hall area=GA             -> waitlisted 3 ahead for 1
        1s   mia joins hall channel=web         -> offered offer-3 K1 until 601s
        2s   ann releases h1 hall A1            -> released A1 left 4
           look place eve hall -> 0 ahead for 2, 0 missed, passed over
           look hold offer-4 hall -> live A1=held until 602s
           look place kim hall -> offer-4
        3s   ann releases h1 hall A3            -> released A3 left 3
           look place eve hall -> 0 ahead for 2, 0 missed, passed over
        4s   ann releases h1 hall A2            -> released A2 left 2
           look hold offer-5 hall -> live A2=held A3=held until 604s
           look place eve hall -> offer-5
        5s   web releases h2 hall GA            -> released GA left 1
           look place lee hall -> offer-6
        6s   ann confirms h1 hall               -> confirmed B1=1 B2=2
        7s   ann cancels hall/main 1            -> cancelled by subject at 7s
           look hold offer-7 hall -> live B1=held until 607s
           look place joe hall -> offer-7
        ",
    );
}

#[test]
fn blocks_lifted_seats_added_moved_and_regraded_go_to_the_list() {
    play(
        "
        0s   op  puts hall: main seated; orphans; opens 10s         -> created 1
        0s   op  adds hall/main: A1 A2 A3 A4; B1 grade=R            -> imported 5 seats 0 areas
        0s   op  blocks hall A1 A2 A3 A4        -> blocked 4
        10s  ann joins hall                     -> offered offer-1 B1 until 610s
        11s  eve joins hall                     -> waitlisted 0 ahead for 1
        11s  joe joins hall                     -> waitlisted 1 ahead for 1
        11s  kim joins hall                     -> waitlisted 2 ahead for 1
        11s  lee joins hall grade=R             -> waitlisted 3 ahead for 1
        12s  op  unblocks hall A1               -> unblocked 1
           look place eve hall -> offer-2
        13s  op  adds hall/main: C1             -> imported 1 seats 0 areas
           look place joe hall -> offer-3
        14s  op  unblocks hall A2               -> unblocked 1
           look place kim hall -> offer-4
        14s  op  unblocks hall A3               -> unblocked 1
           look place lee hall -> 0 ahead for 1, 0 missed
        15s  zoe holds h9 hall A3               -> held A3 until 495s   # nobody who waits wants it
        16s  op  unblocks hall A4               -> unblocked 1
        17s  op  reseats hall/main: A4 grade=R  -> seats_changed 1
           look place lee hall -> offer-6
        18s  mia joins hall                     -> waitlisted 0 ahead for 1
        ",
    );
}

#[test]
fn who_comes_back_in_a_pause_is_before_one_who_pays_late() {
    let world = play(
        "
        0s   op  puts hall: main seated; many; orphans; ttl 20s; offer 600s -> created 1
        0s   op  adds hall/main: A1 A2; K1 channel=web -> imported 3 seats 0 areas
        0s   bob holds h1 hall A2               -> held A2 until 20s
        1s   ann joins hall                     -> offered offer-2 A1 until 601s
        2s   op  moves hall/main A1 K1 for view -> moved A1 to K1 rank 0   # not one that ann waited for
        25s  time passes every 5s               -> ticked
        25s  op  pauses hall                    -> changed 2    # A2 came free while nobody waited
        26s  ann releases offer-2 hall          -> released K1
           look place ann hall -> 0 ahead for 1, 1 missed
        27s  bob confirms h1 hall late          -> refund_due A2
        28s  op  resumes hall                   -> changed 3
           look place ann hall -> offer-3
        ",
    );
    same_as_the_model(&world);
}
