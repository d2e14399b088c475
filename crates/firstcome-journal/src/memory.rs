//! The journal in memory, for tests and for what need not outlive the process.

mod commit;
mod judged;
mod log;
mod state;

pub use crate::ancestry::Cursor;
use crate::clock::Clock;
use crate::cluster::News;
use crate::database::DatabaseOptions;
use crate::entry::{Append, AppendAnswer, Confirm, EntriesRead};
use crate::error::JournalError;
use crate::name::Name;
use firstcome_core::names::SpaceId;
use firstcome_inject::{Mistake, inject};
pub use judged::{Appended, Stand};
use log::Log;
use state::State;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// Who waits to hear that an entry is durable; `None` where every entry is at once.
type Unconfirmed = Arc<Mutex<Option<Vec<oneshot::Sender<()>>>>>;

/// A journal in memory.
#[derive(Clone, Debug)]
pub struct Memory {
    state: Arc<Mutex<State>>,
    head: watch::Sender<u64>,
    /// Changes whenever it lost something.
    incarnation: watch::Sender<u64>,
    clock: Clock,
    unconfirmed: Unconfirmed,
    /// Whether several nodes use it.
    pub(crate) several: bool,
}

/// All that a journal in memory had at one moment: what a copy of it, or an older file, goes on with.
#[derive(Clone, Debug)]
pub struct Kept(State);

impl Memory {
    /// Makes an empty journal for one node.
    pub fn new(space: SpaceId, clock: Clock) -> Self {
        Self {
            state: Arc::new(Mutex::new(State::new(space))),
            head: watch::Sender::new(0),
            incarnation: watch::Sender::new(0),
            clock,
            unconfirmed: Arc::default(),
            several: false,
        }
    }

    /// Lets several nodes share it.
    #[must_use]
    pub fn for_several(self) -> Self {
        Self { several: true, ..self }
    }

    /// Has it take each append without a condition, as a replicated log does: who reads decides which entries count, by the
    /// entry that each names as its ancestor, which lies at most so many messages before it.
    #[must_use]
    pub fn without_conditions(self, reach: u64) -> Self {
        self.with(|state| state.log = Some(Log::new(reach)));
        self
    }

    /// Forgets all entries beyond a position, as a store does that fails over to a copy which lags.
    pub fn lose_tail(&self, keep: u64) {
        self.with(|state| {
            state.keep(keep);
            self.head.send_replace(state.position());
        });
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Puts other entries in the place of all beyond a position, as a store does whose copy was
    /// written to while it was cut off.
    pub fn fork(&self, keep: u64, others: impl IntoIterator<Item = (Name, Vec<u8>)>) {
        self.with(|state| {
            state.keep(keep);
            let now = self.clock.now();
            for (name, body) in others {
                state.push(name, body.into(), now);
            }
            self.head.send_replace(state.position());
        });
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Forgets everything, as a store does that was emptied.
    pub fn empty(&self) {
        self.with(|state| {
            let (space, level) = (state.space, state.level);
            let log = state.log.as_ref().map(Log::anew);
            *state = State { gone: true, level, log, ..State::new(space) };
            self.head.send_replace(0);
        });
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Enters the space as a server does that starts, and makes it where there is none and nothing speaks against it.
    ///
    /// # Errors
    ///
    /// [`JournalError::OtherSpace`]; where there is no space, [`JournalError::Marked`], [`JournalError::Gone`] or
    /// [`JournalError::NoSpace`].
    pub fn enter(&self, options: &DatabaseOptions) -> Result<SpaceId, JournalError> {
        self.with(|state| {
            if state.check_there().is_ok() {
                let found = state.space;
                let other = options.wanted.filter(|wanted| *wanted != found);
                return other
                    .map_or(Ok(found), |wanted| Err(JournalError::OtherSpace { found, wanted }));
            }
            if let Some(wanted) = options.without_a_space(state.mark.as_deref())? {
                return Ok(wanted);
            }
            let log = state.log.as_ref().map(Log::anew);
            *state = State { log, full: state.full, ..State::new(options.fresh) };
            Ok(options.fresh)
        })
    }

    /// Returns all it has now.
    pub fn kept(&self) -> Kept {
        self.with(|state| Kept(state.clone()))
    }

    /// Goes on with what was kept, of it or of another one, as a store does that fails over to a copy
    /// or restarts from an older file.
    pub fn restore(&self, kept: &Kept) {
        self.with(|state| {
            *state = kept.0.clone();
            self.head.send_replace(state.position());
        });
        self.incarnation.send_modify(|times| *times += 1);
    }

    /// Says whether there is room for entries; snapshots are still taken where there is none.
    pub fn set_full(&self, full: bool) {
        self.with(|state| state.full = full);
    }

    /// Confirms entries from now on only when [`Memory::confirm`] says so.
    pub fn confirm_later(&self) {
        *self.unconfirmed() = Some(Vec::new());
    }

    /// Confirms every entry appended so far.
    pub fn confirm(&self) {
        for waiting in self.unconfirmed().iter_mut().flat_map(|waiting| waiting.drain(..)) {
            // Somebody who does not listen any more does not need to know.
            let _gone = waiting.send(());
        }
    }

    /// Makes it unknowable whether the entries appended so far are durable, as a lost connection does.
    pub fn lose_confirmations(&self) {
        if let Some(waiting) = &mut *self.unconfirmed() {
            waiting.clear();
        }
    }

    fn unconfirmed(&self) -> std::sync::MutexGuard<'_, Option<Vec<oneshot::Sender<()>>>> {
        self.unconfirmed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }

    pub(crate) async fn append(&self, append: Append) -> Result<AppendAnswer, JournalError> {
        let (mut stand, mut read) = (Stand::default(), Vec::new());
        loop {
            match self.append_behind(&append, stand.clone()).await? {
                Appended::Counts(exchange, _) => {
                    read.extend(exchange.entries);
                    let read = EntriesRead { entries: read, looked: exchange.looked };
                    return Ok(AppendAnswer::of(read, exchange.confirm));
                }
                Appended::Ignored(entries, cursor) => {
                    read.extend(entries);
                    stand.cursor = Some(cursor);
                }
                Appended::Lost => stand.cursor = None,
            }
        }
    }

    fn append_on_condition(
        &self,
        state: &mut State,
        append: &Append,
    ) -> Result<AppendAnswer, JournalError> {
        state.check_append(append, !inject(Mistake::AppendAnywhere))?;
        state.push(append.name, Arc::clone(&append.body), self.clock.now());
        if inject(Mistake::StoreTimeGoesBack) {
            state.set_back(self.clock.now());
        }
        self.head.send_replace(state.position());
        let read = state.read(append.applied, Instant::now())?;
        Ok(AppendAnswer::of(read, Confirm::AtOnce))
    }

    fn confirmation(&self) -> Confirm {
        match &mut *self.unconfirmed() {
            None => Confirm::AtOnce,
            Some(unconfirmed) => {
                let (sender, receiver) = oneshot::channel();
                unconfirmed.push(sender);
                Confirm::Later(receiver)
            }
        }
    }

    pub(crate) async fn read(&self, after: u64) -> Result<EntriesRead, JournalError> {
        self.with(|state| state.read(after, Instant::now()))
    }

    pub(crate) async fn follow(&self, after: u64, timeout: Duration) -> Result<News, JournalError> {
        self.follow_behind(after, timeout, None, 0).await.map(|(news, _)| news)
    }

    async fn wait_beyond(&self, after: u64, timeout: Duration) {
        let mut head = self.head.subscribe();
        // Running out of time is an answer here, and the sender lives as long as this journal.
        drop(tokio::time::timeout(timeout, head.wait_for(|head| *head > after)).await);
    }

    pub(crate) fn incarnations(&self) -> watch::Receiver<u64> {
        self.incarnation.subscribe()
    }

    pub(crate) fn confirms_at_once(&self) -> bool {
        self.unconfirmed().is_none()
    }
}
