//! Giving a lock back, or passing it on.

pub(crate) mod ids;
pub(crate) mod released;

use std::sync::Arc;

use firstcome_store::Effect;
use tokio::time::Instant;

use crate::backend::requests::{NotAfter, ReleaseAnswer, ReleaseRequest};
use crate::error::Error;
use crate::inject::Mistake;
use crate::keys::Kind;
use crate::lease::Lease;
use crate::lease::held_lock::{Grant, HeldLock};
use crate::lease::loss::Loss;
use crate::owner::{EntryGuard, SharedEntry};
use crate::release::released::Released;
use crate::shared::Shared;
use crate::wait::local_waiters::Offer;
use crate::wait::undo::undo;
use firstcome_store::client::later;
use firstcome_store::client::pause;

/// Returns one lease back, and does not end before it is known that the owner holds nothing of it any more, or before
/// there is no use in asking.
///
/// It fails if it is unknown whether this freed the lock or it had been lost before.
pub(crate) async fn give_back(
    shared: Arc<Shared>,
    held: Arc<HeldLock>,
    entry: Option<SharedEntry>,
) -> Result<Released, Error> {
    let given_back = match entry {
        Some(entry) => give_back_one(&shared, &held, EntryGuard::of(entry).await).await,
        None if held.begin_to_leave() => give_back_all(&shared, &held).await,
        // It went when the client was closed, or with a copy before.
        None => return Ok(Released::AlreadyLost),
    };
    held.tell_released(given_back.as_ref().ok().copied());
    given_back
}

/// Gives back a hold that was taken once.
async fn give_back_all(shared: &Arc<Shared>, held: &HeldLock) -> Result<Released, Error> {
    shared.watchdog.leave(held);
    // Where it ended with its term it is given back only now.
    let loss = held.loss().filter(|loss| *loss != Loss::GivenBack);
    held.given_back();
    let queue = &held.keys.queue;
    let chain_ended =
        held.chain >= shared.passes && !shared.mistakes.makes(Mistake::PassWithoutLimit);
    if loss.is_none()
        && !chain_ended
        && held.keys.kind.has_owners()
        && let Some(offer) = shared.local_waiters.offer(queue)
    {
        return pass(shared, held, offer).await;
    }
    let turns = match shared.mistakes.makes(Mistake::NoTurnsForOthers) {
        false if chain_ended && shared.backend.counts_receivers() => held.chain + 1,
        _ => 0,
    };
    // Before anybody here hears of it.
    shared.local_waiters.let_others(queue, turns);
    let left = release(shared, held, false).await;
    let receivers = match &left {
        Ok(ReleaseAnswer::Free { receivers }) => *receivers,
        Ok(ReleaseAnswer::Nothing | ReleaseAnswer::Holds(_)) | Err(_) => 0,
    };
    if turns > 0 && receivers <= shared.local_waiters.listeners(queue) {
        shared.local_waiters.let_others(queue, 0);
    }
    if held.keys.kind.permits().is_some() {
        // The next one may be waiting for another number of them, so it looks for itself.
        shared.local_waiters.call(queue);
    }
    Ok(match left? {
        // This owner takes the lock once in its life: what the store still has of it was there all the time, even if
        // nobody here could rely on it any more. A store that denied it before has been through something.
        ReleaseAnswer::Free { .. } if loss != Some(Loss::Taken) => Released::Free,
        ReleaseAnswer::Free { .. } | ReleaseAnswer::Nothing | ReleaseAnswer::Holds(_) => {
            Released::AlreadyLost
        }
    })
}

/// Gives back one of the holds of an owner that may have several.
async fn give_back_one(
    shared: &Arc<Shared>,
    held: &Arc<HeldLock>,
    mut entry: EntryGuard,
) -> Result<Released, Error> {
    let current = entry.valid_lock().is_some_and(|valid| Arc::ptr_eq(&valid, held));
    if !current {
        // The owner may have taken it anew since; that hold is not this one's to give back.
        if entry.holds() == 0 && held.begin_to_leave() {
            shared.watchdog.leave(held);
            shared.backend.undo(&held.keys, &held.owner, 0, NotAfter(0)).await.ok();
        }
        return Ok(Released::AlreadyLost);
    }
    let lease = held.lease();
    let sent = held.asked_now();
    let left = match release(shared, held, true).await {
        Ok(left) => left,
        Err(failure) => {
            // Nobody knows how often it is held, or whether at all: it cannot be relied on.
            held.lose(Loss::RanOut);
            entry.set_left(0);
            shared.watchdog.leave(held);
            return Err(failure);
        }
    };
    match left {
        ReleaseAnswer::Holds(holds) => {
            held.confirmed(sent, lease).ok();
            entry.set_left(holds);
            return Ok(Released::StillHeld { holds });
        }
        ReleaseAnswer::Free { .. } => held.given_back(),
        ReleaseAnswer::Nothing => held.lose(Loss::Taken),
    }
    entry.set_left(0);
    shared.watchdog.leave(held);
    Ok(match left {
        ReleaseAnswer::Free { .. } => Released::Free,
        ReleaseAnswer::Nothing | ReleaseAnswer::Holds(_) => Released::AlreadyLost,
    })
}

/// Sends the same release until there is an answer, or until the lease has certainly ended.
async fn release(
    shared: &Shared,
    held: &HeldLock,
    reentrant: bool,
) -> Result<ReleaseAnswer, Error> {
    let mut request = fastrand::u128(..);
    let lease = held.lease();
    let mut tries = 0;
    // A release of a token lock is not recognised, nor is one of a row: set once a release of it may have been carried out without an answer.
    let mut unanswered = None;
    loop {
        if shared.mistakes.makes(Mistake::NewReleaseIdOnResend) {
            request = fastrand::u128(..);
        }
        let over_at = later(held.over_at(), shared.backend.answer_within());
        let asked = ReleaseRequest {
            keys: &held.keys,
            owner: &held.owner,
            reentrant,
            lease,
            remaining: held.over_at().saturating_duration_since(Instant::now()),
            request,
            again: tries > 0,
        };
        match shared.backend.release(asked).await {
            Ok(left) => {
                if let (ReleaseAnswer::Nothing, Some(unanswered)) = (left, unanswered) {
                    return Err(unanswered);
                }
                // Also where nothing was held: the copy is made before it is known whose it is.
                if held.keys.kind != Kind::Token {
                    let id = held.keys.release_id(request);
                    shared.release_ids.forget(id, &shared.background, &shared.backend);
                }
                return Ok(left);
            }
            // Something else has its place.
            Err(Error::Store(firstcome_store::StoreError::WrongKind { .. })) => {
                return Ok(ReleaseAnswer::Nothing);
            }
            Err(failure) if !failure.passes_by_itself() || Instant::now() > over_at => {
                return Err(failure);
            }
            Err(failure) => {
                let recognised =
                    held.keys.kind != Kind::Token && shared.backend.recognises_releases();
                if !recognised && failure.effect() == Effect::Unknown {
                    unanswered = Some(failure);
                }
                tokio::time::sleep(pause(tries)).await;
            }
        }
        tries += 1;
    }
}

/// Passes the lock to the head of the wait queue, in one step at the store.
async fn pass(shared: &Arc<Shared>, held: &HeldLock, offer: Offer) -> Result<Released, Error> {
    let next = shared.fresh_owner();
    let queue = &held.keys.queue;
    let options = offer.ask.options;
    let keys = Arc::clone(&offer.ask.keys);
    let more = offer.more;
    let mut tries = 0;
    // Set once it may have been passed without anybody here knowing.
    let mut unanswered = None;
    loop {
        let sent = Instant::now();
        match shared.backend.pass(&held.owner, &keys, &next, options.lease, more).await {
            Ok(Some(fence)) => {
                let grant = Grant {
                    keys,
                    owner: next,
                    fence,
                    options,
                    sent,
                    chain: held.chain + 1,
                    endless_trust: shared.mistakes.makes(Mistake::TrustForEver),
                };
                let lease = Lease::new(shared, shared.new_held_lock(grant), None);
                // One who came after that is not known to the store as one who waits, and asks.
                let certain = more || !shared.backend.tells_only_who_waits();
                let held_until = certain.then(|| later(Instant::now(), options.lease));
                shared.local_waiters.passed(queue, offer.id(), held_until);
                // If the waiter has left, the lease comes back, is dropped, and so given back.
                drop(offer.to.send(lease));
                return Ok(Released::Free);
            }
            Ok(None) => {
                shared.local_waiters.not_passed(queue, offer);
                // The next one's lease may have ended before this was sent again.
                return unanswered.map_or(Ok(Released::AlreadyLost), Err);
            }
            Err(failure) => {
                let over = Instant::now() > later(held.over_at(), shared.backend.answer_within());
                let give_up = over || !failure.passes_by_itself() || tries > 2;
                if failure.effect() == Effect::Unknown {
                    unanswered = Some(failure);
                }
                if give_up {
                    break;
                }
                // Asking again is harmless: it is answered yes if the next owner has it already.
                tokio::time::sleep(pause(tries)).await;
                tries += 1;
            }
        }
    }
    // Nobody knows who has it. Without its owner's hold no late pass can take effect, so that one goes first.
    let left = release(shared, held, false).await;
    let give_up = later(Instant::now(), options.lease + shared.backend.answer_within());
    let undone = undo(Arc::clone(&shared.backend), keys, next, 0, NotAfter(0), give_up, None).await;
    shared.local_waiters.not_passed(queue, offer);
    match (left?, unanswered) {
        (ReleaseAnswer::Free { .. }, _) => Ok(Released::Free),
        // It had been passed, and came back.
        (ReleaseAnswer::Nothing | ReleaseAnswer::Holds(_), _) if undone => Ok(Released::Free),
        (ReleaseAnswer::Nothing | ReleaseAnswer::Holds(_), Some(unanswered)) => Err(unanswered),
        (ReleaseAnswer::Nothing | ReleaseAnswer::Holds(_), None) => Ok(Released::AlreadyLost),
    }
}
