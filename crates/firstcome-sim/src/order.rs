//! How far ranks follow the order of arrival with more nodes than one machine can run: in virtual time, without faults.

mod inversions;

pub use inversions::Inversions;

use crate::environment::Environment;
use crate::history::Durability;
use crate::nodes::{NodeHandle, Slots};
use crate::people;
use crate::plan::{Plan, PlannedCampaign};
use fastrand::Rng;
use firstcome_core::command::{Expect, Order};
use firstcome_core::names::Position;
use firstcome_core::settings::HoldSettings;
use firstcome_core::{Command, Outcome};
use firstcome_node::OnEmptied;
use firstcome_virtual::runtime::in_virtual_time;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

/// What everybody claims.
const CAMPAIGN: &str = "rush";
/// How long a message to the store takes on average, in microseconds. Virtual time has steps of a millisecond.
const LATENCY: u64 = 100;

/// Lets claims arrive at so many nodes at random times, so many a second, and counts how far ranks follow them.
///
/// # Panics
///
/// A claim fails: nothing goes wrong in this world, so this is a bug.
pub fn measure(nodes: usize, per_second: f64, length: Duration, seed: u64) -> Inversions {
    in_virtual_time(seed, run(nodes, per_second, length, seed))
}

async fn run(nodes: usize, per_second: f64, length: Duration, seed: u64) -> Inversions {
    let environment = environment(nodes, seed);
    let slots = Slots::set_up(environment.clone());
    (0..nodes).for_each(|slot| slots.start(slot, Duration::ZERO));
    let handles = started(&slots, nodes).await;
    let opened = open(&handles[0], &environment.plan.campaigns[0]).await;

    let mut random = Rng::with_seed(seed);
    let (begun, mut next, mut number) = (Instant::now(), Duration::ZERO, 0_u64);
    let mut claims = JoinSet::new();
    while next < length {
        sleep_until(begun + next).await;
        let (handle, subject) = (handles[random.usize(..nodes)].clone(), format!("s-{number:08}"));
        let arrived = Instant::now();
        claims.spawn(async move {
            let answer = handle.intake().claim(CAMPAIGN, None, &subject, Some(opened)).await;
            match answer.map(|answer| answer.outcome) {
                Ok(Outcome::Won { rank, .. }) => (rank, arrived - begun),
                other => panic!("{subject} was answered {other:?}"),
            }
        });
        number += 1;
        next += Duration::from_secs_f64(-random.f64().max(1e-12).ln() / per_second);
    }
    Inversions::count(claims.join_all().await)
}

fn environment(nodes: usize, seed: u64) -> Environment {
    let campaign = PlannedCampaign {
        name: CAMPAIGN.to_owned(),
        pools: vec![("main".to_owned(), u32::MAX - 1)],
        opens: Duration::ZERO,
        closes: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        venue: None,
        codes: Vec::new(),
        holding: HoldSettings::default(),
    };
    let day = Duration::from_secs(86_400);
    let plan = Arc::new(Plan {
        seed,
        nodes,
        copies: 0,
        durability: Durability::Memory,
        log: None,
        ledger: false,
        noise: false,
        latency: LATENCY,
        snapshot_every: day,
        keep_for: None,
        invents_level: false,
        newer: false,
        late: false,
        remembers: true,
        on_emptied: OnEmptied::Wait,
        campaigns: vec![campaign],
        steps: Vec::new(),
        ends: day,
    });
    Environment::build(plan, None, None)
}

/// Waits until all nodes run.
async fn started(slots: &Slots, nodes: usize) -> Vec<NodeHandle> {
    loop {
        let handles: Vec<_> = (0..nodes).filter_map(|slot| slots.handle(slot)).collect();
        if handles.len() == nodes {
            return handles;
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// Creates the campaign; gives the position from which every node has it.
async fn open(node: &NodeHandle, campaign: &PlannedCampaign) -> Position {
    let settings = people::settings(campaign, None);
    let (campaign, expect, order) = (CAMPAIGN, Expect::Anything, Order::default());
    let put = Command::Put { campaign, settings, expect, order };
    node.intake().decide(&put).await.expect("nothing goes wrong in this world").position
}

#[cfg(test)]
mod tests {
    use super::{Inversions, measure};
    use std::time::Duration;

    #[test]
    fn only_neighbours_by_rank_are_compared() {
        let at = Duration::from_millis;
        let counted = Inversions::count(vec![(3, at(2)), (1, at(1)), (2, at(5)), (9, at(0))]);
        assert_eq!((counted.pairs, counted.share()), (2, 0.5));
        assert_eq!((counted.late_ms(0.5), counted.late_ms(1.0)), (3.0, 3.0));
        assert_eq!(Inversions::count(Vec::new()).late_ms(0.99), 0.0);
    }

    #[test]
    fn a_world_gives_every_claim_a_rank_and_is_the_same_again() {
        let length = Duration::from_millis(50);
        let counted = measure(3, 2_000.0, length, 1);
        assert!(counted.pairs > 50, "{counted:?}");
        assert_eq!(counted, measure(3, 2_000.0, length, 1));
    }
}
