//! PostgreSQL: a small pool of connections, and transactions whose time-outs are said, never inherited.
//!
//! Nearly everything is done inside a transaction, so that what fails before its COMMIT was not carried out: only
//! [`Work::commit`] can answer [`Failure::Unknown`](crate::Failure::Unknown). A single statement may also be sent by itself,
//! with [`Session::once`]. Statements are sent with the types of their values and keep no name in the server, so that a
//! pooler in transaction mode may stand between.

mod address;
mod dial;
mod once;
mod options;
mod pool;
mod refusal;
mod work;

pub use options::Options;
pub use pool::{Postgres, Session};
pub use tokio_postgres::Row;
pub use tokio_postgres::types::{ToSql, Type};
pub use work::{Access, Work};
