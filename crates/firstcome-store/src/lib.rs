//! Connections to the stores that Firstcome runs on.
//!
//! This crate knows neither locks nor journals. It dials, notices a connection that stopped answering and leaves it,
//! follows a Sentinel failover, speaks TLS, runs scripts, and keeps subscriptions alive. What is sent through it is
//! sent **once**: nothing that may have been carried out is ever repeated here.
//!
//! **It is a part of [Firstcome](https://github.com/firstcome/firstcome) and of its lock libraries, published because they
//! need it. Any release may change anything in it: use `firstcome-lock` or `firstcome-shedlock` instead.**
//!
//! With the feature `redis`:
//!
//! - `Redis`: one connection for commands and one for subscriptions, shared by everybody in the process
//! - `Wire`: one connection only for commands, for callers that need several; `Pinned` is a handle to exactly one
//! - `RedisOptions`: where the store is and how long to wait for it
//! - `Command`, `Script`, `RedisReply`: what is asked and answered
//! - `Subscription`: messages of one channel, and a word when some may have been missed
//!
//! And:
//!
//! - `postgres`, behind the feature of that name: a small pool of connections, and transactions with time-outs
//! - `mysql`, behind the feature of that name: the same for MariaDB (MySQL untested)
//! - `nats`, behind the feature of that name: a connection to NATS servers, and streams of JetStream
//! - `sqlite`, behind the feature of that name: a file that several processes share
//! - [`StoreError`]: why there is no answer, and whether the command may have been carried out
//! - [`Store`]: the error codes of each store, what they mean, and which errors pass

#![warn(missing_docs)]

pub mod client;
#[cfg(any(feature = "postgres", feature = "mysql"))]
mod database_url;
mod error;
#[cfg(any(feature = "redis", feature = "postgres", feature = "mysql"))]
mod host;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "nats")]
pub mod nats;
#[cfg(any(
    feature = "redis",
    feature = "postgres",
    feature = "mysql",
    feature = "nats",
    feature = "sqlite"
))]
mod percent;
#[cfg(feature = "postgres")]
pub mod postgres;
#[cfg(feature = "redis")]
mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod store_errors;
mod store_url;
#[cfg(any(feature = "redis", feature = "postgres"))]
mod tcp;
#[cfg(any(feature = "redis", feature = "postgres"))]
mod tls;

pub use error::{Effect, StoreError};
#[cfg(feature = "redis")]
pub use redis::{
    Answer, Command, Event, Pinned, PubSub, Redis, RedisOptions, RedisReply, Script, Subscription,
    Wire,
};
pub use store_errors::{ErrorCode, Meaning, Passes, Store};
