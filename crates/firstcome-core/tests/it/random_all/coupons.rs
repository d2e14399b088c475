//! Random commands on codes.

use super::{CAMPAIGNS, IDS, SUBJECTS, key, one};
use firstcome_core::codes::{ALIKE_BYTES, CodeKey, CodeVerdict};
use firstcome_core::command::{CodeCommand, CodeStep, Expect, Mark, Order, StagedCode, Steer};
use firstcome_core::outcome::By;
use firstcome_core::settings::{
    CodeSettings, CodeSource, HoldSettings, Opens, PoolSettings, Settings,
};
use firstcome_core::{Command, Timestamp};

const REFERENCES: [&str; 3] = ["o1", "o2", "o3"];
const IMPORTS: [&str; 3] = ["f1", "f2", "f3"];
const SEALED: &[u8] = b"sealed under a key of a test";
/// Names of coded pools; the last one is counted, or not there.
const POOLS: [&str; 3] = ["made", "stock", "main"];

/// A campaign that is open and has codes of both kinds.
pub(super) fn campaign(random: &mut fastrand::Rng, at: i64) -> Command<'static> {
    let made = settings(random, CodeSource::Generated, at);
    let stock = settings(random, CodeSource::Imported, at);
    let pools = vec![PoolSettings::coded("made", 2, made), PoolSettings::coded("stock", 0, stock)];
    let settings = Settings {
        title: "".into(),
        opens: Opens::Now,
        closes_at: None,
        limit: None,
        claim_again: true,
        units_return: true,
        public: false,
        holding: HoldSettings::default(),
        pools,
    };
    let order = Order { id: None, who: "desk" };
    Command::Put { campaign: CAMPAIGNS[0], settings, expect: Expect::Anything, order }
}

/// Brings the first codes.
pub(super) fn import() -> [Command<'static>; 2] {
    let (campaign, pool, import) = (CAMPAIGNS[0], "stock", "f0");
    let order = Order { id: None, who: "desk" };
    let codes = (0..3).map(|n| StagedCode { hash: [n; 16], sealed: SEALED }).collect();
    let stage = CodeCommand::Stage { campaign, pool, import, first: 0, codes, order };
    let commit = CodeCommand::Commit { campaign, pool, import, lines: 3, order };
    [stage, commit].map(Command::Code)
}

/// A pool of codes, or two.
pub(super) fn pools(random: &mut fastrand::Rng, at: i64) -> Vec<PoolSettings> {
    let mut pools = Vec::new();
    if random.bool() {
        let codes = settings(random, CodeSource::Generated, at);
        pools.push(PoolSettings::coded("made", random.u32(1..4), codes));
    }
    if random.bool() {
        let codes = settings(random, CodeSource::Imported, at);
        pools.push(PoolSettings::coded("stock", 0, codes));
    }
    pools
}

fn settings(random: &mut fastrand::Rng, source: CodeSource, at: i64) -> CodeSettings {
    let until = (random.u32(..5) == 0).then(|| at + random.i64(-2_000_000..9_000_000));
    CodeSettings {
        uses: [1, 1, 2, 3][random.usize(..4)],
        uses_per_subject: (random.u32(..4) == 0).then(|| random.u32(1..3)),
        valid_until: until.map(Timestamp::from_micros),
        valid_for_us: (random.u32(..4) == 0).then(|| random.i64(1_000_000..6_000_000)),
        only_by_holder: random.u32(..4) == 0,
        ..CodeSettings::new(source, "k1")
    }
}

fn pool(random: &mut fastrand::Rng) -> &'static str {
    if random.u32(..12) == 0 { one(random, &POOLS) } else { one(random, &POOLS[..2]) }
}

/// The tag of a claim and of a code: mostly the same, so that codes are found.
fn tag(random: &mut fastrand::Rng) -> u64 {
    if random.u32(..4) == 0 { 2 } else { 1 }
}

fn hash(random: &mut fastrand::Rng) -> [u8; 16] {
    let mut hash = [random.u8(..4); 16];
    hash[ALIKE_BYTES..].fill(random.u8(..3));
    hash
}

fn code(random: &mut fastrand::Rng, pool: &str) -> CodeKey {
    match random.u32(..12) {
        0 => CodeKey::Rank(random.u32(..5)),
        1 => CodeKey::Imported { hash: hash(random) },
        2 => CodeKey::Generated { unit: 1, tag: 1 },
        _ if pool == "stock" => CodeKey::Imported { hash: hash(random) },
        _ => CodeKey::Generated { unit: random.u32(1..4), tag: tag(random) },
    }
}

pub(super) fn claim(random: &mut fastrand::Rng) -> Command<'static> {
    let (campaign, subject) = (one(random, &CAMPAIGNS), one(random, &SUBJECTS));
    let tag = (random.u32(..8) > 0).then(|| tag(random));
    Command::Claim { campaign, pool: Some(pool(random)), subject, limit: None, tag }
}

/// Somebody gives a code back, or an operator takes it away.
pub(super) fn cancel(random: &mut fastrand::Rng) -> Command<'static> {
    let (campaign, subject) = (CAMPAIGNS[0], one(random, &SUBJECTS[..4]));
    let by = if random.u32(..3) == 0 { By::Operator } else { By::Subject };
    let (pool, rank) = (Some(pool(random)), random.u32(1..4));
    Command::Cancel { campaign, pool, subject, rank, by, reason: "", who: "" }
}

/// What brings a campaign with codes to its end.
pub(super) fn end(random: &mut fastrand::Rng) -> Command<'static> {
    let (campaign, order) = (CAMPAIGNS[0], Order { id: None, who: key(random) });
    let steer = match random.u32(..8) {
        0 => Steer::Close,
        1..=3 => Steer::Archive { drop_unsettled: false },
        _ => {
            let through = random.u64(..60);
            return Command::Settled { through, term: 1, mark: Mark::default() };
        }
    };
    Command::Steer { campaign, steer, order }
}

pub(super) fn on_code(random: &mut fastrand::Rng) -> Command<'static> {
    let (campaign, pool) = (one(random, &CAMPAIGNS), pool(random));
    let step = |random: &mut fastrand::Rng| {
        // By its rank a code is only marked.
        let code = loop {
            match code(random, pool) {
                CodeKey::Rank(_) => {}
                code @ (CodeKey::Generated { .. } | CodeKey::Imported { .. }) => break code,
            }
        };
        let reference = one(random, &REFERENCES);
        let pool = (random.u32(..20) > 0).then_some(pool);
        CodeStep { campaign, pool, code, reference }
    };
    let user =
        |random: &mut fastrand::Rng| (random.u32(..3) == 0).then(|| one(random, &SUBJECTS[..4]));
    let id = (random.u32(..6) == 0).then(|| one(random, &IDS));
    let order = Order { id, who: key(random) };
    let import = one(random, &IMPORTS);
    Command::Code(match random.u32(..30) {
        0..=6 => {
            let ttl_us = random.i64(1_000_000..4_000_000);
            CodeCommand::Reserve { step: step(random), subject: user(random), ttl_us }
        }
        7..=13 => CodeCommand::Redeem { step: step(random), subject: user(random) },
        14..=18 => CodeCommand::RollBack { step: step(random) },
        19 => CodeCommand::EndReservation { step: step(random) },
        20 | 21 => {
            let codes = (0..random.u32(1..4)).map(|_| code(random, pool)).collect();
            let all = CodeVerdict::ALL;
            // What is revoked stays so: more is only suspended.
            let verdict = if random.bool() { all[1] } else { all[random.usize(..3)] };
            CodeCommand::Mark { campaign, pool, codes, verdict, reason: "", order }
        }
        22 if random.u32(..4) == 0 => {
            CodeCommand::RevokeImport { campaign, pool, import, reason: "", order }
        }
        22 | 23 => {
            let (subject, rank) = (one(random, &SUBJECTS[..4]), random.u32(1..4));
            let tag = (random.u32(..8) > 0).then(|| random.u64(1..5));
            let (issue, reason) = (random.u16(1..4), "");
            CodeCommand::Reissue { campaign, pool, subject, rank, issue, tag, reason, order }
        }
        24..=26 => {
            let staged =
                |random: &mut fastrand::Rng| StagedCode { hash: hash(random), sealed: SEALED };
            let codes = (0..random.u32(1..4)).map(|_| staged(random)).collect();
            let first = if random.bool() { 0 } else { random.u32(..4) };
            CodeCommand::Stage { campaign, pool, import, first, codes, order }
        }
        27 | 28 => {
            let lines = random.u32(1..5);
            CodeCommand::Commit { campaign, pool, import, lines, order }
        }
        _ => CodeCommand::Discard { campaign, pool, import, order },
    })
}
