//! Locks shared with ShedLock, Java's lock for scheduled jobs, under the names it uses.
//!
//! A job that runs on every node at the same minute asks for a lock; one node gets it and runs, the others skip their
//! turn. Nobody waits. The lock is held *at most* for a time, after which it is anybody's, and *at least* for a time,
//! even where the job ends sooner, so that a node whose clock is a little behind does not run the job once more.
//!
//! The same table on SQL, the same key on Redis, read and written as ShedLock 7.10.1 does: services in Java and in Rust
//! exclude each other, in both directions. What a table or a key looks like is in `docs/reference/shedlock.md`.
//!
//! ```no_run
//! # async fn example() -> Result<(), firstcome_lock::Failure> {
//! use std::time::Duration;
//! use firstcome_lock::shedlock::ShedLock;
//!
//! let shedlock = ShedLock::connect("redis://127.0.0.1:6379").await?;
//! let (at_most, at_least) = (Duration::from_secs(600), Duration::from_secs(30));
//! if let Some(lock) = shedlock.lock("nightly-report", at_most, at_least).await? {
//!     // … one node of all is here; it stops when `lock.remaining()` is used up …
//!     lock.unlock().await?;
//! }
//! shedlock.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! # Whose clock
//!
//! | Store | Clock | Have Java use |
//! |---|---|---|
//! | Redis | the server's, which counts the key's life down | `safeUpdate(true)` |
//! | SQL, by default | the database's, in UTC | `usingDbTime()` |
//! | SQL, [`Table::client_time`] | that of each client, in UTC | `forceUtcTimeZone()` |
//!
//! On MariaDB and MySQL the session's time zone matters as well: ours is the server's own, as Java's is. The page
//! `docs/shedlock.md` has all of this in one table.
//!
//! Client time is worth as much as the clocks of all nodes agree: one that is ahead by more than is left of somebody's
//! lock takes that lock while its holder still works. It is there for tables that are shared with services which
//! cannot use anything else. Both modes write UTC, so they can share a table while the clocks agree. A Java service with
//! neither setting writes the time of its own zone, and excludes nobody elsewhere.
//!
//! # What is better than in Java, and what is not
//!
//! - `locked_by` is the host's name *and a number of its own for every lock taken*. ShedLock writes the bare host name, so
//!   that two processes of one host, or two runs of one job, can give back each other's locks. Ours cannot, whatever the
//!   other side does. On Redis a Java service without `safeUpdate` can delete a lock of ours after its own ran out.
//! - A lock whose answer was lost, or whose caller is gone, is given back in the background.
//! - A row that was deleted by hand is made again.
//! - **There is no fence**: ShedLock has none, its table has no place for one, and what is written under these locks
//!   cannot be refused when it comes too late. A process that is paused for longer than *at most* goes on beside the
//!   next one. Where that must not happen, use [`Locks`](crate::Locks) and its fences.

mod ask;
mod client;
mod held;
#[cfg(feature = "mysql")]
mod mysql;
#[cfg(feature = "postgres")]
mod postgres;
mod redis;
mod settings;
mod shared;
#[cfg(feature = "postgres")]
mod statements;
mod store;
mod time;

pub use client::ShedLock;
#[cfg(feature = "mysql")]
pub use firstcome_store::mysql::Options as MySqlOptions;
#[cfg(feature = "postgres")]
pub use firstcome_store::postgres::Options as PostgresOptions;
pub use held::{SimpleLock, Unlocked};
pub use settings::KeySpace;
#[cfg(any(feature = "postgres", feature = "mysql"))]
pub use settings::Table;
