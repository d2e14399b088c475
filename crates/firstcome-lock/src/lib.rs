#![doc = include_str!("../README.md")]
#![cfg_attr(
    not(feature = "redis"),
    expect(
        dead_code,
        unused_variables,
        reason = "Redis needs more of a request than the other stores"
    )
)]

mod backend;
mod builder;
mod durations;
mod election;
mod error;
mod event;
mod fence;
mod inject;
mod keys;
mod lease;
mod lock;
mod locks;
mod memory;
mod multi;
mod owner;
#[cfg(feature = "redis")]
mod redis;
mod release;
mod shared;
#[cfg(feature = "sql")]
mod sql;
#[cfg(feature = "macros")]
#[doc(hidden)]
pub mod under_lock;
mod wait;

pub use backend::holder::Holder;
pub use builder::Builder;
pub use election::{Election, Leader, Term, Watch};
pub use error::Error;
pub use error::locked::LockedError;
pub use event::Event;
pub use event::events::Events;
pub use fence::Fence;
pub use fence::value::{FencedValue, FencedWrite};
#[cfg(feature = "macros")]
pub use firstcome_lock_macros::locked;
#[cfg(feature = "redis")]
#[doc(inline)]
pub use firstcome_store::RedisOptions;
#[cfg(feature = "mysql")]
#[doc(inline)]
pub use firstcome_store::mysql::MySqlOptions;
#[cfg(feature = "nats")]
#[doc(inline)]
pub use firstcome_store::nats::NatsOptions;
#[cfg(feature = "postgres")]
#[doc(inline)]
pub use firstcome_store::postgres::PostgresOptions;
#[cfg(feature = "sqlite")]
#[doc(inline)]
pub use firstcome_store::sqlite::SqliteOptions;
#[doc(inline)]
pub use firstcome_store::{Effect, Meaning, Passes, StoreError};
#[doc(hidden)]
pub use inject::Mistake;
pub use lease::loss::Loss;
pub use lease::run::Finished;
pub use lease::{Lease, TryLock};
pub use lock::Lock;
pub use locks::Locks;
pub use memory::{Memory, MemoryLink};
pub use multi::{MultiLease, MultiLock};
pub use owner::Owner;
pub use release::released::Released;
#[cfg(feature = "sql")]
pub use sql::Database;
pub use wait::backoff::Backoff;
pub use wait::remaining::Remaining;
