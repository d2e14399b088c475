//! A subscription to one channel in Redis.

use firstcome_store::{Event, Subscription};

use crate::wait::signal::Signal;

/// A subscription to one channel.
#[derive(Debug)]
pub(crate) struct RedisSubscriber(pub(super) Subscription);

impl RedisSubscriber {
    pub(crate) async fn next(&mut self) -> Signal {
        match self.0.next().await {
            Event::Message(_) => Signal::Look,
            Event::Cut | Event::Gap => Signal::Missed,
            Event::Closed => Signal::Closed,
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.0.is_live()
    }
}
