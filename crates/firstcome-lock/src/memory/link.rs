//! The simulated link between one client and a store in memory.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::broadcast::{Receiver, error::RecvError};
use tokio::sync::watch;

/// The link between a client and a [`Memory`](crate::Memory), which a test can stall, open and cut.
///
/// Use it to test a holder that loses its store: its lease is lost when trust ends, and another owner gets the lock when the
/// lease has ended in the store. Clones are the same link, and any number of clients may share it.
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
    /// The error with which the store refuses changes.
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
    /// Creates an open link.
    #[must_use]
    pub fn new() -> Self {
        Self { state: Arc::new(watch::Sender::new(LinkState::Open)), refusal: Arc::default() }
    }

    /// Stalls everything: calls, their answers, and messages of subscriptions.
    ///
    /// If the caller of a stalled call gives up, the call never arrives.
    pub fn stall(&self) {
        self.become_unless_cut(LinkState::Stalled);
    }

    /// Stalls answers and messages of subscriptions: calls arrive and are executed.
    pub fn stall_answers(&self) {
        self.become_unless_cut(LinkState::OneWay);
    }

    /// Opens the link for stalled and new calls. A cut link stays cut.
    pub fn open(&self) {
        self.become_unless_cut(LinkState::Open);
    }

    /// Cuts the link for ever: nothing arrives in either direction, as if the process of the client had died.
    ///
    /// Locks of its clients stay taken until their leases end. Open calls and new calls never return.
    pub fn cut(&self) {
        self.state.send_replace(LinkState::Cut);
    }

    /// Makes the store refuse all changes, with an error in the form of Redis; reads get an answer.
    ///
    /// The first word is the code of the error: `MISCONF` and `OOM` are temporary, `NOPERM` ends when the right is granted
    /// again, and `ERR` is permanent. See `docs/reference/store-errors.md`.
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

    /// Makes the store accept changes again.
    pub fn accept(&self) {
        *self.refusal.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Returns the error with which changes are refused now, if they are.
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
