//! Judges histories in which every promise is kept.

use crate::story::{Story, cancel, claim, clock, passes, put, steer, units_for_sale};
use firstcome_core::command::Steer;
use firstcome_core::outcome::{By, Missing};
use firstcome_core::{Outcome, Refusal};
use firstcome_node::CommandError;
use firstcome_sim::history::{Asked, Cause, Durability, Reply};
use firstcome_sim::judge::Verdict;

/// A sale from before its opening to its pause.
pub(crate) fn sale() -> Story {
    let mut story = Story::new(Durability::Memory);
    story.at(1.0);
    story.remembers(claim("ann"), Refusal::NotFound(Missing::Campaign).into());
    story.decides(put(units_for_sale(3)), Outcome::Created { version: 1 });
    story.at(5.0);
    let not_open = Refusal::NotOpen { opens_at: Some(clock(10.0)) };
    story.decides(claim("ann"), not_open.into());
    story.remembers(claim("ann"), not_open.into());
    story.at(10.0);
    story.wins("ann", 1);
    story.at(11.0);
    story.wins("bob", 2);
    story.remembers(
        claim("ann"),
        Outcome::AlreadyWon { rank: 1, at: clock(10.0), pool: 0, code: None },
    );
    story.wins("eve", 3);
    story.decides(claim("joe"), Refusal::SoldOut.into());
    story.remembers(claim("joe"), Refusal::SoldOut.into());
    story.at(12.0);
    story.decides(cancel("bob", 2), Outcome::Cancelled { by: By::Subject, at: clock(12.0) });
    story.at(13.0);
    story.wins("joe", 4);
    story.decides(claim("bob"), Refusal::AlreadyCancelled.into());
    story.at(14.0);
    // An answer that was lost: the batch is stored twice, as the node sent it twice.
    story.appends(&cancel("eve", 3), &[(true, 3, "eve")]);
    story.fails(cancel("eve", 3), CommandError::Unknown);
    story.stores((1, 10), &[cancel("eve", 3)], &[]);
    story.at(15.0);
    story.fails(claim("kim"), CommandError::Unavailable("the journal does not answer".into()));
    story.decides(steer(Steer::Pause), Outcome::Changed { version: 2, clamped: Vec::new() });
    story.remembers(claim("kim"), Refusal::Paused.into());
    story
}

#[test]
fn a_sale_without_any_trouble_passes() {
    let verdict = passes(&sale().ends());
    let expected = Verdict {
        claims_acknowledged: 4,
        answers_from_memory: 5,
        results_settled: 6,
        ..Verdict::default()
    };
    assert_eq!(verdict, expected);
}

#[test]
fn entries_that_are_put_back_whole_excuse_nothing_and_need_no_excuse() {
    let mut story = sale();
    let (head, early) = (story.head.unwrap(), story.head.unwrap() - 6);
    story.at(16.0);
    story.loses(Some(early), Cause::Promotion);
    story.at(16.5);
    story.puts_back(head);
    // What lay between was passed, and can be answered from.
    story.remembers(claim("kim"), Refusal::Paused.into());
    story.decides(steer(Steer::Resume), Outcome::Changed { version: 3, clamped: Vec::new() });
    let verdict = passes(&story.ends());
    assert_eq!((verdict.forks, verdict.losses_allowed, verdict.ranks_excused), (0, 0, 0));
}

#[test]
fn the_same_may_be_asked_several_times_at_once() {
    let mut story = Story::opened(Durability::Memory, units_for_sale(3));
    story.fails(claim("ann"), CommandError::Busy);
    story.fails(claim("ann"), CommandError::Unavailable("later".into()));
    story.hears(claim("ann"), Reply::Nothing);
    story.appends(&claim("ann"), &[(false, 1, "ann")]);
    story.decides(
        claim("ann"),
        Outcome::AlreadyWon { rank: 1, at: clock(10.0), pool: 0, code: None },
    );
    passes(&story.ends());
}

#[test]
fn a_batch_that_was_lost_and_sent_again_has_another_name() {
    let mut story = Story::opened(Durability::Memory, units_for_sale(3));
    let created = story.head;
    story.at(11.0);
    let first = story.stores((1, 2), &[claim("ann")], &[(false, 1, "ann")]);
    story.loses(created, Cause::Promotion);
    story.at(12.0);
    let second = story.stores((1, 2), &[claim("ann")], &[(false, 1, "ann")]);
    assert_ne!(first, second);
    story.brings_again(second, (1, 3));
    story.hears(claim("ann"), Reply::Nothing);
    story.last().asked_at = std::time::Duration::from_secs(11);
    story.at(13.0);
    story.stores((2, 1), &[claim("bob")], &[(false, 2, "bob")]);
    story.hears(claim("bob"), Reply::Nothing);
    story.decides_as(
        (2, 2),
        claim("ann"),
        Outcome::AlreadyWon { rank: 1, at: clock(12.0), pool: 0, code: None },
    );
    assert_eq!(passes(&story.ends()).forks, 1);
}

#[test]
fn an_unchanged_campaign_may_be_said_from_memory() {
    let mut story = Story::opened(Durability::Fsync, units_for_sale(3));
    story.remembers(put(units_for_sale(3)), Outcome::Unchanged { version: 1 });
    story.decides(steer(Steer::Close), Outcome::Changed { version: 2, clamped: Vec::new() });
    story.remembers(claim("ann"), Refusal::Closed.into());
    let archive = steer(Steer::Archive { drop_unsettled: true });
    story.decides(archive, Outcome::Changed { version: 3, clamped: Vec::new() });
    story.remembers(claim("ann"), Refusal::Archived.into());
    passes(&story.ends());
}

#[test]
fn results_given_up_by_the_operator_are_missing_in_the_ledger() {
    let mut story = Story::opened(Durability::Fsync, units_for_sale(3));
    story.wins("ann", 1);
    story.decides(steer(Steer::Close), Outcome::Changed { version: 2, clamped: Vec::new() });
    let archive = steer(Steer::Archive { drop_unsettled: true });
    story.decides(archive, Outcome::Changed { version: 3, clamped: Vec::new() });
    let mut history = story.ends();
    history.end.ledger = Some(Vec::new());
    history.end.through = 0;
    passes(&history);
    assert!(matches!(history.exchanges[0].asked, Asked::Put { .. }));
}
