//! What the end of a campaign means to those who wait.

use crate::play::{play, play_on};
use crate::snapshots::{restored, taken};
use firstcome_core::Refusal;
use firstcome_inject::{Mistake, set};

#[test]
fn everybody_on_the_list_gets_a_result_when_the_campaign_is_over() {
    let mut world = play(
        "
        0s   op  puts drop: main 2; closes 30s; offer 60s           -> created 1
        0s   ann claims drop                    -> won 1
        0s   bob claims drop                    -> won 2
        0s   eve joins drop                     -> waitlisted 0 ahead for 1
        0s   joe joins drop 2                   -> waitlisted 1 ahead for 2
        0s   kim joins drop                     -> waitlisted 2 ahead for 1
        1s   op  deletes drop                   -> has_results
        1s   ann cancels drop/main 1            -> cancelled by subject at 1s
        1s   bob cancels drop/main 2            -> cancelled by subject at 1s
           look place kim drop -> offer-2
        31s  time passes every 15s              -> ticked
           look place joe drop -> nobody
           look place kim drop -> offer-2
           look results -> 1 claim ann 1, 2 claim bob 2, 3 cancel ann 1, 4 cancel bob 2, 5 unserved joe 0
        32s  kim confirms offer-2 drop          -> confirmed main=3     # the closing takes nothing from an offer
        32s  zoe joins drop                     -> closed
        61s  time passes every 15s              -> ticked
           look place eve drop -> nobody                                # she let it go, and there is no list any more
        62s  op  archives drop                  -> unsettled
        62s  ledger has 7                       -> settled 7
        ",
    );
    assert_eq!(world.state.campaign("drop").unwrap().unserved(2).unwrap().why.as_str(), "ended");
    assert_eq!(world.state.campaign("drop").unwrap().unserved(1).unwrap().quantity, 2);
    let back = restored(&taken(&world.state, true));
    assert_eq!(back.memory(), back.walked_memory());
    world.replace_twin(back);
    let world = play_on(world, "63s op archives drop -> changed 2");
    assert_eq!(world.state.campaign("drop").unwrap_err(), Refusal::Archived);
    assert_eq!(world.state.next_deadline(), None);
}

#[test]
#[should_panic(expected = "5 unserved joe 0")]
fn a_list_that_is_forgotten_is_noticed() {
    set(Some(Mistake::EndForgetsList));
    everybody_on_the_list_gets_a_result_when_the_campaign_is_over();
}

#[test]
fn what_comes_free_in_a_pause_is_offered_when_it_goes_on_and_never_after_the_closing() {
    play(
        "
        0s   op  puts drop: main 2; ttl 10s     -> created 1
        0s   ann holds h1 drop 1                -> held main until 10s
        0s   bob claims drop                    -> won 1
        0s   eve joins drop                     -> waitlisted 0 ahead for 1
        1s   op  pauses drop                    -> changed 2
        11s  time passes                        -> ticked
           look place eve drop -> 0 ahead for 1, 0 missed
        12s  ann confirms h1 drop late          -> refund_due main      # it is for eve, who is before her now
        13s  op  resumes drop                   -> changed 3
           look place eve drop -> offer-2
        14s  eve leaves drop & joe joins drop   -> left_waitlist true | won 2
        14s  kim joins drop                     -> waitlisted 0 ahead for 1
        15s  op  closes drop                    -> changed 4
        15s  joe cancels drop/main 2            -> cancelled by subject at 15s
           look place kim drop -> nobody
           look results -> 1 claim bob 1, 2 refund_due ann 0 of h1, 3 claim joe 2, 4 unserved kim 0, 5 cancel joe 2
        ",
    );
}
