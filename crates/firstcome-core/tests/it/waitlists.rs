//! Stories about waitlists: who is next gets what comes free.

mod codes;
mod ends;
mod random;
mod seated;
mod turns;
mod work;

use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use firstcome_inject::{Mistake, set};

#[test]
fn what_comes_free_goes_to_who_is_next_and_not_to_who_clicks_next() {
    let world = play(
        "
        0s   op  puts drop: main 2; ttl 60s; offer 120s             -> created 1
        0s   ann joins drop                     -> won 1            # something is free: a claim like any other
        0s   bob claims drop                    -> won 2
        1s   eve claims drop                    -> sold_out
        1s   eve joins drop                     -> waitlisted 0 ahead for 1
        2s   joe joins drop                     -> waitlisted 1 ahead for 1
        3s   kim joins drop                     -> waitlisted 2 ahead for 1
        4s   joe joins drop                     -> waitlisted 1 ahead for 1   # asked again, the same place
        5s   ann cancels drop/main 1            -> cancelled by subject at 5s
           look place eve drop -> offer-1
        5s   zoe claims drop                    -> sold_out
        6s   eve joins drop                     -> offered offer-1 main until 125s
        6s   bob cancels drop/main 2 & zoe claims drop -> cancelled by subject at 6s | sold_out
           look place joe drop -> offer-2
           look place kim drop -> 0 ahead for 1, 0 missed
        7s   eve confirms offer-1 drop          -> confirmed main=3
        7s   eve joins drop                     -> already_won 3 at 7s
        8s   joe releases offer-2 drop          -> released main    # passed on: the next one has it
           look place kim drop -> offer-3
           look place joe drop -> 0 ahead for 1, 1 missed
        9s   kim leaves drop                    -> left_waitlist true
        9s   kim leaves drop                    -> left_waitlist false
           look place joe drop -> offer-4
        10s  joe extends offer-4 drop by 200s   -> extended until 210s
        11s  joe changes offer-4 drop 2         -> is_offer
        12s  joe confirms offer-4 drop          -> confirmed main=4
        13s  zoe holds offer-9 drop 1           -> id_reused        # such ids are the waitlist's
           look results -> 1 claim ann 1, 2 claim bob 2, 3 cancel ann 1, 4 cancel bob 2, 5 claim eve 3 of offer-1, 6 claim joe 4 of offer-4
        ",
    );
    assert_eq!(world.state.memory(), world.state.walked_memory());
}

#[test]
fn who_lets_an_offer_go_is_behind_all_others_and_off_after_the_third() {
    let mut world = play(
        "
        0s   op  puts drop: main 1; offer 15s                       -> created 1
        0s   ann claims drop                    -> won 1
        0s   eve joins drop                     -> waitlisted 0 ahead for 1
        0s   joe joins drop                     -> waitlisted 1 ahead for 1
        1s   ann cancels drop/main 1            -> cancelled by subject at 1s
           look place eve drop -> offer-1
        16s  eve confirms offer-1 drop          -> hold_expired     # the deadline itself is too late
           look place joe drop -> offer-2
           look place eve drop -> 0 ahead for 1, 1 missed
        ",
    );
    let back = restored(&taken(&world.state, true));
    assert_eq!((back.memory(), back.digest()), (back.walked_memory(), world.state.digest()));
    world.replace_twin(back);
    play_on(
        world,
        "
        31s  time passes                        -> ticked
           look place eve drop -> offer-3
           look place joe drop -> 0 ahead for 1, 1 missed
        46s  time passes                        -> ticked
        61s  time passes                        -> ticked
           look place eve drop -> offer-5
        76s  time passes                        -> ticked
           look place eve drop -> nobody
           look place joe drop -> offer-6
           look results -> 1 claim ann 1, 2 cancel ann 1, 3 unserved eve 0
        91s  time passes                        -> ticked
           look drop -> open 1, main 1 of 1 left
        92s  zoe claims drop                    -> won 2
        ",
    );
}

#[test]
fn who_wants_two_is_passed_over_where_one_is_free_and_keeps_the_place() {
    play(
        "
        0s   op  puts drop: main 3; many; offer 60s                 -> created 1
        0s   ann holds h1 drop 3                -> held main*3 until 480s
        0s   eve joins drop 2                   -> waitlisted 0 ahead for 2
        0s   joe joins drop                     -> waitlisted 1 ahead for 1
        0s   kim joins drop                     -> waitlisted 2 ahead for 1
        1s   ann changes h1 drop drop 1         -> held main*2 until 480s
           look place eve drop -> 0 ahead for 2, 0 missed, passed over
           look place joe drop -> offer-2
        2s   eve joins drop                     -> waitlisted 0 ahead for 2 passed over
        3s   ann releases h1 drop               -> released main*2
           look place eve drop -> offer-3
           look place kim drop -> 0 ahead for 1, 0 missed
        4s   eve confirms offer-3 drop 1        -> confirmed main=1 left 1
        5s   eve releases offer-3 drop 1        -> released main
           look place kim drop -> offer-4
           look place eve drop -> nobody                            # she took some of it: she was served
        ",
    );
}

#[test]
fn raised_capacity_serves_the_list_first() {
    play(
        "
        0s   op  puts drop: main 1              -> created 1
        0s   ann claims drop                    -> won 1
        0s   eve joins drop                     -> waitlisted 0 ahead for 1
        0s   joe joins drop                     -> waitlisted 1 ahead for 1
        1s   op  puts drop: main 4 & zoe claims drop & kim claims drop -> changed 2 | won 2 | sold_out
           look place joe drop -> offer-2
        ",
    );
}

#[test]
fn limits_count_when_somebody_joins_and_when_their_turn_comes() {
    play(
        "
        0s   op  puts drop: main 1; vip 9; limit 2; many            -> created 1
        0s   ann claims drop/main               -> won 1
        0s   eve joins drop/main 3              -> limit_reached
        0s   eve joins drop/main within 1       -> waitlisted 0 ahead for 1
        0s   joe joins drop/main 2              -> waitlisted 1 ahead for 2
        0s   kim joins drop/main                -> waitlisted 2 ahead for 1
        1s   eve claims drop/vip                -> won 1
        2s   ann cancels drop/main 1            -> cancelled by subject at 2s
           look place eve drop/main -> nobody
           look place kim drop/main -> offer-1
           look results -> 1 claim ann 1, 2 claim eve 1, 3 cancel ann 1, 4 unserved eve 0
        ",
    );
}

#[test]
fn who_is_barred_leaves_the_list_and_their_offer_goes_on() {
    play(
        "
        0s   op  puts drop: main 1; main waits 3                    -> created 1
        0s   ann claims drop                    -> won 1
        0s   eve joins drop                     -> waitlisted 0 ahead for 1
        0s   joe joins drop                     -> waitlisted 1 ahead for 1
        0s   kim joins drop                     -> waitlisted 2 ahead for 1
        0s   zoe joins drop                     -> waitlist_full
        1s   op  bars joe drop                  -> bar_set at 1s holds 0
           look place kim drop -> 1 ahead for 1, 0 missed
        1s   joe joins drop                     -> barred
        2s   ann cancels drop/main 1            -> cancelled by subject at 2s
        3s   op  bars eve drop                  -> bar_set at 3s holds 1
           look place kim drop -> offer-2
        ",
    );
}

#[test]
fn a_late_confirm_takes_nothing_that_somebody_waits_for() {
    play(
        "
        0s   op  puts drop: main 1; ttl 10s                         -> created 1
        0s   ann holds h1 drop 1                -> held main until 10s
        0s   eve joins drop                     -> waitlisted 0 ahead for 1
        10s  ann confirms h1 drop late          -> refund_due main
        11s  eve releases offer-2 drop & eve leaves drop -> released main | left_waitlist true
        11s  bob holds h2 drop 1                -> held main until 21s
        25s  bob confirms h2 drop late          -> confirmed main=1 retaken
        ",
    );
}

/// 64 people wait for several units, each for other ones; 65 more want one, each another.
#[test]
fn wishes_for_several_of_64_kinds_leave_room_for_one() {
    let grades: Vec<String> = (0..64).map(|n| format!("g{n}")).collect();
    let seats: Vec<String> = grades.iter().map(|g| format!("{g}-1 grade={g}")).collect();
    let held = grades.iter().filter(|grade| !["g5", "g6"].contains(&&***grade));
    let held: Vec<String> = held.map(|grade| format!("{grade}-1")).collect();
    let mut world = play(&format!(
        "
        0s   op  puts drop: main seated; many -> created 1
        0s   op  adds drop/main: {}; C1 channel=web -> imported 65 seats 0 areas
        0s   ann holds h1 drop {held} -> held {held} until 480s
        0s   zed holds h2 drop g5-1 g6-1 -> held g5-1 g6-1 until 480s
        ",
        seats.join("; "),
        held = held.join(" "),
    ));
    for (n, grade) in grades.iter().enumerate() {
        let wish = format!("{} grade={grade}", n % 9 + 2);
        let ahead = format!("waitlisted {n} ahead for {}", n % 9 + 2);
        world = play_on(world, &format!("1s p{n} joins drop {wish} -> {ahead}"));
    }
    world = play_on(
        world,
        "
        2s zoe joins drop 2 -> too_many_wishes
        2s zoe joins drop 3 grade=g1 -> waitlisted 64 ahead for 3
        2s kim joins drop channel=other -> no_such_unit other
        2s kim joins drop 2 channel=other -> no_such_unit other
        ",
    );
    for (n, grade) in grades.iter().enumerate() {
        let ahead = 65 + n;
        let said = format!("2s q{n} joins drop grade={grade} -> waitlisted {ahead} ahead for 1");
        world = play_on(world, &said);
    }
    let back = restored(&taken(&world.state, true));
    assert_eq!(back.memory(), back.walked_memory());
    world.replace_twin(back);
    play_on(
        world,
        "
        2s kim joins drop -> waitlisted 129 ahead for 1
        2s joe joins drop adjacent -> waitlisted 130 ahead for 1
        3s p3  leaves drop -> left_waitlist true
        3s eve joins drop 2 -> waitlisted 130 ahead for 2
        4s zed releases h2 drop -> released g5-1 g6-1
           look place q5 drop -> offer-3
           look place q6 drop -> offer-4
           look place kim drop -> 126 ahead for 1, 0 missed
        ",
    );
}

/// What an area is, and through whom it is sold, never changes: a wish for it is one kind for all who may have it.
#[test]
fn a_wish_for_an_area_is_one_kind_however_it_is_said() {
    play(
        "
        0s   op  puts drop: main seated; many -> created 1
        0s   op  adds drop/main: A1 channel=web; GA area=1; WA area=1 channel=web -> imported 1 seats 2 areas
        0s   ann holds h1 drop GA*1 + WA*1 channel=web -> held GA WA until 480s
        1s   bob joins drop area=WA              -> no_such_unit WA
        1s   bob joins drop area=GA channel=web -> waitlisted 0 ahead for 1
        1s   eve joins drop area=GA              -> waitlisted 1 ahead for 1
        1s   joe joins drop area=WA channel=web  -> waitlisted 2 ahead for 1
             look place bob drop -> 0 ahead for 1, 0 missed
        2s   ann releases h1 drop                -> released GA WA
             look place bob drop -> offer-2
             look place joe drop -> offer-3
             look place eve drop -> 0 ahead for 1, 0 missed
        ",
    );
}

#[test]
fn nobody_waits_for_a_pool_whose_list_has_no_room() {
    play(
        "
        0s   op  puts new: main 1; main waits 0 -> created 1
        0s   ann joins new                      -> won 1
        0s   eve joins new                      -> no_waitlist
        0s   eve leaves new                     -> left_waitlist false
        0s   eve holds offer-1 new 1            -> id_reused
        ",
    );
}

#[test]
fn a_wish_that_nothing_can_fulfil_is_refused() {
    play(
        "
        0s   op  puts drop: main seated; vip 1; closes 60s -> created 1
        0s   op  adds drop/main: A1 grade=R; GA area=2 -> imported 1 seats 1 areas
        0s   ann joins drop                     -> pool_required
        0s   ann joins drop/gold                -> not_found pool
        0s   ann joins none                     -> not_found campaign
        0s   ann joins drop/vip grade=R         -> not_seated
        0s   ann joins drop/main grade=S        -> no_such_unit S
        0s   ann joins drop/main area=R         -> no_such_unit R
        0s   op  pauses drop                    -> changed 2
        0s   ann joins drop/vip                 -> paused
        ",
    );
}

/// What must be noticed, and the story that notices it.
#[test]
fn planted_mistakes_are_noticed() {
    let stories: [(Mistake, fn()); 6] = [
        (
            Mistake::FreedUnitsSkipList,
            what_comes_free_goes_to_who_is_next_and_not_to_who_clicks_next,
        ),
        (
            Mistake::WaitlistJumped,
            who_wants_two_is_passed_over_where_one_is_free_and_keeps_the_place,
        ),
        (
            Mistake::OffersWithoutEnd,
            who_lets_an_offer_go_is_behind_all_others_and_off_after_the_third,
        ),
        (Mistake::OffersBeyondLimit, limits_count_when_somebody_joins_and_when_their_turn_comes),
        (Mistake::BarKeepsPlace, who_is_barred_leaves_the_list_and_their_offer_goes_on),
        (
            Mistake::ClaimBesideOffer,
            codes::what_an_unused_code_leaves_is_offered_and_a_claim_takes_it,
        ),
    ];
    for (mistake, story) in stories {
        set(Some(mistake));
        let noticed = std::panic::catch_unwind(story).is_err();
        set(None);
        assert!(noticed, "{mistake:?}");
    }
}
