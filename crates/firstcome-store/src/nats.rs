//! Connections to NATS servers, and streams of JetStream.
//!
//! Requests are those of the JetStream API as its subjects and JSON documents: the parts that a store needs, conditions on
//! the last sequence, batches that are stored together, and reading many messages at once, are not all in a client library.

mod answers;
mod connection;
mod delivery;
mod denials;
mod error_code;
mod options;
mod stored;
mod stream;

pub use connection::NatsConnection;
pub use delivery::Delivery;
pub use options::NatsOptions;
pub use stored::Stored;
pub use stream::{Info, Keeps, Put, Stream};
