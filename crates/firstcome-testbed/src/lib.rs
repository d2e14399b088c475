//! Real servers and a misbehaving TCP proxy, for the tests of other crates.
//!
//! Everything here listens on the loopback address, on a port that was free a moment before, keeps its files in a
//! folder of its own below the system's temporary folder, and is gone when its value is dropped.
//!
//! A server that is not installed **fails the test**: the constructors panic and say what to install. Where
//! `FIRSTCOME_SKIP_MISSING` names the program (a list with commas, or `1` for everything), the test is skipped
//! instead: they answer `None` after a line on stderr. Valkey is the exception: it is always only a skip.
//!
//! - [`RedisServer`]: one `redis-server` (or `valkey-server`), plain, with a password, with TLS, as a replica, or with a wall
//!   clock that jumps on request
//! - [`OldServer`]: says that it is too old
//! - [`Sentinels`]: a master, a replica, and three sentinels that watch them
//! - [`RedisCluster`]: three masters of a Redis Cluster, each with a replica
//! - [`Postgres`]: one PostgreSQL server, with or without TLS, and one that a whole test process shares
//! - [`PgBouncer`]: a pooler in front of it
//! - [`MariaDb`]: one MariaDB server, and one that a whole test process shares
//! - [`Nats`]: one NATS server with JetStream, and one that a whole test process shares; [`NatsCluster`]: three of them
//! - [`redisson()`]: a Java program with real Redisson in it
//! - [`shedlock()`]: one with real ShedLock
//! - [`Proxy`]: stands between a client and a server; cuts, stalls, delays, refuses
//! - [`shift_clock()`]: a wrong wall clock for a process that a test starts
//! - [`Browser`]: Chromium with a page, without a window
//! - [`Certificates`]: a throw-away authority and a server certificate for `localhost`

mod browser;
mod certificates;
mod clock;
mod cluster;
mod folder;
mod java;
mod mariadb;
mod nats;
mod nats_rights;
mod old;
mod pgbouncer;
mod ports;
mod postgres;
mod programs;
mod proxy;
mod redis;
mod redisson;
mod sentinel;
mod shedlock;

pub use browser::{Browser, Screen};
pub use certificates::Certificates;
pub use clock::shift_clock;
pub use cluster::RedisCluster;
pub use folder::Folder;
pub use mariadb::MariaDb;
pub use nats::{Nats, NatsCluster};
pub use nats_rights::NatsRights;
pub use old::OldServer;
pub use pgbouncer::PgBouncer;
pub use ports::free_port;
pub use postgres::{Postgres, PostgresSettings};
pub use programs::missing;
pub use proxy::{Proxy, ProxyFault};
pub use redis::{RedisServer, RedisSettings};
pub use redisson::{redisson, redisson_class_path};
pub use sentinel::Sentinels;
pub use shedlock::{shedlock, shedlock_class_path};
