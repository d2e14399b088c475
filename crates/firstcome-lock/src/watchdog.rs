//! One timer per client that renews all its locks, in batches.

use std::collections::{BTreeMap, HashMap};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures_util::stream::{FuturesUnordered, StreamExt};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::backend::Backend;
use crate::failure::Failure;
use crate::held_lock::HeldLock;
use crate::inject::{Mistake, Mistakes};
use crate::keys::Sort;
use crate::loss::Loss;
use crate::requests::RenewalAnswer;

/// How many holds go into one request, and how many such requests are under way together.
const BATCH: usize = 100;
const TOGETHER: usize = 8;

/// Holds that are renewed together: their length of lease, and their sort, as each has a step of its own.
type Group = (Duration, Sort);

/// All holds of one client.
#[derive(Debug, Default)]
pub(crate) struct Watchdog {
    watched: Mutex<Watched>,
    changed: Notify,
    stop: Notify,
}

#[derive(Debug, Default)]
struct Watched {
    holds: HashMap<u64, Weak<HeldLock>>,
    groups: BTreeMap<Group, Beat>,
}

/// When a group is due. It stays until a beat finds the group empty, so that a hold that comes and goes starts no
/// timer of its own.
#[derive(Debug)]
struct Beat {
    next: Instant,
    holds: HashMap<u64, Weak<HeldLock>>,
    busy: bool,
}

impl Watchdog {
    fn watched(&self) -> MutexGuard<'_, Watched> {
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
                Beat {
                    next: Instant::now() + held.first_lease / 3,
                    holds: HashMap::new(),
                    busy: false,
                }
            });
            beat.holds.insert(held.id, Weak::clone(&weak));
        }
        watched.holds.insert(held.id, weak);
    }

    /// Stops renewing a hold.
    pub(crate) fn leave(&self, held: &HeldLock) {
        let mut watched = self.watched();
        watched.holds.remove(&held.id);
        if held.renewed
            && let Some(beat) = watched.groups.get_mut(&group(held))
        {
            beat.holds.remove(&held.id);
        }
    }

    /// Gives every hold there is.
    pub(crate) fn all(&self) -> Vec<Arc<HeldLock>> {
        self.watched().holds.values().filter_map(Weak::upgrade).collect()
    }

    /// Ends [`run`].
    pub(crate) fn stop(&self) {
        self.stop.notify_one();
    }

    /// Gives when the next group is due.
    fn next(&self) -> Option<Instant> {
        self.watched().groups.values().map(|beat| beat.next).min()
    }

    /// Gives the groups that are due now, with their holds, and sets when they are due again.
    fn due(&self) -> Vec<(Group, Vec<Arc<HeldLock>>)> {
        let now = Instant::now();
        let mut due = Vec::new();
        self.watched().groups.retain(|group, beat| {
            if beat.next > now {
                return true;
            }
            // After a pause of the process there is one beat, not one for each that was missed.
            beat.next = (beat.next + group.0 / 3).max(now);
            if beat.busy {
                return true;
            }
            beat.holds.retain(|_, held| held.strong_count() > 0);
            let holds: Vec<_> = beat.holds.values().filter_map(Weak::upgrade).collect();
            beat.busy = !holds.is_empty();
            if beat.busy {
                due.push((*group, holds));
            }
            beat.busy
        });
        due
    }

    fn finished(&self, group: Group) {
        if let Some(beat) = self.watched().groups.get_mut(&group) {
            beat.busy = false;
        }
    }
}

fn group(held: &HeldLock) -> Group {
    (held.first_lease, held.keys.kind.sort())
}

/// Renews until it is stopped.
pub(crate) async fn run(watchdog: Arc<Watchdog>, backend: Arc<Backend>, mistakes: Mistakes) {
    let mut running: FuturesUnordered<Pin<Box<dyn Future<Output = Option<Group>> + Send>>> =
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
                        let batches = futures_util::stream::iter(holds.chunks(BATCH));
                        // One that gets no answer must not use up the trust of the others.
                        let renewing = batches.for_each_concurrent(TOGETHER, |batch| {
                            renew(&backend, batch.to_vec(), group.0, mistakes)
                        });
                        renewing.await;
                        Some(group)
                    }));
                }
            }
            Some(finished) = running.next() => {
                if let Some(group) = finished {
                    watchdog.finished(group);
                }
            }
            () = backend.reconnected(&mut generation),
                if !mistakes.makes(Mistake::IgnoreReconnect) =>
            {
                // The server behind the new connection may know nothing of what is held.
                let (backend, holds) = (Arc::clone(&backend), watchdog.all());
                running.push(Box::pin(async move {
                    look(&backend, holds).await;
                    None
                }));
            }
        }
    }
}

/// Renews holds of one group, again and again while an answer is missing and there is trust left.
async fn renew(
    backend: &Backend,
    mut holds: Vec<Arc<HeldLock>>,
    lease: Duration,
    mistakes: Mistakes,
) {
    // A missing answer must not use up the trust of those that could still be renewed.
    let patience = (lease / 5).min(backend.answer_within());
    loop {
        holds.retain(|held| held.is_valid());
        if holds.is_empty() {
            return;
        }
        match tokio::time::timeout(patience, renew_once(backend, &holds, lease)).await {
            Ok(Ok(left)) if left.is_empty() => return,
            Ok(Ok(left)) if !mistakes.makes(Mistake::RenewOnce) => {
                holds = left;
                tokio::time::sleep(lease / 50).await;
            }
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

/// Asks once, and notes the answers; gives those that are still to be renewed.
async fn renew_once(
    backend: &Backend,
    holds: &[Arc<HeldLock>],
    lease: Duration,
) -> Result<Vec<Arc<HeldLock>>, Failure> {
    let sent: Vec<_> = holds.iter().map(|held| held.asked_now()).collect();
    let asked: Vec<_> = holds.iter().map(|held| (&*held.keys, held.owner.as_str())).collect();
    let answers = backend.renew(&asked, Some(lease)).await?;
    let mut left = Vec::new();
    for ((held, sent), kept) in holds.iter().zip(sent).zip(answers) {
        match kept {
            // Where trust ran out meanwhile, it is lost, and stays so.
            RenewalAnswer::Yes => drop(held.confirmed(sent, lease)),
            RenewalAnswer::Gone => held.lose(Loss::Taken),
            RenewalAnswer::NotRenewed => left.push(Arc::clone(held)),
        }
    }
    Ok(left)
}

/// Looks, without renewing, whether holds are still there; those that are gone are lost.
async fn look(backend: &Backend, holds: Vec<Arc<HeldLock>>) {
    for sort in [Sort::Lock, Sort::Token, Sort::Permit] {
        let holds: Vec<_> = holds.iter().filter(|held| held.keys.kind.sort() == sort).collect();
        for batch in holds.chunks(BATCH) {
            let asked: Vec<_> =
                batch.iter().map(|held| (&*held.keys, held.owner.as_str())).collect();
            // Without an answer, trust runs out by itself.
            let Ok(answers) = backend.renew(&asked, None).await else { continue };
            for (held, kept) in batch.iter().zip(answers) {
                if kept == RenewalAnswer::Gone {
                    held.lose(Loss::Taken);
                }
            }
        }
    }
}
