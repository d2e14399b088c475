//! Waiting for a fair lock: in the line that its store keeps.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::backend::ask::Ask;
use crate::backend::requests::{NotAfter, Topic};
use crate::durations::LONGEST;
use crate::error::Error;
use crate::lease::{Lease, TryLock};
use crate::shared::Shared;
use crate::wait::attempt::attempt_and_wait;
use crate::wait::call::Call;
use crate::wait::remaining::Remaining;
use crate::wait::signal::Signal;
use crate::wait::subscriber::Subscriber;
use crate::wait::undo::undo;
use crate::wait::{LONGEST_SLEEP, Patience, Until};
use firstcome_store::Effect;
use firstcome_store::client::later;

/// For how long a waiter is waited for that does not ask again: so long one that died may keep the others from a free lock.
pub(crate) const WAITED_FOR: Duration = Duration::from_secs(15);

/// How often a waiter says that it is still there.
const LOOK: Duration = Duration::from_secs(5);

/// A place in the line. Dropping it leaves the line, and gives back what may still be granted.
struct Place<'a> {
    shared: &'a Arc<Shared>,
    /// It asks as the same owner all the time.
    ask: Ask,
    owner: Arc<str>,
    /// Until then a request whose answer is not known may still arrive; at any time while one is under way.
    uncertain: Option<Instant>,
    /// The lease gives itself back.
    granted: bool,
}

impl<'a> Place<'a> {
    fn new(shared: &'a Arc<Shared>, ask: &Ask) -> Self {
        let owner: Arc<str> = shared.fresh_owner().into();
        let ask = Ask { in_line: Some(Arc::clone(&owner)), ..ask.clone() };
        shared.places().insert(Arc::clone(&owner), Arc::clone(&ask.keys));
        Self { shared, ask, owner, uncertain: None, granted: false }
    }

    /// Asks once; may be asked again after any failure, as the same owner.
    async fn ask(&mut self) -> Result<TryLock, Error> {
        let before = self.uncertain.replace(later(Instant::now(), LONGEST));
        let tried = attempt_and_wait(self.shared, &self.ask).await;
        let lost = tried.as_ref().is_err_and(|failure| failure.effect() == Effect::Unknown);
        let within = self.shared.backend.answer_within();
        self.uncertain = if lost { Some(later(Instant::now(), within)) } else { before };
        self.granted = matches!(tried, Ok(TryLock::Acquired(_)));
        tried
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let stands = self.shared.places().remove(&self.owner).is_some();
        if self.granted || !stands {
            return;
        }
        let (backend, keys) = (Arc::clone(&self.shared.backend), Arc::clone(&self.ask.keys));
        let owner = self.owner.as_ref().to_owned();
        let uncertain = self.uncertain.is_some_and(|until| until > Instant::now());
        let not_after = backend.last_moment(&keys).filter(|_| uncertain).unwrap_or(NotAfter(0));
        let give_up = later(Instant::now(), self.ask.options.lease + 2 * backend.answer_within());
        self.shared.background.run(async move {
            undo(backend, keys, owner, 0, not_after, give_up, None).await;
        });
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
