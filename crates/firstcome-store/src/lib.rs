//! Connections to the stores that Firstcome runs on.
//!
//! This crate knows neither locks nor journals. It dials, notices a connection that stopped answering and leaves it,
//! follows a Sentinel failover, speaks TLS, runs scripts, and keeps subscriptions alive. What is sent through it is
//! sent **once**: nothing that may have been carried out is ever repeated here.
//!
//! - [`Redis`]: one connection for commands and one for subscriptions, shared by everybody in the process
//! - [`Wire`]: one connection for commands alone, for whoever needs several; [`Pinned`] is a handle to exactly one
//! - [`Options`]: where the store is and how long to wait for it
//! - [`Command`], [`Script`], [`Reply`]: what is asked and answered
//! - [`Subscription`]: messages of one channel, and a word when some may have been missed
//! - `postgres`, behind the feature of that name: a small pool of connections, and transactions with time-outs
//! - `mysql`, behind the feature of that name: the same for MariaDB and MySQL
//! - `sqlite`, behind the feature of that name: a file that several processes share
//! - [`Failure`]: why there is no answer, and whether the command may have been carried out
//! - [`Store`]: the error codes of each store, what they mean, and which errors pass

#[cfg(any(feature = "postgres", feature = "mysql"))]
mod database_url;
mod failure;
mod host;
#[cfg(feature = "mysql")]
pub mod mysql;
#[cfg(feature = "postgres")]
pub mod postgres;
mod redis;
#[cfg(feature = "sqlite")]
pub mod sqlite;
mod store_errors;
mod tls;

pub use failure::{Effect, Failure};
pub use redis::{
    Answer, Command, Event, Options, Pinned, Redis, Reply, Script, Subscription, Wire,
};
pub use store_errors::{Meaning, Passes, Store, StoreError};
