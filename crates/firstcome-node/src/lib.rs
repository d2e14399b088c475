//! One replica of a space: it appends the commands it received, follows the journal, answers, and leads when elected.
//!
//! The path of a claim, top to bottom: `claims` in `firstcome-http` → [`intake`] → `appender` → [`replica`] →
//! [`firstcome_core::campaign`]. Where several nodes share the journal, `heal` mends it when its store lost something,
//! and `heartbeat` tells which there are. [`leader`] settles results into the [`ledger`], writes snapshots and trims.
//!
//! Nothing here knows HTTP. Time, randomness and the store come from what a node is [`Given`].

pub mod agreement;
mod answer;
mod appender;
mod clock;
pub mod codes;
mod error;
pub mod event;
mod follow;
mod heal;
pub mod health;
mod heartbeat;
pub mod intake;
pub mod leader;
pub mod ledger;
mod metrics;
pub mod minutes;
mod node;
pub mod raise;
pub mod replica;
mod runtime_thread;
mod says;
mod task;
mod ticker;
pub mod wait_queue;

pub use answer::{Answer, Decided};
pub use appender::pace::Pace;
pub use appender::reply::Mailbox;
pub use clock::StoreClock;
pub use error::CommandError;
pub use event::Event;
pub use heal::emptied::OnEmptied;
pub use heal::entering::Looking;
pub use health::Condition;
pub use intake::{Intake, Limits};
pub use metrics::Metrics;
pub use metrics::histogram::Histogram;
pub use node::{APPENDER, Core, Given, Node};
pub use replica::load::CannotStart;
pub use replica::{Replica, Stop, Stuck};
pub use runtime_thread::RuntimeThread;
pub use says::{Says, in_log};
pub use task::{Panics, Task};
pub(crate) use task::{stopped, stopped_within};
