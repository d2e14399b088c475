//! Giving a lock back, or passing it on.

use std::sync::Arc;

use tokio::time::Instant;

use crate::attempt::{pause, undo};
use crate::backend::{Left, NotAfter, Return, later};
use crate::hold::{Grant, Hold, Loss};
use crate::keys::{Kind, Sort};
use crate::owner::{Seat, SharedSeat};
use crate::protection::Protection;
use crate::rooms::Offer;
use crate::shared::Shared;
use crate::{Effect, Failure, Lease, Released};

/// How many times in a row a lock is passed on within one process, before everybody may try.
const LONGEST_CHAIN: u32 = 8;

/// Gives one lease back, and does not end before it is known that the owner holds nothing of it any more, or before
/// there is no use in asking.
///
/// A failure is given where it cannot be told whether this freed the lock or it had been lost before.
pub(crate) async fn give_back(
    shared: Arc<Shared>,
    hold: Arc<Hold>,
    seat: Option<SharedSeat>,
) -> Result<Released, Failure> {
    match seat {
        Some(seat) => give_back_one(&shared, &hold, Seat::of(seat).await).await,
        None => give_back_all(&shared, &hold).await,
    }
}

/// Gives back a hold that was taken once.
async fn give_back_all(shared: &Arc<Shared>, hold: &Hold) -> Result<Released, Failure> {
    if !hold.begin_to_leave() {
        // It went when the client was closed.
        return Ok(Released::AlreadyLost);
    }
    shared.watchdog.leave(hold);
    let loss = hold.loss();
    hold.given_back();
    let line = &hold.keys.line;
    let chain_ended =
        hold.chain >= LONGEST_CHAIN && !shared.protections.lack(Protection::ShortChain);
    if loss.is_none()
        && !chain_ended
        && hold.keys.kind.has_owners()
        && let Some(offer) = shared.rooms.offer(line)
    {
        return pass(shared, hold, offer).await;
    }
    let left = release(shared, hold, false).await;
    if hold.keys.kind.sort() == Sort::Permit {
        // The next one may be waiting for another number of them, so it looks for itself.
        shared.rooms.call(line);
    }
    Ok(match left? {
        // This owner takes the lock once in its life: what the store still has of it was there all the time, even if
        // nobody here could rely on it any more. A store that denied it before has been through something.
        Left::Free if loss != Some(Loss::Taken) => Released::Free,
        Left::Free | Left::Nothing | Left::Holds(_) => Released::AlreadyLost,
    })
}

/// Gives back one of the holds of an owner that may have several.
async fn give_back_one(
    shared: &Arc<Shared>,
    hold: &Arc<Hold>,
    mut seat: Seat,
) -> Result<Released, Failure> {
    let current = seat.standing().is_some_and(|standing| Arc::ptr_eq(&standing, hold));
    if !current {
        // The owner may have taken it anew since; that hold is not this one's to give back.
        if seat.holds() == 0 && hold.begin_to_leave() {
            shared.watchdog.leave(hold);
            shared.backend.undo(&hold.keys, &hold.owner, 0, NotAfter(0)).await.ok();
        }
        return Ok(Released::AlreadyLost);
    }
    let lease = hold.lease();
    let sent = hold.asked_now();
    let left = match release(shared, hold, true).await {
        Ok(left) => left,
        Err(failure) => {
            // Nobody knows how often it is held, or whether at all: it cannot be relied on.
            hold.lose(Loss::RanOut);
            seat.gave_back(0);
            shared.watchdog.leave(hold);
            return Err(failure);
        }
    };
    match left {
        Left::Holds(holds) => {
            hold.confirmed(sent, lease).ok();
            seat.gave_back(holds);
            return Ok(Released::StillHeld { holds });
        }
        Left::Free => hold.given_back(),
        Left::Nothing => hold.lose(Loss::Taken),
    }
    seat.gave_back(0);
    shared.watchdog.leave(hold);
    Ok(if left == Left::Free { Released::Free } else { Released::AlreadyLost })
}

/// Sends the same release until there is an answer, or until the lease has certainly ended.
async fn release(shared: &Shared, hold: &Hold, reentrant: bool) -> Result<Left, Failure> {
    let mut request = fastrand::u128(..);
    let lease = hold.lease();
    let mut tries = 0;
    // A token lock has no latch, nor has a row: set once a release of it may have been carried out without an answer.
    let mut doubt = None;
    loop {
        if shared.protections.lack(Protection::Latch) {
            request = fastrand::u128(..);
        }
        let over_at = later(hold.over_at(), shared.backend.answer_within());
        let asked = Return {
            keys: &hold.keys,
            owner: &hold.owner,
            reentrant,
            lease,
            remaining: hold.over_at().saturating_duration_since(Instant::now()),
            request,
            again: tries > 0,
        };
        match shared.backend.release(asked).await {
            Ok(left) => {
                if let (Left::Nothing, Some(doubt)) = (left, doubt) {
                    return Err(doubt);
                }
                // Also where nothing was held: the copy is made before it is known whose it is.
                if hold.keys.kind != Kind::Token {
                    shared.clerk.forget(hold.keys.latch(request));
                }
                return Ok(left);
            }
            // Something else has its place.
            Err(Failure::Store(firstcome_store::Failure::WrongKind { .. })) => {
                return Ok(Left::Nothing);
            }
            Err(failure) if !failure.passes_by_itself() || Instant::now() > over_at => {
                return Err(failure);
            }
            Err(failure) => {
                let recognised = hold.keys.kind != Kind::Token && shared.backend.has_latches();
                if !recognised && failure.effect() == Effect::Unknown {
                    doubt = Some(failure);
                }
                tokio::time::sleep(pause(tries)).await;
            }
        }
        tries += 1;
    }
}

/// Passes the lock to the oldest in line, in one step at the store.
async fn pass(shared: &Arc<Shared>, hold: &Hold, offer: Offer) -> Result<Released, Failure> {
    let next = shared.fresh_owner();
    let line = &hold.keys.line;
    let keep = offer.ask.keep;
    let keys = Arc::clone(&offer.ask.keys);
    let more = offer.more;
    let mut tries = 0;
    // Set once it may have been passed without anybody here knowing.
    let mut doubt = None;
    loop {
        let sent = Instant::now();
        match shared.backend.pass(&hold.owner, &keys, &next, keep.lease, more).await {
            Ok(Some(fence)) => {
                let grant = Grant {
                    keys,
                    owner: next,
                    fence,
                    keep,
                    sent,
                    chain: hold.chain + 1,
                    endless_trust: shared.protections.lack(Protection::Trust),
                };
                let lease = Lease::new(shared, shared.new_hold(grant), None);
                // One who came after that is not known to the store as one who waits, and asks.
                let told = more || !shared.backend.tells_only_who_waits();
                let held_until = told.then(|| later(Instant::now(), keep.lease));
                shared.rooms.passed(line, offer.id(), held_until);
                // If the one in line has left, the lease comes back, is dropped, and so given back.
                drop(offer.to.send(lease));
                return Ok(Released::Free);
            }
            Ok(None) => {
                shared.rooms.not_passed(line, offer);
                // The next one's lease may have ended before this was sent again.
                return doubt.map_or(Ok(Released::AlreadyLost), Err);
            }
            Err(failure) => {
                let over = Instant::now() > later(hold.over_at(), shared.backend.answer_within());
                let give_up = over || !failure.passes_by_itself() || tries > 2;
                if failure.effect() == Effect::Unknown {
                    doubt = Some(failure);
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
    let left = release(shared, hold, false).await;
    let give_up = later(Instant::now(), keep.lease + shared.backend.answer_within());
    let undone = undo(Arc::clone(shared), keys, next, 0, NotAfter(0), give_up, None).await;
    shared.rooms.not_passed(line, offer);
    match (left?, doubt) {
        (Left::Free, _) => Ok(Released::Free),
        // It had been passed, and came back.
        (Left::Nothing | Left::Holds(_), _) if undone => Ok(Released::Free),
        (Left::Nothing | Left::Holds(_), Some(doubt)) => Err(doubt),
        (Left::Nothing | Left::Holds(_), None) => Ok(Released::AlreadyLost),
    }
}
