//! Many commands of one caller: each is put in the queue in its turn, and waited for.
//!
//! Such a caller waits for its commands in order. It polls the first one only, so a batch of answers wakes it once; and
//! as their deadlines are in order as well, it needs one timer.

use super::Intake;
use crate::answer::Answer;
use crate::appender::queue::NotTaken;
use crate::appender::queue::{Pending, QueuedRequest};
use crate::appender::reply::{ReplyReceiver, reply_channel};
use crate::error::CommandError;
use firstcome_core::command::Encoded;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::time::Instant;

/// Why a command was not put in the queue.
#[derive(Debug)]
pub enum NotSubmitted {
    /// Commands of callers that bring many have their part of the queue: wait for [`Intake::room`].
    Full(Encoded),
    /// The node is shutting down.
    Closed(CommandError),
}

/// A command in the queue, or in a batch that was sent.
///
/// Dropped, a command that was not sent never happens; one that was sent may.
#[derive(Debug)]
pub struct SentCommand {
    waiting: ReplyReceiver,
    until: Instant,
}

impl Intake {
    /// Puts one of many commands of a caller in the queue; such commands leave half of it to others.
    ///
    /// # Errors
    ///
    /// [`NotSubmitted::Full`] with the command, or [`NotSubmitted::Closed`]: nothing changed.
    pub fn submit(&self, command: Encoded) -> Result<SentCommand, NotSubmitted> {
        let (reply, waiting) = reply_channel();
        let since = Instant::now();
        let pending = Pending { request: QueuedRequest::Command(command), reply, since };
        match self.queue.push_of_many(pending) {
            Ok(()) => Ok(SentCommand { waiting, until: since + self.limits.wait }),
            Err((NotTaken::Full, QueuedRequest::Command(command))) => {
                Err(NotSubmitted::Full(command))
            }
            Err(_) => {
                let why = "this node is shutting down".into();
                Err(NotSubmitted::Closed(CommandError::Unavailable(why)))
            }
        }
    }

    /// Returns a future that ends when [`Self::submit`] may find room.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub fn room(&self) -> impl Future<Output = ()> + Send + 'static {
        let queue = Arc::clone(&self.queue);
        async move { queue.room_for_many().await }
    }
}

impl SentCommand {
    /// Returns the moment from which on nobody waits for it any more.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Asks for the answer. Polled for the first time after its answer, it wakes nobody.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Answer, CommandError>> {
        Pin::new(&mut self.waiting).poll(cx)
    }

    /// Gives up: the answer if there is one; else how far the command came says which failure it is.
    ///
    /// # Errors
    ///
    /// Any [`CommandError`]; only [`CommandError::Unknown`] may have changed something.
    pub fn gives_up(self) -> Result<Answer, CommandError> {
        self.waiting.gives_up()
    }
}
