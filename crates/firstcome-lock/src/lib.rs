#![warn(missing_docs)]
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
/// Runs an async function under a distributed lock.
///
/// The lock is taken before the body and released after it. The body has the binding `lease`, a `&Lease`: pass its fence to
/// every resource that must refuse an old owner.
///
/// | Option | Default | Meaning |
/// |---|---|---|
/// | `key = "…"` | required | the name of the lock; `{argument}` and `{argument.field}` are filled in by their `Display`, `{{` is a brace |
/// | `lease = "8m"` | 8 minutes | how long the lock is held at most, 50 ms to 100 years; it is not renewed |
/// | `renewed`, `renewed = "30s"` | not renewed | the lock is held as long as the body runs, renewed in the background, for that time at once (by default the watchdog's lease, 30 s), 50 ms to 100 years; not with `lease` |
/// | `hold_at_most = "1h"` | without an end | how long a renewed lock is held in all, 50 ms to 100 years; then it is lost |
/// | `wait = "3s"` | 3 seconds | how long to wait for it; `"0s"` tries once |
/// | `on_loss = stop` | `stop` | `stop` cancels the body at its next await when the lease is lost, and gives the loss as the error; `finish` lets it run |
/// | `locks = EXPRESSION` | the argument `locks`, in a method without one `self.locks` | the `Locks` to use, or a reference to it |
///
/// Times are a number with a unit: `ms`, `s`, `m`, `h` or `d`. `on_loss` may also be written in quotes.
///
/// The function returns a `Result` whose error implements `From<LockedError>`: another owner had the lock for
/// the whole wait, the lock was lost, or the store gave no answer. The name of the return type must end in `Result`, so that a
/// missing one is reported here and not in generated code.
///
/// # What it does not do
///
/// Two calls with different arguments can have the same key (`"{a}:{b}"` with a colon in `a`): then they exclude each other
/// without need. A lock is no barrier: with `finish`, or in a paused process, the body may still run when another owner has
/// the lock. Pass `lease.fence()` to writes that must not come from an old owner. A forced release by an operator is noticed
/// only at the end of the lease; with `renewed`, at the next renewal.
///
/// # Cancel safety
///
/// A dropped call releases the lock in the background.
///
/// # Examples
///
/// ```
/// use firstcome_lock::{LockedError, Locks, locked};
///
/// struct Order { id: u64 }
///
/// #[locked(key = "order:{order.id}", wait = "500ms")]
/// async fn pay(locks: &Locks, order: &Order) -> Result<u64, LockedError> {
///     // … only one process in the world pays this order now …
///     Ok(lease.fence().get())
/// }
///
/// struct Desk { locks: Locks, hall: String }
///
/// impl Desk {
///     #[locked(key = "seat:{self.hall}:{seat}", lease = "2m", on_loss = finish)]
///     async fn seat(&self, seat: &str) -> Result<(), LockedError> {
///         Ok(())
///     }
/// }
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), LockedError> {
/// let locks = Locks::memory();
/// assert!(pay(&locks, &Order { id: 17 }).await? > 0);
/// Desk { locks, hall: "main".to_owned() }.seat("A1").await?;
/// # Ok(())
/// # }
/// ```
///
/// A mistake is a compile error at the wrong words:
///
/// ```compile_fail
/// # use firstcome_lock::{LockedError, Locks, locked};
/// #[locked(key = "order:{oder}")] // there is no argument `oder`
/// async fn pay(locks: &Locks, order: u64) -> Result<(), LockedError> {
///     Ok(())
/// }
/// ```
///
/// ```compile_fail
/// # use firstcome_lock::{LockedError, Locks, locked};
/// #[locked(key = "order:{order}", lease = "8 minutes")] // no such unit
/// async fn pay(locks: &Locks, order: u64) -> Result<(), LockedError> {
///     Ok(())
/// }
/// ```
///
/// ```compile_fail
/// # use firstcome_lock::{LockedError, Locks, locked};
/// #[locked(key = "order:{order}")]
/// fn pay(locks: &Locks, order: u64) -> Result<(), LockedError> { // not async
///     Ok(())
/// }
/// ```
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
