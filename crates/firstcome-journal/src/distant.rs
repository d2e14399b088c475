//! A journal reached over a simulated network with loss, delay and reordering.
//!
//! The journal itself is a [`Memory`]. Whether a call arrives, when, at which of several servers,
//! how often, and whether its answer comes back, is decided by a [`Way`].

use crate::cluster::News;
use crate::entry::{Append, Confirm, Entry, Exchange};
use crate::failure::Failure;
use crate::memory::Memory;
use crate::transaction::{Seen, Transaction};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

pub use crate::call::Call;

/// A future that a [`Way`] gives.
pub type Carried<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a call does at a server, each time it arrives at one; it says whether the server did as asked.
pub type Work = Box<dyn Fn(Memory) -> Carried<bool> + Send + Sync>;

/// The simulated network link between one node and the store.
pub trait Way: fmt::Debug + Send + Sync {
    /// Has `work` done at a server: at once, late, twice or never.
    ///
    /// Ends when the answer to the first time is back, with when an entry it appended is durable; or
    /// with what the caller hears instead. It is polled to its end even if the caller is gone.
    fn carry(&self, call: Call, work: Work) -> Carried<Result<Confirm, Failure>>;

    /// Watches a number that changes whenever the store may have lost what it had.
    fn incarnations(&self) -> watch::Receiver<u64>;

    /// Says whether every entry that can be read is durable.
    fn confirms_at_once(&self) -> bool;
}

/// A journal at the other end of a simulated link.
#[derive(Clone, Debug)]
pub struct Distant {
    way: Arc<dyn Way>,
}

impl Distant {
    /// Reaches the store over a link.
    pub fn over(way: Arc<dyn Way>) -> Self {
        Self { way }
    }

    async fn ask<T, F>(
        &self,
        call: Call,
        done: impl Fn(Memory) -> F + Send + Sync + 'static,
    ) -> Result<(T, Confirm), Failure>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Failure>> + Send + 'static,
    {
        let first = Arc::new(Mutex::new(None));
        let work: Work = {
            let first = Arc::clone(&first);
            Box::new(move |memory| {
                let (done, first) = (done(memory), Arc::clone(&first));
                Box::pin(async move {
                    let answer = done.await;
                    let is_done = answer.is_ok();
                    first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(answer);
                    is_done
                })
            })
        };
        // A call on its way arrives even if whoever made it is gone.
        let carried = tokio::spawn(self.way.carry(call, work)).await;
        let confirm = carried.unwrap_or_else(|_| Err(Failure::Unknown("it ended".into())))?;
        let answer = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer
            .expect("an answer comes back from where the call was")
            .map(|answer| (answer, confirm))
    }

    pub(crate) fn incarnations(&self) -> watch::Receiver<u64> {
        self.way.incarnations()
    }

    pub(crate) fn confirms_at_once(&self) -> bool {
        self.way.confirms_at_once()
    }

    pub(crate) async fn append(&self, append: Append) -> Result<Exchange, Failure> {
        let done = move |memory: Memory| {
            let append = append.clone();
            async move { memory.append(append).await }
        };
        let (exchange, confirm) = self.ask(Call::Append, done).await?;
        Ok(Exchange { confirm, ..exchange })
    }

    pub(crate) async fn read(&self, after: u64) -> Result<Vec<Entry>, Failure> {
        let done = move |memory: Memory| async move { memory.read(after).await };
        self.ask(Call::Read, done).await.map(|(answer, _)| answer)
    }

    pub(crate) async fn follow(&self, after: u64, timeout: Duration) -> Result<News, Failure> {
        let done = move |memory: Memory| async move { memory.follow(after, timeout).await };
        self.ask(Call::Follow, done).await.map(|(answer, _)| answer)
    }

    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, Failure> {
        let call = transaction.call;
        let done = move |memory: Memory| {
            let transaction = transaction.clone();
            async move { memory.commit(transaction).await }
        };
        self.ask(call, done).await.map(|(answer, _)| answer)
    }
}
