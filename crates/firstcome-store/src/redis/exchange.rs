//! One command sent over a connection, and what comes back.

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, RedisError, ServerErrorKind, Value};
use tokio::time::Instant;

/// Sends a command over a connection and waits for what comes back.
pub(super) async fn exchange(
    connection: &mut MultiplexedConnection,
    words: &redis::Cmd,
    deadline: Instant,
) -> Result<Value, Trouble> {
    answered(deadline, connection.send_packed_command(words)).await.and_then(said)
}

/// Waits for an answer, but not too long.
pub(super) async fn answered<T>(
    deadline: Instant,
    sent: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, Trouble> {
    match tokio::time::timeout_at(deadline, sent).await {
        Ok(answer) => answer.map_err(Trouble::from),
        Err(_) => Err(Trouble::Lost("it did not come in time".to_owned())),
    }
}

/// Takes the errors out of an answer.
pub(super) fn said(value: Value) -> Result<Value, Trouble> {
    value.extract_error().map_err(Trouble::from)
}

/// Why an exchange has no answer.
pub(super) enum Trouble {
    /// The server answered with an error.
    Said(RedisError),
    NoScript,
    /// Sent, perhaps, and no answer.
    Lost(String),
}

impl From<RedisError> for Trouble {
    fn from(error: RedisError) -> Self {
        let kind = error.kind();
        if kind == ErrorKind::Server(ServerErrorKind::NoScript) {
            Self::NoScript
        } else if matches!(kind, ErrorKind::Server(_) | ErrorKind::Extension) {
            Self::Said(error)
        } else {
            Self::Lost(error.to_string())
        }
    }
}
