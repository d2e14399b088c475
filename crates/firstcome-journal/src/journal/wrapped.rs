//! A journal that is reached or disturbed by code outside this crate.

use crate::cluster::{EndedDeliveries, News};
use crate::entry::{Append, AppendAnswer, EntriesRead};
use crate::error::JournalError;
use crate::transaction::{Seen, Transaction};
use std::fmt;
use std::pin::Pin;
use std::time::Duration;
use tokio::sync::watch;

/// A future that a [`WrappedJournal`] returns.
pub type Boxed<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A journal with something in between that each call passes: the faults of a test, the network of the simulation.
///
/// Each method is what [`Journal`](crate::Journal) says of the method of its name. It has no archive, and keeps entries for
/// as long as a SQLite file does by default.
pub trait WrappedJournal: fmt::Debug + Send + Sync {
    /// Says whether several nodes may share it.
    fn is_shared(&self) -> bool;

    /// Appends a batch and reads everything stored since what the caller applied.
    fn append(&self, append: Append) -> Boxed<'_, Result<AppendAnswer, JournalError>>;

    /// Reads up to 64 entries beyond a position.
    fn read(&self, after: u64) -> Boxed<'_, Result<EntriesRead, JournalError>>;

    /// Reads up to 64 entries beyond a position, waiting for the first at most for `timeout`.
    fn follow(&self, after: u64, timeout: Duration) -> Boxed<'_, Result<News, JournalError>>;

    /// Does one atomic step.
    fn commit(&self, transaction: Transaction) -> Boxed<'_, Result<Seen, JournalError>>;

    /// Watches a number that changes whenever the store may have lost what it had.
    fn incarnations(&self) -> watch::Receiver<u64>;

    /// Says whether every entry that can be read is durable.
    fn confirms_at_once(&self) -> bool;

    /// Returns how often it ended that a server delivers what is appended.
    fn ended_deliveries(&self) -> EndedDeliveries {
        EndedDeliveries::default()
    }

    /// Closes what the journal is in.
    fn close(&self) -> Boxed<'_, ()> {
        Box::pin(std::future::ready(()))
    }
}
