//! What every handle of one client shares.

#[cfg(feature = "redis")]
use std::collections::HashMap;
#[cfg(feature = "redis")]
use std::sync::MutexGuard;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use firstcome_store::client::{BackgroundTask, random_uuid};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::backend::requests::NotAfter;
use crate::backend::{Backend, LockStore};
use crate::error::Error;
use crate::event::teller::Teller;
use crate::inject::Mistakes;
use crate::lease::held_lock::{Grant, HeldLock};
use crate::lease::loss::Loss;
use crate::lease::watchdog::{self, Watchdog};
use crate::release::ids::UsedReleaseIds;
use crate::wait::local_waiters::LocalWaiters;
#[cfg(feature = "redis")]
use crate::wait::standing::Standing;

pub(crate) struct Shared {
    pub(crate) backend: Arc<Backend>,
    pub(crate) background: BackgroundTask,
    pub(crate) release_ids: UsedReleaseIds,
    pub(crate) watchdog: Arc<Watchdog>,
    pub(crate) local_waiters: Arc<LocalWaiters>,
    pub(crate) teller: Arc<Teller>,
    /// The first part of every owner.
    pub(crate) client: String,
    /// The lease of holds that are renewed.
    pub(crate) watchdog_lease: Duration,
    /// How long a waiter rides out a store that does not answer.
    pub(crate) ride_out: Duration,
    /// How many times in a row a lock is passed on within this process, before everybody may try.
    pub(crate) passes: u32,
    pub(crate) mistakes: Mistakes,
    /// Who stands in line for a fair lock: a client that is closed leaves all lines.
    #[cfg(feature = "redis")]
    places: Mutex<HashMap<Arc<str>, Standing>>,
    closed: watch::Sender<bool>,
    renewing: Mutex<Option<JoinHandle<()>>>,
}

impl Shared {
    pub(crate) fn start(
        store: LockStore,
        watchdog_lease: Duration,
        ride_out: Duration,
        passes: u32,
        mistakes: Mistakes,
    ) -> Arc<Self> {
        let teller = Arc::new(Teller::default());
        let backend = Arc::new(Backend::new(store, &teller));
        let watchdog = Arc::new(Watchdog::new(mistakes, &teller));
        let renewing =
            tokio::spawn(watchdog::run(Arc::clone(&watchdog), Arc::clone(&backend), mistakes));
        Arc::new(Self {
            background: BackgroundTask::start(),
            release_ids: UsedReleaseIds::default(),
            backend,
            watchdog,
            local_waiters: Arc::new(LocalWaiters::default()),
            teller,
            client: random_uuid(),
            watchdog_lease,
            ride_out,
            passes,
            mistakes,
            #[cfg(feature = "redis")]
            places: Mutex::default(),
            closed: watch::Sender::new(false),
            renewing: Mutex::new(Some(renewing)),
        })
    }

    /// Fails after the client was closed.
    pub(crate) fn open(&self) -> Result<(), Error> {
        if *self.closed.borrow() || self.background.has_ended() {
            Err(self.ended())
        } else {
            Ok(())
        }
    }

    /// Says why nothing can be asked any more.
    pub(crate) fn ended(&self) -> Error {
        if *self.closed.borrow() { Error::Closed } else { Error::RuntimeEnded }
    }

    /// Waits until the client is closed, or its runtime has ended.
    pub(crate) async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        tokio::select! {
            // The sender lives as long as this.
            _ = closed.wait_for(|closed| *closed) => {}
            () = self.background.ended() => {}
        }
    }

    /// Makes an owner that nobody has been before, with a number that no thread of Redisson's has.
    pub(crate) fn fresh_owner(&self) -> String {
        format!("{}:{}", self.client, fastrand::u64(1 << 32..=i64::MAX.unsigned_abs()))
    }

    pub(crate) fn new_held_lock(&self, grant: Grant) -> Arc<HeldLock> {
        let held = HeldLock::new(grant, &self.teller);
        self.watchdog.watch(&held);
        held
    }

    #[cfg(feature = "redis")]
    pub(crate) fn places(&self) -> MutexGuard<'_, HashMap<Arc<str>, Standing>> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) async fn close(self: &Arc<Self>) {
        self.closed.send_replace(true);
        for held in self.watchdog.all() {
            held.lose(Loss::Closed);
            self.watchdog.leave(&held);
            if held.begin_to_leave() {
                let shared = Arc::clone(self);
                self.background.run(async move {
                    // Whatever it holds, and however often; without an answer the lease ends by itself.
                    let undone = shared.backend.undo(&held.keys, &held.owner, 0, NotAfter(0));
                    drop(undone.await);
                });
            }
        }
        #[cfg(feature = "redis")]
        for (owner, standing) in std::mem::take(&mut *self.places()) {
            standing.leave(&self.backend, &self.background, &owner);
        }
        // What is not answered in this time is not waited for: the leases end by themselves.
        drop(
            tokio::time::timeout(2 * self.backend.answer_within(), self.background.finish()).await,
        );
        self.watchdog.stop();
        let renewing = self.renewing.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(renewing) = renewing {
            // It ends by itself; a panic in it has been reported already.
            drop(renewing.await);
        }
        self.backend.close().await;
        self.teller.end();
    }
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("id", &self.client).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        self.watchdog.stop();
    }
}
