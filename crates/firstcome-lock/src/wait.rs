//! Waiting for a lock: in line where its release is announced, by asking again where it is not.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::attempt::{Ask, attempt, attempt_and_wait};
use crate::backend::{Ear, Heard, Topic, later};
use crate::backoff::Pauses;
use crate::protection::Protection;
use crate::rooms::{Place, SharedEar, Ticket};
use crate::shared::Shared;
use crate::{Backoff, Failure, Lease, Tried};

/// The longest time between two looks, for a holder without an end.
const LONGEST_SLEEP: Duration = Duration::from_secs(30);

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

    async fn over(self) {
        match self {
            Self::Got => std::future::pending().await,
            Self::At(end) => tokio::time::sleep_until(end).await,
        }
    }
}

/// Rides out a store that does not answer, up to a limit.
struct Patience {
    limit: Duration,
    /// Since when there is no answer, and the last reason.
    since: Option<(Instant, Failure)>,
    pauses: Pauses,
}

impl Patience {
    fn new(shared: &Shared) -> Self {
        Self { limit: shared.ride_out, since: None, pauses: Backoff::default().pauses() }
    }

    fn answered(&mut self) {
        if self.since.take().is_some() {
            self.pauses = Backoff::default().pauses();
        }
    }

    /// Gives how long to pause after a failure, or the failure where it is of no use to wait.
    fn failed(&mut self, failure: Failure) -> Result<Duration, Failure> {
        let since = self.since.as_ref().map_or_else(Instant::now, |(since, _)| *since);
        if !failure.passes_by_itself() || since.elapsed() >= self.limit {
            return Err(failure);
        }
        self.since = Some((since, failure));
        Ok(self.pauses.next().unwrap_or(LONGEST_SLEEP))
    }

    /// Gives what is to be said when the time is over: that somebody has it, if the store still says so.
    fn over(self, remaining: Option<Duration>) -> Result<Tried, Failure> {
        match self.since {
            None => Ok(Tried::Held { remaining }),
            Some((_, failure)) => Err(failure),
        }
    }
}

/// Waits in this process's line for the lock.
pub(crate) async fn in_line(
    shared: &Arc<Shared>,
    ask: &Ask,
    until: Until,
) -> Result<Tried, Failure> {
    let mut patience = Patience::new(shared);
    let mut remaining = None;
    // Whoever finds a line joins it: asking past it would cost a request and jump the queue.
    if !shared.rooms.anybody(&ask.keys.line) {
        match attempt(shared, ask).await {
            Ok(Tried::Got(lease)) => return Ok(Tried::Got(lease)),
            Ok(Tried::Held { remaining: left }) => remaining = left,
            Err(failure) => {
                patience.failed(failure)?;
            }
        }
    }
    let mut ticket = shared.rooms.join(ask);
    let closed = shared.closed();
    let waited = async {
        while !ticket.place.is_head() {
            let call = Arc::clone(&ticket.call);
            tokio::select! {
                biased;
                Ok(lease) = &mut ticket.offer => return Ok(lease),
                () = call.notified() => {}
            }
        }
        as_head(shared, ask, &mut ticket, &mut remaining, &mut patience).await
    };
    tokio::select! {
        biased;
        waited = waited => return waited.map(Tried::Got),
        () = closed => return Err(Failure::Closed),
        () = until.over() => {}
    }
    patience.over(remaining)
}

/// Waits as the oldest in line, the one who speaks to the store.
async fn as_head(
    shared: &Arc<Shared>,
    ask: &Ask,
    ticket: &mut Ticket,
    remaining: &mut Option<Duration>,
    patience: &mut Patience,
) -> Result<Lease, Failure> {
    let call = Arc::clone(&ticket.call);
    let ear = tokio::select! {
        biased;
        Ok(lease) = &mut ticket.offer => return Ok(lease),
        ear = ear(shared, ask, &ticket.place) => ear,
    };
    let mut ear = match ear {
        // The one before may have been passed the lock since, and so may this one: whoever is next may have the
        // subscription already, and keeps it until the lease that waits here is given back.
        Ok(ear) => tokio::select! {
            biased;
            Ok(lease) = &mut ticket.offer => return Ok(lease),
            ear = ear.lock_owned() => Some(ear),
        },
        // Without a subscription it goes on by asking.
        Err(failure) => {
            patience.failed(failure)?;
            None
        }
    };
    let mut quiet_until = ticket.place.held_until();
    if shared.protections.lack(Protection::TryAfterSubscribe) && quiet_until.is_none() {
        quiet_until = Some(later(Instant::now(), LONGEST_SLEEP));
    }
    let mut blind = Backoff::default().pauses();
    loop {
        let look_at = match quiet_until.take() {
            Some(then) => then,
            None => {
                let listens = ear.as_ref().is_some_and(|ear| ear.is_live());
                let asking = async {
                    if listens {
                        return attempt_and_wait(shared, ask).await;
                    }
                    // Where that is the usual way to wait, looking is cheaper for the store than trying.
                    if shared.backend.polls()
                        && ask.owner.is_none()
                        && let Some(remaining) = shared.backend.taken_for(&ask.keys).await?
                    {
                        return Ok(Tried::Held { remaining });
                    }
                    attempt(shared, ask).await
                };
                let tried = tokio::select! {
                    biased;
                    Ok(lease) = &mut ticket.offer => return Ok(lease),
                    tried = asking => tried,
                };
                let pause = match tried {
                    Ok(Tried::Got(lease)) => return Ok(lease),
                    Ok(Tried::Held { remaining: left }) => {
                        patience.answered();
                        *remaining = left;
                        left.unwrap_or(LONGEST_SLEEP)
                    }
                    Err(failure) => patience.failed(failure)?,
                };
                let pause = match shared.protections.lack(Protection::LookAtTheEnd) {
                    // A holder whose last millisecond has begun is gone in the next one.
                    false => pause.max(Duration::from_millis(1)),
                    true => LONGEST_SLEEP,
                };
                later(Instant::now(), pause)
            }
        };
        let deaf = shared.protections.lack(Protection::LookWhenCut);
        let look_at = match &ear {
            Some(ear) if ear.is_live() || deaf => look_at,
            _ => look_at.min(later(Instant::now(), blind.next().unwrap_or(LONGEST_SLEEP))),
        };
        tokio::select! {
            biased;
            Ok(lease) = &mut ticket.offer => return Ok(lease),
            heard = hear(&mut ear, deaf) => if heard == Heard::Closed { ear = None },
            () = call.notified() => {}
            () = tokio::time::sleep_until(look_at) => {}
        }
        if ear.is_none() {
            // The subscription could not be had, or is gone: try for a new one, and go on asking meanwhile.
            let fresh = tokio::select! {
                biased;
                Ok(lease) = &mut ticket.offer => return Ok(lease),
                fresh = self::ear(shared, ask, &ticket.place) => fresh,
            };
            if let Ok(fresh) = fresh {
                ear = fresh.try_lock_owned().ok();
            }
        }
    }
}

/// Gives the line's subscription, or makes one.
async fn ear(shared: &Shared, ask: &Ask, place: &Place) -> Result<SharedEar, Failure> {
    if let Some(ear) = place.ear() {
        return Ok(ear);
    }
    let ear = shared.backend.listen(Topic::Lock(&ask.keys)).await?;
    let ear = Arc::new(tokio::sync::Mutex::new(ear));
    place.share_ear(&ear);
    Ok(ear)
}

/// Waits for a reason to look; one who is `deaf`, in a test, does not care for what it misses.
async fn hear(ear: &mut Option<tokio::sync::OwnedMutexGuard<Ear>>, deaf: bool) -> Heard {
    let Some(ear) = ear else { return std::future::pending().await };
    loop {
        let heard = ear.next().await;
        if heard != Heard::Missed || !deaf {
            return heard;
        }
    }
}

/// Waits by asking again after pauses.
pub(crate) async fn polling(
    shared: &Arc<Shared>,
    ask: &Ask,
    until: Until,
    backoff: &Backoff,
) -> Result<Tried, Failure> {
    let mut patience = Patience::new(shared);
    let mut remaining = None;
    match attempt(shared, ask).await {
        Ok(Tried::Got(lease)) => return Ok(Tried::Got(lease)),
        Ok(Tried::Held { remaining: left }) => remaining = left,
        Err(failure) => {
            patience.failed(failure)?;
        }
    }
    let closed = shared.closed();
    let asking = ask_again(shared, ask, until, backoff, &mut remaining, &mut patience);
    tokio::select! {
        biased;
        got = asking => if let Some(lease) = got? {
            return Ok(Tried::Got(lease));
        },
        () = closed => return Err(Failure::Closed),
        () = until.over() => {}
    }
    patience.over(remaining)
}

/// Asks again and again until the lock is had, or until there are no pauses left.
async fn ask_again(
    shared: &Arc<Shared>,
    ask: &Ask,
    until: Until,
    backoff: &Backoff,
    remaining: &mut Option<Duration>,
    patience: &mut Patience,
) -> Result<Option<Lease>, Failure> {
    let mut pauses = backoff.pauses();
    loop {
        let Some(pause) = pauses.next().filter(|_| !until.is_over()) else { return Ok(None) };
        // Nobody is there after the lease ends, but it may be given back earlier.
        let least = Duration::from_millis(1);
        tokio::time::sleep(remaining.map_or(pause, |left| pause.min(left.max(least)))).await;
        // Looking is cheaper for the store than trying.
        match shared.backend.taken_for(&ask.keys).await {
            Ok(taken) => {
                patience.answered();
                *remaining = taken.flatten();
                if taken.is_some() {
                    continue;
                }
            }
            Err(failure) => {
                patience.failed(failure)?;
                continue;
            }
        }
        match attempt(shared, ask).await {
            Ok(Tried::Got(lease)) => return Ok(Some(lease)),
            Ok(Tried::Held { remaining: left }) => {
                patience.answered();
                *remaining = left;
            }
            Err(failure) => {
                patience.failed(failure)?;
            }
        }
    }
}
