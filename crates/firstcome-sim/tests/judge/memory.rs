//! Judges answers from memory, outcome by outcome.

use crate::story::{Story, cancel, claim, clock, is_broken, passes, put, units_for_sale};
use firstcome_core::outcome::{By, Missing};
use firstcome_core::{Outcome, Refusal, Settings};
use firstcome_sim::history::Durability;
use std::time::Duration;

fn opened() -> Story {
    Story::opened(Durability::Memory, units_for_sale(1))
}

/// Ann has the only unit since the tenth second, and bob another that came later.
fn sold_out_once() -> Story {
    let mut story = opened();
    story.wins("ann", 1);
    story
}

#[test]
fn nothing_else_is_said_from_memory() {
    let mut story = opened();
    story.wins("ann", 1);
    story.remembers(claim("ann"), Outcome::Won { rank: 1, at: clock(10.0), pool: 0, code: None });
    is_broken(&story.ends(), "memory_never_decides");

    let mut story = opened();
    story.wins("ann", 1);
    let cancelled = Outcome::Cancelled { by: By::Subject, at: clock(10.0) };
    story.decides(cancel("ann", 1), cancelled);
    story.remembers(claim("ann"), Refusal::AlreadyCancelled.into());
    is_broken(&story.ends(), "memory_never_decides");
}

#[test]
fn what_is_said_from_memory_is_so_at_its_position() {
    let mut story = opened();
    story.remembers(claim("bob"), Refusal::SoldOut.into());
    is_broken(&story.ends(), "memory_true");

    let mut story = sold_out_once();
    story.remembers(claim("bob"), Refusal::Paused.into());
    is_broken(&story.ends(), "memory_true");

    let mut story = sold_out_once();
    story.remembers(
        claim("ann"),
        Outcome::AlreadyWon { rank: 1, at: clock(9.0), pool: 0, code: None },
    );
    is_broken(&story.ends(), "memory_true");
}

/// A state that is older than a second by so many seconds more when a caller hears of it.
fn sold_out_from_before(seconds: f64) -> Story {
    let mut story = sold_out_once();
    story.remembers(claim("bob"), Refusal::SoldOut.into());
    story.at(20.0);
    story.decides(put(units_for_sale(2)), Outcome::Changed { version: 2, clamped: Vec::new() });
    // It was asked so much later.
    let asked_at = Duration::from_secs_f64(21.0 + seconds);
    story.history.exchanges[2].asked_at = asked_at;
    story.history.exchanges[2].heard_at = asked_at + Duration::from_millis(1);
    story
}

#[test]
fn sold_out_may_be_a_second_old_and_no_older() {
    passes(&sold_out_from_before(-0.1).ends());
    let said = is_broken(&sold_out_from_before(0.1).ends(), "memory_fresh");
    assert!(said.contains("\"bob\" claimed spring at 21.100 s"), "{said}");
}

#[test]
fn who_may_claim_again_is_told_of_a_head_since_the_question() {
    let again = |again: bool, late: f64| {
        let mut story =
            Story::opened(Durability::Memory, Settings { claim_again: again, ..units_for_sale(1) });
        let at = clock(10.0);
        story.wins("ann", 1);
        story.remembers(claim("ann"), Outcome::AlreadyWon { rank: 1, at, pool: 0, code: None });
        story.at(20.0);
        let cancelled = Outcome::Cancelled { by: By::Subject, at: clock(20.0) };
        story.decides(cancel("ann", 1), cancelled);
        let asked_at = Duration::from_secs_f64(20.0 + late);
        story.history.exchanges[2].asked_at = asked_at;
        story.history.exchanges[2].heard_at = asked_at + Duration::from_millis(1);
        story.ends()
    };
    passes(&again(true, -0.1));
    passes(&again(false, 0.5));
    is_broken(&again(true, 0.5), "memory_caught_up");
    is_broken(&again(false, 1.5), "memory_fresh");
}

#[test]
fn a_campaign_somebody_just_created_is_found() {
    let reply = |late: f64| {
        let mut story = Story::new(Durability::Memory);
        story.at(1.0);
        story.remembers(claim("ann"), Refusal::NotFound(Missing::Campaign).into());
        story.at(1.5);
        story.decides(put(units_for_sale(1)), Outcome::Created { version: 1 });
        let asked_at = Duration::from_secs_f64(1.5 + late);
        story.history.exchanges[0].asked_at = asked_at;
        story.history.exchanges[0].heard_at = asked_at + Duration::from_millis(1);
        story.ends()
    };
    passes(&reply(-0.1));
    is_broken(&reply(0.1), "memory_caught_up");
}

#[test]
fn a_pool_must_be_named_where_there_are_several_also_from_memory() {
    let mut settings = units_for_sale(1);
    settings.pools.push(firstcome_core::settings::PoolSettings::counted("vip", 1));
    let mut story = Story::opened(Durability::Memory, settings);
    story.remembers(claim("ann"), Refusal::PoolRequired.into());
    passes(&story.ends());
}

#[test]
fn not_open_is_said_only_before_the_opening() {
    let not_open = |clock_at: f64, set: Option<f64>| {
        let mut story = Story::new(Durability::Memory);
        story.at(9.5);
        story.decides(put(units_for_sale(1)), Outcome::Created { version: 1 });
        story.at(10.0);
        let not_open = Refusal::NotOpen { opens_at: Some(clock(10.0)) };
        story.remembers(claim("ann"), not_open.into());
        story.last().clock_at = clock(clock_at);
        let set = set.map(|moment| (Duration::from_secs_f64(moment), 60_000_000));
        story.history.clock_steps.extend(set);
        story.ends()
    };
    passes(&not_open(9.999, None));
    is_broken(&not_open(10.0, None), "memory_not_open_yet");
    // Nobody can know a clock that was just set.
    passes(&not_open(70.0, Some(8.0)));
    is_broken(&not_open(70.0, Some(3.0)), "memory_not_open_yet");
    // Nor that of another server: some may still talk to the one it took over from.
    let mut history = not_open(70.0, None);
    history.failovers.push((Duration::from_secs(4), 1));
    passes(&history);
    history.failovers[0].0 = Duration::from_secs(2);
    is_broken(&history, "memory_not_open_yet");
    // Nor that of a primary that became a copy, for those who only read there.
    history.demotions.push(Duration::from_secs(8));
    passes(&history);
    history.demotions[0] = Duration::from_secs(6);
    is_broken(&history, "memory_not_open_yet");
}
