//! A subscription to one channel in Redis.

use firstcome_store::{Event, Redis, Subscription};
use futures_util::future::select_all;

use super::messages::Messages;
use crate::error::Error;
use crate::wait::signal::Signal;

/// Subscriptions to the channels of one name: to one, or to both.
#[derive(Debug)]
pub(crate) struct RedisSubscriber(Vec<Subscription>);

impl RedisSubscriber {
    pub(super) async fn listen(
        redis: &Redis,
        messages: Messages,
        channel: &str,
    ) -> Result<Self, Error> {
        let mut all = Vec::new();
        for way in messages.0 {
            all.push(redis.subscribe(channel, *way).await?);
        }
        Ok(Self(all))
    }

    pub(crate) async fn next(&mut self) -> Signal {
        let next = self.0.iter_mut().map(|channel| Box::pin(channel.next()));
        match select_all(next).await.0 {
            Event::Message(_) => Signal::Look,
            Event::Cut | Event::Gap => Signal::Missed,
            Event::Closed => Signal::Closed,
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        self.0.iter().all(Subscription::is_live)
    }
}
