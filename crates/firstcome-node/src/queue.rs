//! Requests that wait for the appender: bounded in number and in bytes, in order of arrival.

use crate::request::Pending;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The queue between intake and appender.
#[derive(Debug)]
pub(crate) struct Queue {
    content: Mutex<Content>,
    arrival: Notify,
    max: usize,
    max_bytes: usize,
}

#[derive(Debug, Default)]
struct Content {
    pending: VecDeque<Pending>,
    bytes: usize,
    closed: bool,
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
        Self { content: Mutex::default(), arrival: Notify::new(), max, max_bytes }
    }

    /// Adds a request, or says at once that there is no room.
    pub(crate) fn push(&self, pending: Pending) -> Result<(), NotTaken> {
        let size = pending.request.size();
        let mut content = self.lock();
        if content.closed {
            return Err(NotTaken::Closed);
        }
        if content.pending.len() >= self.max || content.bytes + size > self.max_bytes {
            return Err(NotTaken::Full);
        }
        content.bytes += size;
        content.pending.push_back(pending);
        let first = content.pending.len() == 1;
        drop(content);
        if first {
            self.arrival.notify_one();
        }
        Ok(())
    }

    /// Takes requests from the front while `take` wants them; puts back the one it does not want.
    pub(crate) fn take_while(&self, mut take: impl FnMut(Pending) -> Result<(), Pending>) {
        let mut content = self.lock();
        while let Some(pending) = content.pending.pop_front() {
            let size = pending.request.size();
            if let Err(pending) = take(pending) {
                content.pending.push_front(pending);
                return;
            }
            content.bytes -= size;
        }
    }

    /// Takes the requests at the front whose time is over.
    pub(crate) fn take_overdue(&self, now: Instant) -> Vec<Pending> {
        let mut content = self.lock();
        let overdue = content.pending.iter().take_while(|pending| pending.until <= now).count();
        let overdue: Vec<Pending> = content.pending.drain(..overdue).collect();
        content.bytes -= overdue.iter().map(|pending| pending.request.size()).sum::<usize>();
        overdue
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
                if !content.pending.is_empty() {
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
    }

    /// Says whether it is closed and empty.
    pub(crate) fn is_over(&self) -> bool {
        let content = self.lock();
        content.closed && content.pending.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().pending.len()
    }

    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Request;
    use firstcome_core::Command;
    use firstcome_core::command::Encoded;
    use std::time::Duration;
    use tokio::sync::oneshot;

    fn claim(subject: &str) -> Pending {
        let request = Request::Command(Encoded::new(&Command::claim("c", None, subject)).unwrap());
        let (reply, _) = oneshot::channel();
        let since = Instant::now();
        Pending { request, reply, since, until: since + Duration::from_secs(1) }
    }

    #[tokio::test(start_paused = true)]
    async fn it_is_full_by_number_or_by_bytes_and_what_is_taken_makes_room() {
        let by_number = Queue::new(2, 1 << 20);
        by_number.push(claim("ann")).unwrap();
        by_number.push(claim("bob")).unwrap();
        assert_eq!(by_number.push(claim("cid")), Err(NotTaken::Full));

        let one = claim(&"a".repeat(200)).request.size();
        let by_bytes = Queue::new(100, 2 * one);
        by_bytes.push(claim(&"a".repeat(200))).unwrap();
        by_bytes.push(claim(&"b".repeat(200))).unwrap();
        assert_eq!(by_bytes.push(claim("cid")), Err(NotTaken::Full));
        let mut taken = 0;
        by_bytes.take_while(|pending| {
            if taken == 1 {
                return Err(pending);
            }
            taken += 1;
            Ok(())
        });
        assert_eq!((taken, by_bytes.len()), (1, 1));
        by_bytes.push(claim("cid")).unwrap();
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(by_bytes.take_overdue(Instant::now()).len(), 2);
        assert_eq!(by_bytes.lock().bytes, 0);
    }
}
