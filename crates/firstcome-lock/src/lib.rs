#![doc = include_str!("../README.md")]

mod attempt;
mod backend;
mod backoff;
mod builder;
mod clerk;
mod election;
mod failure;
mod fence;
mod guard;
mod hold;
mod keys;
mod lease;
mod lock;
mod locks;
mod memory;
mod owner;
mod protection;
mod redis;
mod release;
mod rooms;
mod shared;
pub mod shedlock;
#[cfg(feature = "sql")]
mod sql;
mod store_clock;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod under_lock;
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
pub use hold::Loss;
pub use lease::{Lease, Released, Tried};
pub use lock::Lock;
pub use locks::{Holder, Locks};
pub use memory::{Memory, Way};
pub use owner::Owner;
#[doc(hidden)]
pub use protection::Protection;
#[cfg(feature = "sql")]
pub use sql::Database;
#[cfg(feature = "macros")]
pub use under_lock::Barred;
