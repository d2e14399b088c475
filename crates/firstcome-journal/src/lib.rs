//! The journal: an ordered, durable list of batches of commands.
//!
//! Every node appends the commands it received as one batch, reads back everything that was stored
//! since what it applied last, and applies it in order. "First come" has one meaning: the order of
//! this list. The store gives each entry its position and its time, in the atomic step that stores it.
//!
//! # Where to begin
//!
//! | File | Subject |
//! |---|---|
//! | [`journal`](Journal), `transaction` | what each store gives |
//! | `snapshots`, `skips`, `trimming` | what is made of it, once for all stores |
//! | [`entry`] | an entry, and the chain that entries form |
//! | [`error`] | what can go wrong outside, and whether anything may have happened |
//! | [`cluster`], `membership`, `healing`, `reports` | what several nodes on one journal need beyond it: news, who else is there, repairs |
//! | `ancestry` | which entries count in a store that takes each append without a condition |
//! | [`memory`] | the journal in memory, for tests |
//! | [`sqlite`] | the journal in a SQLite file, with nothing installed |
//! | `mysql` | the journal in MariaDB, which several nodes share |
//! | `nats` | the journal in NATS JetStream, which several nodes share |
//! | `postgres` | the journal in PostgreSQL, which several nodes share |
//! | `redis` | the journal in Redis or Valkey, which several nodes share |
//! | [`folder`] | the data folder: one process at a time, and who it is |
//! | [`archive`] | what was trimmed, in files |
//! | [`reading`] | a journal in any store and its archive, for reading only |
//! | [`space_file`] | a space in one file, to bring it to another store |
//! | [`verify`] | everything stored, checked from the first entry to the last |
//! | [`WrappedJournal`] | a journal with the faults of a test or a simulated network in between |
//! | [`worker`] | a thread that owns what blocks |

mod ancestry;
pub mod archive;
mod bytes;
mod clock;
pub mod cluster;
mod database;
pub mod entry;
pub mod error;
pub mod folder;
mod journal;
pub mod memory;
pub mod mysql;
mod name;
pub mod nats;
pub mod postgres;
pub mod reading;
pub mod redis;
mod snapshots;
pub mod space_file;
pub mod sqlite;
mod transaction;
pub mod verify;
pub mod worker;

pub use clock::Clock;
pub use entry::{Append, AppendAnswer, Confirm, EntriesRead, Entry, Head, Looked};
pub use error::JournalError;
pub use journal::Journal;
pub use journal::marks::Emptied;
pub use journal::promise::{LessDurable, Promise, WhenLessDurable};
pub use journal::warning::Warning;
pub use journal::wrapped::{Boxed, WrappedJournal};
pub use name::{Name, Tip};
pub use reading::Reading;
pub use transaction::call::JournalCall;
pub use transaction::{Seen, Transaction};
