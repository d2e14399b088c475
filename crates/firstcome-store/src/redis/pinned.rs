//! A handle to exactly one connection.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use redis::aio::MultiplexedConnection;
use tokio::time::Instant;

use super::command::{Command, Script};
use super::exchange::exchange;
use super::link_state::LinkState;
use super::reply::RedisReply;
use crate::error::StoreError;

/// A handle to exactly one connection.
///
/// When that connection is lost, everything sent through this handle fails, for ever: what is sent is never dialled
/// anew for. So an answer that means something only on the connection where an earlier command went, such as that of
/// `WAIT`, can be believed.
#[derive(Clone)]
pub struct Pinned {
    shared: Arc<LinkState>,
    connection: MultiplexedConnection,
    number: u64,
}

impl std::fmt::Debug for Pinned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pinned").field("number", &self.number).finish_non_exhaustive()
    }
}

impl Pinned {
    pub(super) fn new(
        shared: Arc<LinkState>,
        connection: MultiplexedConnection,
        number: u64,
    ) -> Self {
        Self { shared, connection, number }
    }

    /// Hands a command over to be sent once, behind all that were handed over before, and gives what will be its
    /// answer.
    ///
    /// Commands handed over one after the other leave together, and each is answered on its own: the first answer
    /// does not wait for the second.
    ///
    /// A script that the server does not know gives [`StoreError::UnknownScript`]: what was handed over behind it has
    /// run all the same, so only the caller can say what to send again after [`Pinned::load`].
    ///
    /// # Cancel safety
    ///
    /// An [`Answer`] that is dropped leaves the connection usable; its command may or may not have been sent.
    pub fn send(&self, command: Command, deadline: Instant) -> Answer {
        self.hand_over(command.words, deadline)
    }

    /// Hands a script's text over to the server, as [`Pinned::send`] does a command.
    pub fn load(&self, script: &'static Script, deadline: Instant) -> Answer {
        let mut words = redis::cmd("SCRIPT");
        words.arg("LOAD").arg(script.text());
        self.hand_over(words, deadline)
    }

    fn hand_over(&self, words: redis::Cmd, deadline: Instant) -> Answer {
        let (shared, mut connection) = (Arc::clone(&self.shared), self.connection.clone());
        let number = self.number;
        let mut work: Pin<Box<dyn Future<Output = Result<RedisReply, StoreError>> + Send>> =
            Box::pin(async move {
                if !shared.is_up(number) {
                    let reason = "the connection this rests on was lost".to_owned();
                    return Err(StoreError::Unreachable {
                        place: shared.name().to_owned(),
                        reason,
                    });
                }
                let reply = exchange(&mut connection, &words, deadline).await;
                shared.answer(reply)
            });
        // The first poll puts it into the connection's queue, which keeps the order of the calls.
        let done = match work.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(done) => Some(done),
            Poll::Pending => None,
        };
        Answer { work, done }
    }

    /// Tells whether the connection is still in use, as far as anybody has noticed.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.shared.is_up(self.number)
    }

    /// Tells whether two handles are to the same connection.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.number == other.number && Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// Waits until the connection is lost.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn lost(&self) {
        self.shared.left(self.number).await;
    }
}

/// What will be the answer to a command that was handed over.
///
/// # Cancel safety
///
/// A dropped one leaves the connection usable; its command may or may not have been sent.
#[must_use = "whether the command was carried out is only known from its answer"]
pub struct Answer {
    work: Pin<Box<dyn Future<Output = Result<RedisReply, StoreError>> + Send>>,
    done: Option<Result<RedisReply, StoreError>>,
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Answer").field("done", &self.done).finish_non_exhaustive()
    }
}

impl Future for Answer {
    type Output = Result<RedisReply, StoreError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.done.take() {
            Some(done) => Poll::Ready(done),
            None => self.work.as_mut().poll(context),
        }
    }
}
