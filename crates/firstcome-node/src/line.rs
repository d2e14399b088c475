//! Who waits for a seat that somebody has, in the order of arrival, seat by seat.
//!
//! Lines are this node's own: whoever asks another node, or does not wait, may be sooner.

use firstcome_inject::{Mistake, inject};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::watch;

/// People who may wait at a time; whoever comes then is told at once that the seat is taken.
const MOST_WAITING: usize = 16_384;

/// One seat: campaign, pool, name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seat(Box<str>, Box<str>, Box<str>);

impl Seat {
    pub(super) fn new(campaign: &str, pool: &str, name: &str) -> Self {
        Self(campaign.into(), pool.into(), name.into())
    }
}

/// All lines of a node.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    inside: Mutex<Inside>,
    /// How many people left a line.
    left: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Inside {
    last: u64,
    waiting: usize,
    by_seat: BTreeMap<Seat, VecDeque<u64>>,
}

/// A place in line for some seats; given up when dropped.
#[derive(Debug)]
pub(super) struct Place {
    lines: Arc<Lines>,
    number: u64,
    seats: Vec<Seat>,
}

impl Lines {
    /// Takes the last place in the line of each seat, all at once; none if too many people wait.
    pub(super) fn join(self: &Arc<Self>, mut seats: Vec<Seat>) -> Option<Place> {
        seats.sort();
        seats.dedup();
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if inside.waiting == MOST_WAITING {
            return None;
        }
        inside.waiting += 1;
        inside.last += 1;
        let number = inside.last;
        for seat in &seats {
            inside.by_seat.entry(seat.clone()).or_default().push_back(number);
        }
        drop(inside);
        Some(Place { lines: Arc::clone(self), number, seats })
    }

    /// Gives how many people wait.
    pub(super) fn len(&self) -> usize {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner).waiting
    }

    /// Hears of everybody who leaves a line.
    pub(super) fn watch(&self) -> watch::Receiver<u64> {
        self.left.subscribe()
    }
}

impl Place {
    /// Says whether nobody is before it in any of its lines.
    pub(super) fn is_first(&self) -> bool {
        if inject(Mistake::WaitQueueJumped) {
            return true;
        }
        let inside = self.lines.inside.lock().unwrap_or_else(PoisonError::into_inner);
        self.seats.iter().all(|seat| {
            inside.by_seat.get(seat).is_some_and(|line| line.front() == Some(&self.number))
        })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut inside = self.lines.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.waiting -= 1;
        for seat in &self.seats {
            let Some(line) = inside.by_seat.get_mut(seat) else { continue };
            line.retain(|number| *number != self.number);
            if line.is_empty() {
                inside.by_seat.remove(seat);
            }
        }
        drop(inside);
        self.lines.left.send_modify(|left| *left += 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_came_first_to_each_of_its_seats_is_first() {
        let lines = Arc::new(Lines::default());
        let seat = |name| Seat::new("hall", "main", name);
        let ann = lines.join(vec![seat("A1")]).unwrap();
        let bob = lines.join(vec![seat("A2"), seat("A1")]).unwrap();
        let cem = lines.join(vec![seat("A2"), seat("A2")]).unwrap();
        assert!(ann.is_first() && !bob.is_first() && !cem.is_first());
        let mut left = lines.watch();
        drop(ann);
        assert!(left.has_changed().unwrap());
        left.borrow_and_update();
        assert!(bob.is_first() && !cem.is_first());
        drop(bob);
        assert!(cem.is_first());
        drop(cem);
        assert!(lines.inside.lock().unwrap().by_seat.is_empty());
    }
}
