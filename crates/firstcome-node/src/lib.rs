//! One replica of a space: it appends the commands it received, follows the journal, answers, and leads when elected.
//!
//! The path of a claim, top to bottom: `claims` in `firstcome-http` → [`intake`] → `appender` → [`replica`] →
//! [`firstcome_core::campaign`]. Where several nodes share the journal, `heal` mends it when its store lost something,
//! and `roll` tells who is there. [`leader`] settles results into the [`ledger`], writes snapshots and trims.
//!
//! Nothing here knows HTTP. Time, randomness and the store come from what a node is [`Given`].

mod appender;
pub mod ask;
mod batch;
mod calls;
mod clock;
mod doubt;
pub mod failure;
mod follow;
mod fork;
mod from_memory;
mod heal;
pub mod health;
pub mod intake;
pub mod leader;
pub mod ledger;
mod line;
pub mod metrics;
mod node;
mod pace;
mod queue;
mod recent;
pub mod replica;
mod roll;
mod silence;
mod start;
mod task;
mod ticker;

pub use ask::{Answer, Ask, Decided, HoldAsk, Ordered, OwnChunk, OwnPick, OwnStep, OwnWanted};
pub use clock::StoreClock;
pub use failure::Failure;
pub use health::Condition;
pub use intake::{Intake, Limits};
pub use metrics::Metrics;
pub use node::{Given, Node, Says, on_stderr};
pub use pace::Pace;
pub use replica::{Replica, Stop};
pub use start::CannotStart;
pub use task::{Task, stopped_within, told};
