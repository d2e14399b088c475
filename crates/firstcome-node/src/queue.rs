//! Commands that wait for the appender: bounded, in order of arrival.

use super::ask::Waiting;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;
use tokio::time::Instant;

/// The queue between intake and appender.
#[derive(Debug)]
pub(crate) struct Queue {
    inside: Mutex<Inside>,
    news: Notify,
    most: usize,
}

#[derive(Debug, Default)]
struct Inside {
    waiting: VecDeque<Waiting>,
    closed: bool,
}

/// Why a command was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotTaken {
    Full,
    Closed,
}

impl Queue {
    pub(crate) fn new(most: usize) -> Self {
        Self { inside: Mutex::default(), news: Notify::new(), most }
    }

    /// Adds a command, or says at once that there is no room.
    pub(crate) fn push(&self, waiting: Waiting) -> Result<(), NotTaken> {
        let mut inside = self.lock();
        if inside.closed {
            return Err(NotTaken::Closed);
        }
        if inside.waiting.len() >= self.most {
            return Err(NotTaken::Full);
        }
        inside.waiting.push_back(waiting);
        let first = inside.waiting.len() == 1;
        drop(inside);
        if first {
            self.news.notify_one();
        }
        Ok(())
    }

    /// Takes commands from the front while `take` wants them; gives back the one it does not want.
    pub(crate) fn take_while(&self, mut take: impl FnMut(Waiting) -> Result<(), Waiting>) {
        let mut inside = self.lock();
        while let Some(waiting) = inside.waiting.pop_front() {
            if let Err(waiting) = take(waiting) {
                inside.waiting.push_front(waiting);
                return;
            }
        }
    }

    /// Takes the commands whose time is over.
    pub(crate) fn take_overdue(&self, now: Instant) -> Vec<Waiting> {
        let mut inside = self.lock();
        let overdue = inside.waiting.iter().take_while(|waiting| waiting.until <= now).count();
        inside.waiting.drain(..overdue).collect()
    }

    /// Waits until there is a command, or gives `false` once the queue is closed and empty.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it takes nothing. Only one task may wait.
    pub(crate) async fn any(&self) -> bool {
        loop {
            {
                let inside = self.lock();
                if !inside.waiting.is_empty() {
                    return true;
                }
                if inside.closed {
                    return false;
                }
            }
            self.news.notified().await;
        }
    }

    /// Takes no more commands; those inside are still served.
    pub(crate) fn close(&self) {
        self.lock().closed = true;
        self.news.notify_one();
    }

    /// Says whether it is closed and empty.
    pub(crate) fn is_over(&self) -> bool {
        let inside = self.lock();
        inside.closed && inside.waiting.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().waiting.len()
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
