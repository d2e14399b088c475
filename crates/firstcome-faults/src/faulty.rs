//! Fault injection: a journal that loses calls and answers, for tests.
//!
//! Faults are asked for by number: the first append from now is 1. Where a test means another kind
//! of call, [`Faulty::fault`] takes the kind. Lost tails and forks belong to the store itself: see
//! [`Memory::lose_tail`](firstcome_journal::memory::Memory::lose_tail) and
//! [`Memory::fork`](firstcome_journal::memory::Memory::fork).

pub use firstcome_journal::JournalCall;

use firstcome_journal::cluster::{EndedDeliveries, News};
use firstcome_journal::{
    Append, AppendAnswer, Boxed, Confirm, EntriesRead, Journal, JournalError, Looked,
};
use firstcome_journal::{Seen, Transaction, WrappedJournal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does not happen, and the caller hears so: [`JournalError::Unavailable`].
    Refuse,
    /// It does not happen, and the caller hears so: [`JournalError::Full`].
    Full,
    /// It does not happen, and the caller hears so: [`JournalError::LessDurable`].
    LessDurable,
    /// It does not happen, and the caller cannot know: [`JournalError::Unknown`].
    LoseCall,
    /// It happens, and the caller cannot know: [`JournalError::Unknown`].
    LoseAnswer,
    /// It happens after the next append that reaches the store, and the caller cannot know:
    /// [`JournalError::Unknown`]. Of calls other than appends it is the same as [`Fault::LoseCall`].
    DeliverLate,
}

/// A journal with faults. Without any it is the journal it wraps.
///
/// A call of several steps meets a fault in the step that changes something; what it looks at before is a
/// [`JournalCall::Look`] of its own.
///
/// Clones share the faults.
#[derive(Clone, Debug)]
pub struct Faulty {
    journal: Arc<Journal>,
    plan: Arc<Mutex<Plan>>,
    open: watch::Sender<bool>,
    confirms_later: bool,
}

#[derive(Debug, Default)]
struct Plan {
    /// How many more calls of that kind go through before this fault.
    faults: Vec<(JournalCall, u64, Fault)>,
    always: Option<Fault>,
    late: Vec<Append>,
    /// How many of the newest entries a read does not bring.
    lag: u64,
    /// How long the answer to a read takes.
    slow: Duration,
    appends: u64,
    /// Those who wait to hear that an entry is durable, while nobody is to hear it.
    unconfirmed: Option<Vec<oneshot::Sender<()>>>,
}

impl Faulty {
    /// Wraps a journal.
    pub fn new(journal: Journal) -> Self {
        let plan = Arc::new(Mutex::new(Plan::default()));
        let (journal, open) = (Arc::new(journal), watch::Sender::new(true));
        Self { journal, plan, open, confirms_later: false }
    }

    /// The same, of a store that says of an entry only after a while that it is durable.
    #[must_use]
    pub fn confirming_later(self) -> Self {
        Self { confirms_later: true, ..self }
    }

    /// Confirms no entry from now on.
    pub fn hold_confirms(&self) {
        self.plan(|plan| plan.unconfirmed = Some(Vec::new()));
    }

    /// Confirms the entries that were not, and those to come at once.
    pub fn confirm(&self) {
        for heard in self.plan(|plan| plan.unconfirmed.take()).unwrap_or_default() {
            // Whoever asked may have gone.
            heard.send(()).ok();
        }
    }

    fn unconfirmed(&self, mut answer: AppendAnswer) -> AppendAnswer {
        self.plan(|plan| {
            if let Some(waiting) = &mut plan.unconfirmed {
                let (heard, confirmed) = oneshot::channel();
                waiting.push(heard);
                answer.confirm = Confirm::Later(confirmed);
            }
        });
        answer
    }

    /// Returns it as a journal.
    pub fn journal(&self) -> Journal {
        Journal::Wrapped(Arc::new(self.clone()))
    }

    /// Returns the journal without the faults, to see what really happened.
    pub fn truth(&self) -> &Journal {
        &self.journal
    }

    /// Has the `n`-th call of a kind from now go wrong; 1 is the next.
    pub fn fault(&self, call: JournalCall, n: u64, fault: Fault) {
        self.plan(|plan| plan.faults.push((call, n.max(1), fault)));
    }

    /// Loses the `n`-th append from now on its way to the store.
    pub fn lose_call(&self, n: u64) {
        self.fault(JournalCall::Append, n, Fault::LoseCall);
    }

    /// Loses the answer to the `n`-th append from now.
    pub fn lose_answer(&self, n: u64) {
        self.fault(JournalCall::Append, n, Fault::LoseAnswer);
    }

    /// Delivers the `n`-th append from now late: after the next one that reaches the store.
    pub fn deliver_late(&self, n: u64) {
        self.fault(JournalCall::Append, n, Fault::DeliverLate);
    }

    /// Has every call go wrong from now on.
    pub fn always(&self, fault: Fault) {
        self.plan(|plan| plan.always = Some(fault));
    }

    /// Ends what [`Faulty::always`] began and forgets all faults that have not come up yet.
    pub fn mend(&self) {
        self.plan(|plan| {
            plan.always = None;
            plan.faults.clear();
        });
    }

    /// Has reads bring all but the newest entries from now on, as a copy that lags does; 0 ends it.
    pub fn lag(&self, entries: u64) {
        self.plan(|plan| plan.lag = entries);
    }

    /// Has the answer to a read take so long from now on.
    pub fn slow_reads(&self, slow: Duration) {
        self.plan(|plan| plan.slow = slow);
    }

    fn lagging(&self, mut read: EntriesRead) -> EntriesRead {
        let lag = self.plan(|plan| plan.lag);
        if let Looked::ToEnd { position, .. } = read.looked
            && lag > 0
        {
            read.entries.retain(|entry| entry.position + lag <= position);
            read.looked = Looked::Partly;
        }
        read
    }

    /// Stalls every call from now on until [`Faulty::let_go`].
    pub fn hold(&self) {
        self.open.send_replace(false);
    }

    /// Lets stalled calls go on.
    pub fn let_go(&self) {
        self.open.send_replace(true);
    }

    /// Returns how many appends were asked for, whatever became of them.
    pub fn appends(&self) -> u64 {
        self.plan(|plan| plan.appends)
    }

    /// Waits until so many appends were asked for and are stalled, under way or done.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn asked(&self, appends: u64) {
        while self.appends() < appends {
            tokio::task::yield_now().await;
        }
    }

    fn plan<T>(&self, work: impl FnOnce(&mut Plan) -> T) -> T {
        work(&mut self.plan.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Counts a call, stalls if it must, and says what goes wrong with it.
    async fn comes(&self, call: JournalCall) -> Option<Fault> {
        let fault = self.plan(|plan| plan.next(call));
        let mut open = self.open.subscribe();
        // The sender lives as long as this.
        drop(open.wait_for(|open| *open).await);
        fault
    }

    /// Lets a call through, or what is left of it.
    async fn pass<T>(
        &self,
        call: JournalCall,
        done: impl Future<Output = Result<T, JournalError>>,
    ) -> Result<T, JournalError> {
        match self.comes(call).await {
            None => done.await,
            Some(fault @ Fault::LoseAnswer) => {
                done.await?;
                Err(fault.failure())
            }
            Some(fault) => Err(fault.failure()),
        }
    }
}

impl WrappedJournal for Faulty {
    fn is_shared(&self) -> bool {
        self.journal.is_shared()
    }

    fn append(&self, append: Append) -> Boxed<'_, Result<AppendAnswer, JournalError>> {
        Box::pin(async move {
            let fault = self.comes(JournalCall::Append).await;
            if let Some(fault @ Fault::DeliverLate) = fault {
                self.plan(|plan| plan.late.push(append));
                return Err(fault.failure());
            }
            let lost_before = fault.is_some_and(|fault| fault != Fault::LoseAnswer);
            if let Some(fault) = fault.filter(|_| lost_before) {
                return Err(fault.failure());
            }
            let answer = self.journal.append(append).await;
            for late in self.plan(|plan| std::mem::take(&mut plan.late)) {
                // Whether it is still taken is for the store to say, and for nobody to hear.
                drop(self.journal.append(late).await);
            }
            match (answer, fault) {
                (Ok(_), Some(fault)) => Err(fault.failure()),
                (answer, _) => answer.map(|answer| self.unconfirmed(answer)),
            }
        })
    }

    fn read(&self, after: u64) -> Boxed<'_, Result<EntriesRead, JournalError>> {
        Box::pin(async move {
            let read = self.pass(JournalCall::Read, self.journal.read(after)).await;
            let slow = self.plan(|plan| plan.slow);
            if !slow.is_zero() {
                sleep(slow).await;
            }
            read.map(|read| self.lagging(read))
        })
    }

    fn follow(&self, after: u64, timeout: Duration) -> Boxed<'_, Result<News, JournalError>> {
        Box::pin(async move {
            let news = self.pass(JournalCall::Follow, self.journal.follow(after, timeout)).await?;
            Ok(News { read: self.lagging(news.read), ..news })
        })
    }

    fn commit(&self, transaction: Transaction) -> Boxed<'_, Result<Seen, JournalError>> {
        Box::pin(self.pass(transaction.call(), self.journal.commit(transaction)))
    }

    fn incarnations(&self) -> watch::Receiver<u64> {
        self.journal.incarnations()
    }

    fn confirms_at_once(&self) -> bool {
        self.journal.confirms_at_once() && !self.confirms_later
    }

    fn ended_deliveries(&self) -> EndedDeliveries {
        self.journal.ended_deliveries()
    }

    fn close(&self) -> Boxed<'_, ()> {
        Box::pin(self.journal.close())
    }
}

impl Plan {
    fn next(&mut self, call: JournalCall) -> Option<Fault> {
        self.appends += u64::from(call == JournalCall::Append);
        for (kind, left, _) in &mut self.faults {
            // Of two that are due with the same call the second comes with the next one.
            *left = left.saturating_sub(u64::from(*kind == call));
        }
        let due = self.faults.iter().position(|(kind, left, _)| *kind == call && *left == 0);
        let planned = due.map(|due| self.faults.remove(due).2);
        planned.or(self.always)
    }
}

impl Fault {
    fn failure(self) -> JournalError {
        match self {
            Self::Refuse => JournalError::Unavailable("refused by a planned fault".into()),
            Self::Full => JournalError::Full("no room, by a planned fault".into()),
            Self::LessDurable => JournalError::LessDurable {
                what: "its settings were turned down, as planned".into(),
                fix: "turn them up".into(),
            },
            Self::LoseCall => JournalError::Unknown("the call was lost, as planned".into()),
            Self::LoseAnswer => JournalError::Unknown("the answer was lost, as planned".into()),
            Self::DeliverLate => JournalError::Unknown("it will arrive late, as planned".into()),
        }
    }
}
