//! Who stands in the line of a fair lock, and how it leaves.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use firstcome_store::client::{BackgroundTask, later};
use tokio::time::Instant;

use crate::backend::Backend;
use crate::backend::requests::NotAfter;
use crate::durations::WAITED_FOR;
use crate::keys::LockKeys;
use crate::wait::undo::undo;

/// Somebody who stands in line, by its owner: a client that is closed leaves all lines.
#[derive(Debug)]
pub(crate) struct Standing {
    pub(crate) keys: Arc<LockKeys>,
    pub(crate) lease: Duration,
    /// A request may still arrive: it is under way, or nobody knows what became of it.
    pub(crate) asking: Arc<AtomicBool>,
}

impl Standing {
    /// Leaves the line, and takes back what may still be granted, in the background.
    pub(crate) fn leave(self, backend: &Arc<Backend>, background: &BackgroundTask, owner: &str) {
        let (backend, owner) = (Arc::clone(backend), owner.to_owned());
        let asking = self.asking.load(Ordering::Acquire);
        let not_after = if asking { backend.last_moment(&self.keys) } else { NotAfter(0) };
        // After that nothing is granted, and nobody is waited for.
        let longest = self.lease.max(WAITED_FOR) + 2 * backend.answer_within();
        let give_up = later(Instant::now(), longest);
        background.run(async move {
            undo(backend, self.keys, owner, 0, not_after, give_up, None).await;
        });
    }
}
