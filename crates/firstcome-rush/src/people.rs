//! The engine of the load tests in which people come one after the other.
//!
//! `run` lets them come when they are due, whether the server keeps up or not; each behaves as the kind of visit says
//! (`Visit`). Every answer is recorded. At the end the results are read, and everything is compared with the promises.
//! Nothing is trusted that the server says about itself.

mod answers;
mod connections;
mod plan;
mod progress;
mod record;
mod report;
mod results;
mod run;
#[cfg(test)]
pub(crate) mod tests;
mod violation;
mod visit;

pub(crate) use connections::{Answer, Connections};
pub use plan::Plan;
pub use progress::{Observer, Progress};
pub(crate) use record::{Record, Recorder};
pub use report::Report;
pub(crate) use results::{CampaignCounts, PersonResult, PoolCounts, all_results};
#[cfg(test)]
pub(crate) use run::come;
pub(crate) use run::run;
pub(crate) use violation::{Found, Promises, Violation};
pub(crate) use visit::{Person, Visit, text};
