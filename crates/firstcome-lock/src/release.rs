//! Giving a lock back, or passing it on.

use std::sync::Arc;

use tokio::time::Instant;

use crate::attempt::{pause, undo};
use crate::backend::{Left, NotAfter, Return, later};
use crate::hold::{Grant, Hold, Loss};
use crate::keys::Kind;
use crate::owner::{Seat, SharedSeat};
use crate::protection::Protection;
use crate::rooms::Offer;
use crate::shared::Shared;
use crate::{Lease, Released};

/// How many times in a row a lock is passed on within one process, before everybody may try.
const LONGEST_CHAIN: u32 = 8;

/// Gives one lease back, and does not end before it is known that the owner holds nothing of it any more.
pub(crate) async fn give_back(
    shared: Arc<Shared>,
    hold: Arc<Hold>,
    seat: Option<SharedSeat>,
) -> Released {
    match seat {
        Some(seat) => give_back_one(&shared, &hold, Seat::of(seat).await).await,
        None => give_back_all(&shared, &hold).await,
    }
}

/// Gives back a hold that was taken once.
async fn give_back_all(shared: &Arc<Shared>, hold: &Hold) -> Released {
    if !hold.begin_to_leave() {
        // It went when the client was closed.
        return Released::AlreadyLost;
    }
    shared.watchdog.leave(hold);
    // Looked at before the store is asked: a hold that was lost may have been somebody else's since.
    let lost = hold.loss().is_some();
    hold.given_back();
    let name = &hold.keys.name;
    let chain_ended =
        hold.chain >= LONGEST_CHAIN && !shared.protections.lack(Protection::ShortChain);
    if !lost
        && !chain_ended
        && hold.keys.kind != Kind::Token
        && let Some(offer) = shared.rooms.offer(name)
    {
        return pass(shared, hold, offer).await;
    }
    match release(shared, hold, false).await {
        Left::Free if !lost => Released::Free,
        Left::Free | Left::Nothing | Left::Holds(_) => Released::AlreadyLost,
    }
}

/// Gives back one of the holds of an owner that may have several.
async fn give_back_one(shared: &Arc<Shared>, hold: &Arc<Hold>, mut seat: Seat) -> Released {
    let current = seat.standing().is_some_and(|standing| Arc::ptr_eq(&standing, hold));
    if !current {
        // The owner may have taken it anew since; that hold is not this one's to give back.
        if seat.holds() == 0 && hold.begin_to_leave() {
            shared.watchdog.leave(hold);
            shared.backend.undo(&hold.keys, &hold.owner, 0, NotAfter(0)).await.ok();
        }
        return Released::AlreadyLost;
    }
    let sent = Instant::now();
    let left = release(shared, hold, true).await;
    match left {
        Left::Holds(holds) => {
            hold.confirmed(sent, hold.lease()).ok();
            seat.gave_back(holds);
            return Released::StillHeld { holds };
        }
        Left::Free => hold.given_back(),
        Left::Nothing => hold.lose(Loss::Taken),
    }
    seat.gave_back(0);
    shared.watchdog.leave(hold);
    if left == Left::Free { Released::Free } else { Released::AlreadyLost }
}

/// Sends the same release until there is an answer, or until the lease has certainly ended.
async fn release(shared: &Shared, hold: &Hold, reentrant: bool) -> Left {
    let mut request = fastrand::u128(..);
    let mut tries = 0;
    loop {
        if shared.protections.lack(Protection::Latch) {
            request = fastrand::u128(..);
        }
        let over_at = later(hold.over_at(), shared.backend.answer_within());
        let asked = Return {
            keys: &hold.keys,
            owner: &hold.owner,
            reentrant,
            lease: hold.lease(),
            remaining: hold.over_at().saturating_duration_since(Instant::now()),
            request,
            again: tries > 0,
        };
        match shared.backend.release(asked).await {
            Ok(left) => {
                if hold.keys.kind != Kind::Token {
                    shared.clerk.forget(hold.keys.latch(request));
                }
                return left;
            }
            Err(failure) if !failure.passes_by_itself() => return Left::Nothing,
            Err(_) if Instant::now() > over_at => return Left::Nothing,
            Err(_) => tokio::time::sleep(pause(tries)).await,
        }
        tries += 1;
    }
}

/// Passes the lock to the oldest in line, in one step at the store.
async fn pass(shared: &Arc<Shared>, hold: &Hold, offer: Offer) -> Released {
    let next = shared.fresh_owner();
    let name = &hold.keys.name;
    let keep = offer.ask.keep;
    let keys = Arc::clone(&offer.ask.keys);
    let mut tries = 0;
    loop {
        let sent = Instant::now();
        match shared.backend.pass(&hold.owner, &keys, &next, keep.lease).await {
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
                shared.rooms.passed(name, offer.id(), later(Instant::now(), keep.lease));
                // If the one in line has left, the lease comes back, is dropped, and so given back.
                drop(offer.to.send(lease));
                return Released::Free;
            }
            Ok(None) => {
                shared.rooms.not_passed(name, offer);
                return Released::AlreadyLost;
            }
            Err(failure) => {
                let over = Instant::now() > later(hold.over_at(), shared.backend.answer_within());
                if over || !failure.passes_by_itself() || tries > 2 {
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
    undo(Arc::clone(shared), keys, next, 0, NotAfter(0), give_up, None).await;
    shared.rooms.not_passed(name, offer);
    if left == Left::Free { Released::Free } else { Released::AlreadyLost }
}
