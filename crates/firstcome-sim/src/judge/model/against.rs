//! The judge's rules against those that nodes run: the same commands, drawn at random, come to the same.

use super::{Deed, Model};
use firstcome_core::command::{Body, BodyWriter, Expect, Mark, Order, Steer};
use firstcome_core::outcome::By;
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::state::Stamp;
use firstcome_core::{Command, NodeId, Settings, SpaceId, State, Timestamp};
use firstcome_journal::Name;

const CAMPAIGNS: [&str; 2] = ["spring", "autumn"];
const POOLS: [&str; 3] = ["main", "vip", "gold"];
const SUBJECTS: [&str; 7] = ["ann", "bob", "eve", "joe", "kim", "lee", "mia"];
const IDS: [&str; 3] = ["a", "b", "c"];

fn one<'a>(random: &mut fastrand::Rng, of: &[&'a str]) -> &'a str {
    of[random.usize(..of.len())]
}

fn settings(random: &mut fastrand::Rng, at: i64) -> Settings {
    let soon = |random: &mut fastrand::Rng| Timestamp::from_micros(at + random.i64(-20..60));
    let opens = match random.u32(..8) {
        0 => Opens::Undecided,
        1 | 2 => Opens::At(soon(random)),
        _ => Opens::Now,
    };
    let pools = POOLS[..random.usize(1..=3)].iter();
    Settings {
        title: one(random, &["", "Spring"]).into(),
        opens,
        closes_at: (random.u32(..4) == 0).then(|| soon(random)),
        limit: (random.u32(..3) == 0).then(|| random.u32(1..3)),
        claim_again: random.u32(..3) > 0,
        units_return: random.u32(..3) > 0,
        holding: HoldSettings::default(),
        pools: pools.map(|name| PoolSettings::counted(name, random.u32(1..5))).collect(),
    }
}

fn command(random: &mut fastrand::Rng, at: i64) -> Command<'static> {
    let campaign = one(random, &CAMPAIGNS);
    let pool = one(random, &POOLS[..2]);
    let subject = one(random, &SUBJECTS);
    let id = (random.u32(..4) == 0).then(|| one(random, &IDS));
    let order = Order { id, who: "desk" };
    match random.u32(..20) {
        0..=9 => {
            let pool = random.bool().then_some(pool);
            let limit = (random.u32(..4) == 0).then(|| random.u32(1..3));
            Command::Claim { campaign, pool, subject, limit }
        }
        10..=13 => {
            let by = if random.u32(..4) == 0 { By::Operator } else { By::Subject };
            let rank = random.u32(..7);
            Command::Cancel { campaign, pool, subject, rank, by, reason: "", who: "" }
        }
        14..=16 => {
            let expect = match random.u32(..6) {
                0 => Expect::Absent,
                1 => Expect::Version(random.u32(1..5)),
                _ => Expect::Anything,
            };
            Command::Put { campaign, settings: settings(random, at), expect, order }
        }
        17 => {
            let steer = match random.u32(..12) {
                0 => Steer::Close,
                1 => Steer::Archive { drop_unsettled: random.bool() },
                2..=5 => Steer::Pause,
                _ => Steer::Resume,
            };
            Command::Steer { campaign, steer, order }
        }
        18 => Command::Tick { mark: Mark::default() },
        _ => {
            let through = random.u64(..12);
            Command::Settled { through, term: 1, mark: Mark::default() }
        }
    }
}

/// One space, from its first entry on; gives how many units were given.
fn live_through(seed: u64) -> usize {
    let mut random = fastrand::Rng::with_seed(seed);
    let mut at = 100;
    let mut bodies: Vec<(i64, Vec<u8>)> = Vec::new();
    let mut numbers = [0_u64; 3];
    for _ in 0..80 {
        // Sometimes an hour and more passes, in steps that count as service.
        at += if random.u32(..100) == 0 { 8_000_000_000 } else { random.i64(0..5) };
        let node = random.usize(..3);
        let again = numbers[node] > 0 && random.u32(..5) == 0;
        numbers[node] += u64::from(!again);
        let id = NodeId([u8::try_from(node).unwrap() + 1; 16]);
        let mut body = BodyWriter::new(id, numbers[node], 0);
        for _ in 0..random.usize(1..6) {
            assert!(body.push(&command(&mut random, at)));
        }
        bodies.push((at, body.finish()));
    }
    let mut state = State::new(SpaceId::default(), 0);
    let mut model = Model::default();
    let mut won = 0;
    for (index, (at, bytes)) in bodies.iter().enumerate() {
        let body = Body::open(bytes).unwrap();
        let commands = body.commands().unwrap();
        let at = Timestamp::from_micros(*at);
        let (node, number) = (body.head.node, body.head.number);
        let stamp = Stamp { position: index as u64 + 1, at, epoch: 0, node, number };
        let mut theirs = Vec::new();
        state.apply(stamp, &commands, &mut theirs);
        let mut deeds = Vec::new();
        let ours = model.apply(index, at, Name { node, number }, &commands, &mut deeds);
        let ours: Vec<_> = ours.into_iter().flatten().map(|decision| decision.outcome).collect();
        assert_eq!(ours, theirs, "seed {seed}, entry {index}: {commands:#?}");
        assert_eq!(model.last_result(), state.last_result(), "seed {seed}, entry {index}");
        won += deeds.iter().filter(|deed| matches!(deed, Deed::Won(_))).count();
    }
    won
}

#[test]
fn the_same_commands_come_to_the_same() {
    let won: usize = (0..600).map(live_through).sum();
    assert!(won > 3_000, "only {won} units were given: the commands were too wild");
}
