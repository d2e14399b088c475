//! A gate that the calls of a node pass: closed while the node is paused.

use tokio::sync::watch;

/// Whether a node runs or is paused. Clones are the same gate.
#[derive(Clone, Debug)]
pub(crate) struct Gate(watch::Sender<bool>);

impl Gate {
    pub(crate) fn open() -> Self {
        Self(watch::Sender::new(true))
    }

    pub(crate) fn set(&self, open: bool) {
        self.0.send_replace(open);
    }

    /// Waits until the node goes on.
    pub(crate) async fn pass(&self) {
        // The sender lives as long as this.
        drop(self.0.subscribe().wait_for(|open| *open).await);
    }
}
