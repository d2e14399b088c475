//! A subscription to one channel of a store in memory.

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::link::MemoryLink;
use crate::wait::signal::Signal;

/// A subscription to one channel, over a client's link to the store.
#[derive(Debug)]
pub(crate) struct MemorySubscriber {
    pub(super) channel: Receiver<()>,
    pub(super) link: MemoryLink,
}

impl MemorySubscriber {
    pub(crate) async fn next(&mut self) -> Signal {
        match self.link.receive(&mut self.channel).await {
            Ok(()) | Err(RecvError::Lagged(_)) => Signal::Look,
            Err(RecvError::Closed) => Signal::Closed,
        }
    }
}
