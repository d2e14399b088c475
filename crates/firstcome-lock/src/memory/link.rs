//! The simulated link between one client and a store in memory.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::watch;

/// The way between one client and a [`Memory`](crate::Memory), which a test can stall, open and cut.
///
/// It is for the tests of what a holder does that loses its store: its lease is lost when trust runs out, and somebody
/// else gets the lock when the lease has ended there. Clones are the same way, and any number of clients may share it.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread", start_paused = true)]
/// # async fn main() -> Result<(), firstcome_lock::Error> {
/// use firstcome_lock::{Locks, Loss, Memory, MemoryLink};
///
/// let (memory, link) = (Memory::new(), MemoryLink::new());
/// let (far, near) = (Locks::with_memory(&memory.through(&link)), Locks::with_memory(&memory));
/// let lease = far.mutex("stock")?.lock().await?;
/// link.stall();
/// assert_eq!(lease.lost().await, Loss::RanOut);
/// assert!(near.mutex("stock")?.try_lock().await?.acquired().is_none());
/// near.mutex("stock")?.lock().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct MemoryLink {
    state: Arc<watch::Sender<LinkState>>,
    /// With which error the store refuses changes.
    refusal: Arc<Mutex<Option<Arc<str>>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkState {
    Open,
    /// Calls arrive, nothing comes back.
    OneWay,
    Stalled,
    Cut,
}

impl MemoryLink {
    /// Makes a way that is open.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(LinkState::Open)), refusal: Arc::default() }
    }

    /// Makes everything wait that is on its way: calls, their answers, and the messages that somebody subscribed to.
    ///
    /// A call whose caller gives up waiting while the way is stalled never arrives.
    pub fn stall(&self) {
        self.become_unless_cut(LinkState::Stalled);
    }

    /// Makes answers wait, and the messages that somebody subscribed to: calls arrive and happen.
    pub fn stall_answers(&self) {
        self.become_unless_cut(LinkState::OneWay);
    }

    /// Lets through what waits, and what comes. A way that was cut stays cut.
    pub fn open(&self) {
        self.become_unless_cut(LinkState::Open);
    }

    /// Cuts it for ever: nothing arrives and nothing is heard any more, as if the process behind it had died.
    ///
    /// What its clients hold stays theirs until the leases end. Calls under way never return, those that come
    /// neither.
    pub fn cut(&self) {
        self.state.send_replace(LinkState::Cut);
    }

    /// Has the store refuse, with an error as Redis says it, whatever would change something; who only looks is answered.
    ///
    /// The first word is the error's code: `MISCONF` or `OOM` pass by themselves, `NOPERM` once somebody gives the right
    /// back, and `ERR` never does. See `docs/reference/store-errors.md`.
    ///
    /// # Examples
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread", start_paused = true)]
    /// # async fn main() -> Result<(), firstcome_lock::Error> {
    /// use firstcome_lock::{Locks, Memory, MemoryLink};
    ///
    /// let link = MemoryLink::new();
    /// let locks = Locks::with_memory(&Memory::new().through(&link));
    /// link.refuse("NOPERM this user has no permissions to run the 'evalsha' command");
    /// let refused = locks.mutex("stock")?.try_lock().await.unwrap_err();
    /// assert!(refused.to_string().contains("no permissions"));
    /// link.accept();
    /// assert!(locks.mutex("stock")?.try_lock().await?.acquired().is_some());
    /// # Ok(())
    /// # }
    /// ```
    pub fn refuse(&self, error: &str) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.into());
    }

    /// Has the store take changes again.
    pub fn accept(&self) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Gives the error with which a change is refused now, if it is.
    pub(crate) fn refusal(&self) -> Option<Arc<str>> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn become_unless_cut(&self, next: LinkState) {
        self.state.send_if_modified(|state| {
            let changes = *state != LinkState::Cut && *state != next;
            if changes {
                *state = next;
            }
            changes
        });
    }

    /// Waits until a call arrives.
    pub(crate) async fn request_arrives(&self) {
        self.until(|state| matches!(state, LinkState::Open | LinkState::OneWay)).await;
    }

    /// Waits until an answer arrives.
    pub(crate) async fn answer_arrives(&self) {
        self.until(|state| state == LinkState::Open).await;
    }

    /// Receives while the way is open; messages that come while it is not wait in the channel.
    ///
    /// Cancel safe: a message is taken out only to be given.
    pub(crate) async fn receive(&self, channel: &mut Receiver<()>) -> Result<(), RecvError> {
        loop {
            self.answer_arrives().await;
            tokio::select! {
                biased;
                () = self.until(|state| state != LinkState::Open) => {}
                heard = channel.recv() => return heard,
            }
        }
    }

    async fn until(&self, mut wanted: impl FnMut(LinkState) -> bool) {
        // The sender lives in this struct, so waiting ends with what is wanted or with the caller.
        drop(self.state.subscribe().wait_for(|state| wanted(*state)).await);
    }
}

impl Default for MemoryLink {
    fn default() -> Self {
        Self::new()
    }
}
