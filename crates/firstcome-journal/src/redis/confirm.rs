//! Confirms that entries are durable: a task for each connection that appends.
//!
//! A WAIT speaks of what was written on its own connection before it, so it is only ever asked and
//! believed there. One that comes back with too few copies is sent again for as long as the
//! connection lives, somebody listens, and [`PATIENCE`] lasts.

use super::options::{WAIT, Waits};
use crate::entry::Confirm;
use firstcome_store::{Answer, Pinned, RedisReply};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::Instant;

/// How long an entry is waited for at most.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many entries wait at most on one connection; of more, the oldest are given up.
const MOST: usize = 1_024;

/// An entry that was appended, and the WAIT that was sent right after it.
pub(super) struct Waiting {
    pub(super) pinned: Pinned,
    pub(super) answer: Answer,
    pub(super) confirmed: oneshot::Sender<()>,
}

/// Confirms what was appended on one connection.
#[derive(Debug)]
pub(super) struct Confirmer {
    added: mpsc::Sender<Waiting>,
    /// How many WAITs have no answer yet.
    waits: Arc<AtomicUsize>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Confirmer {
    pub(super) fn start(waits: Waits, answer_within: Duration) -> Self {
        let (added, adding) = mpsc::channel(MOST);
        let under_way = Arc::new(AtomicUsize::new(0));
        let work = ConfirmWork { waits, answer_within, under_way: Arc::clone(&under_way) };
        let task = tokio::spawn(work.run(adding));
        Self { added, waits: under_way, task: Mutex::new(Some(task)) }
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.waits.load(Ordering::Relaxed) > 0
    }

    /// Takes in an entry; where as many wait as may, its receiver fails at once.
    pub(super) fn add(&self, waiting: impl FnOnce(oneshot::Sender<()>) -> Waiting) -> Confirm {
        let (confirmed, receiver) = oneshot::channel();
        self.waits.fetch_add(1, Ordering::Relaxed);
        if self.added.try_send(waiting(confirmed)).is_err() {
            self.waits.fetch_sub(1, Ordering::Relaxed);
        }
        Confirm::Later(receiver)
    }

    pub(super) async fn close(&self) {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(task) = task {
            task.abort();
            // It ends by that; a panic in it has been reported already.
            drop(task.await);
        }
    }
}

impl Drop for Confirmer {
    fn drop(&mut self) {
        if let Some(task) = self.task.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

struct ConfirmWork {
    waits: Waits,
    answer_within: Duration,
    under_way: Arc<AtomicUsize>,
}

/// Those on one connection whose WAIT was answered, with too few copies.
struct LateConfirms {
    pinned: Pinned,
    entries: VecDeque<(oneshot::Sender<()>, Instant)>,
}

impl ConfirmWork {
    async fn run(self, mut adding: mpsc::Receiver<Waiting>) {
        let mut late: Option<LateConfirms> = None;
        loop {
            let next = match late.take() {
                None => adding.recv().await,
                // Answers come in the order of asking: that of a later entry speaks for them, too.
                Some(mut known) => match adding.try_recv() {
                    Ok(next) => {
                        late = Some(known);
                        Some(next)
                    }
                    Err(mpsc::error::TryRecvError::Disconnected) => None,
                    Err(mpsc::error::TryRecvError::Empty) => {
                        if self.ask_again(&mut known).await {
                            late = Some(known);
                        }
                        continue;
                    }
                },
            };
            let Some(Waiting { pinned, answer, confirmed }) = next else { return };
            // What was written on another connection is not what this WAIT speaks of.
            let mut known =
                late.take().filter(|late| late.pinned.is_same(&pinned)).unwrap_or_else(|| {
                    LateConfirms { pinned: pinned.clone(), entries: VecDeque::new() }
                });
            known.entries.push_back((confirmed, Instant::now() + PATIENCE));
            if known.entries.len() > MOST {
                known.entries.pop_front();
            }
            let reached = self.reached(answer.await);
            self.under_way.fetch_sub(1, Ordering::Relaxed);
            if answer_waiting(&mut known, reached) {
                late = Some(known);
            }
        }
    }

    /// Sends one more WAIT; says whether anybody still waits.
    async fn ask_again(&self, late: &mut LateConfirms) -> bool {
        let now = Instant::now();
        late.entries.retain(|(confirmed, until)| !confirmed.is_closed() && *until > now);
        let Some(command) = self.waits.command().filter(|_| !late.entries.is_empty()) else {
            return false;
        };
        self.under_way.fetch_add(1, Ordering::Relaxed);
        let answer = late.pinned.send(command, now + WAIT + self.answer_within).await;
        self.under_way.fetch_sub(1, Ordering::Relaxed);
        answer_waiting(late, self.reached(answer))
    }

    /// Says whether a WAIT was answered with as many as wanted; `None` if it never will be.
    fn reached(&self, answer: Result<RedisReply, firstcome_store::StoreError>) -> Option<bool> {
        let reply = answer.ok()?;
        match self.waits {
            Waits::No => Some(true),
            Waits::Copies(copies) => Some(reply.number().ok()? >= i64::from(copies)),
            Waits::Aof => Some(*reply.numbers().ok()?.first()? >= 1),
        }
    }
}

/// Answers those who wait; says whether anybody still waits.
fn answer_waiting(late: &mut LateConfirms, reached: Option<bool>) -> bool {
    match reached {
        Some(true) => {
            for (confirmed, _) in late.entries.drain(..) {
                // Somebody who does not listen any more does not need to know.
                let _gone = confirmed.send(());
            }
            false
        }
        Some(false) => true,
        // The connection is lost, and with it what could be known of these: their receivers fail.
        None => false,
    }
}
