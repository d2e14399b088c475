use std::sync::Arc;

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
/// # async fn main() -> Result<(), firstcome_lock::Failure> {
/// use firstcome_lock::{Locks, Loss, Memory, Way};
///
/// let (memory, way) = (Memory::new(), Way::new());
/// let (far, near) = (Locks::with_memory(&memory.through(&way)), Locks::with_memory(&memory));
/// let lease = far.lock("stock")?.lock().await?;
/// way.stall();
/// assert_eq!(lease.lost().await, Loss::RanOut);
/// assert!(near.lock("stock")?.try_lock().await?.got().is_none());
/// near.lock("stock")?.lock().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Way {
    standing: Arc<watch::Sender<Standing>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Open,
    /// Calls arrive, nothing comes back.
    OneWay,
    Stalled,
    Cut,
}

impl Way {
    /// Makes a way that is open.
    #[must_use]
    pub fn new() -> Self {
        Self { standing: Arc::new(watch::Sender::new(Standing::Open)) }
    }

    /// Makes everything wait that is on its way: calls, their answers, and the messages that somebody subscribed to.
    ///
    /// A call whose caller gives up waiting while the way is stalled never arrives.
    pub fn stall(&self) {
        self.become_unless_cut(Standing::Stalled);
    }

    /// Makes answers wait, and the messages that somebody subscribed to: calls arrive and happen.
    pub fn stall_answers(&self) {
        self.become_unless_cut(Standing::OneWay);
    }

    /// Lets through what waits, and what comes. A way that was cut stays cut.
    pub fn open(&self) {
        self.become_unless_cut(Standing::Open);
    }

    /// Cuts it for ever: nothing arrives and nothing is heard any more, as if the process behind it had died.
    ///
    /// What its clients hold stays theirs until the leases end. Calls under way never return, those that come
    /// neither.
    pub fn cut(&self) {
        self.standing.send_replace(Standing::Cut);
    }

    fn become_unless_cut(&self, next: Standing) {
        self.standing.send_if_modified(|standing| {
            let changes = *standing != Standing::Cut && *standing != next;
            if changes {
                *standing = next;
            }
            changes
        });
    }

    /// Waits until a call arrives.
    pub(crate) async fn there(&self) {
        self.until(|standing| matches!(standing, Standing::Open | Standing::OneWay)).await;
    }

    /// Waits until an answer arrives.
    pub(crate) async fn back(&self) {
        self.until(|standing| standing == Standing::Open).await;
    }

    /// Receives while the way is open; messages that come while it is not wait in the channel.
    ///
    /// Cancel safe: a message is taken out only to be given.
    pub(crate) async fn hears(&self, channel: &mut Receiver<()>) -> Result<(), RecvError> {
        loop {
            self.back().await;
            tokio::select! {
                biased;
                () = self.until(|standing| standing != Standing::Open) => {}
                heard = channel.recv() => return heard,
            }
        }
    }

    async fn until(&self, mut wanted: impl FnMut(Standing) -> bool) {
        // The sender lives in this struct, so waiting ends with what is wanted or with the caller.
        drop(self.standing.subscribe().wait_for(|standing| wanted(*standing)).await);
    }
}

impl Default for Way {
    fn default() -> Self {
        Self::new()
    }
}
