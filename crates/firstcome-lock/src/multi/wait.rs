//! Waiting until several locks can be had together.

use std::sync::Arc;
use std::time::Duration;

use super::attempt::attempt;
use crate::backend::ask::Ask;
use crate::backend::requests::Topic;
use crate::error::Error;
use crate::lease::{Lease, TryLock};
use crate::shared::Shared;
use crate::wait::backoff::Backoff;
use crate::wait::call::Call;
use crate::wait::remaining::Remaining;
use crate::wait::signal::Signal;
use crate::wait::subscriber::Subscriber;
use crate::wait::{LONGEST_SLEEP, Patience, Until};

/// Which lock another owner had, and for how long.
type HeldElsewhere = Option<(String, Remaining)>;

/// The lock that is waited for, and the subscription to its releases.
type Awaited<'a> = Option<(&'a Ask, Subscriber)>;

/// Waits until all of the locks can be had; holds none of them meanwhile.
pub(super) async fn wait(
    shared: &Arc<Shared>,
    asks: &[Ask],
    until: Until,
    call: &mut Call<'_>,
) -> Result<TryLock<Vec<Lease>>, Error> {
    let mut patience = Patience::new(shared);
    let mut held = None;
    let closed = shared.closed();
    tokio::select! {
        biased;
        waited = ask_until_had(shared, asks, &mut held, &mut patience, call) => {
            return waited.map(TryLock::Acquired);
        }
        () = closed => return Err(shared.ended()),
        () = until.over() => {}
    }
    match (patience.trouble(), held) {
        (Some(failure), _) => Err(failure),
        (None, Some((name, remaining))) => Ok(TryLock::Held { name, remaining }),
        (None, None) => {
            let names: Vec<_> = asks.iter().map(|ask| ask.keys.name.as_str()).collect();
            Err(Error::NoAnswerYet { name: names.join(", ") })
        }
    }
}

async fn ask_until_had(
    shared: &Arc<Shared>,
    asks: &[Ask],
    held: &mut HeldElsewhere,
    patience: &mut Patience,
    call: &mut Call<'_>,
) -> Result<Vec<Lease>, Error> {
    let mut taken = Vec::new();
    let mut awaited: Awaited<'_> = None;
    let mut blind = Backoff::default().pauses();
    loop {
        let pause = match look(shared, asks, &mut taken, awaited.as_ref()).await {
            Ok(TryLock::Acquired(leases)) => return Ok(leases),
            Ok(TryLock::Held { name, remaining }) => {
                patience.answered();
                call.waits_for(&name);
                *held = Some((name.clone(), remaining));
                if awaited.as_ref().is_some_and(|(ask, _)| ask.keys.name == name) {
                    let left = remaining.at_most().unwrap_or(LONGEST_SLEEP);
                    // A holder whose last millisecond has begun is gone in the next one.
                    left.max(Duration::from_millis(1))
                } else {
                    awaited = None;
                    match subscribe(shared, asks, &name).await {
                        Ok(subscribed) => {
                            awaited = subscribed;
                            // It may have been given back before the subscription was there.
                            continue;
                        }
                        Err(failure) => patience.failed(failure)?,
                    }
                }
            }
            Err(failure) => patience.failed(failure)?,
        };
        let listens = awaited.as_ref().is_some_and(|(_, subscriber)| subscriber.is_live());
        let pause = match listens {
            true => pause,
            false => pause.min(blind.next().unwrap_or(LONGEST_SLEEP)),
        };
        tokio::select! {
            biased;
            signal = next_signal(&mut awaited) => if signal == Signal::Closed {
                awaited = None;
            },
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// Tries to take all of them, unless the one that is awaited can be seen to be taken still.
async fn look(
    shared: &Arc<Shared>,
    asks: &[Ask],
    taken: &mut Vec<Lease>,
    awaited: Option<&(&Ask, Subscriber)>,
) -> Result<TryLock<Vec<Lease>>, Error> {
    // Where nobody says when a lock is free, looking is cheaper for the store than taking and giving back.
    if shared.backend.polls()
        && let Some((ask, _)) = awaited
        && let Some(remaining) = shared.backend.taken_for(&ask.keys).await?
    {
        let name = ask.keys.name.clone();
        return Ok(TryLock::Held { name, remaining: remaining.into() });
    }
    let awaited = awaited.map(|(ask, _)| ask.keys.name.as_str());
    attempt(shared, asks, taken, awaited).await
}

async fn subscribe<'a>(shared: &Shared, asks: &'a [Ask], name: &str) -> Result<Awaited<'a>, Error> {
    let Some(ask) = asks.iter().find(|ask| ask.keys.name == name) else { return Ok(None) };
    let subscriber = shared.backend.subscribe(Topic::Lock(&ask.keys)).await?;
    Ok(Some((ask, subscriber)))
}

async fn next_signal(awaited: &mut Awaited<'_>) -> Signal {
    match awaited {
        Some((_, subscriber)) => subscriber.next().await,
        None => std::future::pending().await,
    }
}
