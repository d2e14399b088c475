//! What holds cost: holding, confirming, and the pause when very many expire at one instant.
//!
//! `cargo run --release -p firstcome-core --example holds [HOLDS]` prints one table, for one seat a hold
//! and one subject each, over seated pools of 100,000. Times are those of one thread reading bodies as a replica does.

#![expect(clippy::disallowed_methods, reason = "this measures time; the rules do not")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use firstcome_core::command::{Body, BodyWriter, Late, Mark, Order, Pick, Step};
use firstcome_core::hall::{Chunk, SeatSettings};
use firstcome_core::settings::{HoldSettings, HoldsEach, Opens, PoolSettings};
use firstcome_core::{Command, Expect, LEVEL, NodeId, Settings, SpaceId, Stamp, State, Timestamp};
use std::time::{Duration, Instant};

const BATCH: u32 = 512;
const SEATS: u32 = 100_000;

fn main() {
    let most: u32 = std::env::args().nth(1).and_then(|arg| arg.parse().ok()).unwrap_or(1_000_000);
    println!(
        "{:>10} {:>10} {:>12} {:>14} {:>14} {:>10}",
        "holds", "ns/hold", "ns/confirm", "all expire in", "us/hold of it", "B/hold"
    );
    for holds in [10_000, 100_000, most] {
        let (mut state, took) = held(holds);
        let bytes = (state.memory() - opened(holds).memory()) as f64 / f64::from(holds);
        let began = Instant::now();
        // Service time counts at most 15 s of a step: all are due with this one.
        tick(&mut state, 15_000_000);
        let expired = began.elapsed();
        assert_eq!(state.live_holds(), 0);
        let (mut state, _) = held(holds);
        let confirmed = confirm(&mut state, holds);
        println!(
            "{holds:>10} {:>10.0} {:>12.0} {:>14?} {:>14.2} {bytes:>10.0}",
            took.as_nanos() as f64 / f64::from(holds),
            confirmed.as_nanos() as f64 / f64::from(holds),
            expired,
            expired.as_nanos() as f64 / 1_000.0 / f64::from(holds),
        );
    }
}

fn pool(number: u32) -> String {
    format!("p{number}")
}

/// Makes as many seated pools as the holds need.
fn opened(holds: u32) -> State {
    let mut state = State::new(SpaceId::default());
    let pools = holds.div_ceil(SEATS);
    let settings = Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        pools: (0..pools).map(|n| PoolSettings::seated(&pool(n))).collect(),
        holding: HoldSettings {
            ttl_us: 10_000_000,
            each: HoldsEach::Many,
            allow_orphans: true,
            ..HoldSettings::default()
        },
    };
    let order = Order::default();
    apply(
        &mut state,
        0,
        &[Command::Put { campaign: "house", settings, expect: Expect::Anything, order }],
    );
    for number in 0..pools {
        let pool = pool(number);
        for first in (0..SEATS.min(holds)).step_by(4_000) {
            let upto = SEATS.min(holds).min(first + 4_000);
            let names: Vec<String> = (first..upto).map(|n| format!("S{n}")).collect();
            let rows: Vec<String> = (first..upto).map(|n| format!("{}", n / 50)).collect();
            let seats = names.iter().zip(&rows).map(|(name, row)| SeatSettings {
                row,
                grade: "R",
                ..SeatSettings::named(name)
            });
            let chunk = Chunk { seats: seats.collect(), areas: Vec::new() };
            apply(
                &mut state,
                0,
                &[Command::Seats { campaign: "house", pool: &pool, chunk, order }],
            );
        }
    }
    state
}

fn held(holds: u32) -> (State, Duration) {
    let mut state = opened(holds);
    let mut took = Duration::ZERO;
    for first in (0..holds).step_by(BATCH as usize) {
        let words: Vec<[String; 4]> = (first..holds.min(first + BATCH))
            .map(|n| {
                [
                    format!("hold-{n:08x}"),
                    format!("{n:08x}"),
                    pool(n / SEATS),
                    format!("S{}", n % SEATS),
                ]
            })
            .collect();
        let commands: Vec<Command<'_>> = words
            .iter()
            .map(|[id, subject, pool, seat]| Command::Hold {
                campaign: "house",
                id,
                subject,
                picks: vec![Pick::units(pool, vec![seat])],
                limit: None,
            })
            .collect();
        took += apply(&mut state, 0, &commands);
    }
    assert_eq!(state.live_holds() as u32, holds);
    (state, took)
}

fn confirm(state: &mut State, holds: u32) -> Duration {
    let mut took = Duration::ZERO;
    for first in (0..holds).step_by(BATCH as usize) {
        let words: Vec<(String, String)> = (first..holds.min(first + BATCH))
            .map(|n| (format!("hold-{n:08x}"), format!("{n:08x}")))
            .collect();
        let commands: Vec<Command<'_>> = words
            .iter()
            .map(|(hold, subject)| Command::Confirm {
                step: Step { campaign: "house", hold, subject, id: None },
                units: Vec::new(),
                late: Late::Refuse,
            })
            .collect();
        took += apply(state, 0, &commands);
    }
    took
}

fn tick(state: &mut State, later: i64) {
    apply(state, later, &[Command::Tick { mark: Mark::default() }]);
}

/// Writes commands into a body, and has the state read and apply it.
fn apply(state: &mut State, later: i64, commands: &[Command<'_>]) -> Duration {
    let position = state.position() + 1;
    let mut body = BodyWriter::new(NodeId([1; 16]), position, 0);
    for command in commands {
        assert!(body.push(command), "a batch has room");
    }
    let bytes = body.finish();
    let began = Instant::now();
    let body = Body::open(&bytes).expect("it was just written");
    let commands = body.commands().expect("it was just written");
    let before =
        if position == 1 { Timestamp::from_micros(1_700_000_000_000_000) } else { state.at() };
    let at = before.plus_micros(later);
    let stamp =
        Stamp { position, at, epoch: 0, node: NodeId([1; 16]), number: position, level: LEVEL };
    let mut outcomes = Vec::new();
    state.apply(stamp, &commands, &mut outcomes);
    let took = began.elapsed();
    assert!(outcomes.iter().all(|outcome| !outcome.is_refusal()), "{:?}", outcomes.first());
    took
}
