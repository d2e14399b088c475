//! PostgreSQL: a small pool of connections, and transactions whose time-outs are said, never inherited.
//!
//! Work of several statements is done inside a transaction, so that what fails before its COMMIT was not carried out: of
//! that, only [`Work::commit`] can answer [`StoreError::Unknown`](crate::StoreError::Unknown). Its statements are sent with the
//! types of their values and keep no name in the server, so that a pooler in transaction mode may stand between.
//!
//! [`PostgresPool::step`] is for a statement that is all there is to do: it is a transaction by itself, in one round trip.
//! [`Listener`] hears what is said with NOTIFY.

mod dial;
mod identity;
mod listener;
mod options;
mod pool;
mod refusal;
mod step;
mod work;

pub use listener::{Heard, Listener, Liveness};
pub use options::PostgresOptions;
pub use pool::{PostgresPool, Session};
pub use tokio_postgres::Row;
pub use tokio_postgres::types::{FromSql, ToSql, Type};
pub use work::{Access, Work};
