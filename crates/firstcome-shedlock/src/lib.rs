#![warn(missing_docs)]
#![doc = include_str!("../README.md")]

#[cfg(not(any(feature = "redis", feature = "postgres", feature = "mysql")))]
compile_error!(
    "firstcome-shedlock needs a store: turn on its feature `redis`, `postgres` or `mysql`"
);

mod ask;
mod client;
mod error;
mod held;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "redis")]
mod redis;
mod settings;
mod shared;
#[cfg(feature = "postgres")]
mod statements;
mod store;
mod time;

pub use client::ShedLock;
pub use error::Error;
#[cfg(feature = "redis")]
pub use firstcome_store::RedisOptions;
#[cfg(feature = "mysql")]
pub use firstcome_store::mysql::MySqlOptions;
#[cfg(feature = "postgres")]
pub use firstcome_store::postgres::PostgresOptions;
pub use firstcome_store::{Effect, Meaning, Passes, StoreError};
pub use held::{SimpleLock, Unlocked};
#[cfg(feature = "redis")]
pub use settings::KeySpace;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use settings::Table;
