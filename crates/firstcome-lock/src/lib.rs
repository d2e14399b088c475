#![doc = include_str!("../README.md")]

mod ask;
mod attempt;
mod backend;
mod background_task;
mod backoff;
mod builder;
mod durations;
mod election;
mod failure;
mod fence;
mod guard;
mod held_lock;
mod holder;
mod inject;
mod keys;
mod lease;
mod local_waiters;
mod lock;
mod locks;
mod loss;
mod memory;
mod owner;
mod redis;
mod release;
mod requests;
mod shared;
pub mod shedlock;
mod signal;
#[cfg(feature = "sql")]
mod sql;
mod store_clock;
mod subscriber;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod under_lock;
mod undo;
mod wait;
mod watchdog;
mod while_valid;

pub use backoff::{Backoff, Pauses};
pub use builder::Builder;
pub use election::{Election, Leader, Term, Watch};
pub use failure::Failure;
pub use fence::Fence;
#[cfg(feature = "macros")]
pub use firstcome_lock_macros::locked;
pub use firstcome_store::{Effect, Options};
pub use guard::{Gate, Guard, Written};
pub use holder::Holder;
#[doc(hidden)]
pub use inject::Mistake;
pub use lease::{Lease, Released, Tried};
pub use lock::Lock;
pub use locks::Locks;
pub use loss::Loss;
pub use memory::{Memory, Way};
pub use owner::Owner;
#[cfg(feature = "sql")]
pub use sql::Database;
#[cfg(feature = "macros")]
pub use under_lock::Barred;
