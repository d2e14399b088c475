//! Waiting for a fair lock: in the line that its store keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::backend::ask::Ask;
use crate::backend::requests::Topic;
use crate::error::Error;
use crate::lease::{Lease, TryLock};
use crate::shared::Shared;
use crate::wait::attempt::attempt_and_wait;
use crate::wait::call::Call;
use crate::wait::remaining::Remaining;
use crate::wait::signal::Signal;
use crate::wait::standing::Standing;
use crate::wait::subscriber::Subscriber;
use crate::wait::{LONGEST_SLEEP, Patience, Until};
use firstcome_store::Effect;

/// How often a waiter says that it is still there.
const LOOK: Duration = Duration::from_secs(5);

/// A place in the line. Dropping it leaves the line, and gives back what may still be granted.
struct Place<'a> {
    shared: &'a Arc<Shared>,
    /// It asks as the same owner all the time.
    ask: Ask,
    owner: Arc<str>,
    /// A request may still arrive: it is under way, or nobody knows what became of it.
    asking: Arc<AtomicBool>,
    /// The lease gives itself back.
    granted: bool,
}

impl<'a> Place<'a> {
    fn new(shared: &'a Arc<Shared>, ask: &Ask) -> Self {
        let owner: Arc<str> = shared.fresh_owner().into();
        let ask = Ask { in_line: Some(Arc::clone(&owner)), ..ask.clone() };
        let asking = Arc::new(AtomicBool::new(false));
        let (keys, lease) = (Arc::clone(&ask.keys), ask.options.lease);
        let standing = Standing { keys, lease, asking: Arc::clone(&asking) };
        shared.places().insert(Arc::clone(&owner), standing);
        Self { shared, ask, owner, asking, granted: false }
    }

    /// Asks once. After a failure that leaves open what is granted, or that gave something back, it stands in line anew, as another
    /// owner: what the one before may still be granted is undone.
    async fn ask(&mut self) -> Result<TryLock, Error> {
        self.asking.store(true, Ordering::Release);
        let tried = attempt_and_wait(self.shared, &self.ask).await;
        match &tried {
            Ok(answer) => {
                self.asking.store(false, Ordering::Release);
                self.granted = matches!(answer, TryLock::Acquired(_));
            }
            Err(failure) if failure.effect() == Effect::None && !gave_back(failure) => {
                self.asking.store(false, Ordering::Release);
            }
            Err(_) => *self = Self::new(self.shared, &self.ask),
        }
        tried
    }
}

/// Says whether the lock was granted, and is being given back.
fn gave_back(failure: &Error) -> bool {
    matches!(failure, Error::Late | Error::TooFewReplicas { .. } | Error::Lost(_))
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let standing = self.shared.places().remove(&self.owner);
        if let Some(standing) = standing.filter(|_| !self.granted) {
            let Shared { backend, background, .. } = &**self.shared;
            standing.leave(backend, background, &self.owner);
        }
    }
}

/// Waits for the lock in the line of its store.
pub(crate) async fn in_line(
    shared: &Arc<Shared>,
    ask: &Ask,
    until: Until,
    call: &mut Call<'_>,
) -> Result<TryLock, Error> {
    let mut patience = Patience::new(shared);
    let mut remaining = Remaining::Unknown;
    let mut place = Place::new(shared, ask);
    let closed = shared.closed();
    let waited = wait(&mut place, call, &mut remaining, &mut patience);
    tokio::select! {
        biased;
        waited = waited => return waited.map(TryLock::Acquired),
        () = closed => return Err(shared.ended()),
        () = until.over() => {}
    }
    patience.over(ask, remaining)
}

async fn wait(
    place: &mut Place<'_>,
    call: &mut Call<'_>,
    remaining: &mut Remaining,
    patience: &mut Patience,
) -> Result<Lease, Error> {
    let mut subscriber: Option<Subscriber> = None;
    patience.asking_first = true;
    loop {
        let tried = place.ask().await;
        patience.asking_first = false;
        let pause = match tried {
            Ok(TryLock::Acquired(lease)) => return Ok(lease),
            Ok(TryLock::Held { remaining: left, .. }) => {
                patience.answered();
                *remaining = left;
                left.at_most().unwrap_or(LONGEST_SLEEP).clamp(Duration::from_millis(1), LOOK)
            }
            Err(failure) => patience.failed(failure)?,
        };
        let name = &place.ask.keys.name;
        call.waits_for(name);
        if subscriber.as_ref().is_none_or(|subscriber| !subscriber.is_live()) {
            let topic = Topic::Turn(&place.ask.keys, &place.owner);
            match place.shared.backend.subscribe(topic).await {
                // It may have been its turn before it could hear of it.
                Ok(fresh) => {
                    subscriber = Some(fresh);
                    continue;
                }
                Err(failure) => {
                    patience.failed(failure)?;
                }
            }
        }
        tokio::select! {
            biased;
            signal = heard(&mut subscriber) => if signal == Signal::Closed {
                subscriber = None;
            },
            () = tokio::time::sleep(pause) => {}
        }
    }
}

async fn heard(subscriber: &mut Option<Subscriber>) -> Signal {
    match subscriber {
        Some(subscriber) => subscriber.next().await,
        None => std::future::pending().await,
    }
}
