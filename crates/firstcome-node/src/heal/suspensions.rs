//! Commands that suspend imported codes after a fork, sent again until the journal has each of them.
//!
//! Nobody waits for their answers: a full queue, or a store that is away, throws them out like any other command. The
//! ticker looks every second which of them were, and puts them in the queue again. They are this process's only: if it
//! ends before, the report of the fork says what an operator has to do; other nodes that left the same branch suspend the
//! same codes.

use crate::appender::queue::Queue;
use crate::appender::queue::{Pending, QueuedRequest};
use crate::appender::reply::{ReplyReceiver, reply_channel};
use crate::event::log;
use firstcome_core::command::Encoded;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use tokio::time::Instant;

/// Commands that suspend codes, until each is in the journal.
#[derive(Debug, Default)]
pub(crate) struct Suspensions {
    open: Mutex<Vec<Suspension>>,
}

/// One command, which suspends so many codes of a pool.
#[derive(Debug)]
struct Suspension {
    command: Encoded,
    codes: usize,
    /// Its way to the journal, once it is in the queue.
    under_way: Option<ReplyReceiver>,
}

impl Suspension {
    /// Puts it in the queue if it is not there; says whether it is.
    fn is_queued(&mut self, queue: &Queue) -> bool {
        if self.under_way.is_none() {
            let (reply, waiting) = reply_channel();
            let request = QueuedRequest::Command(self.command.clone());
            let pending = Pending { request, reply, since: Instant::now() };
            self.under_way = queue.push(pending).is_ok().then_some(waiting);
        }
        self.under_way.is_some()
    }

    /// Says whether the journal has decided it. One that was thrown out of the queue, or of which nobody knows, is to be
    /// sent again: suspending twice changes nothing.
    fn is_done(&mut self) -> bool {
        let Some(waiting) = &mut self.under_way else { return false };
        match Pin::new(waiting).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Pending => false,
            Poll::Ready(Ok(_)) => true,
            Poll::Ready(Err(_)) => {
                self.under_way = None;
                false
            }
        }
    }
}

impl Suspensions {
    /// Takes commands, each with how many codes it suspends, and puts those in the queue for which there is room.
    pub(crate) fn add(&self, commands: Vec<(Encoded, usize)>, queue: &Queue) {
        let mut open = self.lock();
        for (command, codes) in commands {
            let mut suspension = Suspension { command, codes, under_way: None };
            if !suspension.is_queued(queue) {
                log!(
                    CodesNotSuspended,
                    codes,
                    "codes that changed hands in a fork could not be suspended yet: it is tried again every second; `firstcome nodes forks` lists them"
                );
            }
            open.push(suspension);
        }
    }

    /// Forgets those that the journal has decided, and sends again those that are neither there nor on their way.
    pub(crate) fn send_again(&self, queue: &Queue) {
        let mut open = self.lock();
        open.retain_mut(|suspension| !suspension.is_done());
        for suspension in &mut *open {
            suspension.is_queued(queue);
        }
    }

    /// Returns how many codes are to be suspended and are not, as far as this node knows.
    pub(crate) fn codes(&self) -> usize {
        self.lock().iter().map(|suspension| suspension.codes).sum()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Suspension>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::{Answer, Decided};
    use crate::appender::reply::Wakeups;
    use crate::error::CommandError;
    use firstcome_core::codes::{CodeKey, CodeVerdict};
    use firstcome_core::command::{CodeCommand, Order};
    use firstcome_core::{CodeOutcome, Command, SpaceId, State};

    fn command() -> Encoded {
        let order = Order { id: None, who: "fork" };
        let (campaign, pool, reason, verdict) = ("sale", "main", "", CodeVerdict::Suspend);
        let codes = vec![CodeKey::Rank(1), CodeKey::Rank(2)];
        let mark = CodeCommand::Mark { campaign, pool, codes, verdict, reason, order };
        Encoded::new(&Command::Code(mark)).expect("it is well formed")
    }

    /// Takes the one request that waits, if one does.
    fn taken(queue: &Queue) -> Option<Pending> {
        queue.take_all().pop()
    }

    fn answers(pending: Pending, answer: Result<Answer, CommandError>) {
        assert!(pending.reply.send(), "somebody waits for it");
        pending.reply.answer(answer, &mut Wakeups::default());
    }

    fn done() -> Answer {
        let marked =
            CodeOutcome::Marked { verdict: CodeVerdict::Suspend, changed: 2, unknown: Vec::new() };
        let (outcome, position) = (marked.into(), State::new(SpaceId([0; 16])).token());
        Answer { outcome, position, decided: Decided::Journal }
    }

    #[tokio::test]
    async fn what_was_thrown_out_of_the_queue_is_sent_again_until_the_journal_has_it() {
        let queue = Queue::new(1, 1 << 20);
        let (_keeps_waiting, full) = {
            let (reply, waiting) = reply_channel();
            let pending = Pending { request: QueuedRequest::Tick, reply, since: Instant::now() };
            (waiting, queue.push(pending))
        };
        assert_eq!(full, Ok(()));
        let suspensions = Suspensions::default();
        suspensions.add(vec![(command(), 2)], &queue);
        suspensions.send_again(&queue);
        assert_eq!((queue.len(), suspensions.codes()), (1, 2), "there is no room");
        drop(taken(&queue));
        suspensions.send_again(&queue);
        suspensions.send_again(&queue);
        assert_eq!(queue.len(), 1, "it is there once");
        for failure in
            [CommandError::Unavailable("the store is away".into()), CommandError::Unknown]
        {
            answers(taken(&queue).expect("it is in the queue"), Err(failure));
            assert_eq!(suspensions.codes(), 2);
            suspensions.send_again(&queue);
        }
        // What nobody answers is unknown.
        drop(taken(&queue).expect("it is in the queue"));
        suspensions.send_again(&queue);
        let last = taken(&queue).expect("it is in the queue");
        suspensions.send_again(&queue);
        assert_eq!((queue.len(), suspensions.codes()), (0, 2), "it is under way");
        answers(last, Ok(done()));
        suspensions.send_again(&queue);
        assert_eq!((queue.len(), suspensions.codes()), (0, 0));
    }
}
