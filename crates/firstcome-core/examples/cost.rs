//! What a claim costs, in time and memory, from a small pool to ten million claims.
//!
//! `cargo run --release -p firstcome-core --example cost [CLAIMS]` prints one table, with `small` a
//! line to compare it with: as many claims, in pools of ten thousand. Each in a process of its own,
//! because memory the process used before is much cheaper than new memory. Times are those of one
//! thread reading bodies as a replica does: open, read the commands, apply.

#![expect(clippy::disallowed_methods, reason = "this measures time; the rules do not")]
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use firstcome_core::command::{Body, BodyWriter};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::snapshot::Restore;
use firstcome_core::{Command, Expect, LEVEL, NodeId, Settings, SpaceId, Stamp, State, Timestamp};
use std::time::{Duration, Instant};

const BATCH: u32 = 512;

fn main() {
    let mut most = 10_000_000;
    let mut small = false;
    for arg in std::env::args().skip(1) {
        match arg.parse() {
            Ok(claims) => most = claims,
            Err(_) => small = arg == "small",
        }
    }
    // The allocator's first touch of memory is not the rules' cost.
    drop(flood(200_000, 200_000));
    println!(
        "{:>12} {:>10} {:>14} {:>16}",
        "accepted", "ns/claim", "B beyond subj.", "longest batch"
    );
    if small {
        return many(most);
    }
    for claims in [1_000_000, most] {
        let before = resident();
        let (state, spent) = flood(claims, claims);
        let bytes = (resident() - before) as f64 / f64::from(claims) - 8.0;
        println!(
            "{claims:>12} {:>10.0} {:>14.1} {:>16?}   12 B of it are unsettled results; the state counts {} MB",
            spent.last.as_nanos() as f64 / f64::from(spent.last_claims),
            bytes,
            spent.longest,
            state.memory() >> 20,
        );
        snapshot(&state);
    }
    raised(most);
}

/// Many small pools, all kept.
fn many(claims: u32) {
    let kept: Vec<_> = (0..claims / 10_000).map(|_| flood(10_000, 10_000)).collect();
    let small: Duration = kept.iter().map(|(_, spent)| spent.total).sum();
    let given = f64::from(claims / 10_000 * 10_000);
    println!("{:>12} {:>10.0}   in many pools", 10_000, small.as_nanos() as f64 / given);
}

struct Spent {
    total: Duration,
    /// For the last tenth.
    last: Duration,
    last_claims: u32,
    longest: Duration,
}

/// Lets `claims` subjects of eight bytes claim, once each, in an order that is not theirs.
fn flood(capacity: u32, claims: u32) -> (State, Spent) {
    let mut state = opened(capacity);
    let spent = claim(&mut state, claims);
    (state, spent)
}

fn opened(capacity: u32) -> State {
    let mut state = State::new(SpaceId::default());
    put(&mut state, capacity);
    state
}

fn put(state: &mut State, capacity: u32) {
    let settings = Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: false,
        units_return: true,
        public: false,
        holding: HoldSettings::default(),
        pools: vec![PoolSettings::counted("main", capacity)],
    };
    let order = firstcome_core::command::Order::default();
    let put = Command::Put { campaign: "rush", settings, expect: Expect::Anything, order };
    state.apply(stamp(state.position() + 1), &[put], &mut Vec::new());
}

fn stamp(position: u64) -> Stamp {
    let at = Timestamp::from_micros(1_700_000_000_000_000 + position as i64 * 1_000);
    Stamp { position, at, epoch: 0, node: NodeId([1; 16]), number: position, level: LEVEL }
}

fn claim(state: &mut State, claims: u32) -> Spent {
    let mut spent = Spent {
        total: Duration::ZERO,
        last: Duration::ZERO,
        last_claims: 0,
        longest: Duration::ZERO,
    };
    let mut outcomes = Vec::new();
    let mut given = 0;
    while given < claims {
        let upto = claims.min(given + BATCH);
        let mut body = BodyWriter::new(NodeId([1; 16]), state.position() + 1, 0);
        for n in given..upto {
            let subject = format!("{:08x}", n.wrapping_mul(2_654_435_761));
            body.push(&Command::claim("rush", None, &subject));
        }
        let bytes = body.finish();
        let began = Instant::now();
        let body = Body::open(&bytes).expect("it was just written");
        let commands = body.commands().expect("it was just written");
        outcomes.clear();
        state.apply(stamp(state.position() + 1), &commands, &mut outcomes);
        let took = began.elapsed();
        assert!(outcomes.iter().all(|o| o.as_str() == "won"));
        spent.total += took;
        spent.longest = spent.longest.max(took);
        if given >= claims - claims / 10 {
            spent.last += took;
            spent.last_claims += upto - given;
        }
        given = upto;
    }
    spent
}

fn snapshot(state: &State) {
    let began = Instant::now();
    let mut frozen = state.freeze(false);
    let froze = began.elapsed();
    let mut pieces = Vec::new();
    while let Some(piece) = frozen.next_piece() {
        pieces.push(piece);
    }
    let manifest = frozen.finish();
    let wrote = began.elapsed();
    let bytes: usize = pieces.iter().filter_map(|p| p.bytes.as_ref()).map(Vec::len).sum();
    let began = Instant::now();
    let mut restore = Restore::new(manifest);
    for piece in &pieces {
        restore.take(piece.bytes.as_ref().expect("none is stored yet")).expect("as written");
    }
    let restored = restore.finish().expect("as written");
    let read = began.elapsed();
    assert_eq!(restored.digest(), state.digest());
    println!(
        "{:>12} freeze {froze:?}, {} pieces of {} MB in {wrote:?}, restored in {read:?}",
        "",
        pieces.len(),
        bytes >> 20
    );
}

/// A pool that was made for ten and raised must not make one claim pay for its growth.
fn raised(claims: u32) {
    let mut state = opened(10);
    put(&mut state, claims);
    let spent = claim(&mut state, claims);
    println!(
        "{claims:>12} {:>10} {:>14} {:>16?}   made for 10, then raised",
        "", "", spent.longest
    );
}

/// Bytes of memory this process holds.
fn resident() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    statm.split(' ').nth(1).and_then(|pages| pages.parse::<u64>().ok()).unwrap_or(0) * 4096
}
