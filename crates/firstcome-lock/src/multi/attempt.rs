//! One try to take several locks.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use firstcome_store::Effect;
use futures_util::future::join_all;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::backend::ask::Ask;
use crate::backend::requests::{NotAfter, TogetherAnswer};
use crate::error::Error;
use crate::inject::Mistake;
use crate::lease::held_lock::Grant;
use crate::lease::{Lease, TryLock};
use crate::shared::Shared;
use crate::wait::attempt as single;
use crate::wait::undo::undo;
use firstcome_store::client::later;

/// Asks once for all of the locks; of the one that is `awaited`, as one who listens for its release.
///
/// `taken` is empty before and after: it has what a caller that walks away in the middle gives back.
pub(super) async fn attempt(
    shared: &Arc<Shared>,
    asks: &[Ask],
    taken: &mut Vec<Lease>,
    awaited: Option<&str>,
) -> Result<TryLock<Vec<Lease>>, Error> {
    if !shared.backend.takes_several_at_once() {
        return one_by_one(shared, asks, taken, awaited).await;
    }
    let (shared_, asks) = (Arc::clone(shared), asks.to_vec());
    shared.background.run_to_end(move |wanted| at_once(shared_, asks, wanted)).await
}

async fn one_by_one(
    shared: &Arc<Shared>,
    asks: &[Ask],
    taken: &mut Vec<Lease>,
    awaited: Option<&str>,
) -> Result<TryLock<Vec<Lease>>, Error> {
    for ask in &asks[taken.len()..] {
        let tried = match awaited == Some(&ask.keys.name) {
            true => single::attempt_and_wait(shared, ask).await,
            false => single::attempt(shared, ask).await,
        };
        match tried {
            Ok(TryLock::Acquired(lease)) => taken.push(lease),
            Ok(TryLock::Held { name, remaining }) => {
                if !shared.mistakes.makes(Mistake::KeepWhileWaiting) {
                    give_back(std::mem::take(taken)).await;
                }
                return Ok(TryLock::Held { name, remaining });
            }
            Err(failure) => {
                // Dropping them gives them back: nobody waits for a store that may be silent.
                taken.clear();
                return Err(failure);
            }
        }
    }
    let leases = std::mem::take(taken);
    // The first may have been lost while the last was asked for.
    if leases.iter().all(Lease::is_valid) {
        Ok(TryLock::Acquired(leases))
    } else {
        Err(Error::Late)
    }
}

/// Gives back what was taken; without an answer that goes on in the background.
async fn give_back(leases: Vec<Lease>) {
    drop(join_all(leases.into_iter().map(Lease::release)).await);
}

async fn at_once(
    shared: Arc<Shared>,
    asks: Vec<Ask>,
    wanted: Arc<AtomicBool>,
) -> Result<TryLock<Vec<Lease>>, Error> {
    shared.open()?;
    shared.backend.ready().await?;
    if !wanted.load(Ordering::Acquire) {
        // The caller dropped this before anything was sent, so nobody sees the answer.
        return Err(Error::Closed);
    }
    shared.open()?;
    let owner = shared.fresh_owner();
    let Some(options) = asks.first().map(|ask| ask.options) else {
        return Ok(TryLock::Acquired(Vec::new()));
    };
    let sent = Instant::now();
    let keys: Vec<_> = asks.iter().map(|ask| &*ask.keys).collect();
    match shared.backend.acquire_together(&keys, &owner, options.lease).await {
        Ok(TogetherAnswer::Held { at, remaining }) => {
            let name = keys.get(at).map_or_else(String::new, |keys| keys.name.clone());
            Ok(TryLock::Held { name, remaining: remaining.into() })
        }
        Ok(TogetherAnswer::Late) => Err(Error::Late),
        Ok(TogetherAnswer::Yes { fences }) => {
            let leases = asks.into_iter().zip(fences).map(|(ask, fence)| {
                let grant = Grant {
                    keys: ask.keys,
                    owner: owner.clone(),
                    fence,
                    options,
                    sent,
                    chain: 0,
                    endless_trust: shared.mistakes.makes(Mistake::TrustForEver),
                };
                Lease::new(&shared, shared.new_held_lock(grant), None)
            });
            let leases: Vec<_> = leases.collect();
            if !wanted.load(Ordering::Acquire) && shared.mistakes.makes(Mistake::LeaveLostGrants) {
                leases.into_iter().for_each(Lease::leak);
                return Err(Error::Closed);
            }
            // The request was under way when the client was closed; closing waits for this.
            shared.open()?;
            let on_replicas = join_all(leases.into_iter().map(Lease::on_replicas)).await;
            let leases = on_replicas.into_iter().collect::<Result<Vec<_>, Error>>()?;
            if leases.iter().all(Lease::is_valid) {
                Ok(TryLock::Acquired(leases))
            } else {
                Err(Error::Late)
            }
        }
        Err((failure, not_after)) => {
            if failure.effect() == Effect::Unknown
                && !shared.mistakes.makes(Mistake::LeaveLostGrants)
            {
                let give_up = later(sent, options.lease + 2 * shared.backend.answer_within());
                for ask in asks {
                    undo_later(&shared, ask, owner.clone(), not_after, give_up);
                }
            }
            Err(failure)
        }
    }
}

/// Takes back, in the background, what an acquire without an answer may have taken of one lock.
fn undo_later(shared: &Shared, ask: Ask, owner: String, not_after: NotAfter, give_up: Instant) {
    let backend: Arc<Backend> = Arc::clone(&shared.backend);
    shared.background.run(async move {
        undo(backend, ask.keys, owner, 0, not_after, give_up, None).await;
    });
}
