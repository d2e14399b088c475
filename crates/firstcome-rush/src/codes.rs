//! A load test of people who claim coupon codes or wait for one, reserve and redeem them, give up, roll back, and try
//! wrong ones.
//!
//! Each behaves as they are: `person`. Every answer is recorded: `record`. At the end the results are read, once more
//! from the ledger, and every code is looked up: `read`. Then everything is compared with the promises: `checker`.

mod checker;
mod person;
mod plan;
mod promised;
mod read;
mod record;
mod report;
#[cfg(test)]
mod tests;

pub use plan::{CodesPlan, Shares};
pub(crate) use promised::Promised;
pub use record::CodesDone;
pub use report::Totals;

use std::sync::Arc;
use std::time::Duration;

use crate::error::LoadError;
use crate::people::{self, Connections, Observer, Person, Violation, Visit};
use read::Read;
use record::{Record, Steps};

/// What a load test on codes is to do.
pub type Plan = people::Plan<CodesPlan>;
/// How a load test on codes is going.
pub type Progress = people::Progress<CodesDone>;
/// What a load test on codes found.
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
pub async fn run(plan: Plan, observer: &mut Observer<'_, CodesDone>) -> Result<Report, LoadError> {
    people::run(plan, observer).await
}

impl Visit for CodesPlan {
    type Answers = Steps;
    type Read = Read;
    type Promised = Promised;
    type Totals = Totals;
    type Done = CodesDone;

    async fn visit(person: Person<Self>, due: Duration) -> Result<(), LoadError> {
        let due = person.recorder.moment(due);
        person::CodeHolder::new(person).visit(due).await
    }

    async fn read(
        plan: &Arc<Plan>,
        connections: &Arc<Connections>,
        record: &Record,
    ) -> Result<Read, LoadError> {
        read::read(plan, connections, record).await
    }

    fn results(read: &Read) -> u64 {
        read.results.len() as u64
    }

    fn check(plan: &Plan, record: &Record, read: Option<&Read>) -> Vec<Violation> {
        checker::check(plan, record, read)
    }

    fn done(answers: &Steps) -> CodesDone {
        CodesDone {
            issued: answers.issued.len() as u64,
            redeemed: answers.redeemed.saturating_sub(answers.rolled_back),
            rolled_back: answers.rolled_back,
            cancelled: answers.cancelled.len() as u64,
        }
    }

    fn totals(record: &Record) -> Totals {
        Totals::of(record)
    }

    fn words(promised: Promised, plan: &Plan, record: &Record, read: &Read) -> String {
        report::words(promised, plan, record, &read.ledger)
    }
}
