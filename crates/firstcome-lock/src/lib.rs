#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "redis"),
    expect(
        dead_code,
        unused_variables,
        reason = "Redis needs more of a request than the other stores"
    )
)]

mod ask;
mod attempt;
mod backend;
mod backoff;
mod builder;
mod call;
mod contact;
mod durations;
mod election;
mod error;
mod event;
mod events;
mod fence;
mod fenced_value;
mod held_lock;
mod holder;
mod inject;
mod keys;
mod lease;
mod local_waiters;
mod lock;
mod locked_error;
mod locks;
mod loss;
mod memory;
mod multi;
mod owner;
#[cfg(feature = "redis")]
mod redis;
mod release;
mod release_ids;
mod released;
mod remaining;
mod requests;
mod run;
mod shared;
mod signal;
#[cfg(feature = "sql")]
mod sql;
mod store_clock;
mod subscriber;
mod teller;
#[cfg(feature = "tracing")]
mod trace;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod under_lock;
mod undo;
mod wait;
mod watchdog;
mod while_valid;

pub use backoff::Backoff;
pub use builder::Builder;
pub use election::{Election, Leader, Term, Watch};
pub use error::Error;
pub use event::Event;
pub use events::Events;
pub use fence::Fence;
pub use fenced_value::{FencedValue, FencedWrite};
#[cfg(feature = "macros")]
pub use firstcome_lock_macros::locked;
#[cfg(feature = "redis")]
#[doc(inline)]
pub use firstcome_store::Options;
#[cfg(feature = "mysql")]
#[doc(inline)]
pub use firstcome_store::mysql::Options as MySqlOptions;
#[cfg(feature = "nats")]
#[doc(inline)]
pub use firstcome_store::nats::Options as NatsOptions;
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use firstcome_store::postgres::Options as PostgresOptions;
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use firstcome_store::sqlite::Options as SqliteOptions;
#[doc(inline)]
pub use firstcome_store::{Effect, Meaning, Passes, StoreError};
pub use holder::Holder;
#[doc(hidden)]
pub use inject::Mistake;
pub use lease::{Lease, TryLock};
pub use lock::Lock;
pub use locked_error::LockedError;
pub use locks::Locks;
pub use loss::Loss;
pub use memory::{Memory, MemoryLink};
pub use multi::{MultiLease, MultiLock};
pub use owner::Owner;
pub use released::Released;
pub use remaining::Remaining;
pub use run::Finished;
#[cfg(feature = "sql")]
pub use sql::Database;
