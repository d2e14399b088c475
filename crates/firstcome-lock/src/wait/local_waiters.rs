//! The wait queues of one process: tasks that wait for the same lock, in order.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::backend::ask::Ask;
use crate::keys::QueueKey;
use crate::lease::Lease;
use crate::wait::subscriber::Subscriber;

/// The wait queues of one client, one for each lock that a task waits for.
///
/// Only the head of a queue asks the store; the others wait until they are the head, or until the lock is passed to
/// them by its holder in this process.
#[derive(Debug, Default)]
pub(crate) struct LocalWaiters {
    queues: Mutex<HashMap<QueueKey, WaitQueue>>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct WaitQueue {
    waiters: VecDeque<Waiter>,
    subscriber: Option<SharedSubscriber>,
    /// A task of this process got the lock after the subscription was made, and holds it until then at the earliest.
    held_until: Option<Instant>,
    /// How many turns others may have before the head asks as soon as it hears of a release.
    turns_for_others: u32,
    /// Told when others are to have no turns any more.
    no_turns: Arc<Notify>,
}

/// The subscription of a queue; the head listens.
pub(crate) type SharedSubscriber = Arc<tokio::sync::Mutex<Subscriber>>;

#[derive(Debug)]
struct Waiter {
    id: u64,
    ask: Ask,
    /// Taken out while an offer is being made.
    offer: Option<oneshot::Sender<Lease>>,
    call: Arc<Notify>,
}

/// A position in a wait queue; dropping it leaves the queue.
#[derive(Debug)]
pub(crate) struct Position {
    queues: Arc<LocalWaiters>,
    key: QueueKey,
    id: u64,
}

/// What a waiting task has: its position, and how it is reached there.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) position: Position,
    /// Where a lease arrives that was passed on.
    pub(crate) offer: oneshot::Receiver<Lease>,
    /// Called when this became the head, or should look again.
    pub(crate) call: Arc<Notify>,
}

/// The waiter that a lock can be passed to.
pub(crate) struct Offer {
    pub(crate) ask: Ask,
    pub(crate) to: oneshot::Sender<Lease>,
    /// Others wait after it.
    pub(crate) more: bool,
    id: u64,
}

impl LocalWaiters {
    fn queues(&self) -> MutexGuard<'_, HashMap<QueueKey, WaitQueue>> {
        // Every change under this lock is complete in itself.
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether a task waits in this queue.
    pub(crate) fn has_waiters(&self, key: &QueueKey) -> bool {
        self.queues().contains_key(key)
    }

    /// Returns how many wait in this queue.
    #[cfg(feature = "inject")]
    pub(crate) fn count(&self, key: &QueueKey) -> usize {
        self.queues().get(key).map_or(0, |queue| queue.waiters.len())
    }

    /// Joins the queue for the lock of `ask`.
    pub(crate) fn join(self: &Arc<Self>, ask: &Ask) -> Waiting {
        let (to, offer) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let call = Arc::new(Notify::new());
        let waiter = Waiter { id, ask: ask.clone(), offer: Some(to), call: Arc::clone(&call) };
        let key = ask.keys.queue.clone();
        self.queues().entry(key.clone()).or_default().waiters.push_back(waiter);
        Waiting { position: Position { queues: Arc::clone(self), key, id }, offer, call }
    }

    /// Takes the offer of the head of this queue, if a lock can be passed to it.
    pub(crate) fn offer(&self, key: &QueueKey) -> Option<Offer> {
        let mut queues = self.queues();
        let waiters = &mut queues.get_mut(key)?.waiters;
        let more = waiters.len() > 1;
        let head = waiters.front_mut()?;
        if head.ask.owner.is_some() {
            // An owner that may hold it already has to ask for it itself.
            return None;
        }
        let to = head.offer.take()?;
        Some(Offer { ask: head.ask.clone(), to, more, id: head.id })
    }

    /// Ends an offer that was accepted: the next waiter becomes the head, and knows until when to be quiet, if it is certain to
    /// hear of a release.
    pub(crate) fn passed(&self, key: &QueueKey, id: u64, held_until: Option<Instant>) {
        let mut queues = self.queues();
        let Some(queue) = queues.get_mut(key) else { return };
        queue.waiters.retain(|waiter| waiter.id != id);
        queue.held_until = held_until.filter(|_| queue.subscriber.is_some());
        match queue.waiters.front() {
            Some(head) => head.call.notify_one(),
            None => drop(queues.remove(key)),
        }
    }

    /// Ends an offer that came to nothing: the waiter looks for itself.
    pub(crate) fn not_passed(&self, key: &QueueKey, offer: Offer) {
        let mut queues = self.queues();
        let Some(queue) = queues.get_mut(key) else { return };
        queue.held_until = None;
        if let Some(waiter) = queue.waiters.iter_mut().find(|waiter| waiter.id == offer.id) {
            waiter.offer = Some(offer.to);
            waiter.call.notify_one();
        }
    }

    /// Lets others have so many turns: for as long as they take them, the head does not ask.
    ///
    /// Whoever is woken in another process needs longer than one who waits here, and would never get in.
    pub(crate) fn let_others(&self, key: &QueueKey, turns: u32) {
        if let Some(queue) = self.queues().get_mut(key) {
            queue.turns_for_others = turns;
            if turns == 0 {
                queue.no_turns.notify_waiters();
            }
        }
    }

    /// Returns how many subscribers this client has for a free lock: one, or none.
    pub(crate) fn listeners(&self, key: &QueueKey) -> u64 {
        self.queues().get(key).map_or(0, |queue| u64::from(queue.subscriber.is_some()))
    }

    /// Calls the head of this queue to look: something was given back that cannot be passed on.
    pub(crate) fn call(&self, key: &QueueKey) {
        if let Some(head) = self.queues().get(key).and_then(|queue| queue.waiters.front()) {
            head.call.notify_one();
        }
    }
}

impl Offer {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl Position {
    /// Tells whether this is the head of its queue.
    pub(crate) fn is_head(&self) -> bool {
        let queues = self.queues.queues();
        let head = queues.get(&self.key).and_then(|queue| queue.waiters.front());
        head.is_some_and(|head| head.id == self.id)
    }

    /// Returns the queue's subscription, if there is one.
    pub(crate) fn subscriber(&self) -> Option<SharedSubscriber> {
        self.queues.queues().get(&self.key).and_then(|queue| queue.subscriber.clone())
    }

    /// Returns the queue a subscription for everybody who is the head from now on.
    pub(crate) fn share_subscriber(&self, subscriber: &SharedSubscriber) {
        if let Some(queue) = self.queues.queues().get_mut(&self.key) {
            queue.subscriber = Some(Arc::clone(subscriber));
            queue.held_until = None;
        }
    }

    /// Waits for `turn` where others are to have some, or until they are to have none; gives whether they had.
    pub(crate) async fn waits_for_others(&self, turn: Duration) -> bool {
        let no_turns = {
            let mut queues = self.queues.queues();
            let Some(queue) = queues.get_mut(&self.key) else { return false };
            if queue.turns_for_others == 0 {
                return false;
            }
            // It hears of everything from here on.
            Arc::clone(&queue.no_turns).notified_owned()
        };
        // Over, or called: either is a reason to ask.
        drop(tokio::time::timeout(turn, no_turns).await);
        true
    }

    /// Notes that others had so many of their turns, or left them.
    pub(crate) fn others_had(&self, turns: u32) {
        if let Some(queue) = self.queues.queues().get_mut(&self.key) {
            queue.turns_for_others = queue.turns_for_others.saturating_sub(turns);
        }
    }

    /// Takes what is known of a holder in this process.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.queues.queues().get_mut(&self.key).and_then(|queue| queue.held_until.take())
    }
}

impl Drop for Position {
    fn drop(&mut self) {
        let mut queues = self.queues.queues();
        let Some(queue) = queues.get_mut(&self.key) else { return };
        let was_head = queue.waiters.front().is_some_and(|head| head.id == self.id);
        queue.waiters.retain(|waiter| waiter.id != self.id);
        let empty = match queue.waiters.front() {
            Some(head) if was_head => {
                head.call.notify_one();
                None
            }
            Some(_) => None,
            None => queues.remove(&self.key),
        };
        drop(queues);
        // Giving up a subscription takes another lock.
        drop(empty);
    }
}
