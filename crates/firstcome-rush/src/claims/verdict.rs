//! Reads the results at the end and compares them with what was acknowledged.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::{Duration, Instant};

use firstcome_core::names::Position;

use super::checker::{Checker, Known};
use super::plan::{Plan, subject_number};
use super::violation::{Violation, Violations};
use crate::error::LoadError;
use firstcome_client::{
    Ask, Campaign, Client, Failure, Reply, ResultFormat, ResultLine, ResultPage, ResultRange,
};

/// What the results showed.
#[derive(Debug, Default)]
pub(super) struct ResultsVerdict {
    pub(super) violations: Violations,
    pub(super) places: u64,
    pub(super) winners: u64,
    pub(super) results: u64,
    pub(super) first: Vec<RankLine>,
    pub(super) last: Vec<RankLine>,
}

/// A rank and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RankLine {
    pub rank: u64,
    /// Whose.
    pub subject: String,
    /// Decided when.
    pub at: String,
}

/// How many ranks are shown at each end.
const SHOWN: usize = 5;

/// How often results and counts are compared while others may still be claiming.
const ROUNDS: u32 = 5;

#[derive(Debug, Default)]
struct PoolCount {
    last_rank: u64,
    claims: u64,
    live: u64,
}

impl PoolCount {
    /// Units that are not free, by the campaign's own rule for those cancelled.
    fn taken(&self, units_return: bool) -> u64 {
        if units_return { self.live } else { self.claims }
    }
}

/// Everything read so far.
struct Reading<'a> {
    plan: &'a Plan,
    after: u64,
    verdict: ResultsVerdict,
    pools: BTreeMap<String, PoolCount>,
    /// By number of subject: what the results say of ours.
    ours: Vec<Known>,
    /// Our subjects whose claim was cancelled: nothing more can be said about their rank.
    cancelled: HashSet<u32>,
    /// The rank of every live claim of other subjects, by pool and subject.
    others: HashMap<(String, String), u64>,
}

pub(super) async fn read(plan: &Plan, checker: &Checker) -> Result<ResultsVerdict, LoadError> {
    let mut reading = Reading {
        plan,
        after: 0,
        verdict: ResultsVerdict::default(),
        pools: BTreeMap::new(),
        ours: vec![Known::default(); plan.subjects as usize],
        cancelled: HashSet::new(),
        others: HashMap::new(),
    };
    let mut reader = Reader { plan, server: 0, min: Some(checker.newest()), missed: 0 };
    let mut campaign = None;
    for round in 0..ROUNDS {
        reading.read_to_end(&mut reader).await?;
        let said: Campaign = reader.ask(Ask::campaign(&plan.campaign)).await?;
        let agrees = reading.miscounted(&said).is_none();
        campaign = Some(said);
        if agrees || round + 1 == ROUNDS {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    if let Some(campaign) = campaign {
        reading.compare_with(&campaign);
    }
    for subject in 0..plan.subjects {
        let known = checker.known(subject);
        let found = reading.ours[subject as usize];
        if known.is_known() && known != found && !reading.cancelled.contains(&subject) {
            let (subject, rank) = (checker.name(subject), known.rank);
            reading.verdict.violations.add(Violation::Lost { subject, rank });
        }
    }
    Ok(reading.verdict)
}

impl Reading<'_> {
    async fn read_to_end(&mut self, reader: &mut Reader<'_>) -> Result<(), LoadError> {
        loop {
            let range = ResultRange { after: self.after, limit: 10_000 };
            let request = Ask::results(&self.plan.campaign, range, ResultFormat::Json);
            let page: ResultPage = reader.ask(request).await?;
            for line in &page.results {
                self.take(line);
            }
            // A server whose pages do not get further would otherwise be read for ever.
            match page.next {
                Some(next) if next > range.after => self.after = next,
                Some(_) | None => return Ok(()),
            }
        }
    }

    fn take(&mut self, line: &ResultLine) {
        // A page may begin again where the last one ended.
        self.after = self.after.max(line.number);
        self.verdict.results += 1;
        if line.kind == "cancel" {
            let was_live = self.end_claim(line);
            let pool = self.pools.entry(line.pool.clone()).or_default();
            pool.live = pool.live.saturating_sub(u64::from(was_live));
            return;
        }
        // Refunds and moves of seats in other pools of the campaign give nobody a rank.
        if line.kind != "claim" {
            return;
        }
        let pool = self.pools.entry(line.pool.clone()).or_default();
        let violations = &mut self.verdict.violations;
        if u64::from(line.rank) <= pool.last_rank {
            let (pool, rank) = (line.pool.clone(), u64::from(line.rank));
            let second = line.subject.clone();
            violations.add(Violation::DuplicateRank {
                rank,
                first: format!("another in {pool}"),
                second,
            });
        } else if u64::from(line.rank) != pool.last_rank + 1 {
            let (pool, after) = (line.pool.clone(), pool.last_rank);
            violations.add(Violation::Gap { pool, after, found: u64::from(line.rank) });
        }
        pool.last_rank = pool.last_rank.max(u64::from(line.rank));
        pool.claims += 1;
        pool.live += 1;
        if let Some(first) = self.begin_claim(line) {
            let (pool, subject) = (line.pool.clone(), line.subject.clone());
            self.verdict.violations.add(Violation::Twice {
                pool,
                subject,
                first,
                second: u64::from(line.rank),
            });
        }
        self.show(line);
    }

    /// The number of the subject, if it is one of ours in the pool we ask for.
    fn mine(&self, line: &ResultLine) -> Option<u32> {
        let asked_for = self.plan.pool.as_ref().is_none_or(|pool| *pool == line.pool);
        let number = subject_number(&self.plan.prefix, &line.subject);
        number.filter(|&number| asked_for && (number as usize) < self.ours.len())
    }

    /// Records a claim; gives the rank of an earlier claim of the subject.
    fn begin_claim(&mut self, line: &ResultLine) -> Option<u64> {
        let Some(number) = self.mine(line) else {
            return self
                .others
                .insert((line.pool.clone(), line.subject.clone()), u64::from(line.rank));
        };
        let at = line.at.parse().map_or(0, jiff::Timestamp::as_microsecond);
        let before = std::mem::replace(
            &mut self.ours[number as usize],
            Known { rank: u64::from(line.rank), at },
        );
        (before.is_known() && !self.cancelled.contains(&number)).then_some(before.rank)
    }

    /// Records a cancel; gives whether there was a claim.
    fn end_claim(&mut self, line: &ResultLine) -> bool {
        match self.mine(line) {
            Some(number) => self.cancelled.insert(number),
            None => self.others.remove(&(line.pool.clone(), line.subject.clone())).is_some(),
        }
    }

    fn show(&mut self, line: &ResultLine) {
        let line = RankLine {
            rank: u64::from(line.rank),
            subject: line.subject.clone(),
            at: line.at.clone(),
        };
        if self.verdict.first.len() < SHOWN {
            self.verdict.first.push(line.clone());
        }
        if self.verdict.last.len() == SHOWN {
            self.verdict.last.remove(0);
        }
        self.verdict.last.push(line);
    }

    /// The first pool whose own count is not that of the results.
    fn miscounted(&self, campaign: &Campaign) -> Option<Violation> {
        campaign.pools.iter().find_map(|pool| {
            let units_return = campaign.units_return;
            let found = self.pools.get(&pool.name).map_or(0, |count| count.taken(units_return));
            let (name, said) = (pool.name.clone(), u64::from(pool.taken));
            (said != found).then_some(Violation::Miscounted { pool: name, said, found })
        })
    }

    fn compare_with(&mut self, campaign: &Campaign) {
        if let Some(violation) = self.miscounted(campaign) {
            self.verdict.violations.add(violation);
        }
        for pool in &campaign.pools {
            let count = self.pools.entry(pool.name.clone()).or_default();
            let winners = count.live;
            if self.plan.pool.as_ref().is_none_or(|asked_for| *asked_for == pool.name) {
                self.verdict.places += u64::from(pool.capacity);
                self.verdict.winners += winners;
            }
            if count.taken(campaign.units_return) > u64::from(pool.capacity) {
                let (pool, places) = (pool.name.clone(), u64::from(pool.capacity));
                self.verdict.violations.add(Violation::Oversold { pool, places, winners });
            }
        }
    }
}

/// Reads from one server after the other.
struct Reader<'a> {
    plan: &'a Plan,
    server: usize,
    /// What a server must have got to: it is no violation that one lags.
    min: Option<Position>,
    /// How often that was not got to; once nobody gets there, what is there is what counts.
    missed: usize,
}

impl Reader<'_> {
    /// Asks until one answers or patience ends.
    async fn ask<T: serde::de::DeserializeOwned>(&mut self, ask: Ask) -> Result<T, LoadError> {
        let began = Instant::now();
        loop {
            let servers = &self.plan.servers;
            let here = servers[self.server % servers.len()].clone();
            let client = Client::to(here, self.plan.key.clone(), Duration::from_secs(30));
            let mut ask = ask.clone();
            if let Some(min) = self.min {
                let sign = if ask.path.contains('?') { '&' } else { '?' };
                ask.path.push_str(&format!("{sign}min_position={min}"));
            }
            let failure: Failure = match client.ask(ask).await {
                Ok(Reply::Yes(answer, _)) => return Ok(answer),
                // Of an epoch that is over nothing can be waited for.
                Ok(Reply::No(problem)) if problem.outcome == "stale_position" => {
                    self.min = None;
                    continue;
                }
                Ok(Reply::No(problem)) => return Err(LoadError::Refused(problem.sentence())),
                Err(failure) => failure,
            };
            if failure.problem().is_some() {
                self.missed += 1;
                self.min = self.min.filter(|_| self.missed <= self.plan.servers.len());
            }
            if began.elapsed() > self.plan.patience {
                return Err(failure.into());
            }
            self.server += 1;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}
