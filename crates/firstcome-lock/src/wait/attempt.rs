//! One request for a lock, from sending to answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use firstcome_store::Effect;
use tokio::time::Instant;

use crate::backend::ask::Ask;
use crate::backend::requests::AcquireAnswer;
use crate::error::Error;
use crate::inject::Mistake;
use crate::lease::held_lock::{Grant, LeaseOptions};
use crate::lease::{Lease, TryLock};
use crate::owner::EntryGuard;
use crate::shared::Shared;
use crate::wait::undo::undo;
use firstcome_store::client::RunToEnd;
use firstcome_store::client::later;

/// Asks once. A caller that walks away after it began leaves nothing behind.
pub(crate) fn attempt(shared: &Arc<Shared>, ask: &Ask) -> RunToEnd<Result<TryLock, Error>> {
    attempt_as(shared, ask, false)
}

/// Asks once, as a caller that subscribes to the release if another owner has it.
pub(crate) fn attempt_and_wait(
    shared: &Arc<Shared>,
    ask: &Ask,
) -> RunToEnd<Result<TryLock, Error>> {
    attempt_as(shared, ask, true)
}

fn attempt_as(shared: &Arc<Shared>, ask: &Ask, waits: bool) -> RunToEnd<Result<TryLock, Error>> {
    let (shared_, ask) = (Arc::clone(shared), ask.clone());
    shared.background.run_to_end(move |wanted| carry_out(shared_, ask, waits, wanted))
}

async fn carry_out(
    shared: Arc<Shared>,
    ask: Ask,
    waits: bool,
    wanted: Arc<AtomicBool>,
) -> Result<TryLock, Error> {
    shared.open()?;
    shared.backend.ready().await?;
    let mut entry = match &ask.owner {
        Some(owner) => {
            let within = shared.backend.answer_within();
            Some(owner.lock_entry(&shared.client, &ask.keys, within).await?)
        }
        None => None,
    };
    if !wanted.load(Ordering::Acquire) {
        // The caller dropped this before anything was sent, so nobody sees the answer.
        return Err(Error::Closed);
    }
    shared.open()?;
    let (owner, known_holds) = match (&ask.owner, &entry) {
        (Some(owner), Some(entry)) => (owner.id().to_owned(), entry.holds()),
        _ => (ask.in_line.as_deref().map_or_else(|| shared.fresh_owner(), str::to_owned), 0),
    };
    // A renewed lease stays renewed, and as long as it was, however it is taken again.
    let mut options = ask.options;
    let valid = entry.as_ref().and_then(|entry| entry.valid_lock());
    if let Some(held) = valid.as_ref().filter(|held| held.renewed) {
        options = LeaseOptions { lease: held.lease(), renewed: true, ..options };
    }

    let sent = Instant::now();
    let asked = valid.as_ref().map(|held| held.asked_now());
    match shared.backend.acquire(&ask.keys, &owner, options.lease, waits).await {
        Ok(AcquireAnswer::Held { remaining }) => {
            Ok(TryLock::Held { name: ask.keys.name.clone(), remaining: remaining.into() })
        }
        Ok(AcquireAnswer::Late) => Err(Error::Late),
        Ok(AcquireAnswer::Yes { holds, fence }) => {
            let again = valid.zip(asked).filter(|_| holds > 1);
            let held = match again {
                Some((held, asked)) => {
                    held.confirmed(asked, options.lease).ok();
                    held
                }
                None => shared.new_held_lock(Grant {
                    keys: Arc::clone(&ask.keys),
                    owner,
                    fence,
                    options,
                    sent,
                    chain: 0,
                    endless_trust: shared.mistakes.makes(Mistake::TrustForEver),
                }),
            };
            if let Some(entry) = &mut entry {
                entry.set(&held, holds);
            }
            let lease = Lease::new(&shared, held, entry.as_ref().map(EntryGuard::share));
            drop(entry);
            if !wanted.load(Ordering::Acquire) && shared.mistakes.makes(Mistake::LeaveLostGrants) {
                lease.leak();
                return Err(Error::Closed);
            }
            // The request was under way when the client was closed; closing waits for this.
            shared.open()?;
            let lease = lease.on_replicas().await?;
            // Dropping the lease gives it back.
            if lease.is_valid() { Ok(TryLock::Acquired(lease)) } else { Err(Error::Late) }
        }
        Err((failure, not_after)) => {
            // Who stands in line asks again as the same owner, and undoes it all when it leaves.
            if failure.effect() == Effect::Unknown
                && ask.in_line.is_none()
                && !shared.mistakes.makes(Mistake::LeaveLostGrants)
            {
                let give_up = later(sent, options.lease + 2 * shared.backend.answer_within());
                let backend = Arc::clone(&shared.backend);
                shared.background.run(async move {
                    undo(backend, ask.keys, owner, known_holds, not_after, give_up, entry).await;
                });
            }
            Err(failure)
        }
    }
}
