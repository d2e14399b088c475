//! Resident bytes of coupon codes in the rules, each measured in a process of its own.

use crate::table::{Budget, Table};
use anyhow::{Context, Result, bail, ensure};
use firstcome_core::command::{Body, BodyWriter, CodeCommand, Command, Expect, Order, StagedCode};
use firstcome_core::settings::{CodeSettings, CodeSource, HoldSettings, Opens, PoolSettings};
use firstcome_core::{NodeId, Settings, SpaceId, Stamp, State, Timestamp};

/// Bytes of the text of each imported code.
const TEXT: usize = 16;
/// A sealed text is longer than the text by this.
const SEAL: usize = 16;
/// Codes whose memory is taken away from that of the many.
const FEW: usize = 1_000;
/// Lines in a command.
const CHUNK: u32 = 4_000;

struct Rules {
    state: State,
    number: u64,
}

impl Rules {
    fn new(pool: PoolSettings) -> Result<Self> {
        let settings = Settings {
            title: "".into(),
            opens: Opens::Now,
            closes_at: None,
            limit: None,
            claim_again: false,
            units_return: true,
            public: false,
            holding: HoldSettings::default(),
            pools: vec![pool],
        };
        let mut rules = Self { state: State::new(SpaceId::default()), number: 0 };
        let (expect, order) = (Expect::Anything, Order::default());
        rules.apply(&[Command::Put { campaign: "bench", settings, expect, order }])?;
        Ok(rules)
    }

    fn apply(&mut self, commands: &[Command<'_>]) -> Result<()> {
        self.number += 1;
        let mut body = BodyWriter::new(NodeId([1; 16]), self.number, 0);
        for command in commands {
            body.push(command);
        }
        let bytes = body.finish();
        let body = Body::open(&bytes)?;
        let position = self.state.position() + 1;
        let stamp = Stamp {
            position,
            at: Timestamp::from_micros(1_800_000_000_000_000 + position as i64 * 100),
            epoch: 0,
            node: body.head.node,
            number: body.head.number,
            again_of: None,
            level: body.head.level,
        };
        self.state.apply(stamp, &body.commands()?, &mut Vec::new());
        Ok(())
    }

    /// Returns how many units the pool has, and how many of them are taken.
    fn units(&self) -> Result<(u32, u32)> {
        let campaign = self.state.campaign("bench").ok().context("no campaign")?;
        let pool = campaign.pools().first().context("no pool")?;
        Ok((pool.capacity(), pool.taken()))
    }
}

pub(super) fn run(codes: usize, table: &mut Table) -> Result<()> {
    let issued = measured("issued", codes)? - measured("claimed", codes)?;
    let imported = measured("imported", codes)?;
    let stock = measured("generated", codes)?;
    for (what, bytes, most) in [
        ("memory per imported code, beyond its text", imported, 60.0),
        ("memory per generated code that is issued, beyond its claim", issued, 16.0),
        ("memory per generated code that is in stock", stock, 1.0),
    ] {
        let (ours, against) = (format!("{bytes:.1} B"), format!("{most} B"));
        table.add(what, ours, against, (bytes / most).max(0.0), Budget::AtMost(1.0));
    }
    Ok(())
}

/// Returns the bytes of each code: what so many take beyond what [`FEW`] do, so that pages of the program that the first ones
/// brought in are not counted as theirs.
fn measured(what: &str, codes: usize) -> Result<f64> {
    let bytes = |codes: usize| -> Result<f64> {
        let output = std::process::Command::new(std::env::current_exe()?)
            .args(["--code-memory", &format!("{what}={codes}")])
            .output()?;
        String::from_utf8(output.stdout)?.trim().parse().context("no figure of memory")
    };
    ensure!(codes > FEW, "--claims: more than {FEW} codes are measured");
    Ok((bytes(codes)? - bytes(FEW)?) / (codes - FEW) as f64)
}

/// Prints the resident bytes of all codes: of `imported`, `generated` (none issued), `issued`, or, to compare, of as many
/// places that are `claimed`.
pub(crate) fn print(asked: &str) -> Result<()> {
    let (what, count) = asked.split_once('=').context("WHAT=COUNT is expected")?;
    let count: u32 = count.parse()?;
    let generated = || CodeSettings::new(CodeSource::Generated, "key");
    let (pool, tag) = match what {
        "claimed" => (PoolSettings::counted("main", count), None),
        "generated" | "issued" => (PoolSettings::coded("main", count, generated()), Some(1)),
        "imported" => {
            (PoolSettings::coded("main", 0, CodeSettings::new(CodeSource::Imported, "key")), None)
        }
        what => bail!("{what} is not measured"),
    };
    let before = resident()?;
    let mut rules = Rules::new(pool)?;
    match what {
        "imported" => import(&mut rules, count)?,
        "claimed" | "issued" => claim(&mut rules, count, tag)?,
        _ => {}
    }
    let (units, taken) = rules.units()?;
    ensure!(units == count, "{units} of {count} units are there");
    let expected = if matches!(what, "claimed" | "issued") { count } else { 0 };
    ensure!(taken == expected, "{taken} units are taken");
    let text = if what == "imported" { TEXT as f64 } else { 0.0 };
    println!("{}", resident()? - before - text * f64::from(count));
    Ok(())
}

fn claim(rules: &mut Rules, count: u32, tag: Option<u64>) -> Result<()> {
    for first in (0..count).step_by(256) {
        let subjects: Vec<String> =
            (first..(first + 256).min(count)).map(|subject| format!("s-{subject:08}")).collect();
        let claims = subjects.iter().map(|subject| Command::Claim {
            campaign: "bench",
            pool: Some("main"),
            subject,
            limit: None,
            tag,
        });
        rules.apply(&claims.collect::<Vec<_>>())?;
    }
    Ok(())
}

fn import(rules: &mut Rules, count: u32) -> Result<()> {
    let (campaign, pool, import) = ("bench", "main", "import");
    let order = Order::default();
    for first in (0..count).step_by(CHUNK as usize) {
        let lines: Vec<([u8; 16], Vec<u8>)> =
            (first..(first + CHUNK).min(count)).map(line).collect();
        let codes = lines.iter().map(|(hash, sealed)| StagedCode { hash: *hash, sealed }).collect();
        let stage = CodeCommand::Stage { campaign, pool, import, first, codes, order };
        rules.apply(&[Command::Code(stage)])?;
    }
    let commit = CodeCommand::Commit { campaign, pool, import, lines: count, order };
    rules.apply(&[Command::Code(commit)])
}

/// A line whose hash and sealed text are as unlike those of others as real ones are.
fn line(number: u32) -> ([u8; 16], Vec<u8>) {
    let mut random = fastrand::Rng::with_seed(number.into());
    let hash = random.u128(..).to_le_bytes();
    (hash, (0..TEXT + SEAL).map(|_| random.u8(..)).collect())
}

fn resident() -> Result<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = statm.split(' ').nth(1).context("no resident pages")?.parse()?;
    Ok(pages * 4096.0)
}
