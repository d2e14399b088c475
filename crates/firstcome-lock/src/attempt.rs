//! One request for a lock, from sending to answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use firstcome_store::Failure as Store;
use tokio::time::Instant;

use crate::backend::{Answer, NotAfter, Undone, later};
use crate::clerk::Handed;
use crate::hold::{Grant, Keep};
use crate::keys::Keys;
use crate::owner::Seat;
use crate::protection::Protection;
use crate::shared::Shared;
use crate::{Failure, Lease, Owner, Tried};

/// What is wanted.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) keys: Arc<Keys>,
    pub(crate) keep: Keep,
    pub(crate) owner: Option<Owner>,
}

/// Asks once. A caller that walks away after it began leaves nothing behind.
pub(crate) fn attempt(shared: &Arc<Shared>, ask: &Ask) -> Handed<Result<Tried, Failure>> {
    attempt_as(shared, ask, false)
}

/// Asks once as one who will listen for the release if somebody else has it.
pub(crate) fn attempt_and_wait(shared: &Arc<Shared>, ask: &Ask) -> Handed<Result<Tried, Failure>> {
    attempt_as(shared, ask, true)
}

fn attempt_as(shared: &Arc<Shared>, ask: &Ask, waits: bool) -> Handed<Result<Tried, Failure>> {
    let (shared_, ask) = (Arc::clone(shared), ask.clone());
    shared.clerk.own(move |wanted| carry_out(shared_, ask, waits, wanted))
}

async fn carry_out(
    shared: Arc<Shared>,
    ask: Ask,
    waits: bool,
    wanted: Arc<AtomicBool>,
) -> Result<Tried, Failure> {
    shared.open()?;
    shared.backend.ready().await?;
    let mut seat = match &ask.owner {
        Some(owner) => Some(owner.sit_down(&shared, &ask.keys).await?),
        None => None,
    };
    if !wanted.load(Ordering::Acquire) {
        // Its caller left before anything was sent, and nobody sees this.
        return Err(Failure::Closed);
    }
    shared.open()?;
    let (owner, known) = match (&ask.owner, &seat) {
        (Some(owner), Some(seat)) => (owner.id().to_owned(), seat.holds()),
        _ => (shared.fresh_owner(), 0),
    };
    // A renewed hold stays renewed, and as long as it was, however it is taken again.
    let mut keep = ask.keep;
    let standing = seat.as_ref().and_then(|seat| seat.standing());
    if let Some(hold) = standing.as_ref().filter(|hold| hold.renewed) {
        keep = Keep { lease: hold.lease(), renewed: true };
    }

    let sent = Instant::now();
    let asked = standing.as_ref().map(|hold| hold.asked_now());
    match shared.backend.acquire(&ask.keys, &owner, keep.lease, waits).await {
        Ok(Answer::Held { remaining }) => Ok(Tried::Held { remaining }),
        Ok(Answer::Late) => Err(Failure::Late),
        Ok(Answer::Yes { holds, fence }) => {
            let again = standing.zip(asked).filter(|_| holds > 1);
            let hold = match again {
                Some((hold, asked)) => {
                    hold.confirmed(asked, keep.lease).ok();
                    hold
                }
                None => shared.new_hold(Grant {
                    keys: Arc::clone(&ask.keys),
                    owner,
                    fence,
                    keep,
                    sent,
                    chain: 0,
                    endless_trust: shared.protections.lack(Protection::Trust),
                }),
            };
            if let Some(seat) = &mut seat {
                seat.took(&hold, holds);
            }
            let lease = Lease::new(&shared, hold, seat.as_ref().map(Seat::share));
            drop(seat);
            if !wanted.load(Ordering::Acquire) && shared.protections.lack(Protection::Undo) {
                lease.leak();
                return Err(Failure::Closed);
            }
            // It was on its way when the client was closed, which waits for this.
            shared.open()?;
            // Dropping the lease gives it back.
            if lease.is_valid() { Ok(Tried::Got(lease)) } else { Err(Failure::Late) }
        }
        Err((failure, not_after)) => {
            if failure.effect() == firstcome_store::Effect::Unknown
                && !shared.protections.lack(Protection::Undo)
            {
                let give_up = later(sent, keep.lease + 2 * shared.backend.answer_within());
                let undo =
                    undo(Arc::clone(&shared), ask.keys, owner, known, not_after, give_up, seat);
                shared.clerk.run(async move {
                    undo.await;
                });
            }
            Err(failure)
        }
    }
}

/// Takes back what an acquire without an answer may have taken, until nothing of it can arrive any more; tells whether
/// there was something.
pub(crate) async fn undo(
    shared: Arc<Shared>,
    keys: Arc<Keys>,
    owner: String,
    keep: u64,
    not_after: NotAfter,
    give_up: Instant,
    // Nobody else may use the owner meanwhile: the holds to keep would be others.
    seat: Option<Seat>,
) -> bool {
    let mut tries = 0;
    let mut taken_back = false;
    while Instant::now() < give_up {
        let wait = match shared.backend.undo(&keys, &owner, keep, not_after).await {
            Ok(Undone::TakenBack) => {
                taken_back = true;
                break;
            }
            Ok(Undone::Nothing) => break,
            Ok(Undone::MayArrive(time)) => time,
            // Nothing that is asked again will be answered otherwise.
            Err(Failure::Store(Store::Closed | Store::Denied { .. } | Store::WrongKind { .. })) => {
                break;
            }
            Err(_) => pause(tries),
        };
        // By a store's clock that was set back it may arrive for a long time: nobody waits for that.
        tokio::time::sleep_until(later(Instant::now(), wait).min(give_up)).await;
        tries += 1;
    }
    drop(seat);
    taken_back
}

/// How long to pause after so many failures: growing to a second, never the same for two clients.
pub(crate) fn pause(tries: u32) -> Duration {
    let longest = 20_u64 << tries.min(6);
    Duration::from_millis(fastrand::u64(longest / 2..=longest.min(1000)))
}
