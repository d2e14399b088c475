//! Judges whose codes are, and what two people may not both have.

use crate::story::{Story, is_broken, passes, tagged, units_for_sale};
use firstcome_core::codes::{ALIKE_BYTES, CodeKey, CodeVerdict};
use firstcome_core::command::{CodeCommand, CodeStep, Encoded, Order, StagedCode};
use firstcome_core::settings::{CodeSettings, CodeSource, PoolSettings};
use firstcome_core::{CodeOutcome, CodeRefusal, Command, NodeId, Outcome, Settings};
use firstcome_node::{CommandError, Decided};
use firstcome_sim::history::{Asked, Cause, Durability, History, Reply};
use std::time::Duration;

const SEALED: &[u8] = b"sealed under the key of a test";
const LOST: &str = "spring/main \"bob\" lost rank 2";

/// Codes for sale; those that are imported are to come.
fn codes_for_sale(source: CodeSource, capacity: u32) -> Settings {
    let pool = PoolSettings::coded("main", capacity, CodeSettings::new(source, "k1"));
    Settings { pools: vec![pool], ..units_for_sale(1) }
}

fn on(command: CodeCommand<'_>) -> Asked {
    let command = Encoded::new(&Command::Code(command)).unwrap();
    Asked::On { command, wait: Duration::ZERO }
}

/// Ann and bob won; the store lost bob, and eve came first there with this tag.
fn forked(tag: u64) -> Story {
    let settings = codes_for_sale(CodeSource::Generated, 2);
    let mut story = Story::opened(Durability::Memory, settings);
    let ann = story.wins_code((1, 2), ("ann", 1), Some(7));
    story.wins_code((1, 3), ("bob", 2), Some(9));
    story.applies();
    story.at(11.0);
    story.loses(Some(ann), Cause::Promotion);
    story.wins_code((2, 1), ("eve", 2), Some(tag));
    story.epoch = 1;
    story.at(12.0);
    story.stores((1, 3), &[tagged("bob", Some(9))], &[]);
    story.reports(LOST);
    story
}

#[test]
fn a_generated_code_is_one_subjects_in_all_histories() {
    passes(&forked(8).ends());
    let said = is_broken(&forked(9).ends(), "code_has_one_subject");
    assert!(said.contains("each of [\"bob\", \"eve\"]"), "{said}");
}

#[test]
fn a_code_that_is_shown_is_that_of_the_claim() {
    let shown = |tag| {
        let settings = codes_for_sale(CodeSource::Generated, 2);
        let mut story = Story::opened(Durability::Memory, settings);
        story.wins_code((1, 2), ("ann", 1), Some(7));
        story.wins_code((1, 3), ("bob", 2), Some(9));
        story.shows("bob", CodeKey::Generated { unit: 2, tag });
        story.ends()
    };
    passes(&shown(9));
    is_broken(&shown(7), "code_is_theirs");
}

/// Bob was shown the second of two imported codes; the store lost him, and eve was given it. It may be suspended.
fn given_twice(suspended: bool) -> History {
    let settings = codes_for_sale(CodeSource::Imported, 0);
    let mut story = Story::opened(Durability::Memory, settings);
    let (campaign, pool, import) = ("spring", "main", "i1");
    let order = Order { id: None, who: "desk" };
    let staged = |n| StagedCode { hash: [n; 16], sealed: SEALED };
    let codes = vec![staged(1), staged(2)];
    let stage = CodeCommand::Stage { campaign, pool, import, first: 0, codes, order };
    story.decides(on(stage), CodeOutcome::Staged { next: 2 }.into());
    let done = CodeOutcome::Committed { lines: 2, added: 2, duplicates: Vec::new() };
    let commit = CodeCommand::Commit { campaign, pool, import, lines: 2, order };
    story.decides(on(commit), Outcome::from(done));
    let ann = story.wins_code((1, 4), ("ann", 1), None);
    story.wins_code((1, 5), ("bob", 2), None);
    story.shows("bob", CodeKey::Imported { hash: [2; 16] });
    story.applies();
    story.at(11.0);
    story.loses(Some(ann), Cause::Promotion);
    story.wins_code((2, 1), ("eve", 2), None);
    story.epoch = 1;
    story.at(12.0);
    story.stores((1, 5), &[tagged("bob", None)], &[]);
    if suspended {
        let (codes, verdict) = (vec![CodeKey::Imported { hash: [2; 16] }], CodeVerdict::Suspend);
        let (reason, order) = ("", Order { id: None, who: "fork" });
        let mark = CodeCommand::Mark { campaign, pool, codes, verdict, reason, order };
        story.stores((1, 6), &[on(mark)], &[]);
    }
    story.reports(LOST);
    let mut history = story.ends();
    // The mark is a result as well, which this story leaves out of its ledger.
    history.end.ledger = None;
    history
}

#[test]
fn an_imported_code_that_two_people_know_does_not_count() {
    passes(&given_twice(true));
    is_broken(&given_twice(false), "code_of_two_rests");
}

#[test]
fn a_code_that_was_shown_is_no_typing_error() {
    let settings = codes_for_sale(CodeSource::Generated, 2);
    let mut story = Story::opened(Durability::Memory, settings);
    story.wins_code((1, 2), ("ann", 1), Some(7));
    let code = CodeKey::Generated { unit: 1, tag: 7 };
    let step = CodeStep { campaign: "spring", pool: Some("main"), code, reference: "o1" };
    let redeem = Command::Code(CodeCommand::Redeem { step, subject: None });
    let command = Encoded::new(&redeem).unwrap();
    let typed = "AAAA-BBBB-CCCC-DDDD".to_owned();
    story.fails(
        Asked::Code { command, typed, number: 1 },
        CommandError::Malformed("a typing error"),
    );
    is_broken(&story.ends(), "codes_are_read");
}

/// The store may have lost the import that somebody's code was of, and have an alike one now.
#[test]
fn a_step_on_a_code_may_be_on_another_one_that_is_alike() {
    let alike = |tail| std::array::from_fn(|at| if at < ALIKE_BYTES { 7 } else { tail });
    let story = |shown: [u8; 16], stored: [u8; 16]| {
        let settings = codes_for_sale(CodeSource::Imported, 0);
        let mut story = Story::opened(Durability::Memory, settings);
        let (campaign, pool, import) = ("spring", "main", "i1");
        let order = Order { id: None, who: "desk" };
        let codes = vec![StagedCode { hash: stored, sealed: SEALED }];
        let stage = CodeCommand::Stage { campaign, pool, import, first: 0, codes, order };
        story.decides(on(stage), CodeOutcome::Staged { next: 1 }.into());
        let done = CodeOutcome::Committed { lines: 1, added: 1, duplicates: Vec::new() };
        let commit = CodeCommand::Commit { campaign, pool, import, lines: 1, order };
        story.decides(on(commit), Outcome::from(done));
        let step = |hash| {
            let code = CodeKey::Imported { hash };
            let step = CodeStep { campaign, pool: Some(pool), code, reference: "o1" };
            Encoded::new(&Command::Code(CodeCommand::RollBack { step })).unwrap()
        };
        story.appends(&Asked::On { command: step(stored), wait: Duration::ZERO }, &[]);
        let asked = Asked::Code { command: step(shown), typed: "alpha".into(), number: 1 };
        story.answers(asked, CodeRefusal::NotIssued.into(), Decided::Journal);
        story.ends()
    };
    // Of a code that is spelled in any way the end is 0.
    passes(&story(alike(0), alike(9)));
    passes(&story(alike(9), alike(0)));
    for (shown, stored) in [(alike(0), [9; 16]), (alike(9), alike(8))] {
        let wrong = firstcome_sim::judge::judge(&story(shown, stored)).unwrap_err();
        let promises: Vec<_> = wrong.iter().map(|broken| broken.promise).collect();
        assert_eq!(promises, ["answered_by_an_entry", "asked_for"], "{wrong:?}");
    }
}

#[test]
fn a_command_that_two_branches_have_at_one_position_is_that_of_the_node_that_was_asked() {
    let settings = codes_for_sale(CodeSource::Imported, 0);
    let mut story = Story::opened(Durability::Copies { wanted: 2, of: 2 }, settings);
    story.history.node_runs[0].node = NodeId([1; 16]);
    let begin = story.appends(&on(stage_of_one(0)), &[]);
    story.hears(on(stage_of_one(0)), Reply::Nothing);
    story.applies();
    // Another server stored it, and died; the store lost it before this one appended it in the same place.
    story.stores((2, 1), &[on(stage_of_one(1))], &[]);
    story.hears(on(stage_of_one(1)), Reply::Nothing);
    story.loses(Some(begin), Cause::Promotion);
    story.decides(on(stage_of_one(1)), CodeOutcome::Staged { next: 2 }.into());
    passes(&story.ends());
}

fn stage_of_one(first: u32) -> CodeCommand<'static> {
    let (campaign, pool, import) = ("spring", "main", "i1");
    let codes = vec![StagedCode { hash: [first as u8; 16], sealed: SEALED }];
    CodeCommand::Stage {
        campaign,
        pool,
        import,
        first,
        codes,
        order: Order { id: None, who: "desk" },
    }
}
