//! One timer per client that renews all its locks, in batches.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::backend::contact::is_silence;
use crate::backend::requests::RenewalAnswer;
use crate::error::Error;
use crate::event::teller::Teller;
use crate::inject::{Mistake, Mistakes};
use crate::keys::Sort;
use crate::lease::held_lock::HeldLock;
use crate::lease::loss::Loss;
use firstcome_store::client::pause;

/// How many holds go into one request, and how many such requests are under way together.
const BATCH: usize = 100;
const TOGETHER: usize = 8;

/// Leases up to this one are renewed more often than others.
const SHORT: Duration = Duration::from_secs(3);

/// Holds that are renewed together: their length of lease, and their sort, as each has a step of its own.
type Group = (Duration, Sort);

/// All holds of one client.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    watched: Mutex<WatchedHold>,
    changed: Notify,
    stop: Notify,
    teller: Arc<Teller>,
    mistakes: Mistakes,
}

#[derive(Debug, Default)]
struct WatchedHold {
    holds: HashMap<u64, Weak<HeldLock>>,
    groups: BTreeMap<Group, Beat>,
}

/// When a group is due. It stays until a beat finds the group empty, so that a hold that comes and goes starts no
/// timer of its own.
#[derive(Debug)]
struct Beat {
    next: Instant,
    holds: HashMap<u64, Weak<HeldLock>>,
}

/// A hold that is being renewed; the next beat passes over it.
struct Renewing(Arc<HeldLock>);

impl Renewing {
    /// Begins to renew a hold; gives nothing where that is under way.
    fn begin(held: Arc<HeldLock>) -> Option<Self> {
        held.begin_to_renew().then(|| Self(held))
    }
}

impl Drop for Renewing {
    fn drop(&mut self) {
        self.0.end_renewing();
    }
}

impl Watchdog {
    pub(crate) fn new(mistakes: Mistakes, teller: &Arc<Teller>) -> Self {
        Self { mistakes, teller: Arc::clone(teller), ..Self::default() }
    }

    fn watched(&self) -> MutexGuard<'_, WatchedHold> {
        // Every change under this lock is complete in itself.
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an eye on a hold, and renews it if it is to be renewed.
    pub(crate) fn watch(&self, held: &Arc<HeldLock>) {
        let weak = Arc::downgrade(held);
        let mut watched = self.watched();
        if held.renewed {
            let beat = watched.groups.entry(group(held)).or_insert_with(|| {
                self.changed.notify_one();
                let next = Instant::now() + renewed_every(held.first_lease, self.mistakes);
                Beat { next, holds: HashMap::new() }
            });
            beat.holds.insert(held.id, Weak::clone(&weak));
        }
        watched.holds.insert(held.id, weak);
        drop(watched);
        // It is among those that are looked at by now.
        self.teller.ends_at(held.trusted_until());
    }

    /// Checks whether leases have ended, so that readers of events learn of it, and plans the next check.
    fn look_for_ends(&self) {
        if let Some(next) = self.all().iter().filter_map(|held| held.ends()).min() {
            self.teller.ends_at(next);
        }
    }

    /// Stops renewing a hold and forgets it.
    pub(crate) fn leave(&self, held: &HeldLock) {
        self.rest(held);
        self.watched().holds.remove(&held.id);
    }

    /// Stops renewing a hold, which is still to be given back.
    pub(crate) fn rest(&self, held: &HeldLock) {
        if held.renewed
            && let Some(beat) = self.watched().groups.get_mut(&group(held))
        {
            beat.holds.remove(&held.id);
        }
    }

    /// Returns every hold there is.
    pub(crate) fn all(&self) -> Vec<Arc<HeldLock>> {
        self.watched().holds.values().filter_map(Weak::upgrade).collect()
    }

    /// Ends [`run`].
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Returns when the next group is due.
    fn next(&self) -> Option<Instant> {
        self.watched().groups.values().map(|beat| beat.next).min()
    }

    /// Returns the groups that are due now, with those of their holds that are not being renewed yet, and sets when they are
    /// due again.
    fn due(&self) -> Vec<(Group, Vec<Renewing>)> {
        let now = Instant::now();
        let mut due = Vec::new();
        self.watched().groups.retain(|group, beat| {
            if beat.next > now {
                return true;
            }
            // After a pause of the process there is one beat, not one for each that was missed.
            beat.next = (beat.next + renewed_every(group.0, self.mistakes)).max(now);
            beat.holds.retain(|_, held| held.strong_count() > 0);
            let holds = beat.holds.values().filter_map(Weak::upgrade).filter_map(Renewing::begin);
            let holds: Vec<_> = holds.collect();
            if !holds.is_empty() {
                due.push((*group, holds));
            }
            !beat.holds.is_empty()
        });
        due
    }
}

/// Returns how often a lease of this length is renewed.
///
/// Trust ends a tenth before the lease does, so a store may stand still for what is left of the lease after this and that
/// tenth: 0.8 of a short one, which a slow disk can use up, and 0.73 of the others.
fn renewed_every(lease: Duration, mistakes: Mistakes) -> Duration {
    match lease {
        _ if mistakes.makes(Mistake::RenewEachThird) => lease / 3,
        _ if lease <= SHORT => lease / 10,
        _ => lease / 6,
    }
}

fn group(held: &HeldLock) -> Group {
    (held.first_lease, held.keys.kind.sort())
}

/// Renews until it is stopped.
pub(crate) async fn run(watchdog: Arc<Watchdog>, backend: Arc<Backend>, mistakes: Mistakes) {
    let mut running: FuturesUnordered<Pin<Box<dyn Future<Output = ()> + Send>>> =
        FuturesUnordered::new();
    let mut generation = 0;
    loop {
        let next = watchdog.next();
        let beat = async {
            match next {
                Some(next) => tokio::time::sleep_until(next).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = watchdog.stop.notified() => return,
            () = watchdog.changed.notified() => {}
            () = beat => {
                for (group, holds) in watchdog.due() {
                    let backend = Arc::clone(&backend);
                    running.push(Box::pin(async move {
                        let batches = batches(&backend, group, holds);
                        let batches = futures_util::stream::iter(batches);
                        // One that gets no answer must not use up the trust of the others.
                        let renewing = batches.for_each_concurrent(TOGETHER, |batch| {
                            renew(&backend, batch, group.0, mistakes)
                        });
                        renewing.await;
                    }));
                }
            }
            Some(()) = running.next() => {}
            () = watchdog.teller.look_due() => watchdog.look_for_ends(),
            () = backend.reconnected(&mut generation),
                if !mistakes.makes(Mistake::IgnoreReconnect) =>
            {
                // The server behind the new connection may know nothing of what is held.
                let (backend, holds) = (Arc::clone(&backend), watchdog.all());
                running.push(Box::pin(async move { look(&backend, holds, mistakes).await }));
            }
        }
    }
}

/// Returns what is asked for together: so many locks of one slot, or the permits that stand in one row.
fn batches(backend: &Backend, (_, sort): Group, holds: Vec<Renewing>) -> Vec<Vec<Renewing>> {
    match sort {
        Sort::Lock | Sort::Token => in_slots(holds, |held| backend.slot_of(&held.0.keys)),
        #[cfg(feature = "permits")]
        Sort::Permit => {
            let mut rows: HashMap<crate::keys::QueueKey, Vec<Renewing>> = HashMap::new();
            for held in holds {
                rows.entry(held.0.keys.queue.clone()).or_default().push(held);
            }
            rows.into_values().collect()
        }
    }
}

/// Divides holds into batches of one slot each.
fn in_slots<T>(mut holds: Vec<T>, slot_of: impl Fn(&T) -> u16) -> Vec<Vec<T>> {
    holds.sort_by_cached_key(&slot_of);
    let mut batches: Vec<Vec<T>> = Vec::new();
    for held in holds {
        let fits =
            |batch: &&mut Vec<T>| batch.len() < BATCH && slot_of(&batch[0]) == slot_of(&held);
        match batches.last_mut().filter(fits) {
            Some(batch) => batch.push(held),
            None => batches.push(vec![held]),
        }
    }
    batches
}

/// Renews holds of one group, again and again while an answer is missing and there is trust left.
async fn renew(backend: &Backend, mut holds: Vec<Renewing>, lease: Duration, mistakes: Mistakes) {
    // A missing answer must not use up the trust of those that could still be renewed.
    let patience = (lease / 5).min(backend.answer_within());
    loop {
        holds.retain(|held| held.0.is_valid());
        if holds.is_empty() {
            return;
        }
        let sent = Instant::now();
        let period = renewed_every(lease, mistakes);
        let renewed =
            tokio::time::timeout(patience, renew_once(backend, &mut holds, lease, period)).await;
        if renewed.is_err() {
            backend.contact().unanswered(sent);
        }
        match renewed {
            Ok(Ok(())) if holds.is_empty() => return,
            _ if mistakes.makes(Mistake::RenewOnce) => return,
            // Refused, perhaps for a single one of them: each is asked for by itself.
            Ok(Err(failure)) if !failure.passes_by_itself() && holds.len() > 1 => {
                let singles: Vec<_> = holds.into_iter().map(|held| vec![held]).collect();
                let renewing = futures_util::stream::iter(singles)
                    .for_each_concurrent(TOGETHER, |held| {
                        Box::pin(renew(backend, held, lease, mistakes))
                    });
                return renewing.await;
            }
            Ok(_) | Err(_) => tokio::time::sleep(lease / 50).await,
        }
    }
}

/// Asks once, and notes the answers; keeps those that are still to be renewed.
async fn renew_once(
    backend: &Backend,
    holds: &mut Vec<Renewing>,
    lease: Duration,
    period: Duration,
) -> Result<(), Error> {
    let sent: Vec<_> = holds.iter().map(|held| held.0.renewal_sent()).collect();
    let asked: Vec<_> = holds.iter().map(|held| (&*held.0.keys, held.0.owner.as_str())).collect();
    let answers = backend.renew(&asked, Some(lease)).await;
    if answers.as_ref().is_err_and(|failure| !is_silence(failure)) {
        holds.iter().for_each(|held| held.0.answered());
    }
    let mut answers = sent.into_iter().zip(answers?);
    holds.retain(|held| match answers.next() {
        Some((sent, RenewalAnswer::Yes)) => {
            held.0.renewed(sent, lease, period);
            false
        }
        Some((_, RenewalAnswer::Gone)) => {
            held.0.answered();
            held.0.lose(Loss::Taken);
            false
        }
        Some((_, RenewalAnswer::NotRenewed)) | None => {
            held.0.answered();
            true
        }
    });
    Ok(())
}

/// Looks, without renewing, whether holds are still there, until that is answered; those that are gone are lost.
async fn look(backend: &Backend, holds: Vec<Arc<HeldLock>>, mistakes: Mistakes) {
    let mut batches = Vec::new();
    for sort in Sort::ALL {
        let holds = holds.iter().filter(|held| held.keys.kind.sort() == *sort).cloned();
        batches.extend(in_slots(holds.collect(), |held| backend.slot_of(&held.keys)));
    }
    let looking = futures_util::stream::iter(batches);
    looking.for_each_concurrent(TOGETHER, |batch| look_at(backend, batch, mistakes)).await;
}

async fn look_at(backend: &Backend, mut holds: Vec<Arc<HeldLock>>, mistakes: Mistakes) {
    let mut tries = 0;
    loop {
        // A server that is loading its files answers nothing yet. In the end trust runs out by itself.
        holds.retain(|held| held.is_valid());
        if holds.is_empty() {
            return;
        }
        let asked: Vec<_> = holds.iter().map(|held| (&*held.keys, held.owner.as_str())).collect();
        match backend.renew(&asked, None).await {
            Ok(answers) => {
                for (held, kept) in holds.iter().zip(answers) {
                    if kept == RenewalAnswer::Gone {
                        held.lose(Loss::Taken);
                    }
                }
                return;
            }
            Err(_) if mistakes.makes(Mistake::LookOnce) => return,
            Err(_) => tokio::time::sleep(pause(tries)).await,
        }
        tries += 1;
    }
}
