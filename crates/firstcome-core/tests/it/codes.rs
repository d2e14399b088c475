//! The life of codes, told as scripts.

use crate::comparison::same_as_the_model;
use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use crate::world::World;
use firstcome_inject::{Mistake, set};

/// Compares what happened with the model, and replaces the twin by what a snapshot brings back: from then on both must agree.
fn brought_back(mut world: World) -> World {
    same_as_the_model(&world);
    let back = restored(&taken(&world.state, true));
    assert_eq!(taken(&back, true), taken(&world.state, true), "it is written the same");
    assert_eq!(back.memory(), back.walked_memory());
    assert_eq!(world.state.memory(), world.state.walked_memory());
    world.replace_twin(back);
    world
}

#[test]
fn a_code_is_issued_once_reserved_redeemed_and_rolled_back() {
    let world = play(
        "
        0s  op   puts sale: main coded 2        -> created 1
        0s  ann  claims sale                    -> tag_required
        0s  ann  claims sale tag 7              -> won 1
        0s  ann  claims sale tag 8              -> already_won 1 at 0s       # the first tag counts
        0s  bob  claims sale tag 9              -> won 2
        0s  eve  claims sale tag 9              -> sold_out
            look sale                           -> open 1, main 0 of 2 left
        1s  shop redeems sale 1.8 o1            -> no_such_code
        1s  shop redeems sale 2.7 o1            -> no_such_code
        1s  shop redeems sale 9.7 o1            -> no_such_code
        1s  shop redeems sale #A o1             -> no_such_code
        1s  shop reserves sale 1.7 o1 for 60s   -> reserved 1 until 61s
        2s  shop reserves sale 1.7 o1 for 90s   -> already_reserved 1 until 61s     # her own never refuses her
        2s  shop reserves sale 1.7 o2           -> code_reserved
        2s  shop redeems sale 1.7 o2            -> code_reserved
            look code sale 1                    -> reserved ann issue 1, 0 of 1 used, o1 reserved
        ",
    );
    let world = play_on(
        brought_back(world),
        "
        3s  shop redeems sale 1.7 o1            -> redeemed 1
        4s  shop redeems sale 1.7 o1            -> redeemed 1 at 3s          # the same answer
        4s  shop reserves sale 1.7 o1           -> already_redeemed
        4s  shop redeems sale 1.7 o2            -> code_used
        4s  shop frees sale 1.7 o1              -> already_redeemed
        4s  shop frees sale 1.7 o2              -> not_reserved
        4s  shop undoes sale 1.7 o2             -> not_redeemed
        5s  shop undoes sale 1.7 o1             -> rolled_back 1
        6s  shop undoes sale 1.7 o1             -> rolled_back 1 at 5s
        6s  shop frees sale 1.7 o1              -> already_rolled_back
        6s  shop redeems sale 1.7 o1            -> already_rolled_back       # a late retry never counts again
        7s  shop redeems sale 1.7 o2            -> redeemed 1
        8s  shop reserves sale 1.7 o1           -> reused_since              # cancelled, reused, reopened
        9s  shop undoes sale 1.7 o2             -> rolled_back 1
        9s  shop reserves sale 1.7 o1           -> reserved 1 until 909s     # a reopened order reserves anew
        9s  shop redeems sale 1.7 o1            -> redeemed 1
            look results                        -> 1 claim ann 1, 2 claim bob 2, 3 redeemed ann 1 by o1, \
         4 rolled_back ann 1 by o1, 5 redeemed ann 1 by o2, 6 rolled_back ann 1 by o2, 7 redeemed ann 1 by o1
        ",
    );
    brought_back(world);
}

#[test]
fn a_reservation_gives_way_to_time_and_to_its_own_word() {
    let world = play(
        "
        0s  op   puts sale: main coded 2; uses 2 -> created 1
        0s  ann  claims sale tag 7              -> won 1
        0s  shop reserves sale 1.7 o1 for 10s   -> reserved 1 until 10s
        0s  shop reserves sale 1.7 o2 for 10s   -> reserved 1 until 10s
        9s  shop reserves sale 1.7 o3 for 10s   -> code_reserved
        10s shop reserves sale 1.7 o3 for 10s   -> reserved 1 until 20s      # gone at the deadline itself
        10s shop reserves sale 1.7 o2 for 10s   -> reserved 1 until 20s      # anew
        10s shop redeems sale 1.7 o1            -> code_reserved
        11s shop frees sale 1.7 o3              -> reservation_ended 1
        11s shop frees sale 1.7 o3              -> reservation_ended 1
        11s shop redeems sale 1.7 o1            -> redeemed 1
        12s shop redeems sale 1.7 o3            -> code_reserved
        12s shop redeems sale 1.7 o2            -> redeemed 1
        12s shop redeems sale 1.7 o3            -> code_used
            look code sale 1                    -> redeemed ann issue 1, 2 of 2 used, o3 released, o2 redeemed, o1 redeemed
        ",
    );
    brought_back(world);
}

#[test]
fn a_live_reservation_wins_over_expiry_and_a_use_of_an_expired_code_does_not_come_back() {
    let world = play(
        "
        0s  op   puts sale: main coded 5; uses 2; until 20s -> created 1
        0s  op   puts gift: main coded 5; valid 10s -> created 1
        0s  ann  claims sale tag 7              -> won 1
        5s  bob  claims gift tag 8              -> won 1
        14s shop redeems gift 1.8 o1            -> redeemed 1
        15s shop undoes gift 1.8 o1             -> rolled_back 1 expired     # 10 s after it was issued
        15s shop redeems gift 1.8 o2            -> code_expired
        19s shop redeems sale 1.7 o1            -> redeemed 1
        19s shop reserves sale 1.7 o2 for 10s   -> reserved 1 until 29s
        20s shop reserves sale 1.7 o3           -> code_expired
        28s shop redeems sale 1.7 o2            -> redeemed 1                # the reservation wins
        29s shop undoes sale 1.7 o1             -> rolled_back 1 expired
        29s op   puts sale: main coded 5; uses 2; until 90s -> changed 2
        30s shop redeems sale 1.7 o4            -> code_used                 # what did not come back stays gone
            look code gift 1                    -> redeemed bob issue 1, 1 of 1 used, o1 rolled back expired
        30s op   closes sale                    -> changed 3
        30s op   closes gift                    -> changed 2
        31s ledger has 9                        -> beyond_results
        31s ledger has 7                        -> settled 7
        31s op   archives sale                  -> codes_valid
        24h op   archives gift                  -> codes_valid
        25h op   archives gift                  -> changed 3
        25h op   archives sale                  -> changed 4
        ",
    );
    brought_back(world);
}

#[test]
fn a_code_may_be_its_holders_alone_and_uses_of_a_subject_limited() {
    let world = play(
        "
        0s  op   puts sale: main coded 5; holder; pub coded 5; uses 9; each 2 -> created 1
        0s  ann  claims sale/main tag 7         -> won 1
        0s  ann  claims sale/pub tag 7          -> won 1
        0s  bob  claims sale/pub tag 8          -> won 2
        1s  shop redeems sale/main 1.7 o1       -> subject_required
        1s  shop redeems sale/main 1.7 o1 as bob -> not_yours
        1s  shop reserves sale/main 1.7 o1 as ann -> reserved 1 until 901s
        2s  shop redeems sale/main 1.7 o1 as ann -> redeemed 1
        3s  shop reserves sale/pub 1.7 o1 as eve for 10s -> reserved 1 until 13s
        3s  shop redeems sale/pub 1.7 o1 as bob -> id_reused
        3s  shop redeems sale/pub 2.8 o2 as eve -> redeemed 2
        3s  shop redeems sale/pub 2.8 o3 as eve -> limit_reached
        13s shop redeems sale/pub 2.8 o3 as eve -> redeemed 2               # her reservation is over
        13s shop redeems sale/pub 1.7 o1        -> limit_reached            # hers still
        14s shop undoes sale/pub 2.8 o3         -> rolled_back 2
        14s shop redeems sale/pub 1.7 o1        -> redeemed 1
        15s op   bars zoe sale                  -> bar_set at 15s holds 0
        15s shop redeems sale/pub 1.7 o9 as zoe -> barred
        15s shop redeems sale 1.7 o9            -> pool_required
        15s shop redeems none 1.7 o9            -> not_found campaign
        15s shop redeems sale/none 1.7 o9       -> not_found pool
        16s eve  holds h1 sale pub 2            -> claim_required
        17s ann  cancels sale/main 1            -> code_in_use
        ",
    );
    brought_back(world);
}

#[test]
fn operators_revoke_suspend_restore_and_replace_codes() {
    let world = play(
        "
        0s  op   puts sale: main coded 5; again; seats 5 -> created 1
        0s  ann  claims sale/main tag 7         -> won 1
        0s  bob  claims sale/main tag 8         -> won 2
        0s  eve  claims sale/main tag 9         -> won 3
        1s  op   revokes sale/main 1.7 5.5 rank:2 for leak -> codes_marked revoke 2, unknown [1]
        1s  op   revokes sale/main 1.7          -> codes_marked revoke 0
        1s  op   restores sale/main 1.7         -> codes_marked restore 0           # revoked is final
        1s  shop redeems sale/main 1.7 o1       -> code_revoked
        1s  op   suspends sale/main rank:3 rank:7 -> codes_marked suspend 1, unknown [1]
        1s  shop redeems sale/main 3.9 o1       -> code_suspended
        1s  op   restores sale/main 3.9         -> codes_marked restore 1
        2s  shop redeems sale/main 3.9 o1       -> redeemed 3
        2s  op   reissues eve sale/main 3 as 2  -> tag_required
        2s  op   reissues eve sale/main 3 as 2 tag 4 -> reissued 3 as 2
        3s  op   reissues eve sale/main 3 as 2 tag 4 -> reissued 3 as 2             # the same again
        3s  op   reissues eve sale/main 3 as 2 tag 6 -> reissued_since 2
        3s  op   reissues eve sale/main 3 as 4 tag 6 -> reissued_since 2
        3s  op   reissues bob sale/main 3 as 3 tag 6 -> no_such_claim
        3s  op   reissues ann sale/main 1 as 2 tag 6 -> code_revoked
        3s  shop redeems sale/main 3.9 o1       -> redeemed 3 at 2s                 # the answer it had
        3s  shop redeems sale/main 3.9 o2       -> code_revoked
        3s  shop redeems sale/main 3.4 o2       -> code_used                        # uses stay with the claim
        3s  shop undoes sale/main 3.9 o1        -> rolled_back 3
        4s  eve  cancels sale/main 3            -> cancelled by subject at 4s
        4s  shop redeems sale/main 3.4 o2       -> code_revoked
        5s  eve  claims sale/main tag 9         -> won 4
        5s  shop redeems sale/main 4.9 o2       -> redeemed 4
        6s  op   revokes sale/seats rank:1      -> not_coded
        6s  shop redeems sale/seats 1.1 o1      -> not_coded
        6s  op   stages sale/main i1 from 0: A  -> not_imported
        6s  op   withdraws sale/main i1         -> not_imported
            look code sale/main 3               -> revoked eve issue 2, 0 of 1 used, o1 rolled back
            look results                        -> 1 claim ann 1, 2 claim bob 2, 3 claim eve 3, \
         4 code_marked ann 1 revoke, 5 code_marked bob 2 revoke, 6 code_marked eve 3 suspend, \
         7 code_marked eve 3 restore, 8 redeemed eve 3 by o1, 9 code_marked eve 3 as 2, \
         10 rolled_back eve 3 by o1, 11 cancel eve 3, 12 claim eve 4, 13 redeemed eve 4 by o2
        ",
    );
    brought_back(world);
}

#[test]
fn codes_are_imported_whole_or_not_at_all() {
    let world = play(
        "
        0s  op   puts sale: main imported; again -> created 1
        0s  ann  claims sale                    -> sold_out
        0s  op   commits sale/main i1 of 3      -> no_such_import
        0s  op   stages sale/main i1 from 1: B  -> chunk_missing 0
        0s  op   stages sale/main i1 from 0: A B -> codes_staged 2
        0s  op   stages sale/main i1 from 3: D  -> chunk_missing 2
        0s  op   stages sale/main i2 from 0: X  -> import_open
        0s  ann  claims sale                    -> sold_out                 # nothing half imported
        0s  shop redeems sale #A o1             -> no_such_code
        1s  op   stages sale/main i1 from 0: A B -> codes_staged 2          # lines that came before
        1s  op   stages sale/main i1 from 1: B A C -> codes_staged 4        # one that came before, two new
        1s  op   commits sale/main i1 of 5      -> import_incomplete 4
        1s  op   commits sale/main i1 of 4      -> codes_imported 3 of 4, duplicates [2]
        2s  op   commits sale/main i1 of 4      -> codes_imported 3 of 4, duplicates [2]
        2s  op   stages sale/main i1 from 0: Z  -> codes_imported 3 of 4, duplicates [2]
            look sale                           -> open 1, main 3 of 3 left
        3s  op   stages sale/main i2 from 0: A B A C -> codes_staged 4      # the same file again
        3s  op   commits sale/main i2 of 4      -> codes_imported 0 of 4, duplicates [0, 1, 2, 3]
            look sale                           -> open 1, main 3 of 3 left
        4s  shop redeems sale #A o1             -> not_issued
        4s  op   revokes sale/main #B           -> codes_marked revoke 1
        4s  ann  claims sale                    -> won 1
        4s  bob  claims sale                    -> won 2
        4s  eve  claims sale                    -> sold_out
        4s  shop redeems sale #C o1             -> redeemed 2               # B was skipped
        5s  op   stages sale/main i3 from 0: D E F -> codes_staged 3
        ",
    );
    let world = play_on(
        brought_back(world),
        "
        5s  op   discards sale/main i3          -> import_discarded
        5s  op   discards sale/main i3          -> no_such_import
        5s  op   stages sale/main i4 from 0: E  -> codes_staged 1
        65m+5s ledger passes every 15s          -> ticked
        ",
    );
    drop(world);
}

#[test]
fn a_text_means_one_code_at_most_whether_its_spelling_counts_or_not() {
    let world = play(
        "
        0s  op   puts sale: main imported; again -> created 1
        0s  op   stages sale/main i1 from 0: A B/x B/y A/x -> codes_staged 4 # B came with an import that says so
        0s  op   commits sale/main i1 of 4      -> codes_imported 3 of 4, duplicates [3]
        1s  op   stages sale/main i2 from 0: A/y B B/x B/z C -> codes_staged 5
        1s  op   commits sale/main i2 of 5      -> codes_imported 2 of 5, duplicates [0, 1, 2]
        2s  ann  claims sale                    -> won 1
        2s  bob  claims sale                    -> won 2
        2s  eve  claims sale                    -> won 3
        3s  shop redeems sale #A/q o1           -> redeemed 1               # however it is typed
        3s  shop redeems sale #B/x o1           -> redeemed 2
        3s  shop redeems sale #B/y o1           -> redeemed 3
        3s  shop redeems sale #B/q o1           -> no_such_code
        3s  shop redeems sale #B o1             -> no_such_code
        3s  shop redeems sale #B/z o1           -> not_issued
        ",
    );
    brought_back(world);
}

#[test]
fn a_hundred_codes_may_differ_in_their_spelling_alone() {
    let spelled: Vec<String> = (10..130).map(|nth| format!("A/{nth}")).collect();
    let world = play(&format!(
        "
        0s  op   puts sale: main imported       -> created 1
        0s  op   stages sale/main i1 from 0: {} -> codes_staged 120
        0s  op   commits sale/main i1 of 120    -> codes_imported 100 of 120, duplicates {:?}
        ",
        spelled.join(" "),
        (100..120).collect::<Vec<_>>()
    ));
    brought_back(world);
}

#[test]
fn an_import_is_gone_after_an_hour_and_a_whole_one_can_be_revoked() {
    let world = play(
        "
        0s  op   puts sale: main imported; again -> created 1
        0s  op   stages sale/main i1 from 0: A B -> codes_staged 2
        3600s time passes every 15s             -> ticked
        3600s op commits sale/main i1 of 2      -> no_such_import
        3600s op stages sale/main i2 from 0: B C D E -> codes_staged 4
        3600s op commits sale/main i2 of 4      -> codes_imported 4 of 4
        3600s op stages sale/main i3 from 0: F G -> codes_staged 2
        3600s op commits sale/main i3 of 2      -> codes_imported 2 of 2
        3600s op suspends sale/main #E          -> codes_marked suspend 1
        3600s ann claims sale                   -> won 1
        3600s op reissues ann sale/main 1 as 2  -> reissued 1 as 2          # the next code in stock
        3601s shop redeems sale #B o1           -> code_revoked
        3601s shop redeems sale #C o1           -> redeemed 1
              look sale                         -> open 1, main 3 of 6 left
        3602s op withdraws sale/main i2 for leak -> codes_marked revoke 4
        3602s op withdraws sale/main i2         -> codes_marked revoke 0
        3602s op withdraws sale/main i9         -> no_such_import
              look sale                         -> open 1, main 2 of 6 left
        3602s op restores sale/main #E          -> codes_marked restore 0
        3602s shop redeems sale #C o2           -> code_revoked
        3602s bob claims sale                   -> won 2
        3602s shop redeems sale #F o2           -> redeemed 2
        3602s eve claims sale                   -> won 3
        3602s zoe claims sale                   -> sold_out
        3603s eve cancels sale/main 3           -> cancelled by subject at 3603s
        3603s zoe claims sale                   -> sold_out                 # eve knows the code
        ",
    );
    brought_back(world);
}

#[test]
fn a_campaign_whose_import_was_revoked_is_not_deleted() {
    play(
        "
        0s  op   puts sale: main imported       -> created 1
        0s  op   stages sale/main i1 from 0: A  -> codes_staged 1
        0s  op   commits sale/main i1 of 1      -> codes_imported 1 of 1
        1s  op   withdraws sale/main i1         -> codes_marked revoke 1
        1s  op   deletes sale                   -> has_results
        ",
    );
}

#[test]
fn a_pool_whose_codes_were_withdrawn_stays_before_the_opening_too() {
    let world = play(
        "
        0s  op   puts sale: main imported; opens never -> created 1
        0s  op   stages sale/main i1 from 0: A B -> codes_staged 2
        0s  op   commits sale/main i1 of 2      -> codes_imported 2 of 2
        1s  op   suspends sale/main #A          -> codes_marked suspend 1
        1s  op   puts sale: other 5; opens never -> not_changeable pools
        1s  op   restores sale/main #A          -> codes_marked restore 1
        1s  op   puts sale: other 5; opens never -> changed 2
        2s  op   puts sale: main imported; opens never -> changed 3
        2s  op   stages sale/main i2 from 0: A  -> codes_staged 1
        2s  op   commits sale/main i2 of 1      -> codes_imported 1 of 1
        2s  op   stages sale/main i3 from 0: A  -> codes_staged 1
        2s  op   commits sale/main i3 of 1      -> codes_imported 0 of 1, duplicates [0]
        3s  op   withdraws sale/main i3         -> codes_marked revoke 0
        3s  op   puts sale: other 5; opens never -> not_changeable pools
        ",
    );
    brought_back(world);
}

#[test]
fn a_campaign_whose_codes_were_all_revoked_or_cancelled_can_leave_memory() {
    let world = play(
        "
        0s  op   puts sale: main coded 5; again -> created 1
        0s  op   puts bring: main imported      -> created 1
        0s  op   stages bring/main i1 from 0: A B -> codes_staged 2
        0s  op   commits bring/main i1 of 2     -> codes_imported 2 of 2
        0s  op   stages bring/main i2 from 0: C D -> codes_staged 2
        0s  op   commits bring/main i2 of 2     -> codes_imported 2 of 2
        0s  ann  claims sale tag 7              -> won 1
        0s  bob  claims sale tag 8              -> won 2
        0s  eve  claims sale tag 9              -> won 3
        0s  ann  claims bring                   -> won 1
        0s  bob  claims bring                   -> won 2
        0s  eve  claims bring                   -> won 3
        1s  bob  cancels sale/main 2            -> cancelled by subject at 1s
        1s  op   reissues eve sale/main 3 as 2 tag 4 -> reissued 3 as 2
        1s  op   revokes sale/main 1.7 2.8      -> codes_marked revoke 2
        1s  op   closes sale                    -> changed 2
        1s  op   closes bring                   -> changed 2
        1s  op   withdraws bring/main i1        -> codes_marked revoke 2
        2s  ledger has 11                       -> settled 11
        2s  op   archives sale                  -> codes_valid      # eve has one that counts
        2s  op   archives bring                 -> codes_valid
        ",
    );
    let world = play_on(
        brought_back(world),
        "
        2s  op   revokes sale/main 3.4          -> codes_marked revoke 1
        2s  op   withdraws bring/main i2        -> codes_marked revoke 2
        2s  ledger has 13                       -> settled 13
        2s  op   archives sale                  -> changed 3
        2s  op   archives bring                 -> changed 3
        ",
    );
    drop(world);
}

/// Ann, who claims and cancels again and again, has the code she had, and what was done with it; others find theirs.
#[test]
fn an_imported_code_comes_back_to_who_cancelled_its_claim() {
    let world = play(
        "
        0s  op   puts sale: main imported; again -> created 1
        0s  op   stages sale/main i1 from 0: A B C D -> codes_staged 4
        0s  op   commits sale/main i1 of 4      -> codes_imported 4 of 4
        0s  ann  claims sale                    -> won 1
        1s  shop reserves sale #A o1 for 60s    -> reserved 1 until 61s
        1s  ann  cancels sale/main 1            -> code_in_use
        2s  shop frees sale #A o1               -> reservation_ended 1
        2s  shop redeems sale #A o2             -> redeemed 1
        2s  shop undoes sale #A o2              -> rolled_back 1
        2s  ann  cancels sale/main 1            -> cancelled by subject at 2s
            look sale                           -> open 1, main 3 of 4 left
        2s  shop redeems sale #A o3             -> code_revoked
        3s  ann  claims sale                    -> won 2
            look sale                           -> open 1, main 3 of 4 left
            look code sale 2                    -> issued ann issue 1, 0 of 1 used, o2 rolled back, o1 released
        3s  ann  cancels sale/main 2            -> cancelled by subject at 3s
        3s  bob  claims sale                    -> won 3
        3s  eve  claims sale                    -> won 4
        3s  zoe  claims sale                    -> won 5
        3s  joe  claims sale                    -> sold_out
        4s  ann  joins sale                     -> won 6        # hers was never for others
        ",
    );
    let world = play_on(
        brought_back(world),
        "
        4s  shop frees sale #A o1               -> reservation_ended 6       # a late retry
        4s  shop redeems sale #A o2             -> already_rolled_back
        4s  op   suspends sale/main rank:1      -> codes_marked suspend 1    # it is at rank 6 now
        4s  shop redeems sale #A o3             -> code_suspended
        4s  op   restores sale/main #A          -> codes_marked restore 1
        5s  shop redeems sale #A o3             -> redeemed 6
        5s  ann  cancels sale/main 6            -> code_in_use
            look code sale 6                    -> redeemed ann issue 1, 1 of 1 used, o3 redeemed, o2 rolled back, o1 released
            look results                        -> 1 claim ann 1, 2 redeemed ann 1 by o2, 3 rolled_back ann 1 by o2, \
         4 cancel ann 1, 5 claim ann 2, 6 cancel ann 2, 7 claim bob 3, 8 claim eve 4, 9 claim zoe 5, 10 claim ann 6, \
         11 code_marked ann 6 suspend, 12 code_marked ann 6 restore, 13 redeemed ann 6 by o3
        ",
    );
    drop(brought_back(world));
}

/// Ann's first code is replaced, and she cancels and claims again: what replaced it is under another rank then, and a step with
/// the first one is still known by its reference.
#[test]
fn a_replaced_code_knows_what_was_done_with_the_one_that_replaced_it() {
    let world = play(
        "
        0s op   puts sale: main imported; valid 10s; again -> created 1
        0s op   stages sale/main i1 from 0: A B C -> codes_staged 3
        0s op   commits sale/main i1 of 3       -> codes_imported 3 of 3
        0s ann  claims sale                     -> won 1
        1s shop redeems sale #A o1              -> redeemed 1
        1s shop undoes sale #A o1               -> rolled_back 1
        2s op   reissues ann sale/main 1 as 2   -> reissued 1 as 2
        2s shop redeems sale #A o1              -> already_rolled_back
        3s ann  cancels sale/main 1             -> cancelled by subject at 3s
        8s ann  claims sale                     -> won 2
        8s shop undoes sale #A o1               -> rolled_back 2 at 1s
        8s shop redeems sale #A o1              -> already_rolled_back
        8s shop redeems sale #A o2              -> code_revoked
        9s shop redeems sale #B o2              -> redeemed 2
        9s shop redeems sale #A o2              -> redeemed 2
        9s shop reserves sale #A o2 for 60s     -> already_redeemed
        9s op   reissues ann sale/main 2 as 2   -> reissued 2 as 2
        ",
    );
    let world = play_on(
        brought_back(world),
        "
        10s shop reserves sale #B o2 for 60s     -> already_redeemed
        11s shop undoes sale #A o2               -> rolled_back 2     # the claim of rank 1 is over, its codes are not
        12s shop redeems sale #C o3              -> redeemed 2
        13s shop redeems sale #A o3              -> redeemed 2 at 12s
        ",
    );
    drop(brought_back(world));
}

#[test]
fn an_imported_code_that_an_operator_withdrew_stays_revoked() {
    let world = play(
        "
        0s  op   puts sale: main imported; again -> created 1
        0s  op   stages sale/main i1 from 0: A B C D E F -> codes_staged 6
        0s  op   commits sale/main i1 of 6      -> codes_imported 6 of 6
        0s  ann  claims sale                    -> won 1
        0s  op   cancels ann sale/main 1        -> cancelled by operator at 0s
        1s  ann  claims sale                    -> won 2
        1s  shop redeems sale #A o1             -> code_revoked
        1s  op   revokes sale/main #B           -> codes_marked revoke 1
        1s  ann  cancels sale/main 2            -> cancelled by subject at 1s
        2s  ann  claims sale                    -> won 3
        2s  ann  cancels sale/main 3            -> cancelled by subject at 2s
        2s  op   suspends sale/main #C          -> codes_marked suspend 1
        3s  ann  claims sale                    -> won 4
        3s  op   reissues ann sale/main 4 as 2  -> reissued 4 as 2
        3s  ann  cancels sale/main 4            -> cancelled by subject at 3s
        4s  ann  claims sale                    -> won 5
        4s  shop redeems sale #D o1             -> code_revoked
        4s  shop reserves sale #E o1 for 60s    -> reserved 5 until 64s
            look sale                           -> open 1, main 1 of 6 left
        5s  op   withdraws sale/main i1         -> codes_marked revoke 6
        5s  shop frees sale #E o1               -> reservation_ended 5
        5s  ann  cancels sale/main 5            -> cancelled by subject at 5s
        6s  ann  claims sale                    -> sold_out
        ",
    );
    drop(brought_back(world));
}

/// Plays a life that each mistake of codes must change.
fn whole_life() {
    play(
        "
        0s  op   puts sale: main coded 9; until 50s; mine coded 9; holder; stock imported -> created 1
        0s  op   stages sale/stock i1 from 0: A -> codes_staged 1
        0s  op   stages sale/stock i1 from 0: A -> codes_staged 1
        0s  op   stages sale/stock i1 from 1: A/x -> codes_staged 2
        0s  op   commits sale/stock i1 of 2     -> codes_imported 1 of 2, duplicates [1]
        0s  ann  claims sale/main tag 7         -> won 1
        0s  bob  claims sale/main tag 8         -> won 2
        0s  eve  claims sale/main tag 9         -> won 3
        0s  ann  claims sale/mine tag 7         -> won 1
        0s  shop redeems sale/mine 1.7 o1 as bob -> not_yours
        1s  shop reserves sale/main 1.7 o1 for 60s -> reserved 1 until 61s
        1s  shop reserves sale/main 1.7 o1 for 60s -> already_reserved 1 until 61s
        1s  shop redeems sale/main 1.7 o2       -> code_reserved
        2s  shop redeems sale/main 2.8 o3       -> redeemed 2
        2s  shop redeems sale/main 2.8 o3       -> redeemed 2
        3s  shop redeems sale/main 2.8 o3       -> redeemed 2 at 2s
        3s  bob  cancels sale/main 2            -> code_in_use
        4s  shop undoes sale/main 2.8 o3        -> rolled_back 2
        4s  shop redeems sale/main 2.8 o3       -> already_rolled_back
        4s  shop redeems sale/main 2.8 o4       -> redeemed 2
        5s  op   reissues eve sale/main 3 as 2 tag 4 -> reissued 3 as 2
        5s  shop redeems sale/main 3.9 o5       -> code_revoked
        5s  op   revokes sale/main 3.4          -> codes_marked revoke 1
        5s  shop redeems sale/main 3.4 o5       -> code_revoked
        50s shop redeems sale/main 1.7 o1       -> redeemed 1
        51s shop undoes sale/main 2.8 o4        -> rolled_back 2 expired
        51s shop undoes sale/main 1.7 o1        -> rolled_back 1 expired
        ",
    );
}

#[test]
fn each_mistake_about_codes_is_noticed() {
    whole_life();
    for mistake in [
        Mistake::OwnReservationRefuses,
        Mistake::CodeUsedBeyondUses,
        Mistake::RedeemTwice,
        Mistake::RedeemAfterRollback,
        Mistake::ReservationWithoutPriority,
        Mistake::ExpiredUseComesBack,
        Mistake::CodeOfAnybody,
        Mistake::RevokedCodeCounts,
        Mistake::RevokeForgotten,
        Mistake::OldCodeForgotten,
        Mistake::ChunkTakenTwice,
        Mistake::TextOfTwoCodes,
        Mistake::CancelUsedCode,
    ] {
        set(Some(mistake));
        let noticed = std::panic::catch_unwind(whole_life).is_err();
        set(None);
        assert!(noticed, "{mistake:?} goes unnoticed");
    }
    let comes_back: [(_, fn()); 2] = [
        (Mistake::CancelDrainsCodes, an_imported_code_comes_back_to_who_cancelled_its_claim),
        (Mistake::WithdrawnCodeBack, an_imported_code_that_an_operator_withdrew_stays_revoked),
    ];
    for (mistake, story) in comes_back {
        set(Some(mistake));
        let noticed = std::panic::catch_unwind(story).is_err();
        set(None);
        assert!(noticed, "{mistake:?} goes unnoticed");
    }
}
