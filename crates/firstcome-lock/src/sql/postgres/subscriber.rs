//! A subscription to what PostgreSQL says about one lock.

use firstcome_store::postgres::{Heard as Said, Liveness};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;

use crate::wait::signal::Signal;

/// A subscription to what is said about one lock.
#[derive(Debug)]
pub(crate) struct PostgresSubscriber {
    pub(super) topic: String,
    pub(super) said: broadcast::Receiver<Said>,
    pub(super) liveness: Liveness,
}

impl PostgresSubscriber {
    pub(crate) async fn next(&mut self) -> Signal {
        loop {
            match self.said.recv().await {
                Ok(Said::Note(topic)) if *topic == *self.topic => return Signal::Look,
                Ok(Said::Note(_)) => {}
                Ok(Said::Cut) | Err(RecvError::Lagged(_)) => return Signal::Missed,
                Err(RecvError::Closed) => return Signal::Closed,
            }
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.liveness.is_live()
    }
}
