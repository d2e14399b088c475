//! What a claim costs the rules: time as a campaign grows, and memory.

use crate::spread::median;
use crate::table::{Budget, Table};
use anyhow::{Context, Result};
use firstcome_core::command::{Body, BodyWriter, Command, Expect, Order};
use firstcome_core::settings::{HoldSettings, Opens, PoolSettings};
use firstcome_core::{NodeId, Settings, SpaceId, Stamp, State, Timestamp};
use std::time::Instant;

const BATCH: u64 = 256;
const SUBJECT_BYTES: usize = 10;

struct Rules {
    state: State,
    claimed: u64,
}

impl Rules {
    fn new(capacity: u32) -> Result<Self> {
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
        let put = Command::Put {
            campaign: "bench",
            settings,
            expect: Expect::Anything,
            order: Order::default(),
        };
        let mut rules = Self { state: State::new(SpaceId::default()), claimed: 0 };
        let mut body = BodyWriter::new(NodeId([1; 16]), 1, 0);
        body.push(&put);
        rules.apply(&body.finish())?;
        Ok(rules)
    }

    fn apply(&mut self, body: &[u8]) -> Result<()> {
        let body = Body::open(body)?;
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
        let mut outcomes = Vec::new();
        self.state.apply(stamp, &body.commands()?, &mut outcomes);
        Ok(())
    }

    /// Applies claims of new subjects and gives nanoseconds for each.
    fn claim(&mut self, claims: u64) -> Result<f64> {
        let mut bodies = Vec::new();
        let mut number = self.state.position() + 1;
        for first in (self.claimed..self.claimed + claims).step_by(BATCH as usize) {
            number += 1;
            let mut body = BodyWriter::new(NodeId([1; 16]), number, 0);
            for subject in first..(first + BATCH).min(self.claimed + claims) {
                let subject = format!("s-{subject:08}");
                assert_eq!(subject.len(), SUBJECT_BYTES);
                body.push(&Command::claim("bench", Some("main"), &subject));
            }
            bodies.push(body.finish());
        }
        let begun = Instant::now();
        for body in &bodies {
            self.apply(body)?;
        }
        self.claimed += claims;
        Ok(begun.elapsed().as_nanos() as f64 / claims as f64)
    }
}

pub(crate) fn run(table: &mut Table) -> Result<()> {
    eprintln!("the rules alone, {BATCH} claims to an entry");
    let (mut small, mut large) = (vec![], vec![]);
    for _ in 0..3 {
        // A hundred small campaigns' worth, so that both figures rest on as many claims.
        let mut figures = vec![];
        for _ in 0..20 {
            figures.push(Rules::new(10_000)?.claim(10_000)?);
        }
        small.push(median(figures));
        let mut rules = Rules::new(1_200_000)?;
        rules.claim(1_000_000)?;
        large.push(rules.claim(200_000)?);
    }
    let (small, large) = (median(small), median(large));
    table.add(
        "rules alone, per claim at 1,000,000",
        format!("{large:.0} ns"),
        format!("{small:.0} ns at 10,000"),
        large / small,
        Budget::None,
    );
    let output = std::process::Command::new(std::env::current_exe()?)
        .args(["--state-memory", "1000000"])
        .output()?;
    let bytes: f64 =
        String::from_utf8(output.stdout)?.trim().parse().context("no figure of memory")?;
    table.add(
        "memory per accepted claim",
        format!("{bytes:.0} B beyond the subject"),
        "50 B",
        bytes / 50.0,
        Budget::AtMost(1.0),
    );
    Ok(())
}

/// Prints the resident bytes a claim takes beyond its subject, measured in a process of its own.
pub(crate) fn print_memory(claims: u64) -> Result<()> {
    let mut rules = Rules::new(claims as u32)?;
    let before = resident()?;
    for _ in 0..claims / 10_000 {
        rules.claim(10_000)?;
    }
    let grown = resident()? - before;
    println!("{}", grown / rules.claimed as f64 - SUBJECT_BYTES as f64);
    Ok(())
}

fn resident() -> Result<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages: f64 = statm.split(' ').nth(1).context("no resident pages")?.parse()?;
    Ok(pages * 4096.0)
}
