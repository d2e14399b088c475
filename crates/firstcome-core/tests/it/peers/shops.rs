//! What went wrong in ticket shops, or was asked of them: pretix, alf.io, Hi.Events and others.

use crate::play::play;

#[test]
fn ones_own_hold_does_not_read_as_sold_out() {
    // Hi.Events #790: the buyer's own order made the page say sold out.
    play(
        "
        0s   op  puts drop: main 2                      -> created 1
        0s   ann holds h1 drop 2                        -> held main*2 until 480s
             look units drop/main                       -> 0 free, 2 held, 0 confirmed, 0 blocked
        1s   ann holds h1 drop 2                        -> already_held main*2 until 480s
        1s   ann holds h2 drop 2                        -> has_hold h1      # from another window: her own is named
        1s   ann holds h2 drop 1                        -> has_hold h1
             look holds ann drop                        -> h1
        1s   bob holds h3 drop 1                        -> sold_out
        1s   op  puts drop: main 2; many                -> changed 2
        1s   ann holds h2 drop 1                        -> sold_out     # one more than hers is what there is not
             look holds ann drop                        -> h1
    ",
    );
}

#[test]
fn what_is_given_up_is_there_for_others_and_for_oneself() {
    // Hi.Events #466: a cancel did not give the place back. pretix #1163, #1405: what was cancelled went on blocking.
    play(
        "
        0s   op  puts drop: main 2; limit 2; again; many -> created 1
        0s   ann holds h1 drop 2                        -> held main*2 until 480s
        0s   ann confirms h1 drop                       -> confirmed main=1 main=2
        0s   ann holds h2 drop 1                        -> limit_reached
        0s   bob holds h3 drop 1                        -> sold_out
        1s   ann cancels drop/main 1                    -> cancelled by subject at 1s
             look units drop/main                       -> 1 free, 0 held, 1 confirmed, 0 blocked
        1s   ann holds h2 drop 1                        -> held main until 481s     # her limit is free again, too
        1s   ann releases h2 drop                       -> released main
        1s   bob holds h3 drop 1                        -> held main until 481s
        1s   bob releases h3 drop                       -> released main
        1s   op  cancels ann drop/main 2 for fraud      -> cancelled by operator at 1s
        1s   bob holds h4 drop 2                        -> held main*2 until 481s
             look units drop/main                       -> 0 free, 2 held, 0 confirmed, 0 blocked
    ",
    );
}

#[test]
fn many_holds_that_end_together_are_free_together() {
    // pretix: stock swings as many carts lapse together. It does here, too, and all of it at one instant: who asks in
    // that very entry may have all of it, and nobody one microsecond before.
    play(
        "
        0s   op  puts drop: main 6; ttl 60s             -> created 1
        0s   ann holds h1 drop 2 & bob holds h2 drop 2 & eve holds h3 drop 2 -> held main*2 until 60s | held main*2 until 60s | held main*2 until 60s
        59s  time passes every 10s                      -> ticked
        59999999us joe holds h4 drop 1                  -> sold_out
        60s  joe holds h4 drop 6                        -> held main*6 until 120s
        60s  ann confirms h1 drop                       -> hold_expired
        60s  ann confirms h1 drop late                  -> refund_due main*2
             look units drop/main                       -> 0 free, 6 held, 0 confirmed, 0 blocked
    ",
    );
}

#[test]
fn a_basket_is_never_some_of_its_lines() {
    // pretix may take some lines of a cart and report the others. Here it is all or nothing: whoever wants some asks so.
    play(
        "
        0s   op  puts drop: main 5; vip 1               -> created 1
        0s   bob holds h1 drop vip 1                    -> held vip until 480s
        0s   ann holds h2 drop 2 + vip 1                -> sold_out
             look units drop/main                       -> 5 free, 0 held, 0 confirmed, 0 blocked
        0s   ann holds h2 drop 2                        -> held main*2 until 480s
        0s   ann changes h2 drop 2 + vip 1              -> sold_out
             look hold h2 drop                          -> live main=held main=held until 480s
        1s   ann changes h2 drop drop main 1            -> held main until 480s     # one line of it removed
        1s   ann releases h2 drop main 1                -> released main
             look units drop/main                       -> 5 free, 0 held, 0 confirmed, 0 blocked
    ",
    );
}

#[test]
fn an_abandoned_payment_ends_though_somebody_keeps_extending_it() {
    // pretix #2629: an abandoned payment never expired. alf.io gives ten minutes of grace after a payment that failed.
    play(
        "
        0s   op  puts drop: main 1; ttl 8m; max 30m     -> created 1
        0s   ann holds h1 drop 1                        -> held main until 480s
        7m   time passes every 15s                      -> ticked
        7m   ann extends h1 drop by 10m                 -> extended until 1020s     # the grace
        17m  time passes every 15s                      -> ticked
        17m  ann extends h1 drop by 10m                 -> hold_expired
        17m  bob holds h2 drop 1                        -> held main until 1500s
        24m  time passes every 15s                      -> ticked
        24m  bob extends h2 drop by 10m                 -> extended until 2040s
        33m  time passes every 15s                      -> ticked
        33m  bob extends h2 drop by 24h                 -> extended until 2820s     # half an hour after its start
        46m  time passes every 15s                      -> ticked
        46m  bob extends h2 drop                        -> extended until 2820s
        47m  time passes every 15s                      -> ticked
        47m  eve holds h3 drop 1                        -> held main until 3300s
    ",
    );
}

#[test]
fn the_last_place_is_not_sold_to_a_late_payer_who_lost_it() {
    // events-made-easy #496: a payment after the end overbooked. pretix #74, #92: money was taken and nothing given.
    play(
        "
        0s   op  puts drop: main 1; ttl 10s             -> created 1
        0s   ann holds h1 drop 1                        -> held main until 10s
        10s  bob holds h2 drop 1 & ann confirms h1 drop late -> held main until 20s | refund_due main
        11s  bob confirms h2 drop                       -> confirmed main=1
             look units drop/main                       -> 0 free, 0 held, 1 confirmed, 0 blocked
             look results                               -> 1 refund_due ann 0 of h1, 2 claim bob 1 of h2
    ",
    );
}

#[test]
fn a_late_payer_gets_the_same_places_where_nobody_took_them_and_all_or_none() {
    // alf.io #531: late payers keep or get back their places. Of a basket that is no longer whole nothing is given.
    play(
        "
        0s   op  puts hall: main seated; ttl 10s; many  -> created 1
        0s   op  adds hall/main: A1; B1; C1; D1         -> imported 4 seats 0 areas
        0s   ann holds h1 hall A1 B1                    -> held A1 B1 until 10s
        0s   bob holds h2 hall C1 D1                    -> held C1 D1 until 10s
        10s  eve holds h3 hall B1                       -> held B1 until 20s
        11s  ann confirms h1 hall late                  -> refund_due A1 B1
        11s  bob confirms h2 hall late                  -> confirmed C1=1 D1=2 retaken
        12s  eve releases h3 hall                       -> released B1
        12s  ann confirms h1 hall late                  -> refund_due A1 B1 at 11s     # said is said
             look units hall/main                       -> 2 free, 0 held, 2 confirmed, 0 blocked
    ",
    );
}

#[test]
fn a_payment_that_is_told_of_again_and_again_is_answered_the_same_and_counted_once() {
    // Hi.Events #513, #531, PR #856: a webhook about a late payment was answered with an error, and came for ever.
    play(
        "
        0s   op  puts drop: main 2; ttl 10s             -> created 1
        0s   ann holds h1 drop 1                        -> held main until 10s
        0s   bob holds h2 drop 1                        -> held main until 10s
        1s   bob#w1 confirms h2 drop late               -> confirmed main=1
        9s   bob#w2 confirms h2 drop late               -> confirmed main=1 at 1s
        10s  eve holds h3 drop 1                        -> held main until 20s
        11s  ann#w3 confirms h1 drop late               -> refund_due main
        12s  ann#w3 confirms h1 drop late               -> refund_due main at 11s
        13s  ann#w4 confirms h1 drop late               -> refund_due main at 11s
        13s  bob#w1 confirms h2 drop late               -> confirmed main=1 at 1s
             look results                               -> 1 claim bob 1 of h2, 2 refund_due ann 0 of h1
    ",
    );
}

#[test]
fn messages_in_the_wrong_order_strand_nothing() {
    // useautumn PR #2433: out of order, they left a lock for its 24 h. chobbledotcom PR #1022: a payment that comes before
    // its hold is there must not be acknowledged and lost. `no_such_hold` changed nothing: it is sent again.
    play(
        "
        0s   op  puts drop: main 2; ttl 60s             -> created 1
        0s   ann#w1 confirms h1 drop late               -> no_such_hold
        0s   ann holds h1 drop 1                        -> held main until 60s
        1s   ann#w1 confirms h1 drop late               -> confirmed main=1
        1s   ann#w2 releases h1 drop                    -> already_confirmed    # a timeout that is told of too late
        1s   bob releases h2 drop                       -> no_such_hold
        1s   bob holds h2 drop 1                        -> held main until 61s  # nobody gives it back any more
        60s  time passes every 10s                      -> ticked
        61s  time passes                                -> ticked
             look units drop/main                       -> 1 free, 0 held, 1 confirmed, 0 blocked
    ",
    );
}

#[test]
fn a_payment_that_was_declined_does_not_use_anything_up() {
    // alf.io #1254: the reservation's id was the payment's key, so there was no second try after a decline.
    play(
        "
        0s   op  puts hall: main seated; many           -> created 1
        0s   op  adds hall/main: A1; B1                 -> imported 2 seats 0 areas
        0s   ann holds h1 hall A1                       -> held A1 until 480s
        1s   ann#p1 confirms h1 hall B1                 -> not_held B1      # for the wrong seat
        1s   ann#p1 confirms h1 hall A1                 -> confirmed A1=1   # a no did not use its id up
        1s   ann#p2 confirms h1 hall A1                 -> confirmed A1=1
    ",
    );
}

#[test]
fn what_is_held_is_not_sold() {
    // WordCamp PR #2016: only what was published counted, not what was pending, and an event was oversold.
    play(
        "
        0s   op  puts drop: main 3; many                -> created 1
        0s   ann holds h1 drop 2                        -> held main*2 until 480s
        0s   bob claims drop                            -> won 1
        0s   eve claims drop                            -> sold_out
        0s   eve holds h2 drop 1                        -> sold_out
        0s   op  puts drop: main 1; many                -> changed 2, main only to 3
        1s   ann confirms h1 drop                       -> confirmed main=2 main=3
             look units drop/main                       -> 0 free, 0 held, 3 confirmed, 0 blocked
    ",
    );
}

#[test]
fn a_limit_is_ones_own_and_not_one_orders() {
    // pretix (#4485), alf.io and Hi.Events (#182) limit what one order has. Here it is what one subject has: in all holds
    // that are live, and in all that is confirmed.
    play(
        "
        0s   op  puts drop: main 9; ttl 60s; many; limit 2; again -> created 1
        0s   ann holds h1 drop 1                        -> held main until 60s
        0s   ann holds h2 drop 1                        -> held main until 60s
        0s   ann holds h3 drop 1                        -> limit_reached
        0s   ann claims drop                            -> limit_reached
        1s   ann confirms h1 drop                       -> confirmed main=1
        1s   ann holds h3 drop 1                        -> limit_reached
        59s  time passes every 10s                      -> ticked
        60s  ann holds h3 drop 1                        -> held main until 120s     # h2 is over
        60s  ann confirms h2 drop late                  -> refund_due main          # and would be one too many
    ",
    );
}

#[test]
fn a_box_office_takes_three_hundred_at_once() {
    // alf.io #1398: many places in one go, for a desk.
    play(
        "
        0s   op  puts drop: main 1000                   -> created 1
        0s   box holds h1 drop 300                      -> held main*300 until 480s
        0s   box releases h1 drop 100                   -> released main*100 left 200
             look units drop/main                       -> 800 free, 200 held, 0 confirmed, 0 blocked
    ",
    );
}

#[test]
fn what_is_kept_back_flows_nowhere_by_itself() {
    // pretix #1238: blocked places that were freed went where nobody expected them.
    play(
        "
        0s   op  puts hall: main seated; ttl 60s; many  -> created 1
        0s   op  adds hall/main: A1; B1; GA area=5      -> imported 2 seats 1 areas
        0s   op  blocks hall A1 + GA*3                  -> blocked 4
        0s   ann holds h1 hall GA*2                     -> held GA*2 until 60s
        0s   bob holds h2 hall GA                       -> sold_out
        0s   bob holds h2 hall A1                       -> not_for_sale A1
        0s   bob holds h2 hall best 2                   -> sold_out
        59s  time passes every 10s                      -> ticked
        60s  time passes                                -> ticked
             look units hall/main                       -> 3 free, 0 held, 0 confirmed, 4 blocked
        60s  op  unblocks hall A1 + GA*1                -> unblocked 2
        60s  bob holds h2 hall A1 + GA*3                -> held A1 GA*3 until 120s
    ",
    );
}
