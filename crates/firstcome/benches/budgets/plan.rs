//! What a run of the benchmark is asked to measure.

use anyhow::{Result, anyhow};
use std::time::Duration;

pub(crate) const USAGE: &str = "\
usage: cargo xtask bench [--only http|embedded|ledger|rules|worst|seats|locks|databases|stores|nodes|large]
                         [--rounds N] [--requests N] [--claims N] [--short] [--json FILE]
       cargo xtask bench --quiet-check

  --only PART     run one part; of http also one piece: http/closed, /open, /codes;
                  of nodes: nodes/costs, /waits, /order, /leader, /http;
                  of stores: stores/appends, /idle, /http;
                  of seats: seats/holds, /best
  --rounds N      rounds of the parts about HTTP, seats and nodes (3); a figure is the median, with least and most
  --requests N    requests of each HTTP phase (100000)
  --claims N      claims of the part `large` (10000000)
  --short         one round with few requests, to see that everything works; its figures say nothing
  --json FILE     where the figures go (bench.json)
  --quiet-check   measure only whether the machine is quiet; exit code 1 if it is not
";

/// What was asked for.
pub(crate) struct Plan {
    only: Option<String>,
    pub(crate) rounds: usize,
    pub(crate) requests: usize,
    pub(crate) claims: usize,
    /// How long an open load is measured.
    pub(crate) length: Duration,
    pub(crate) json: String,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            only: None,
            rounds: 3,
            requests: 100_000,
            claims: 10_000_000,
            length: Duration::from_secs(3),
            json: concat!(env!("CARGO_MANIFEST_DIR"), "/../../bench.json").into(),
        }
    }
}

impl Plan {
    /// Takes one option of the command line; says whether there is such an option.
    pub(crate) fn take(
        &mut self,
        option: &str,
        mut value: impl FnMut() -> Result<String>,
    ) -> Result<bool> {
        match option {
            "--only" => self.only = Some(value()?),
            "--rounds" => self.rounds = at_least_one(value()?.parse()?)?,
            "--requests" => self.requests = at_least_one(value()?.parse()?)?,
            "--claims" => self.claims = at_least_one(value()?.parse()?)?,
            "--json" => self.json = value()?,
            "--short" => {
                self.rounds = 1;
                self.requests = 5_000;
                self.claims = 200_000;
                self.length = Duration::from_millis(500);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Says whether anything of a part is wanted.
    pub(crate) fn wants_part(&self, part: &str) -> bool {
        let Some(only) = &self.only else { return true };
        only.split('/').next() == Some(part)
    }

    /// Says whether a piece of a part is wanted: all, the part, or just that piece.
    pub(crate) fn wants(&self, part: &str, piece: &str) -> bool {
        let Some(only) = &self.only else { return true };
        only == part || only.split_once('/') == Some((part, piece))
    }
}

fn at_least_one(number: usize) -> Result<usize> {
    if number == 0 { Err(anyhow!("0 is too few: 1 or more")) } else { Ok(number) }
}
