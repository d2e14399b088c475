//! Two operators with a key of their own, and cancels that name no pool.

use crate::story::{
    Story, cancel_somewhere, clock, is_broken, passes, put, steer_by, units_for_sale,
};
use firstcome_core::command::Steer;
use firstcome_core::outcome::By;
use firstcome_core::settings::PoolSettings;
use firstcome_core::{Outcome, Refusal, newest_level};
use firstcome_sim::history::{Asked, Durability, History, Reply};

fn changed(version: u32) -> Outcome {
    Outcome::Changed { version, clamped: Vec::new() }
}

/// Two operators call their first commands the same; the second one hears this.
fn both_begin_with_one(second: Outcome) -> Story {
    let mut story = Story::new(Durability::Memory);
    story.at(1.0);
    story.decides(put(units_for_sale(3)), Outcome::Created { version: 1 });
    story.at(10.0);
    story.decides(steer_by("desk", "1", Steer::Pause), changed(2));
    story.decides(steer_by("office", "1", Steer::Resume), second);
    story
}

#[test]
fn the_same_id_of_another_key_is_another_command() {
    let mut story = both_begin_with_one(changed(3));
    // The same of the same key is the same, whatever came between; and another command is not.
    story.decides(steer_by("desk", "1", Steer::Pause), changed(2));
    story.decides(steer_by("desk", "1", Steer::Close), Refusal::IdReused.into());
    story.decides(steer_by("office", "1", Steer::Resume), changed(3));
    passes(&story.ends());
    let known = both_begin_with_one(Refusal::IdReused.into());
    let said = is_broken(&known.ends(), "decided_by_the_rules");
    assert!(said.contains("operator \"office\" under id \"1\" told spring to Resume"), "{said}");
    assert!(said.contains("the rules make Changed { version: 3"), "{said}");
}

#[test]
fn a_repeat_that_is_done_again_is_named() {
    let mut story = both_begin_with_one(changed(3));
    story.decides(steer_by("desk", "1", Steer::Pause), changed(4));
    is_broken(&story.ends(), "decided_by_the_rules");
}

#[test]
fn an_entry_above_the_level_of_its_space_needs_a_raise() {
    firstcome_inject::invent_level(true);
    let raised = |asks: bool| {
        let mut story = both_begin_with_one(changed(3));
        story.level = newest_level();
        if asks {
            story.decides(Asked::Raise, Outcome::Raised { level: newest_level() });
        }
        story.decides(steer_by("desk", "2", Steer::Pause), changed(4));
        story.ends()
    };
    passes(&raised(true));
    let said = is_broken(&raised(false), "level_as_raised");
    assert!(said.contains("of level 2: the space began at 1, and was raised to 1"), "{said}");
}

#[test]
fn an_operators_command_under_the_id_of_somebody_else_was_not_asked_for() {
    let mut story = both_begin_with_one(changed(3));
    story.appends(&steer_by("office", "2", Steer::Pause), &[]);
    story.hears(steer_by("desk", "2", Steer::Pause), Reply::Nothing);
    is_broken(&story.ends(), "asked_for");
}

/// Somebody won and cancels without a word of the pool, of which the campaign has so many; they hear this.
fn cancels(pools: usize, outcome: Outcome) -> Story {
    let mut settings = units_for_sale(3);
    let names = ["main", "vip"].iter().take(pools);
    settings.pools = names.map(|name| PoolSettings::counted(name, 3)).collect();
    let mut story = Story::opened(Durability::Memory, settings);
    let (campaign, subject) = ("spring".into(), "ann".into());
    let claim = Asked::Claim { campaign, pool: Some("main".into()), subject };
    story.decides(claim, Outcome::Won { rank: 1, at: clock(10.0), pool: 0, code: None });
    story.decides(cancel_somewhere("ann", 1), outcome);
    story
}

/// Has the last caller hear something else.
fn hears_last(history: &mut History, instead: Outcome) {
    let Reply::Answer { outcome, .. } = &mut history.exchanges.last_mut().unwrap().reply else {
        panic!("nobody heard an answer")
    };
    *outcome = instead;
}

#[test]
fn a_cancel_without_a_pool_means_the_only_one() {
    let cancelled = Outcome::Cancelled { by: By::Subject, at: clock(10.0) };
    let mut history = cancels(1, cancelled).ends();
    passes(&history);
    hears_last(&mut history, Refusal::PoolRequired.into());
    is_broken(&history, "decided_by_the_rules");
}

#[test]
fn a_cancel_without_a_pool_of_several_names_none() {
    passes(&cancels(2, Refusal::PoolRequired.into()).ends());
    // The claim is in the first one, or in another: neither is looked for.
    let cancelled = Outcome::Cancelled { by: By::Subject, at: clock(10.0) };
    for instead in [cancelled, Refusal::NoSuchClaim.into()] {
        let mut history = cancels(2, Refusal::PoolRequired.into()).ends();
        hears_last(&mut history, instead);
        let said = is_broken(&history, "decided_by_the_rules");
        assert!(said.contains("the rules make Refused(PoolRequired)"), "{said}");
    }
}

#[test]
fn a_cancel_without_a_pool_is_not_answered_from_memory() {
    let mut story = cancels(2, Refusal::PoolRequired.into());
    story.remembers(cancel_somewhere("ann", 1), Refusal::PoolRequired.into());
    is_broken(&story.ends(), "memory_true");
}
