//! The crowd of one pool: how many come, what they do, and the load test that sends them.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use firstcome_client::{Ask, Campaign, CampaignPool, Client, SeatMap};

use super::{CAMPAIGN, Crowd, Observer, PoolReport, Progress};
use crate::claims::{self, MOST_SUBJECTS, Pace, Speed, Tally};
use crate::demo::DemoError;
use crate::demo::campaign::ask;
use crate::server::ServerProcess;
use crate::{codes, seats};

/// How long one request is sent again before the rehearsal gives up.
const PATIENCE: Duration = Duration::from_secs(30);

/// How much later than asked for a hold may end: service time may stand still for a while.
const SLACK: Duration = Duration::from_secs(10);

/// How long people think before they pay, on average.
const THINK: Duration = Duration::from_millis(500);

/// The share of requests that are cut off right after sending, and sent again.
const CUT: f64 = 0.01;

/// How long a reservation of a code is asked for.
const RESERVATION: Duration = Duration::from_secs(5);

/// How often somebody asks again for a code when there is none.
const TRIES: u32 = 3;

/// How long somebody waits for a code on average before they leave the waitlist.
const WAITS: Duration = Duration::from_secs(4);

/// A pool whose crowd comes.
pub(super) struct CrowdPool<'a> {
    pub(super) pool: &'a CampaignPool,
    /// Its number among the pools.
    pub(super) index: usize,
    pub(super) settings: &'a Campaign,
}

impl CrowdPool<'_> {
    /// What the names of its people begin with: nobody is in two crowds, so that no limit over all pools is between them.
    fn prefix(&self, crowd: &Crowd) -> String {
        format!("rehearsal-{}-{}-", crowd.seed, self.index)
    }

    /// Units one subject may have, if the settings say so.
    fn limit(&self) -> Option<u32> {
        [self.settings.limits.campaign, self.pool.limit].into_iter().flatten().min()
    }
}

/// Sends the crowd of a pool, and waits until it is gone.
pub(super) async fn comes(
    client: &mut Client,
    server: &ServerProcess,
    pool: &CrowdPool<'_>,
    crowd: &Crowd,
    observer: &mut dyn Observer,
) -> Result<PoolReport, DemoError> {
    let report = match &*pool.pool.kind {
        "seated" => {
            let map: SeatMap = ask(client, Ask::seats(CAMPAIGN, &pool.pool.name, false)).await?;
            let plan = seats_plan(server, pool, crowd, &map);
            observer.begins(pool.pool, plan.people.into());
            let mut going = |now: &seats::Progress| {
                observer.progress(Progress::Seats(now));
                ControlFlow::Continue(())
            };
            PoolReport::Seats(Box::new(seats::run(plan, &mut going).await?))
        }
        "coded" => {
            let plan = codes_plan(server, pool, crowd);
            observer.begins(pool.pool, plan.people.into());
            let mut going = |now: &codes::Progress| {
                observer.progress(Progress::Codes(now));
                ControlFlow::Continue(())
            };
            PoolReport::Codes(Box::new(codes::run(plan, &mut going).await?))
        }
        _ => {
            let plan = claims_plan(server, pool, crowd);
            observer.begins(pool.pool, plan.requests);
            let report = claims::run(plan, &mut Going(observer)).await?;
            PoolReport::Claims(Box::new(report))
        }
    };
    observer.ended();
    Ok(report)
}

struct Going<'a>(&'a mut dyn Observer);

impl claims::Observer for Going<'_> {
    fn progress(&mut self, now: &claims::ClaimsProgress) {
        self.0.progress(Progress::Claims(now));
    }
}

/// How many people come where nothing is said: for a few units many times as many, and always more than units.
fn people(capacity: u32, for_each: u32, most: u32) -> u32 {
    let many = capacity.saturating_mul(for_each).clamp(100, most);
    many.max(capacity.saturating_add(capacity / 10)).min(MOST_SUBJECTS)
}

fn claims_plan(server: &ServerProcess, pool: &CrowdPool<'_>, crowd: &Crowd) -> claims::Plan {
    let subjects = crowd.subjects.unwrap_or_else(|| people(pool.pool.capacity, 10, 100_000));
    let requests = crowd.requests.unwrap_or(u64::from(subjects) * 3 / 2).max(1);
    let new = (f64::from(subjects) / requests as f64).min(1.0);
    claims::Plan {
        servers: vec![server.address().clone()],
        key: Some(server.key().clone()),
        campaign: CAMPAIGN.to_owned(),
        pool: Some(pool.pool.name.clone()),
        requests,
        subjects,
        prefix: pool.prefix(crowd),
        connections: crowd.connections,
        pace: Arc::new(Pace::new(crowd.per_second.map_or(Speed::Free, Speed::PerSecond))),
        repeat: 1.0 - new,
        cut: CUT,
        seed: crowd.seed,
        duration: None,
        patience: PATIENCE,
        tally: Arc::new(Tally::default()),
    }
}

fn seats_plan(
    server: &ServerProcess,
    pool: &CrowdPool<'_>,
    crowd: &Crowd,
    map: &SeatMap,
) -> seats::Plan {
    let rows: Vec<_> = map.rows.iter().map(|row| row.seat_names()).collect();
    let hold = u64::try_from(pool.settings.hold_ttl_ms).unwrap_or(0);
    seats::Plan {
        servers: vec![server.address().clone()],
        key: Some(server.key().clone()),
        campaign: CAMPAIGN.to_owned(),
        pool: pool.pool.name.clone(),
        people: crowd.subjects.unwrap_or_else(|| people(pool.pool.capacity, 2, 20_000)),
        per_second: crowd.per_second,
        think: THINK,
        prefix: pool.prefix(crowd),
        connections: crowd.connections,
        seed: crowd.seed,
        patience: PATIENCE,
        slack: SLACK,
        alone: true,
        visit: seats::Seats {
            rows: rows.into_iter().filter(|row| !row.is_empty()).collect(),
            limit: pool.limit(),
            hold: Duration::from_millis(hold),
            all_pay_after: None,
            hall: None,
            shares: seats::Shares::default(),
        },
        cut: CUT,
    }
}

fn codes_plan(server: &ServerProcess, pool: &CrowdPool<'_>, crowd: &Crowd) -> codes::Plan {
    codes::Plan {
        servers: vec![server.address().clone()],
        key: Some(server.key().clone()),
        campaign: CAMPAIGN.to_owned(),
        pool: pool.pool.name.clone(),
        people: crowd.subjects.unwrap_or_else(|| people(pool.pool.capacity, 2, 10_000)),
        per_second: crowd.per_second,
        think: THINK,
        prefix: pool.prefix(crowd),
        connections: crowd.connections,
        seed: crowd.seed,
        patience: PATIENCE,
        slack: SLACK,
        alone: true,
        visit: codes::CodesPlan {
            uses: pool.pool.codes.as_ref().map_or(1, |codes| codes.uses),
            reservation: RESERVATION,
            tries: TRIES,
            waits: WAITS,
            shares: codes::Shares::default(),
        },
        cut: CUT,
    }
}

#[cfg(test)]
mod tests {
    use super::people;

    #[test]
    fn more_people_come_than_there_are_units() {
        assert_eq!(people(1, 10, 100_000), 100);
        assert_eq!(people(500, 10, 100_000), 5_000);
        assert_eq!(people(50_000, 10, 100_000), 100_000);
        assert_eq!(people(1_000_000, 10, 100_000), 1_100_000);
        assert_eq!(people(u32::MAX - 1, 10, 100_000), 10_000_000);
    }
}
