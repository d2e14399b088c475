//! Random commands: the rules, a plain model and their own invariants agree after every entry.

use crate::comparison::Comparison;
use crate::snapshots::{restored, taken};
use crate::world::{Gave, SECOND, START, World, node};
use firstcome_core::command::{Mark, Order, Steer};
use firstcome_core::outcome::By;
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Expect, Outcome, Refusal, Settings, State};
use proptest::prelude::*;
use proptest::sample::select;
use std::collections::BTreeSet;

const CAMPAIGNS: [&str; 3] = ["drop", "rush", "none"];
const POOLS: [&str; 4] = ["main", "vip", "gold", "none"];
const SUBJECTS: [&str; 6] = ["ann", "bob", "eve", "joe", "안나", "🎟️"];

/// One entry: how much later, by which node, how far its number goes on, and what is asked.
#[derive(Clone, Debug)]
struct Step {
    later: i64,
    node: u8,
    number_on: u64,
    commands: Vec<Command<'static>>,
}

fn campaign() -> impl Strategy<Value = &'static str> {
    prop_oneof![6 => Just("drop"), 3 => Just("rush"), 1 => select(&CAMPAIGNS[..])]
}

fn settings() -> impl Strategy<Value = Settings> {
    let moment = || (0..400_i64).prop_map(|s| START.plus_micros(s * SECOND));
    let opens = prop_oneof![
        5 => Just(Opens::Now),
        1 => Just(Opens::Undecided),
        3 => moment().prop_map(Opens::At),
    ];
    let closes = prop_oneof![3 => Just(None), 1 => moment().prop_map(Some)];
    let limit = prop_oneof![2 => Just(None), 1 => (1..4_u32).prop_map(Some)];
    let pool = |name: &'static str| {
        (1..5_u32).prop_map(move |capacity| PoolSettings::counted(name, capacity))
    };
    let pools = (pool("main"), pool("vip"), pool("gold"), 1..4_usize, 0..12_u8).prop_map(
        |(main, vip, gold, many, turned)| {
            let mut pools = vec![main, vip, gold];
            pools.truncate(many);
            if turned == 0 {
                pools.reverse();
            }
            pools
        },
    );
    let title = select(&["", "Spring"][..]);
    let rules = (prop::bool::weighted(0.7), prop::bool::weighted(0.7));
    (title, opens, closes, limit, rules, pools).prop_map(
        |(title, opens, closes_at, limit, (claim_again, units_return), pools)| Settings {
            title: title.into(),
            opens,
            closes_at,
            limit,
            claim_again,
            units_return,
            public: false,
            holding: HoldSettings::default(),
            pools,
        },
    )
}

fn order() -> impl Strategy<Value = Order<'static>> {
    let id = prop_oneof![3 => Just(None), 1 => select(&["a", "b", "c"][..]).prop_map(Some)];
    id.prop_map(|id| Order { id, who: "ops" })
}

fn command() -> impl Strategy<Value = Command<'static>> {
    let pool = || select(&POOLS[..]);
    let subject = || select(&SUBJECTS[..]);
    let maybe = prop_oneof![1 => Just(None), 3 => pool().prop_map(Some)];
    let limit = prop_oneof![9 => Just(None), 1 => (1..4_u32).prop_map(Some)];
    let claim =
        (campaign(), maybe, subject(), limit).prop_map(|(campaign, pool, subject, limit)| {
            Command::Claim { campaign, pool, subject, limit, tag: None }
        });
    let by = prop_oneof![4 => Just(By::Subject), 1 => Just(By::Operator)];
    let some = prop_oneof![1 => Just(None), 4 => pool().prop_map(Some)];
    let cancel = (campaign(), some, subject(), 0..8_u32, by).prop_map(
        |(campaign, pool, subject, rank, by)| {
            let (reason, who) = if by == By::Operator { ("fraud", "ops") } else { ("", subject) };
            Command::Cancel { campaign, pool, subject, rank, by, reason, who }
        },
    );
    let expect = prop_oneof![
        8 => Just(Expect::Anything),
        1 => Just(Expect::Absent),
        1 => (0..4_u32).prop_map(Expect::Version),
    ];
    let put = (campaign(), settings(), expect, order()).prop_map(
        |(campaign, settings, expect, order)| Command::Put { campaign, settings, expect, order },
    );
    let way = prop_oneof![
        4 => Just(Steer::Pause),
        8 => Just(Steer::Resume),
        2 => Just(Steer::Close),
        5 => any::<bool>().prop_map(|drop_unsettled| Steer::Archive { drop_unsettled }),
    ];
    let steer = (campaign(), way, order()).prop_map(|(campaign, steer, order)| Command::Steer {
        campaign,
        steer,
        order,
    });
    let bar = (campaign(), subject(), order(), any::<bool>()).prop_map(
        |(campaign, subject, order, barred)| {
            let reason = "resale";
            if barred {
                Command::Bar { campaign, subject, reason, order }
            } else {
                Command::Unbar { campaign, subject, order }
            }
        },
    );
    let delete = (campaign(), order()).prop_map(|(campaign, order)| {
        let steer = Steer::Delete;
        Command::Steer { campaign, steer, order }
    });
    let settled = (0..20_u64, 0..3_u64).prop_map(|(through, term)| Command::Settled {
        through,
        term,
        mark: Mark::default(),
    });
    prop_oneof![
        60 => claim,
        30 => cancel,
        6 => put,
        6 => steer,
        2 => bar,
        1 => delete,
        1 => Just(Command::Tick { mark: Mark::default() }),
        2 => settled,
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let later = select(&[0, 0, 1, SECOND, SECOND, 15 * SECOND, 600 * SECOND][..]);
    let on = prop_oneof![8 => Just(1_u64), 1 => Just(0), 1 => Just(3)];
    (later, 1..4_u8, on, prop::collection::vec(command(), 0..6))
        .prop_map(|(later, node, number_on, commands)| Step { later, node, number_on, commands })
}

/// A campaign to compete for, then whatever happens.
fn steps(most: usize) -> impl Strategy<Value = Vec<Step>> {
    let pools = vec![PoolSettings::counted("main", 3), PoolSettings::counted("vip", 2)];
    let first = (any::<bool>(), any::<bool>());
    let first = first.prop_map(move |(claim_again, units_return)| {
        let settings = Settings {
            title: "".into(),
            opens: Opens::Now,
            closes_at: None,
            limit: None,
            claim_again,
            units_return,
            public: false,
            holding: HoldSettings::default(),
            pools: pools.clone(),
        };
        let (campaign, expect, order) = ("drop", Expect::Absent, Order::default());
        let put = Command::Put { campaign, settings, expect, order };
        Step { later: 0, node: 1, number_on: 1, commands: vec![put] }
    });
    (first, prop::collection::vec(step(), 1..most)).prop_map(|(first, mut rest)| {
        rest.insert(0, first);
        rest
    })
}

/// Lets the steps happen; `seen` looks after each entry.
fn walk(steps: &[Step], mut seen: impl FnMut(&mut World, &Step, Gave)) {
    let mut world = World::new();
    let (mut at, mut numbers) = (START, [0_u64; 4]);
    for step in steps {
        at = at.plus_micros(step.later);
        let number = &mut numbers[usize::from(step.node)];
        *number += step.number_on;
        let gave = world.entry(at, node(step.node), *number, &step.commands);
        seen(&mut world, step, gave);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_plain_model_gives_the_same_outcomes(steps in steps(40)) {
        let mut comparison = Comparison::default();
        walk(&steps, |world, step, gave| {
            comparison.same_outcomes(&world.state, &step.commands, &gave);
            comparison.same_state(&world.state);
            invariants(&world.state);
        });
    }

    #[test]
    fn a_restored_state_answers_the_same_for_ever(steps in steps(40), at in 0..40_usize) {
        let mut entries = 0;
        walk(&steps, |world, _, _| {
            entries += 1;
            if entries == at {
                world.replace_twin(restored(&taken(&world.state, true)));
            }
        });
    }

    #[test]
    fn writing_on_while_a_snapshot_is_taken_does_not_change_it(steps in steps(40), at in 0..40_usize) {
        let (mut entries, mut begun) = (0, None);
        walk(&steps, |world, _, _| {
            entries += 1;
            if entries == at {
                begun = Some((world.state.freeze(true), taken(&world.state, true)));
            }
        });
        if let Some((frozen, at_once)) = begun {
            prop_assert_eq!(crate::snapshots::drain(frozen), at_once);
        }
    }
}

/// What must hold whatever happened.
fn invariants(state: &State) {
    for campaign in state.campaigns() {
        let settings = campaign.settings();
        for pool in campaign.pools() {
            let mut live = BTreeSet::new();
            for rank in 1..=pool.last_rank() {
                let claim = pool.claim(rank).expect("ranks have no gap");
                assert_eq!(pool.is_live(rank), claim.cancel.is_none());
                if claim.cancel.is_none() {
                    assert!(live.insert(claim.subject), "{} has two live claims", claim.subject);
                    assert_eq!(pool.latest(claim.subject), Some(rank));
                }
                let ranks: Vec<u32> = pool.claims_of(claim.subject).map(|c| c.rank).collect();
                assert!(ranks.contains(&rank) && ranks.is_sorted_by(|a, b| a > b));
            }
            assert!(pool.claim(0).is_none() && pool.claim(pool.last_rank() + 1).is_none());
            let cancelled = pool.last_rank() - live.len() as u32;
            assert_eq!(pool.cancelled(), cancelled);
            assert!(pool.taken() <= pool.capacity());
            let gone = if settings.units_return { 0 } else { cancelled };
            assert_eq!(pool.taken(), live.len() as u32 + gone);
            assert_eq!(pool.left(), pool.capacity() - pool.taken());
        }
    }
    let unsettled = |campaign: &str| {
        state.results_after(0).filter(|row| row.campaign.name() == campaign).count() as u64
    };
    for campaign in state.campaigns() {
        assert_eq!(campaign.unsettled(), unsettled(campaign.name()));
    }
    assert_eq!(state.unsettled() as u64, state.last_result() - state.settled());
    assert_eq!(state.waiting(), state.results_after(0).count());
    let oldest = state.oldest_waiting().map(|row| row.number);
    assert_eq!(oldest, state.results_after(0).next().map(|row| row.number));
    assert_eq!(state.memory(), state.walked_memory(), "what is counted is what there is");
    let pools = state.campaigns().flat_map(|campaign| campaign.settings().pools);
    assert_eq!(state.sizes().units, pools.map(|pool| u64::from(pool.capacity)).sum::<u64>());
    assert_eq!(state.digest_at(state.position()), Some(state.digest()));
}

/// Where random commands never win, cancel or settle anything, they prove nothing.
#[test]
fn random_commands_reach_every_outcome() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(ProptestConfig::default(), rng);
    let mut reached = BTreeSet::new();
    for _ in 0..600 {
        let steps = steps(40).new_tree(&mut runner).unwrap().current();
        walk(&steps, |_, _, gave| match gave {
            Gave::Copy => drop(reached.insert("copy")),
            Gave::Outcomes(outcomes) => reached.extend(outcomes.iter().map(Outcome::as_str)),
        });
    }
    // Those about holds are reached in `random_holds`.
    let all = Refusal::ALL.iter().take_while(|refusal| **refusal != Refusal::HoldRequired);
    let all = all.map(|refusal| refusal.as_str());
    let missing: Vec<_> = all.filter(|name| !reached.contains(name)).collect();
    assert_eq!(missing, [""; 0], "reached {reached:?}");
    assert!(reached.contains("won") && reached.contains("cancelled") && reached.contains("copy"));
}
