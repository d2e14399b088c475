//! One connection that listens to notifications, for all subscribers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::pool::{Inner, PostgresPool};
use crate::error::StoreError;

/// How many notifications a listener may be behind before it is notified of the loss.
const WAITING: usize = 1024;

/// After how long without a word the connection has to show that it lives.
const QUIET: Duration = Duration::from_secs(30);

/// The pauses between tries to connect again, in milliseconds: the first, and the longest.
const PAUSES_MS: (u64, u64) = (20, 2000);

/// What is heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Heard {
    /// A notification with this payload.
    Note(Arc<str>),
    /// The connection was lost, or is there again: something may have been missed.
    Cut,
}

/// A connection that listens to one channel and connects again by itself.
#[derive(Debug)]
pub struct Listener {
    heard: broadcast::Sender<Heard>,
    state: watch::Receiver<State>,
    task: JoinHandle<()>,
    patience: Duration,
}

#[derive(Debug, Clone)]
enum State {
    Dialling,
    Live,
    Failed(StoreError),
}

impl PostgresPool {
    /// Begins to listen to `channel`, a name as it stands, over a connection of its own.
    ///
    /// It must not lead through a pooler: see [`PostgresPool::is_pooled`].
    #[must_use]
    pub fn listener(&self, channel: impl Into<String>) -> Listener {
        self.listener_of(channel.into(), None)
    }

    /// Begins to listen as [`PostgresPool::listener`] does, and holds a shared advisory lock of the session as long as it
    /// listens. Who notifies finds out by that lock, without a row, whether anybody hears it.
    #[must_use]
    pub fn listener_with_lock(&self, channel: impl Into<String>, lock: i64) -> Listener {
        self.listener_of(channel.into(), Some(lock))
    }

    fn listener_of(&self, channel: String, lock: Option<i64>) -> Listener {
        let heard = broadcast::Sender::new(WAITING);
        let (states, state) = watch::channel(State::Dialling);
        let inner = Arc::clone(&self.inner);
        let patience = inner.dialler.options.connect_within;
        let listen = format!("LISTEN \"{}\"", channel.replace('"', "\"\""));
        let listen = match lock {
            Some(lock) => format!("{listen}; SELECT pg_advisory_lock_shared({lock})"),
            None => listen,
        };
        let task = tokio::spawn(keep_listening(inner, listen, heard.clone(), states));
        Listener { heard, state, task, patience }
    }
}

impl Listener {
    /// Returns everything that is heard from now on, once the server has confirmed that it will say it.
    ///
    /// # Errors
    ///
    /// Why there is no connection that listens.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn subscribe(&self) -> Result<broadcast::Receiver<Heard>, StoreError> {
        let receiver = self.heard.subscribe();
        let mut state = self.state.clone();
        let decided = state.wait_for(|state| !matches!(state, State::Dialling));
        let found = match timeout(self.patience, decided).await {
            Ok(Ok(found)) => found.clone(),
            Ok(Err(_)) => return Err(StoreError::Closed),
            Err(_) => State::Dialling,
        };
        match found {
            State::Live => Ok(receiver),
            State::Failed(failure) => Err(failure),
            State::Dialling => Err(StoreError::Unreachable {
                place: "the database".to_owned(),
                reason: format!("no connection that listens within {:?}", self.patience),
            }),
        }
    }

    /// Tells whether nothing is being missed now.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(*self.state.borrow(), State::Live)
    }

    /// Returns a handle for the same state, which may outlive this.
    #[must_use]
    pub fn liveness(&self) -> Liveness {
        Liveness(self.state.clone())
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Whether a [`Listener`] misses nothing now.
#[derive(Debug, Clone)]
pub struct Liveness(watch::Receiver<State>);

impl Liveness {
    /// Tells whether nothing is being missed now.
    #[must_use]
    pub fn is_live(&self) -> bool {
        matches!(*self.0.borrow(), State::Live) && self.0.has_changed().is_ok()
    }
}

async fn keep_listening(
    inner: Arc<Inner>,
    statements: String,
    heard: broadcast::Sender<Heard>,
    states: watch::Sender<State>,
) {
    let mut pause = PAUSES_MS.0;
    loop {
        let failure = match listen(&inner, &statements, &heard, &states).await {
            Ok(lasted) => {
                if lasted > QUIET {
                    pause = PAUSES_MS.0;
                }
                None
            }
            Err(failure) => Some(failure),
        };
        let was_live = matches!(*states.borrow(), State::Live);
        states.send_replace(failure.map_or(State::Dialling, State::Failed));
        if was_live {
            // Nobody there is fine.
            heard.send(Heard::Cut).ok();
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(pause / 2..=pause))).await;
        pause = (pause * 2).min(PAUSES_MS.1);
    }
}

/// Listens over one connection until it is gone; gives for how long.
async fn listen(
    inner: &Inner,
    statements: &str,
    heard: &broadcast::Sender<Heard>,
    states: &watch::Sender<State>,
) -> Result<Duration, StoreError> {
    let dialler = &inner.dialler;
    let (notes, mut said) = mpsc::channel(WAITING);
    let line = dialler.line_with(Some(notes)).await?;
    let listen = line.client.batch_execute(statements);
    let place = dialler.place();
    match timeout(dialler.options.answer_within, listen).await {
        Ok(Ok(())) => {}
        Ok(Err(error)) => return Err(super::refusal::undone(&place, &error)),
        Err(_) => {
            let reason = "LISTEN was not answered".to_owned();
            return Err(StoreError::Unreachable { place, reason });
        }
    }
    let begun = Instant::now();
    states.send_replace(State::Live);
    heard.send(Heard::Cut).ok();
    loop {
        match timeout(QUIET, said.recv()).await {
            Ok(Some(payload)) => {
                heard.send(Heard::Note(payload.into())).ok();
            }
            Ok(None) => return Ok(begun.elapsed()),
            Err(_) => {
                let alive = timeout(dialler.options.answer_within, line.client.batch_execute(""));
                if !matches!(alive.await, Ok(Ok(()))) {
                    return Ok(begun.elapsed());
                }
            }
        }
    }
}
