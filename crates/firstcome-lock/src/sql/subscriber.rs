//! A subscription to what a database says about one lock.

#[cfg(feature = "postgres")]
use super::postgres::PostgresSubscriber;
use crate::wait::signal::Signal;

/// A subscription in whichever database it is.
#[derive(Debug)]
pub(crate) enum SqlSubscriber {
    #[cfg(feature = "postgres")]
    Postgres(PostgresSubscriber),
    /// The database says nothing: a waiter asks again.
    Silent,
}

impl SqlSubscriber {
    pub(crate) async fn next(&mut self) -> Signal {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(subscriber) => subscriber.next().await,
            Self::Silent => std::future::pending().await,
        }
    }

    pub(crate) fn is_live(&self) -> bool {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres(subscriber) => subscriber.is_live(),
            Self::Silent => false,
        }
    }
}
