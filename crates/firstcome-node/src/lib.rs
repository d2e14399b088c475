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
mod applier;
mod batch;
mod clock;
pub mod codes;
mod deliveries;
mod divergence;
pub mod event;
mod failure;
mod follow;
mod fork;
mod from_memory;
mod heal;
pub mod health;
mod heartbeat;
mod histogram;
pub mod intake;
pub mod leader;
pub mod ledger;
mod load;
mod metrics;
pub mod minutes;
mod node;
mod pace;
mod queue;
pub mod raise;
mod remains;
pub mod replica;
mod reply;
mod retransmit;
mod runtime_thread;
mod says;
mod signals;
mod slow;
mod stuck;
mod suspensions;
mod task;
mod ticker;
pub mod wait_queue;

pub use answer::{Answer, Decided};
pub use clock::StoreClock;
pub use event::Event;
pub use failure::CommandError;
pub use health::Condition;
pub use histogram::Histogram;
pub use intake::{Intake, Limits};
pub use load::CannotStart;
pub use metrics::Metrics;
pub use node::{APPENDER, Given, Node};
pub use pace::Pace;
pub use replica::{Replica, Stop, Stuck};
pub use reply::Mailbox;
pub use runtime_thread::RuntimeThread;
pub use says::{Says, in_log};
pub use task::{Panics, Task};
pub(crate) use task::{stopped, stopped_within};
