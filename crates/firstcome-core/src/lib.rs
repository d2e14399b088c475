//! The rules of first-come-first-served campaigns, as a deterministic state machine.
//!
//! Entries of a journal go in, outcomes come out: the same entries give the same outcomes on every
//! node and on every replay. Nothing here reads a clock, draws a random number or does I/O; the
//! crate's own `clippy.toml` refuses what would.
//!
//! # Where to begin
//!
//! | File | Subject |
//! |---|---|
//! | [`state`] | everything one node knows as of a position; where entries are applied |
//! | [`campaign`] | one campaign, and the rules of every command on it |
//! | [`pool`] | a pool: its capacity, and its claims by rank |
//! | [`hold`] | one hold: its subject, its units and its deadline |
//! | [`codes`] | the codes of one coded pool: issued, in stock, and what they were used for |
//! | [`acts`] | what operators did to a campaign, its last acts |
//! | [`bars`] | the subjects that an operator barred from a campaign |
//! | [`hall`] | the seats of one pool: seats, areas and groups, and the status of each |
//! | [`command`] | commands: what can be asked, and how it is stored |
//! | [`outcome`] | outcomes: what can be answered, with its stable strings |
//! | [`settings`] | what an operator chooses for a campaign |
//! | [`results`] | numbered outcomes that leave the system |
//! | `dedup` | the dedup window: batches and operator commands that were seen before |
//! | [`snapshot`] | snapshots: the state in pieces, written and read |
//! | [`waitlist`] | who waits for a unit of a pool, in order |
//! | [`wire`] | numbers and byte strings as they are stored |
//! | [`limits`] | every maximum, on one page |

pub mod acts;
pub mod bars;
pub mod campaign;
pub mod codes;
pub mod command;
mod context;
mod dedup;
mod grants;
pub mod hall;
pub mod hold;
mod holds;
mod index;
pub mod limits;
pub mod names;
pub mod outcome;
pub mod pool;
pub mod results;
mod segment;
pub mod settings;
pub mod snapshot;
pub mod state;
pub mod time;
pub mod waitlist;
pub mod wire;

pub use command::{Command, Expect};
pub use names::{NodeId, Position, SpaceId};
pub use outcome::{CodeOutcome, CodeRefusal, Outcome, Refusal};
pub use settings::Settings;
pub use state::{Stamp, State};
pub use time::Timestamp;
pub use wire::{LEVEL, newest_level};
