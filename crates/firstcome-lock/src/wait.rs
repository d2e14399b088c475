//! Waiting for a lock: in a wait queue where its release is announced, by asking again where it is not.

pub(crate) mod attempt;
pub(crate) mod backoff;
pub(crate) mod call;
#[cfg(feature = "redis")]
pub(crate) mod in_line;
pub(crate) mod local_waiters;
pub(crate) mod remaining;
pub(crate) mod signal;
#[cfg(feature = "redis")]
pub(crate) mod standing;
pub(crate) mod subscriber;
pub(crate) mod undo;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use tokio::time::Instant;

use crate::backend::ask::Ask;
use crate::backend::requests::Topic;
use crate::error::Error;
use crate::inject::Mistake;
use crate::lease::{Lease, TryLock};
use crate::shared::Shared;
use crate::wait::attempt::{attempt, attempt_and_wait};
use crate::wait::backoff::{Backoff, Pauses};
use crate::wait::call::Call;
use crate::wait::local_waiters::{Position, SharedSubscriber, Waiting};
use crate::wait::remaining::Remaining;
use crate::wait::signal::Signal;
use crate::wait::subscriber::Subscriber;
use firstcome_store::client::later;

/// The longest time between two looks, for a holder without an end.
pub(crate) const LONGEST_SLEEP: Duration = Duration::from_secs(30);

/// How much later than it could one asks that lets others go first: somebody in another process who was woken by the same
/// release may take as long to ask. On a busy machine a millisecond was too short; see "Fairness" in docs/locks.md.
const TURN: Duration = Duration::from_millis(3);

/// The most messages that are taken as read at a time.
const MOST_HEARD: u32 = 64;

/// How long to wait.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Until {
    /// For as long as it takes.
    Got,
    /// Until then.
    At(Instant),
}

impl Until {
    pub(crate) fn at(wait: Duration) -> Self {
        Self::At(later(Instant::now(), wait))
    }

    fn is_over(self) -> bool {
        match self {
            Self::Got => false,
            Self::At(end) => Instant::now() >= end,
        }
    }

    pub(crate) async fn over(self) {
        match self {
            Self::Got => std::future::pending().await,
            Self::At(end) => tokio::time::sleep_until(end).await,
        }
    }
}

/// Rides out a store that does not answer, up to a limit.
pub(crate) struct Patience {
    limit: Duration,
    /// Since when there is no answer, and the last reason.
    since: Option<(Instant, Error)>,
    pauses: Pauses,
    /// The first request is under way.
    asking_first: bool,
}

impl Patience {
    pub(crate) fn new(shared: &Shared) -> Self {
        let pauses = Backoff::default().pauses();
        Self { limit: shared.ride_out, since: None, pauses, asking_first: false }
    }

    pub(crate) fn answered(&mut self) {
        if self.since.take().is_some() {
            self.pauses = Backoff::default().pauses();
        }
    }

    /// Returns how long to pause after a failure, or the failure where it is of no use to wait.
    pub(crate) fn failed(&mut self, failure: Error) -> Result<Duration, Error> {
        let since = self.since.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        if !failure.passes_by_itself() || since.elapsed() >= self.limit {
            return Err(failure);
        }
        self.since = Some((since, failure));
        Ok(self.pauses.next().unwrap_or(LONGEST_SLEEP))
    }

    /// Returns why there is no answer, where there is none.
    pub(crate) fn trouble(self) -> Option<Error> {
        self.since.map(|(_, failure)| failure)
    }

    /// Asks for the first time; gives for how long another owner has it.
    async fn first(
        &mut self,
        shared: &Arc<Shared>,
        ask: &Ask,
        remaining: &mut Remaining,
    ) -> Result<Option<Lease>, Error> {
        self.asking_first = true;
        let tried = attempt(shared, ask).await;
        self.asking_first = false;
        match tried {
            Ok(TryLock::Acquired(lease)) => return Ok(Some(lease)),
            Ok(TryLock::Held { remaining: left, .. }) => *remaining = left,
            Err(failure) => {
                self.failed(failure)?;
            }
        }
        Ok(None)
    }

    /// Returns the answer when the time is over: another owner has it, if the store still says so.
    fn over(self, ask: &Ask, remaining: Remaining) -> Result<TryLock, Error> {
        match self.since {
            _ if self.asking_first => Err(Error::NoAnswerYet { name: ask.keys.name.clone() }),
            None => Ok(TryLock::Held { name: ask.keys.name.clone(), remaining }),
            Some((_, failure)) => Err(failure),
        }
    }
}

/// Waits for the lock in this process's wait queue.
pub(crate) async fn in_queue(
    shared: &Arc<Shared>,
    ask: &Ask,
    until: Until,
    call: &mut Call<'_>,
) -> Result<TryLock, Error> {
    let mut patience = Patience::new(shared);
    let mut remaining = Remaining::Unknown;
    let closed = shared.closed();
    let waited = async {
        // A queue that is there is joined: asking past it would cost a request and jump the queue. Not by an owner that
        // holds the lock: those in the queue wait for it.
        let holds = ask.owner.as_ref().is_some_and(|owner| owner.may_hold(&ask.keys));
        if (holds || !shared.local_waiters.has_waiters(&ask.keys.queue))
            && let Some(lease) = patience.first(shared, ask, &mut remaining).await?
        {
            return Ok(lease);
        }
        call.waits_for(&ask.keys.name);
        let mut waiting = shared.local_waiters.join(ask);
        while !waiting.position.is_head() {
            let call = Arc::clone(&waiting.call);
            tokio::select! {
                biased;
                Ok(lease) = &mut waiting.offer => return Ok(lease),
                () = call.notified() => {}
            }
        }
        as_head(shared, ask, &mut waiting, &mut remaining, &mut patience).await
    };
    tokio::select! {
        biased;
        waited = waited => return waited.map(TryLock::Acquired),
        () = closed => return Err(shared.ended()),
        () = until.over() => {}
    }
    patience.over(ask, remaining)
}

/// Waits as the head of the queue, which asks the store.
async fn as_head(
    shared: &Arc<Shared>,
    ask: &Ask,
    waiting: &mut Waiting,
    remaining: &mut Remaining,
    patience: &mut Patience,
) -> Result<Lease, Error> {
    let call = Arc::clone(&waiting.call);
    let subscriber = tokio::select! {
        biased;
        Ok(lease) = &mut waiting.offer => return Ok(lease),
        subscriber = subscribe(shared, ask, &waiting.position) => subscriber,
    };
    let mut subscriber = match subscriber {
        // The head before may have been passed the lock since, and so may this one: the next waiter may have the
        // subscription already, and has it until the lease that waits here is given back.
        Ok(subscriber) => tokio::select! {
            biased;
            Ok(lease) = &mut waiting.offer => return Ok(lease),
            subscriber = subscriber.lock_owned() => Some(subscriber),
        },
        // Without a subscription it goes on by asking.
        Err(failure) => {
            patience.failed(failure)?;
            None
        }
    };
    let mut quiet_until = waiting.position.held_until();
    if shared.mistakes.makes(Mistake::SubscribeWithoutRetry) && quiet_until.is_none() {
        quiet_until = Some(later(Instant::now(), LONGEST_SLEEP));
    }
    let mut blind = Backoff::default().pauses();
    loop {
        let look_at = match quiet_until.take() {
            Some(then) => then,
            None => {
                tokio::select! {
                    biased;
                    Ok(lease) = &mut waiting.offer => return Ok(lease),
                    () = let_others(&waiting.position, &mut subscriber) => {}
                }
                let listens = subscriber.as_ref().is_some_and(|subscriber| subscriber.is_live());
                let asking = async {
                    if listens {
                        return attempt_and_wait(shared, ask).await;
                    }
                    // Where that is the usual way to wait, looking is cheaper for the store than trying.
                    if shared.backend.polls()
                        && ask.owner.is_none()
                        && let Some(remaining) = shared.backend.taken_for(&ask.keys).await?
                    {
                        let name = ask.keys.name.clone();
                        return Ok(TryLock::Held { name, remaining: remaining.into() });
                    }
                    attempt(shared, ask).await
                };
                let tried = tokio::select! {
                    biased;
                    Ok(lease) = &mut waiting.offer => return Ok(lease),
                    tried = asking => tried,
                };
                let pause = match tried {
                    Ok(TryLock::Acquired(lease)) => {
                        // Nobody else was in the way, or they had their turns.
                        shared.local_waiters.let_others(&ask.keys.queue, 0);
                        return Ok(lease);
                    }
                    Ok(TryLock::Held { remaining: left, .. }) => {
                        patience.answered();
                        *remaining = left;
                        left.at_most().unwrap_or(LONGEST_SLEEP)
                    }
                    Err(failure) => patience.failed(failure)?,
                };
                let pause = match shared.mistakes.makes(Mistake::IgnoreLeaseEnd) {
                    // A holder whose last millisecond has begun is gone in the next one.
                    false => pause.max(Duration::from_millis(1)),
                    true => LONGEST_SLEEP,
                };
                later(Instant::now(), pause)
            }
        };
        let ignore_cut = shared.mistakes.makes(Mistake::IgnoreCut);
        let look_at = match &subscriber {
            Some(subscriber) if subscriber.is_live() || ignore_cut => look_at,
            _ => look_at.min(later(Instant::now(), blind.next().unwrap_or(LONGEST_SLEEP))),
        };
        tokio::select! {
            biased;
            Ok(lease) = &mut waiting.offer => return Ok(lease),
            signal = next_signal(&mut subscriber, ignore_cut) => if signal == Signal::Closed {
                subscriber = None;
            },
            () = call.notified() => {}
            () = tokio::time::sleep_until(look_at) => {}
        }
        if subscriber.is_none() {
            // The subscription could not be had, or is gone: try for a new one, and go on asking meanwhile.
            let fresh = tokio::select! {
                biased;
                Ok(lease) = &mut waiting.offer => return Ok(lease),
                fresh = subscribe(shared, ask, &waiting.position) => fresh,
            };
            if let Ok(fresh) = fresh {
                subscriber = fresh.try_lock_owned().ok();
            }
        }
    }
}

/// Lets others have the turns that they are to have, for as long as they take them.
///
/// Each message is about a turn of another client. If none comes for a while, no other client wants it, or one has it for longer.
async fn let_others(
    position: &Position,
    subscriber: &mut Option<tokio::sync::OwnedMutexGuard<Subscriber>>,
) {
    while position.waits_for_others(TURN).await {
        let heard = heard_by_now(subscriber);
        position.others_had(heard.max(1));
        if heard == 0 {
            return;
        }
    }
}

/// Takes the messages that have come, and gives how many there were.
fn heard_by_now(subscriber: &mut Option<tokio::sync::OwnedMutexGuard<Subscriber>>) -> u32 {
    let mut heard = 0;
    while heard < MOST_HEARD {
        match subscriber.as_mut().and_then(|subscriber| subscriber.next().now_or_never()) {
            Some(Signal::Closed) => *subscriber = None,
            Some(_) => heard += 1,
            None => break,
        }
    }
    heard
}

/// Returns the queue's subscription, or makes one.
async fn subscribe(
    shared: &Shared,
    ask: &Ask,
    position: &Position,
) -> Result<SharedSubscriber, Error> {
    if let Some(subscriber) = position.subscriber() {
        return Ok(subscriber);
    }
    let subscriber = shared.backend.subscribe(Topic::Lock(&ask.keys)).await?;
    let subscriber = Arc::new(tokio::sync::Mutex::new(subscriber));
    position.share_subscriber(&subscriber);
    Ok(subscriber)
}

/// Waits for a reason to look; with `ignore_cut`, a mistake of tests, what was missed is no reason.
async fn next_signal(
    subscriber: &mut Option<tokio::sync::OwnedMutexGuard<Subscriber>>,
    ignore_cut: bool,
) -> Signal {
    let Some(subscriber) = subscriber else { return std::future::pending().await };
    loop {
        let signal = subscriber.next().await;
        if signal != Signal::Missed || !ignore_cut {
            return signal;
        }
    }
}

/// Waits by asking again after pauses.
pub(crate) async fn polling(
    shared: &Arc<Shared>,
    ask: &Ask,
    until: Until,
    backoff: &Backoff,
    call: &mut Call<'_>,
) -> Result<TryLock, Error> {
    let mut patience = Patience::new(shared);
    let mut remaining = Remaining::Unknown;
    let closed = shared.closed();
    let asking = async {
        match patience.first(shared, ask, &mut remaining).await? {
            Some(lease) => Ok(Some(lease)),
            None => {
                call.waits_for(&ask.keys.name);
                ask_again(shared, ask, until, backoff, &mut remaining, &mut patience).await
            }
        }
    };
    tokio::select! {
        biased;
        got = asking => if let Some(lease) = got? {
            return Ok(TryLock::Acquired(lease));
        },
        () = closed => return Err(shared.ended()),
        () = until.over() => {}
    }
    patience.over(ask, remaining)
}

/// Asks again and again until the lock is had, or until there are no pauses left.
async fn ask_again(
    shared: &Arc<Shared>,
    ask: &Ask,
    until: Until,
    backoff: &Backoff,
    remaining: &mut Remaining,
    patience: &mut Patience,
) -> Result<Option<Lease>, Error> {
    let mut pauses = backoff.pauses();
    loop {
        let Some(pause) = pauses.next().filter(|_| !until.is_over()) else { return Ok(None) };
        // Nobody is there after the lease ends, but it may be given back earlier.
        let least = Duration::from_millis(1);
        let left = remaining.at_most();
        tokio::time::sleep(left.map_or(pause, |left| pause.min(left.max(least)))).await;
        // Looking is cheaper for the store than trying.
        match shared.backend.taken_for(&ask.keys).await {
            Ok(taken) => {
                patience.answered();
                if let Some(left) = taken {
                    *remaining = left.into();
                    continue;
                }
            }
            Err(failure) => {
                patience.failed(failure)?;
                continue;
            }
        }
        match attempt(shared, ask).await {
            Ok(TryLock::Acquired(lease)) => return Ok(Some(lease)),
            Ok(TryLock::Held { remaining: left, .. }) => {
                patience.answered();
                *remaining = left;
            }
            Err(failure) => {
                patience.failed(failure)?;
            }
        }
    }
}
