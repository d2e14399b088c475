//! Requests that wait for the appender: bounded in number and in bytes, in order of arrival; those of callers that bring one
//! come before those of callers that bring many.

use crate::answer::Answer;
use crate::appender::reply::{ReplySender, Wakeups};
use crate::error::CommandError;
use firstcome_core::Command;
use firstcome_core::command::{Encoded, Mark};
use std::borrow::Cow;
use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// What waits to be appended.
#[derive(Debug)]
pub(crate) enum QueuedRequest {
    /// A caller's command, in its stored bytes.
    Command(Encoded),
    /// A command that raises the space, in its stored bytes: the body it gets into is of that level.
    Raise(Encoded),
    /// See [`Command::Tick`]: its mark is of the moment in which it is appended.
    Tick,
    /// See [`Command::Settled`].
    Settled {
        /// The last number the ledger has.
        through: u64,
        /// The term under which it was written.
        term: u64,
        /// This node's branch of the journal the number is of: on another one it would be another result.
        branch: u64,
    },
}

impl QueuedRequest {
    /// Returns the command as it is written into a body, with what this node knows at that moment.
    pub(crate) fn encoded(&self, mark: Mark) -> Cow<'_, Encoded> {
        let own = |command: &Command<'_>| {
            Cow::Owned(Encoded::new(command).expect("a node's own commands are short numbers"))
        };
        match self {
            Self::Command(encoded) | Self::Raise(encoded) => Cow::Borrowed(encoded),
            Self::Tick => own(&Command::Tick { mark }),
            Self::Settled { through, term, branch: _ } => {
                own(&Command::Settled { through: *through, term: *term, mark })
            }
        }
    }

    /// Says whether it raises the space.
    pub(crate) fn is_raise(&self) -> bool {
        matches!(self, Self::Raise(_))
    }

    /// Returns how many bytes it takes in the queue, about.
    pub(crate) fn size(&self) -> usize {
        match self {
            Self::Command(encoded) | Self::Raise(encoded) => encoded.size(),
            Self::Tick | Self::Settled { .. } => 0,
        }
    }
}

/// A request in the queue or in the batch under way, with whoever waits for its answer.
#[derive(Debug)]
pub(crate) struct Pending {
    pub(crate) request: QueuedRequest,
    pub(crate) reply: ReplySender,
    /// When it was asked.
    pub(crate) since: Instant,
}

impl Pending {
    /// Answers it alone, and wakes its caller at once.
    pub(crate) fn answer(self, answer: Result<Answer, CommandError>) {
        let mut wakeups = Wakeups::default();
        self.reply.answer(answer, &mut wakeups);
        wakeups.send();
    }
}

/// The queue between intake and appender.
#[derive(Debug)]
pub(crate) struct Queue {
    content: Mutex<QueueContent>,
    arrival: Notify,
    /// Requests were taken: see [`Queue::room_for_many`].
    room: Notify,
    max: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct QueueContent {
    /// Of callers that bring one, and this node's own.
    single: VecDeque<Pending>,
    /// Of callers that bring many.
    many: VecDeque<Pending>,
    bytes: usize,
    /// When a caller's single command came last.
    last_single: Option<Instant>,
    closed: bool,
    /// When it was last looked through for requests that nobody waits for.
    cleared: Option<Instant>,
}

/// How often a full queue is looked through for requests that nobody waits for: whoever is refused must not cost a walk
/// through all of them.
const CLEAR_EVERY: Duration = Duration::from_millis(100);

/// Requests of callers that bring many have this part of the queue: a half. The other one is for those who bring one.
pub(crate) const MANY_PART: usize = 2;

/// Requests of callers that bring many in one batch, while single ones come: those wait for the batch before theirs, and for
/// their own.
pub(crate) const MANY_IN_BATCH: usize = 128;
/// How long after a single command the next one is expected.
const SINGLE_AGAIN: Duration = Duration::from_secs(1);
/// Single requests that are taken before each of many: a flood of them does not stop those.
const SINGLE_TURNS: usize = 8;

impl QueueContent {
    fn len(&self) -> usize {
        self.single.len() + self.many.len()
    }

    fn all(&self) -> impl Iterator<Item = &Pending> {
        self.single.iter().chain(&self.many)
    }

    /// Drops the requests that nobody waits for any more, unless that was done a moment ago.
    fn drop_over(&mut self, now: Instant) {
        if self.cleared.is_some_and(|cleared| now - cleared < CLEAR_EVERY) {
            return;
        }
        self.cleared = Some(now);
        self.single.retain(|pending| !pending.reply.is_over());
        self.many.retain(|pending| !pending.reply.is_over());
        self.bytes = self.all().map(|pending| pending.request.size()).sum();
    }
}

/// Why a request was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Full,
    Closed,
}

impl Queue {
    /// Makes a queue for so many requests, which together have so many bytes.
    pub(crate) fn new(max: usize, max_bytes: usize) -> Self {
        let (arrival, room) = (Notify::new(), Notify::new());
        Self { content: Mutex::default(), arrival, room, max, max_bytes }
    }

    /// Adds a request, or says at once that there is no room.
    pub(crate) fn push(&self, pending: Pending) -> Result<(), NotTaken> {
        self.push_into(1, pending).map_err(|(not, _)| not)
    }

    /// Adds one of many requests of one caller, or gives it back at once where they have their part of the queue.
    pub(crate) fn push_of_many(&self, pending: Pending) -> Result<(), (NotTaken, QueuedRequest)> {
        self.push_into(MANY_PART, pending)
    }

    /// Adds a request where no more than this part of the queue is taken; an empty one takes any.
    fn push_into(&self, part: usize, pending: Pending) -> Result<(), (NotTaken, QueuedRequest)> {
        let size = pending.request.size();
        let mut content = self.lock();
        if content.closed {
            return Err((NotTaken::Closed, pending.request));
        }
        let is_full = |content: &QueueContent| {
            let bytes = if content.len() == 0 { 1 } else { part };
            content.len() >= self.max.div_ceil(part)
                || content.bytes + size > self.max_bytes / bytes
        };
        if is_full(&content) {
            content.drop_over(pending.since);
        }
        if is_full(&content) {
            return Err((NotTaken::Full, pending.request));
        }
        content.bytes += size;
        if part == MANY_PART {
            content.many.push_back(pending);
        } else {
            if matches!(pending.request, QueuedRequest::Command(_)) {
                content.last_single = Some(pending.since);
            }
            content.single.push_back(pending);
        }
        let first = content.len() == 1;
        drop(content);
        if first {
            self.arrival.notify_one();
        }
        Ok(())
    }

    /// Takes requests for a batch while `take` wants them, single ones first; puts back the one it does not want.
    ///
    /// Of those of callers that bring many it takes [`MANY_IN_BATCH`] at most while single ones come.
    pub(crate) fn take_batch(
        &self,
        now: Instant,
        mut take: impl FnMut(Pending) -> Result<(), Pending>,
    ) {
        let mut content = self.lock();
        let expected = |last: Instant| now.saturating_duration_since(last) < SINGLE_AGAIN;
        let few = content.last_single.is_some_and(expected);
        let mut left = if few { MANY_IN_BATCH } else { usize::MAX };
        for turn in 1.. {
            let QueueContent { single, many, .. } = &mut *content;
            let of_many = single.is_empty() || turn % SINGLE_TURNS == 0 && !many.is_empty();
            if of_many && left == 0 && single.is_empty() {
                break;
            }
            let of_many = of_many && left > 0;
            let from = if of_many { many } else { single };
            let Some(pending) = from.pop_front() else { break };
            let size = pending.request.size();
            if let Err(pending) = take(pending) {
                from.push_front(pending);
                break;
            }
            left -= usize::from(of_many);
            content.bytes -= size;
        }
        drop(content);
        self.room.notify_waiters();
    }

    /// Takes all requests.
    pub(crate) fn take_all(&self) -> Vec<Pending> {
        let mut content = self.lock();
        content.bytes = 0;
        let QueueContent { single, many, .. } = &mut *content;
        let all = single.drain(..).chain(many.drain(..)).collect();
        drop(content);
        self.room.notify_waiters();
        all
    }

    /// Waits until one of many requests of one caller may be taken, or the queue is closed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it takes nothing.
    pub(crate) async fn room_for_many(&self) {
        loop {
            let mut room = pin!(self.room.notified());
            // From here on nothing that is taken is missed.
            room.as_mut().enable();
            {
                let content = self.lock();
                let (most, most_bytes) = (self.max.div_ceil(MANY_PART), self.max_bytes / MANY_PART);
                let has_room = content.len() < most && content.bytes < most_bytes;
                if has_room || content.closed {
                    return;
                }
            }
            room.await;
        }
    }

    /// Waits until there is a request, or gives `false` once the queue is closed and empty.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it takes nothing. Only one task may wait.
    pub(crate) async fn any(&self) -> bool {
        loop {
            {
                let content = self.lock();
                if content.len() > 0 {
                    return true;
                }
                if content.closed {
                    return false;
                }
            }
            self.arrival.notified().await;
        }
    }

    /// Takes no more requests; those in it are still served.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.arrival.notify_one();
        self.room.notify_waiters();
    }

    /// Says whether it is closed, and nobody waits for what is left in it.
    pub(crate) fn is_over(&self) -> bool {
        let content = self.lock();
        content.closed && content.all().all(|pending| pending.reply.is_over())
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().len()
    }

    fn lock(&self) -> MutexGuard<'_, QueueContent> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::appender::reply::{ReplyReceiver, reply_channel};
    use firstcome_core::Command;
    use firstcome_core::command::Encoded;

    fn claim(subject: &str) -> (Pending, ReplyReceiver) {
        let request =
            QueuedRequest::Command(Encoded::new(&Command::claim("c", None, subject)).unwrap());
        let (reply, waiting) = reply_channel();
        (Pending { request, reply, since: Instant::now() }, waiting)
    }

    #[test]
    fn who_gave_up_makes_room_when_it_is_full() {
        let queue = Queue::new(2, 1 << 20);
        let ((ann, gave_up), (bob, _bob), (cid, _cid)) = (claim("ann"), claim("bob"), claim("cid"));
        queue.push(ann).unwrap();
        queue.push(bob).unwrap();
        drop(gave_up);
        queue.push(cid).unwrap();
        assert_eq!(queue.len(), 2);
        let (dan, _dan) = claim("dan");
        assert_eq!(queue.push(dan), Err(NotTaken::Full));
        queue.take_all();
        assert_eq!(queue.lock().bytes, 0);
    }

    #[tokio::test]
    async fn many_of_one_caller_leave_half_of_it_and_wait_for_room() {
        let queue = Queue::new(4, 1 << 20);
        let size = claim("c").0.request.size();
        let (pending, _waits): (Vec<_>, Vec<_>) =
            ["a", "b", "c", "d", "e"].map(claim).into_iter().unzip();
        let mut pending = pending.into_iter();
        let mut next = || pending.next().unwrap();
        queue.push_of_many(next()).unwrap();
        queue.push_of_many(next()).unwrap();
        let (not, request) = queue.push_of_many(next()).unwrap_err();
        assert_eq!((not, request.size()), (NotTaken::Full, size), "it comes back whole");
        queue.push(next()).unwrap();
        let mut room = pin!(queue.room_for_many());
        assert!(futures_util::poll!(room.as_mut()).is_pending());
        queue.take_all();
        room.await;
        queue.push_of_many(next()).unwrap();
        queue.close();
        queue.room_for_many().await;
    }

    /// A single claim waited behind up to 8,192 lines: 39 ms.
    #[tokio::test(start_paused = true)]
    async fn single_ones_come_first_and_batches_are_short_while_they_come() {
        let queue = Queue::new(16_384, 64 << 20);
        let mut waits = Vec::new();
        let mut push = |of_many: bool| {
            let (pending, waiting) = claim(if of_many { "many" } else { "one" });
            waits.push(waiting);
            match of_many {
                true => queue.push_of_many(pending).unwrap(),
                false => queue.push(pending).unwrap(),
            }
        };
        let one = claim("one").0.request.size();
        let taken = || {
            let mut taken = Vec::new();
            queue.take_batch(Instant::now(), |pending| {
                taken.push(pending.request.size() == one);
                Ok(())
            });
            (taken.iter().position(|single| *single), taken.len())
        };
        (0..1_000).for_each(|_| push(true));
        assert_eq!(taken(), (None, 1_000), "nobody else comes");
        (0..1_000).for_each(|_| push(true));
        push(false);
        assert_eq!(taken(), (Some(0), MANY_IN_BATCH + 1));
        assert_eq!(taken(), (None, MANY_IN_BATCH), "the next one may come soon");
        tokio::time::advance(SINGLE_AGAIN).await;
        assert_eq!(taken(), (None, 1_000 - 2 * MANY_IN_BATCH));
        // A flood of single ones leaves a part to the others.
        (0..100).for_each(|_| push(true));
        (0..800).for_each(|_| push(false));
        let (mut single, mut many) = (0, 0);
        queue.take_batch(Instant::now(), |pending| {
            if single + many == 160 {
                return Err(pending);
            }
            *(if pending.request.size() == one { &mut single } else { &mut many }) += 1;
            Ok(())
        });
        assert_eq!((single, many), (140, 20));
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_queue_is_looked_through_from_time_to_time_only() {
        let queue = Queue::new(1, 1 << 20);
        let (ann, gave_up) = claim("ann");
        queue.push(ann).unwrap();
        assert_eq!(queue.push(claim("bob").0), Err(NotTaken::Full));
        drop(gave_up);
        assert_eq!(
            queue.push(claim("cid").0),
            Err(NotTaken::Full),
            "it was looked through just now"
        );
        tokio::time::advance(CLEAR_EVERY).await;
        queue.push(claim("dan").0).unwrap();
    }

    #[test]
    fn it_is_full_by_number_or_by_bytes_and_what_is_taken_makes_room() {
        let by_number = Queue::new(2, 1 << 20);
        let (ann, _ann) = claim("ann");
        let (bob, _bob) = claim("bob");
        by_number.push(ann).unwrap();
        by_number.push(bob).unwrap();
        assert_eq!(by_number.push(claim("cid").0), Err(NotTaken::Full));

        let waits: Vec<_> = ["a", "b"].map(|name| claim(&name.repeat(200))).into();
        let by_bytes = Queue::new(100, 2 * waits[0].0.request.size());
        let mut waiting = Vec::new();
        for (pending, waits) in waits {
            by_bytes.push(pending).unwrap();
            waiting.push(waits);
        }
        let (cid, _cid) = claim("cid");
        assert_eq!(by_bytes.push(cid), Err(NotTaken::Full));
        let mut taken = 0;
        by_bytes.take_batch(Instant::now(), |pending| {
            if taken == 1 {
                return Err(pending);
            }
            taken += 1;
            Ok(())
        });
        assert_eq!((taken, by_bytes.len()), (1, 1));
        let (cid, _cid) = claim("cid");
        by_bytes.push(cid).unwrap();
        by_bytes.take_all();
        assert_eq!(by_bytes.lock().bytes, 0);
    }
}
