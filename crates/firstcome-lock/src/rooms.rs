//! Where the tasks of one process wait for the same lock, in line.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use crate::Lease;
use crate::attempt::Ask;
use crate::backend::Ear;
use crate::keys::Line;

/// The lines of one client, one for each lock that somebody waits for.
///
/// Only the head of a line speaks to the store; the others wait for it to move on, or for the lock to be passed to
/// them by its holder in this process.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    rooms: Mutex<HashMap<Line, Room>>,
    next: AtomicU64,
}

#[derive(Debug, Default)]
struct Room {
    line: VecDeque<Entry>,
    ear: Option<SharedEar>,
    /// Somebody in this process has had the lock since the ear was there, and holds it until then at the earliest.
    held_until: Option<Instant>,
}

/// The subscription of a room; whoever is the head listens.
pub(crate) type SharedEar = Arc<tokio::sync::Mutex<Ear>>;

#[derive(Debug)]
struct Entry {
    id: u64,
    ask: Ask,
    /// Taken out while an offer is being made.
    offer: Option<oneshot::Sender<Lease>>,
    call: Arc<Notify>,
}

/// A place in line; leaving it is dropping it.
#[derive(Debug)]
pub(crate) struct Place {
    rooms: Arc<Rooms>,
    line: Line,
    id: u64,
}

/// What somebody in line has: the place, and how to be reached there.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) place: Place,
    /// Where a lease arrives that was passed on.
    pub(crate) offer: oneshot::Receiver<Lease>,
    /// Called when this became the head, or should look again.
    pub(crate) call: Arc<Notify>,
}

/// The one in line that a lock can be passed to.
pub(crate) struct Offer {
    pub(crate) ask: Ask,
    pub(crate) to: oneshot::Sender<Lease>,
    /// Somebody else is in line behind.
    pub(crate) more: bool,
    id: u64,
}

impl Rooms {
    fn rooms(&self) -> MutexGuard<'_, HashMap<Line, Room>> {
        // Every change under this lock is complete in itself.
        self.rooms.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whether anybody waits in `line`.
    pub(crate) fn anybody(&self, line: &Line) -> bool {
        self.rooms().contains_key(line)
    }

    /// Tells how many wait in `line`.
    #[cfg(feature = "twins")]
    pub(crate) fn in_line(&self, line: &Line) -> usize {
        self.rooms().get(line).map_or(0, |room| room.line.len())
    }

    /// Joins the line for the lock of `ask`.
    pub(crate) fn join(self: &Arc<Self>, ask: &Ask) -> Ticket {
        let (to, offer) = oneshot::channel();
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let call = Arc::new(Notify::new());
        let entry = Entry { id, ask: ask.clone(), offer: Some(to), call: Arc::clone(&call) };
        let line = ask.keys.line.clone();
        self.rooms().entry(line.clone()).or_default().line.push_back(entry);
        Ticket { place: Place { rooms: Arc::clone(self), line, id }, offer, call }
    }

    /// Takes the offer of the oldest in `line`, if a lock can be passed to it.
    pub(crate) fn offer(&self, line: &Line) -> Option<Offer> {
        let mut rooms = self.rooms();
        let line = &mut rooms.get_mut(line)?.line;
        let more = line.len() > 1;
        let head = line.front_mut()?;
        if head.ask.owner.is_some() {
            // An owner that may hold it already is not given it behind its back.
            return None;
        }
        let to = head.offer.take()?;
        Some(Offer { ask: head.ask.clone(), to, more, id: head.id })
    }

    /// Ends an offer that was accepted: the next in line moves up, and knows until when to be quiet, if it is certain to
    /// hear of a release.
    pub(crate) fn passed(&self, line: &Line, id: u64, held_until: Option<Instant>) {
        let mut rooms = self.rooms();
        let Some(room) = rooms.get_mut(line) else { return };
        room.line.retain(|entry| entry.id != id);
        room.held_until = held_until.filter(|_| room.ear.is_some());
        match room.line.front() {
            Some(head) => head.call.notify_one(),
            None => drop(rooms.remove(line)),
        }
    }

    /// Ends an offer that came to nothing: the one in line looks for itself.
    pub(crate) fn not_passed(&self, line: &Line, offer: Offer) {
        let mut rooms = self.rooms();
        let Some(room) = rooms.get_mut(line) else { return };
        room.held_until = None;
        if let Some(entry) = room.line.iter_mut().find(|entry| entry.id == offer.id) {
            entry.offer = Some(offer.to);
            entry.call.notify_one();
        }
    }

    /// Calls the oldest in `line` to look: something was given back that cannot be passed on.
    pub(crate) fn call(&self, line: &Line) {
        if let Some(head) = self.rooms().get(line).and_then(|room| room.line.front()) {
            head.call.notify_one();
        }
    }
}

impl Offer {
    pub(crate) fn id(&self) -> u64 {
        self.id
    }
}

impl Place {
    /// Tells whether this is the oldest in line.
    pub(crate) fn is_head(&self) -> bool {
        let rooms = self.rooms.rooms();
        let head = rooms.get(&self.line).and_then(|room| room.line.front());
        head.is_some_and(|head| head.id == self.id)
    }

    /// Gives the room's subscription, if there is one.
    pub(crate) fn ear(&self) -> Option<SharedEar> {
        self.rooms.rooms().get(&self.line).and_then(|room| room.ear.clone())
    }

    /// Gives the room a subscription for everybody who is the head from now on.
    pub(crate) fn share_ear(&self, ear: &SharedEar) {
        if let Some(room) = self.rooms.rooms().get_mut(&self.line) {
            room.ear = Some(Arc::clone(ear));
            room.held_until = None;
        }
    }

    /// Takes what is known of a holder in this process.
    pub(crate) fn held_until(&self) -> Option<Instant> {
        self.rooms.rooms().get_mut(&self.line).and_then(|room| room.held_until.take())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut rooms = self.rooms.rooms();
        let Some(room) = rooms.get_mut(&self.line) else { return };
        let was_head = room.line.front().is_some_and(|head| head.id == self.id);
        room.line.retain(|entry| entry.id != self.id);
        let empty = match room.line.front() {
            Some(head) if was_head => {
                head.call.notify_one();
                None
            }
            Some(_) => None,
            None => rooms.remove(&self.line),
        };
        drop(rooms);
        // Giving up a subscription takes another lock.
        drop(empty);
    }
}
