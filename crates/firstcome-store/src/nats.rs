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
mod stream;

pub use connection::NatsConnection;
pub use delivery::Delivery;
pub use options::NatsOptions;
pub use stream::{Info, Keeps, Put, Stream};

/// A stored message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stored {
    /// Its subject.
    pub subject: String,
    /// Its sequence.
    pub sequence: u64,
    /// When it was stored, by the clock of the server that led the stream then, in microseconds.
    pub at: i64,
    /// Its content.
    pub bytes: Vec<u8>,
}
