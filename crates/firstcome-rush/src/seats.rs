//! A load test of people on seats who look, hold, pay, leave, and pay too late.
//!
//! Each behaves as they are: `person`. Every answer is recorded: `record`. At the end the results are read, and
//! everything is compared with the promises: `checker`.

mod checker;
mod person;
mod plan;
mod promised;
mod record;
mod report;
#[cfg(test)]
mod tests;

pub use plan::{HallPlan, Seats, Shares};
pub(crate) use promised::Promised;
pub use record::SeatsDone;
pub use report::Totals;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use firstcome_client::Ask;

use crate::error::LoadError;
use crate::people::{
    self, CampaignCounts, Connections, Observer, Person, PersonResult, Violation, Visit,
    all_results,
};
use record::{HoldRecord, Record, SeatAnswers, Shown};
use tokio::task::JoinSet;

/// What a load test on seats is to do.
pub type Plan = people::Plan<Seats>;
/// How a load test on seats is going.
pub type Progress = people::Progress<SeatsDone>;
/// What a load test on seats found.
pub type Report = people::Report<Totals>;

/// Runs a plan to its end and reports.
///
/// The report holds every broken promise; that it exists does not mean that all were kept: ask [`Report::kept`].
///
/// # Errors
///
/// When no server answers within the plan's patience, or refuses what the load test needs.
///
/// # Cancel safety
///
/// Dropping the future stops everybody; requests under way may have happened.
pub async fn run(plan: Plan, observer: &mut Observer<'_, SeatsDone>) -> Result<Report, LoadError> {
    people::run(plan, observer).await
}

/// What is read at the end.
#[derive(Debug, Clone, Default)]
pub(crate) struct Read {
    /// As each server has them.
    counts: Vec<CampaignCounts>,
    results: Vec<PersonResult>,
    /// What became of holds, as they are shown: of all where there is a hall, of those that were over before their
    /// answer elsewhere.
    shown: HashMap<String, Option<Shown>>,
}

/// Holds that are looked at at a time.
const AT_ONCE: usize = 16;

/// Looks at what became of holds.
async fn look_back(
    plan: &Arc<Plan>,
    connections: &Arc<Connections>,
    record: &Record,
) -> Result<HashMap<String, Option<Shown>>, LoadError> {
    let (mut shown, mut running) = (HashMap::new(), JoinSet::new());
    let wanted = |hold: &&HoldRecord| plan.visit.hall.is_some() || hold.was_missed();
    let mut holds = record.answers.holds.iter().filter(wanted).cloned();
    loop {
        while running.len() < AT_ONCE
            && let Some(HoldRecord { hold, subject, .. }) = holds.next()
        {
            let (plan, connections) = (Arc::clone(plan), Arc::clone(connections));
            running.spawn(async move {
                let ask = Ask::hold_of(&plan.campaign, &hold, Some(&subject));
                Ok::<_, LoadError>((hold, Shown::of(&connections.look(ask).await?)))
            });
        }
        match running.join_next().await {
            Some(looked) => shown.extend([looked.expect("a look does not panic")?]),
            None => return Ok(shown),
        }
    }
}

impl Visit for Seats {
    type Answers = SeatAnswers;
    type Read = Read;
    type Promised = Promised;
    type Totals = Totals;
    type Done = SeatsDone;

    async fn visit(person: Person<Self>, due: Duration) -> Result<(), LoadError> {
        person::Guest::new(person, due).visit(due).await
    }

    /// Reads the counts of the campaign, once the last holds are over where nobody else has any, and the results.
    async fn read(
        plan: &Arc<Plan>,
        connections: &Arc<Connections>,
        record: &Record,
    ) -> Result<Read, LoadError> {
        let last = record.answers.all().map(|heard| heard.answered).max().unwrap_or_default();
        let longest = plan.visit.hall.as_ref().map_or(plan.visit.hold, |hall| hall.longest);
        let over = last + longest + plan.slack;
        let ask = Ask::campaign(&plan.campaign);
        loop {
            let counts: CampaignCounts = connections.read(ask.clone()).await?;
            let held = counts.pools.iter().any(|pool| pool.name == plan.pool && pool.held > 0);
            if !plan.alone || !held || connections.answers.now() > over {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let mut counts = connections.read_from_each(&ask).await;
        if counts.is_empty() {
            counts.push(connections.read(ask).await?);
        }
        let results = all_results(&plan.campaign, connections).await?;
        let shown = look_back(plan, connections, record).await?;
        Ok(Read { counts, results, shown })
    }

    fn results(read: &Read) -> u64 {
        read.results.len() as u64
    }

    fn check(plan: &Plan, record: &Record, read: Option<&Read>) -> Vec<Violation> {
        checker::check(plan, record, read)
    }

    fn done(answers: &SeatAnswers) -> SeatsDone {
        SeatsDone { confirmed: answers.confirmed }
    }

    fn totals(record: &Record) -> Totals {
        Totals::of(record)
    }

    fn words(promised: Promised, plan: &Plan, record: &Record, _: &Read) -> String {
        report::words(promised, plan, record)
    }
}
