//! What a stream has.

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
