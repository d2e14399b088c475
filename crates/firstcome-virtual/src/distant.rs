//! A journal reached over a simulated network with loss, delay and reordering.
//!
//! The journal itself is a [`Memory`]. Whether a call arrives, when, at which of several servers,
//! how often, and whether its answer comes back, is decided by a [`Way`].

use firstcome_core::SpaceId;
use firstcome_inject::{Mistake, inject};
use firstcome_journal::cluster::News;
use firstcome_journal::memory::{Appended, Cursor, Memory, Stand};
use firstcome_journal::postgres::DatabaseOptions;
use firstcome_journal::{
    Append, AppendAnswer, Boxed, Confirm, EntriesRead, Journal, JournalError, Name,
};
use firstcome_journal::{Seen, Transaction, WrappedJournal};
use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

pub use firstcome_journal::JournalCall;

/// A future that a [`Way`] gives.
pub type Carried<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// What a call does at a server, each time it arrives at one; it says whether the server did as asked.
pub type ServerWork = Box<dyn Fn(Memory) -> Carried<bool> + Send + Sync>;

/// The simulated network link between one node and the store.
pub trait Way: fmt::Debug + Send + Sync {
    /// Has `work` done at a server: at once, late, twice or never.
    ///
    /// Ends when the answer to the first time is back, with when an entry it appended is durable; or
    /// with what the caller hears instead. It is polled to its end even if the caller is gone.
    fn carry(&self, call: JournalCall, work: ServerWork) -> Carried<Result<Confirm, JournalError>>;

    /// Watches a number that changes whenever the store may have lost what it had.
    fn incarnations(&self) -> watch::Receiver<u64>;

    /// Returns how many of the newest entries the next read of the log does not bring yet, as at a copy that lags.
    fn undelivered(&self) -> usize;

    /// Says whether every entry that can be read is durable.
    fn confirms_at_once(&self) -> bool;
}

/// How often an entry is sent whose ancestor lies too far back each time.
const TRIES: usize = 8;
/// How many cursors are remembered: of a node that follows, and of one that looks at older entries.
const CURSORS: usize = 4;

/// Returns the journal at the other end of a link.
pub fn over(way: Arc<dyn Way>) -> Journal {
    Journal::Wrapped(Arc::new(Distant { way, known: Mutex::default() }))
}

/// Enters the space at the other end of a link: see [`Memory::enter`].
///
/// # Errors
///
/// As there; and those of the store being out of reach.
pub async fn enter(way: Arc<dyn Way>, options: DatabaseOptions) -> Result<SpaceId, JournalError> {
    let done = move |memory: Memory| {
        let entered = memory.enter(&options);
        async move { entered }
    };
    let distant = Distant { way, known: Mutex::default() };
    distant.ask(JournalCall::Enter, done).await.map(|(space, _)| space)
}

/// A journal at the other end of a simulated link.
#[derive(Debug)]
struct Distant {
    way: Arc<dyn Way>,
    known: Mutex<Known>,
}

/// What is remembered of a log that takes each append without a condition.
#[derive(Debug, Default)]
struct Known {
    /// On which connection it was seen.
    incarnation: u64,
    /// Where readers stood last, the newest last.
    cursors: VecDeque<Cursor>,
    /// The epoch of the head.
    epoch: u32,
    /// Whether it was seen since that something is lost, and the caller was not told.
    lost: bool,
}

impl Distant {
    /// Returns what is remembered, unless the connection was made anew since.
    fn known(&self) -> MutexGuard<'_, Known> {
        let incarnation = *self.way.incarnations().borrow();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.incarnation != incarnation {
            *known = Known { incarnation, ..Known::default() };
        }
        known
    }

    async fn ask<T, F>(
        &self,
        call: JournalCall,
        done: impl Fn(Memory) -> F + Send + Sync + 'static,
    ) -> Result<(T, Confirm), JournalError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, JournalError>> + Send + 'static,
    {
        self.ask_for(call, done, |_| true).await
    }

    /// The same, where not every answer means that the server did as asked.
    async fn ask_for<T, F>(
        &self,
        call: JournalCall,
        done: impl Fn(Memory) -> F + Send + Sync + 'static,
        did: fn(&T) -> bool,
    ) -> Result<(T, Confirm), JournalError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, JournalError>> + Send + 'static,
    {
        let first = Arc::new(Mutex::new(None));
        let work: ServerWork = {
            let first = Arc::clone(&first);
            Box::new(move |memory| {
                let (done, first) = (done(memory), Arc::clone(&first));
                Box::pin(async move {
                    let answer = done.await;
                    let is_done = answer.as_ref().is_ok_and(did);
                    first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(answer);
                    is_done
                })
            })
        };
        // A call on its way arrives even if whoever made it is gone.
        let carried = tokio::spawn(self.way.carry(call, work)).await;
        let confirm = carried.unwrap_or_else(|_| Err(JournalError::Unknown("it ended".into())))?;
        let answer = first.lock().unwrap_or_else(PoisonError::into_inner).take();
        answer
            .expect("an answer comes back from where the call was")
            .map(|answer| (answer, confirm))
    }

    async fn append(&self, append: Append) -> Result<AppendAnswer, JournalError> {
        let (mut stand, incarnation) = {
            let mut known = self.known();
            if std::mem::take(&mut known.lost) {
                return Err(JournalError::Changed);
            }
            let name = (!inject(Mistake::PredecessorIgnored)).then_some(append.applied_name);
            let cursor = known.cursor(append.applied, name);
            (Stand { cursor, epoch: known.epoch }, known.incarnation)
        };
        let append = Arc::new(append);
        let mut read = Vec::new();
        for _ in 0..TRIES {
            let (append, behind) = (Arc::clone(&append), stand.clone());
            let done = move |memory: Memory| {
                let (append, stand) = (Arc::clone(&append), behind.clone());
                async move { memory.append_behind(&append, stand).await }
            };
            let did = |appended: &Appended| matches!(appended, Appended::Counts(..));
            let (appended, confirm) = self.ask_for(JournalCall::Append, done, did).await?;
            match appended {
                Appended::Counts(exchange, cursor) => {
                    self.known().remember(cursor);
                    read.extend(exchange.entries);
                    let read = EntriesRead { entries: read, looked: exchange.looked };
                    return Ok(AppendAnswer::of(read, confirm));
                }
                Appended::Ignored(entries, cursor) => {
                    // It is sent again only by who need not look first what the log has now.
                    if self.known().incarnation != incarnation {
                        return Err(JournalError::Changed);
                    }
                    read.extend(entries);
                    stand.cursor = Some(cursor);
                }
                Appended::Lost => {
                    self.known().lose();
                    return Err(JournalError::Unknown("the log is another one now".into()));
                }
            }
        }
        Err(JournalError::Unavailable("others were quicker each time".into()))
    }

    async fn read(&self, after: u64) -> Result<EntriesRead, JournalError> {
        let (stand, lag) = (self.known().cursor(after, None), self.way.undelivered());
        let done = move |memory: Memory| {
            let stand = stand.clone();
            async move { memory.read_behind(after, stand, lag).await }
        };
        let ((read, cursor), _) = self.seen(self.ask(JournalCall::Read, done).await)?;
        self.known().remember(cursor);
        Ok(read)
    }

    async fn follow(&self, after: u64, timeout: Duration) -> Result<News, JournalError> {
        let (stand, lag) = (self.known().cursor(after, None), self.way.undelivered());
        let done = move |memory: Memory| {
            let stand = stand.clone();
            async move { memory.follow_behind(after, timeout, stand, lag).await }
        };
        let ((news, cursor), _) = self.seen(self.ask(JournalCall::Follow, done).await)?;
        self.known().remember(cursor);
        Ok(news)
    }

    /// Forgets where readers stood if one does not stand there any more.
    fn seen<T>(&self, answer: Result<T, JournalError>) -> Result<T, JournalError> {
        if matches!(answer, Err(JournalError::Changed)) {
            self.known().cursors.clear();
        }
        answer
    }

    async fn commit(&self, transaction: Transaction) -> Result<Seen, JournalError> {
        let call = transaction.call();
        let done = move |memory: Memory| {
            let transaction = transaction.clone();
            async move { Journal::Memory(memory).commit(transaction).await }
        };
        let (seen, _) = self.ask(call, done).await?;
        if let Ok(head) = seen.head() {
            self.known().epoch = head.epoch;
        }
        Ok(seen)
    }
}

impl WrappedJournal for Distant {
    fn is_shared(&self) -> bool {
        true
    }

    fn append(&self, append: Append) -> Boxed<'_, Result<AppendAnswer, JournalError>> {
        Box::pin(self.append(append))
    }

    fn read(&self, after: u64) -> Boxed<'_, Result<EntriesRead, JournalError>> {
        Box::pin(self.read(after))
    }

    fn follow(&self, after: u64, timeout: Duration) -> Boxed<'_, Result<News, JournalError>> {
        Box::pin(self.follow(after, timeout))
    }

    fn commit(&self, transaction: Transaction) -> Boxed<'_, Result<Seen, JournalError>> {
        Box::pin(self.commit(transaction))
    }

    fn incarnations(&self) -> watch::Receiver<u64> {
        self.way.incarnations()
    }

    fn confirms_at_once(&self) -> bool {
        self.way.confirms_at_once()
    }
}

impl Known {
    /// Returns where a reader stood behind an entry.
    fn cursor(&self, position: u64, name: Option<Name>) -> Option<Cursor> {
        let fits = |cursor: &&Cursor| {
            cursor.tip().position == position && name.is_none_or(|name| name == cursor.tip().name)
        };
        self.cursors.iter().rev().find(fits).cloned()
    }

    fn remember(&mut self, cursor: Option<Cursor>) {
        let Some(cursor) = cursor else { return };
        self.cursors.retain(|other| other.tip().position != cursor.tip().position);
        if self.cursors.len() == CURSORS {
            self.cursors.pop_front();
        }
        self.cursors.push_back(cursor);
    }

    /// Has the caller be told before it appends again: it must look what the log has now.
    fn lose(&mut self) {
        self.cursors.clear();
        self.lost = true;
    }
}
