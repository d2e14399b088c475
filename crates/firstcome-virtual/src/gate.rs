//! A gate that the calls of a node pass: closed while the node is paused.

use tokio::sync::watch;

/// Whether a node runs or is paused. Clones are the same gate.
#[derive(Clone, Debug)]
pub struct Gate(watch::Sender<bool>);

impl Gate {
    /// Returns the gate of a node that runs.
    pub fn open() -> Self {
        Self(watch::Sender::new(true))
    }

    /// Opens or closes it.
    pub fn set(&self, open: bool) {
        self.0.send_replace(open);
    }

    /// Waits until the node goes on.
    pub async fn pass(&self) {
        // The sender lives as long as this.
        drop(self.0.subscribe().wait_for(|open| *open).await);
    }
}
