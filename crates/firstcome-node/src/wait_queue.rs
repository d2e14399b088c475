//! The wait queue for seats that somebody has, in the order of arrival, seat by seat.
//!
//! It is this node's own: a caller that asks another node, or does not wait, may be sooner.

use firstcome_inject::{Mistake, inject};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// Callers that may wait at a time; one more is told at once that the seat is taken.
const MAX_WAITING: usize = 16_384;

/// One seat: campaign, pool, name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct SeatName(Box<str>, Box<str>, Box<str>);

impl SeatName {
    pub(crate) fn new(campaign: &str, pool: &str, name: &str) -> Self {
        Self(campaign.into(), pool.into(), name.into())
    }
}

/// All wait queues of a node.
#[derive(Debug, Default)]
pub(crate) struct WaitQueue {
    queues: Mutex<Queues>,
    /// How many waiters left.
    left: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Queues {
    last: u64,
    waiting: usize,
    by_seat: BTreeMap<SeatName, VecDeque<u64>>,
}

/// A position in the wait queues of some seats; given up when dropped.
#[derive(Debug)]
pub(crate) struct Waiter {
    queue: Arc<WaitQueue>,
    number: u64,
    seats: Vec<SeatName>,
}

impl WaitQueue {
    /// Joins the end of the queue of each seat, all at once; none if too many wait.
    pub(crate) fn join(self: &Arc<Self>, mut seats: Vec<SeatName>) -> Option<Waiter> {
        seats.sort();
        seats.dedup();
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if queues.waiting == MAX_WAITING {
            return None;
        }
        queues.waiting += 1;
        queues.last += 1;
        let number = queues.last;
        for seat in &seats {
            queues.by_seat.entry(seat.clone()).or_default().push_back(number);
        }
        drop(queues);
        Some(Waiter { queue: Arc::clone(self), number, seats })
    }

    /// Gives how many wait.
    pub(crate) fn len(&self) -> usize {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner).waiting
    }

    /// Watches how many waiters left.
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.left.subscribe()
    }
}

impl Waiter {
    /// Says whether nobody is before it in any of its queue.
    pub(crate) fn is_first(&self) -> bool {
        if inject(Mistake::WaitQueueJumped) {
            return true;
        }
        let queues = self.queue.queues.lock().unwrap_or_else(PoisonError::into_inner);
        self.seats.iter().all(|seat| {
            queues.by_seat.get(seat).is_some_and(|queue| queue.front() == Some(&self.number))
        })
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let mut queues = self.queue.queues.lock().unwrap_or_else(PoisonError::into_inner);
        queues.waiting -= 1;
        for seat in &self.seats {
            let Some(queue) = queues.by_seat.get_mut(seat) else { continue };
            queue.retain(|number| *number != self.number);
            if queue.is_empty() {
                queues.by_seat.remove(seat);
            }
        }
        drop(queues);
        self.queue.left.send_modify(|left| *left += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_first_to_each_of_its_seats_is_first() {
        let queue = Arc::new(WaitQueue::default());
        let seat = |name| SeatName::new("hall", "main", name);
        let ann = queue.join(vec![seat("A1")]).unwrap();
        let bob = queue.join(vec![seat("A2"), seat("A1")]).unwrap();
        let cem = queue.join(vec![seat("A2"), seat("A2")]).unwrap();
        assert!(ann.is_first() && !bob.is_first() && !cem.is_first());
        let mut left = queue.watch();
        drop(ann);
        assert!(left.has_changed().unwrap());
        left.borrow_and_update();
        assert!(bob.is_first() && !cem.is_first());
        drop(bob);
        assert!(cem.is_first());
        drop(cem);
        assert!(queue.queues.lock().unwrap().by_seat.is_empty());
    }
}
