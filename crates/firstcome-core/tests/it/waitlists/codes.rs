//! Waitlists of coded pools: an offer is taken by a claim, which brings the tag of the code.

use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};

#[test]
pub(super) fn what_an_unused_code_leaves_is_offered_and_a_claim_takes_it() {
    let world = play(
        "
        0s   op   puts sale: main coded 1; offer 60s; again          -> created 1
        0s   ann  joins sale/main 2              -> limit_reached    # a subject has one code at a time
        0s   ann  joins sale/main grade=R        -> not_seated
        0s   ann  claims sale tag 7              -> won 1
        1s   eve  joins sale                     -> waitlisted 0 ahead for 1
        1s   joe  joins sale                     -> waitlisted 1 ahead for 1
        2s   shop redeems sale 1.7 o1            -> redeemed 1
        2s   ann  cancels sale/main 1            -> code_in_use
        3s   shop undoes sale 1.7 o1             -> rolled_back 1
        4s   ann  cancels sale/main 1            -> cancelled by subject at 4s
           look place eve sale -> offer-1
        5s   zoe  claims sale tag 9              -> sold_out
        5s   eve  joins sale                     -> offered offer-1 main until 64s
        5s   eve  confirms offer-1 sale          -> claim_required
        5s   eve  claims sale                    -> tag_required
        5s   op   pauses sale                    -> changed 2
        6s   eve  claims sale tag 8              -> won 2            # a pause takes no offer away
        6s   eve  claims sale tag 8              -> already_won 2 at 6s
        6s   eve  joins sale                     -> already_won 2 at 6s
        6s   eve  confirms offer-1 sale          -> confirmed main=2
        6s   eve  releases offer-1 sale          -> already_confirmed
        7s   shop redeems sale 2.8 o2            -> redeemed 2
           look results -> 1 claim ann 1, 2 redeemed ann 1 by o1, 3 rolled_back ann 1 by o1, 4 cancel ann 1, 5 claim eve 2 of offer-1, 6 redeemed eve 2 by o2
        ",
    );
    let back = restored(&taken(&world.state, true));
    assert_eq!(back.memory(), back.walked_memory());
    let mut world = world;
    world.replace_twin(back);
    play_on(
        world,
        "
        8s   op   resumes sale                   -> changed 3
        8s   op   puts sale: main coded 2; offer 12s; again          -> changed 4
           look place joe sale -> offer-2
        20s  joe  confirms offer-2 sale late     -> hold_expired
           look place joe sale -> offer-3
        20s  joe  claims sale tag 6              -> won 3            # he is alone: it was offered to him again at once
        20s  joe  confirms offer-3 sale          -> confirmed main=3
        ",
    );
}

#[test]
fn imported_codes_are_offered_as_they_come_and_not_when_they_were_known_to_somebody() {
    let world = play(
        "
        0s   op   puts sale: main imported; offer 60s; again         -> created 1
        0s   ann  joins sale                     -> waitlisted 0 ahead for 1
        0s   bob  joins sale                     -> waitlisted 1 ahead for 1
        0s   eve  joins sale                     -> waitlisted 2 ahead for 1
        1s   op   stages sale/main i1 from 0: A B -> codes_staged 2
        1s   op   commits sale/main i1 of 2      -> codes_imported 2 of 2
           look place ann sale -> offer-1
           look place bob sale -> offer-2
           look place eve sale -> 0 ahead for 1, 0 missed
        2s   zoe  claims sale                    -> sold_out
        2s   ann  claims sale                    -> won 1
        2s   op   reissues ann sale/main 1 as 2  -> sold_out         # the other one is bob's
        3s   ann  cancels sale/main 1            -> cancelled by subject at 3s
           look place eve sale -> 0 ahead for 1, 0 missed
        4s   op   suspends sale/main #B          -> codes_marked suspend 1
        4s   bob  claims sale                    -> sold_out         # the operator withdrew it
        ",
    );
    let mut world = world;
    let back = restored(&taken(&world.state, true));
    assert_eq!(taken(&back, true), taken(&world.state, true), "it is written the same");
    world.replace_twin(back);
    play_on(
        world,
        "
        5s   op   restores sale/main #B          -> codes_marked restore 1
        5s   bob  claims sale                    -> won 2
        6s   op   stages sale/main i2 from 0: C  -> codes_staged 1
        6s   op   suspends sale/main #C          -> codes_marked suspend 0, unknown [0]
        6s   op   commits sale/main i2 of 1      -> codes_imported 1 of 1
           look place eve sale -> offer-3
        7s   eve  leaves sale                    -> left_waitlist true
        7s   zoe  claims sale                    -> won 3
        8s   joe  joins sale                     -> waitlisted 0 ahead for 1
        8s   op   stages sale/main i3 from 0: D E -> codes_staged 2
        8s   op   commits sale/main i3 of 2      -> codes_imported 2 of 2
        8s   kim  joins sale                     -> offered offer-5 main until 68s   # something is free at once
        9s   op   withdraws sale/main i3         -> codes_marked revoke 2
        9s   joe  claims sale                    -> sold_out
        9s   joe  releases offer-4 sale          -> released main
           look sale -> open 1, main 0 of 5 left
        ",
    );
}

#[test]
fn the_list_of_codes_ends_with_its_campaign_and_none_is_longer_than_said() {
    play(
        "
        0s   op   puts sale: main coded 1; main waits 1; closes 60s; offer 120s -> created 1
        0s   ann  claims sale tag 7              -> won 1
        0s   eve  joins sale                     -> waitlisted 0 ahead for 1
        0s   joe  joins sale                     -> waitlist_full
        1s   ann  cancels sale/main 1            -> cancelled by subject at 1s
        60s  joe  joins sale                     -> closed
        61s  eve  claims sale tag 8              -> won 2            # the closing takes no offer away
        62s  op   deletes sale                   -> has_results
        ",
    );
}

#[test]
fn who_is_barred_loses_the_offer_of_a_code() {
    play(
        "
        0s   op   puts sale: main coded 1; again -> created 1
        0s   ann  claims sale tag 7              -> won 1
        0s   eve  joins sale                     -> waitlisted 0 ahead for 1
        0s   joe  joins sale                     -> waitlisted 1 ahead for 1
        1s   ann  cancels sale/main 1            -> cancelled by subject at 1s
        2s   op   bars eve sale                  -> bar_set at 2s holds 1
        2s   eve  claims sale tag 8              -> barred
        2s   joe  claims sale tag 9              -> won 2
        ",
    );
}
