//! What becomes of a campaign that has used the last number there is of something.

use super::{Stamp, State};
use crate::command::{Command, Expect, Late, Order, Pick, Steer, Step};
use crate::names::{NodeId, SpaceId};
use crate::outcome::{Outcome, Refusal};
use crate::segment::Segment;
use crate::settings::{HoldSettings, HoldsEach, Opens, PoolSettings, Settings};
use crate::time::Timestamp;
use std::sync::Arc;

/// A state with one open campaign of one pool.
fn state() -> State {
    let mut state = State::new(SpaceId::default());
    let settings = Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: true,
        units_return: true,
        public: false,
        pools: vec![PoolSettings::counted("main", 9)],
        holding: HoldSettings { each: HoldsEach::Many, ..HoldSettings::default() },
    };
    let (expect, order) = (Expect::Absent, Order::default());
    apply(&mut state, Command::Put { campaign: "drop", settings, expect, order });
    state
}

fn apply(state: &mut State, command: Command<'_>) -> Outcome {
    let position = state.position() + 1;
    let (at, node) = (Timestamp::from_micros(position as i64), NodeId([1; 16]));
    let mut outcomes = Vec::new();
    state.apply(
        Stamp { position, at, epoch: 0, node, number: position, again_of: None, level: 1 },
        &[command],
        &mut outcomes,
    );
    outcomes.remove(0)
}

fn hold<'a>(id: &'a str) -> Command<'a> {
    let picks = vec![Pick::quantity("main", 1)];
    Command::Hold { campaign: "drop", id, subject: "ann", picks, limit: None }
}

#[test]
fn after_the_last_number_of_a_hold_there_are_no_more_holds() {
    let mut state = state();
    state.campaigns.get_mut(&1).expect("it was put").holds.last = u32::MAX - 1;
    assert_eq!(apply(&mut state, hold("h1")).as_str(), "held");
    assert_eq!(apply(&mut state, hold("h2")), Refusal::TooManyHolds.into());
    assert_eq!(apply(&mut state, Command::claim("drop", None, "bob")).as_str(), "won");
}

#[test]
fn after_the_last_rank_a_pool_is_sold_out_for_claims_and_holds() {
    let mut state = state();
    apply(&mut state, hold("h1"));
    let pool = &mut state.campaigns.get_mut(&1).expect("it was put").pools[0];
    pool.segments.push(Arc::new(Segment::new(u32::MAX)));
    let won = apply(&mut state, Command::claim("drop", None, "bob"));
    assert!(matches!(won, Outcome::Won { rank: u32::MAX, .. }), "{won:?}");
    let said = apply(&mut state, Command::claim("drop", None, "eve"));
    assert_eq!(said, Refusal::SoldOut.into());
    let step = Step { campaign: "drop", hold: "h1", subject: "ann", id: None };
    let confirm = Command::Confirm { step, units: Vec::new(), late: Late::Refuse };
    assert_eq!(apply(&mut state, confirm), Refusal::SoldOut.into());
}

#[test]
fn a_campaign_at_its_last_version_can_still_be_changed() {
    let mut state = state();
    state.campaigns.get_mut(&1).expect("it was put").version = u32::MAX;
    for steer in [Steer::Pause, Steer::Close, Steer::Archive { drop_unsettled: false }] {
        let steer = Command::Steer { campaign: "drop", steer, order: Order::default() };
        let said = apply(&mut state, steer);
        assert!(matches!(said, Outcome::Changed { version: u32::MAX, .. }), "{said:?}");
    }
}
