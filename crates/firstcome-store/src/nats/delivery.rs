//! Messages of a stream as they are stored, pushed by one of its servers.

use async_nats::{Message, Subscriber};
use futures_util::StreamExt as _;

use super::Stored;
use crate::error::StoreError;

/// Messages of a stream, one after the other from a sequence on, as one run of one server has them.
///
/// The server counts what it delivers. One that was started again begins to count anew, so that nothing is taken for the next
/// message that comes from another run, which may have lost what this one delivered.
#[derive(Debug)]
pub struct Delivery {
    heard: Subscriber,
    delivered: u64,
}

impl Delivery {
    pub(super) fn new(heard: Subscriber) -> Self {
        Self { heard, delivered: 0 }
    }

    /// Waits for the next message; `None` where the connection was closed.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unexpected`] where a message is missing, or another run of the server delivers: nothing that comes after it
    /// is of use.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn next(&mut self) -> Option<Result<Stored, StoreError>> {
        let message = self.heard.next().await?;
        Some(self.take(&message))
    }

    fn take(&mut self, message: &Message) -> Result<Stored, StoreError> {
        let strange = |detail: &str| StoreError::Unexpected { detail: detail.to_owned() };
        let reply = message.reply.as_deref().unwrap_or_default();
        let (sequence, count, nanos) =
            numbers(reply).ok_or_else(|| strange("a message without its sequence"))?;
        if count != self.delivered + 1 {
            return Err(strange("a message was not delivered, or the server was started again"));
        }
        self.delivered = count;
        Ok(Stored {
            subject: message.subject.to_string(),
            sequence,
            at: nanos / 1_000,
            bytes: message.payload.to_vec(),
        })
    }
}

/// Returns the sequence of a message in its stream, how many were delivered with it, and when it was stored, in nanoseconds,
/// from the subject to which its receipt would be sent. It is
/// `$JS.ACK.STREAM.CONSUMER.TIMES.SEQUENCE.COUNT.TIME.PENDING`, with two tokens more before the stream and maybe more at the
/// end where a server says its domain.
fn numbers(reply: &str) -> Option<(u64, u64, i64)> {
    let tokens: Vec<&str> = reply.strip_prefix("$JS.ACK.")?.split('.').collect();
    let first = if tokens.len() >= 9 { 5 } else { 3 };
    let token = |number: usize| tokens.get(first + number);
    Some((token(0)?.parse().ok()?, token(1)?.parse().ok()?, token(2)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_a_receipt_are_read() {
        let short = "$JS.ACK.log.tail.1.17.3.1700000000123456789.0";
        let long = "$JS.ACK._.hash.log.tail.1.17.3.1700000000123456789.0.x";
        for reply in [short, long] {
            assert_eq!(numbers(reply), Some((17, 3, 1_700_000_000_123_456_789)), "{reply}");
        }
        for reply in ["", "$JS.ACK.", "$JS.ACK.log.tail.1.x.3.4.0", "_INBOX.a.b"] {
            assert_eq!(numbers(reply), None, "{reply}");
        }
    }
}
