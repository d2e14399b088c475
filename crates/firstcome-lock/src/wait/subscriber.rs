//! A subscription to what a store says about one lock or one election.

use crate::memory::MemorySubscriber;
#[cfg(feature = "redis")]
use crate::redis::RedisSubscriber;
#[cfg(feature = "sql")]
use crate::sql::SqlSubscriber;
use crate::wait::signal::Signal;

/// A subscription in whichever store it is.
#[derive(Debug)]
pub(crate) enum Subscriber {
    #[cfg(feature = "redis")]
    Redis(RedisSubscriber),
    #[cfg(feature = "sql")]
    Sql(SqlSubscriber),
    Memory(MemorySubscriber),
}

impl Subscriber {
    /// Waits until there is reason to look again.
    pub(crate) async fn next(&mut self) -> Signal {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(subscriber) => subscriber.next().await,
            #[cfg(feature = "sql")]
            Self::Sql(subscriber) => subscriber.next().await,
            Self::Memory(subscriber) => subscriber.next().await,
        }
    }

    /// Tells whether nothing is being missed now.
    pub(crate) fn is_live(&self) -> bool {
        match self {
            #[cfg(feature = "redis")]
            Self::Redis(subscriber) => subscriber.is_live(),
            #[cfg(feature = "sql")]
            Self::Sql(subscriber) => subscriber.is_live(),
            Self::Memory(_) => true,
        }
    }
}
