//! N places and a flood: exactly N winners with ranks 1 to N, whoever comes, however often.

use crate::world::{Gave, START, World, node};
use firstcome_core::command::Order;
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{Command, Expect, Outcome, Refusal, Settings};

fn flood(places: u32, entrants: u32) {
    let mut world = World::new();
    let settings = Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        holding: HoldSettings::default(),
        pools: vec![PoolSettings::counted("main", places)],
    };
    let order = Order::default();
    let put = Command::Put { campaign: "drop", settings, expect: Expect::Absent, order };
    world.entry(START, node(1), 1, &[put]);
    let names: Vec<String> = (0..entrants).map(|n| format!("{n}")).collect();
    let mut winners = 0;
    for (batch, names) in names.chunks(1_000).enumerate() {
        // Everybody sends twice: the second of each pair must change nothing.
        let twice = names.iter().flat_map(|name| [name, name]);
        let claims: Vec<_> = twice.map(|subject| Command::claim("drop", None, subject)).collect();
        let Gave::Outcomes(outcomes) = world.entry(START, node(1), batch as u64 + 2, &claims)
        else {
            panic!("each batch has a number of its own");
        };
        for pair in outcomes.chunks(2) {
            if winners < places {
                winners += 1;
                let (rank, at) = (winners, START);
                let (pool, code) = (0, None);
                let won = Outcome::Won { rank, at, pool, code };
                assert_eq!(pair, [won, Outcome::AlreadyWon { rank, at, pool, code }]);
            } else {
                assert_eq!(pair, [Refusal::SoldOut.into(), Refusal::SoldOut.into()]);
            }
        }
    }
    let campaign = world.state.campaign("drop").unwrap();
    let pool = campaign.pool("main").unwrap();
    assert_eq!(winners, places.min(entrants));
    assert_eq!((pool.last_rank(), pool.taken(), pool.left()), (winners, winners, places - winners));
    for rank in 1..=winners {
        assert_eq!(pool.claim(rank).unwrap().subject, names[rank as usize - 1]);
    }
    assert_eq!(world.state.results_after(0).count(), winners as usize);
}

#[test]
fn as_many_win_as_there_are_places() {
    for places in [1, 2, 100] {
        for entrants in [places - 1, places, places + 1, 100 * places] {
            flood(places, entrants);
        }
    }
}

#[test]
fn ten_thousand_places() {
    for entrants in [9_999, 10_000, 10_001, 1_000_000] {
        flood(10_000, entrants);
    }
}
