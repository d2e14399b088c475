//! Records the history of a world while it runs, for the judge.

use crate::history::{
    Cause, Exchange, HeadChange, History, Loss, Moment, NodeRun, QueueWait, Reply, ShownCode,
    StoredEntry,
};
use firstcome_core::NodeId;
use firstcome_core::state::Stamp;
use firstcome_journal::{Entry, Name};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// Records what happens. Clones write into the same history.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    state: Arc<Mutex<RecordState>>,
}

#[derive(Debug)]
struct RecordState {
    history: History,
    /// The index of each entry in the history.
    indexes: HashMap<EntryKey, usize>,
    /// The same, by position and name: a message may come twice, and a batch then stand at two positions.
    names: HashMap<(u64, Name), usize>,
    /// Up to which result the ledger has them.
    settled: u64,
}

/// The fields by which two entries differ.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EntryKey(u64, i64, u32, [u8; 16], u64, u64);

impl Record {
    pub(crate) fn begin(history: History) -> Self {
        Self {
            state: Arc::new(Mutex::new(RecordState {
                history,
                indexes: HashMap::new(),
                names: HashMap::new(),
                settled: 0,
            })),
        }
    }

    /// Notes an entry a server has; gives its number, the same each time, and whether it is a new one.
    pub(crate) fn stored(&self, moment: Moment, entry: &Entry, name: Name) -> (usize, bool) {
        let (at, before, body) = (entry.at.as_micros(), entry.before, xxh3_64(&entry.body));
        let key = EntryKey(entry.position, at, entry.epoch, before.node.0, before.number, body);
        let mut state = self.lock();
        let RecordState { history, indexes, names, .. } = &mut *state;
        let number = history.stored.len();
        let known = *indexes.entry(key).or_insert(number);
        if known == number {
            let batch = entry.open().map_or(name, |(stamp, _)| stamp.batch());
            history.stored.push(StoredEntry { moment, entry: entry.clone(), name, batch });
            names.insert((entry.position, name), number);
        }
        (known, known == number)
    }

    /// Returns the entries up to the one with this position and name, from the first one on, as far as any server ever had
    /// them.
    pub(crate) fn ancestry(&self, mut at: (u64, Name)) -> Vec<usize> {
        let state = self.lock();
        let mut chain = Vec::new();
        while let Some(index) = state.names.get(&at) {
            chain.push(*index);
            at = (at.0 - 1, state.history.stored[*index].entry.before);
        }
        chain.reverse();
        chain
    }

    /// Returns the number of the entry a state is as of.
    pub(crate) fn index_of(&self, stamp: Stamp) -> Option<usize> {
        self.lock().names.get(&(stamp.position, stamp.name())).copied()
    }

    pub(crate) fn head_changed(&self, change: HeadChange) {
        self.lock().history.head_changes.push(change);
    }

    /// Records what a node reported to the operator.
    pub(crate) fn said(&self, text: &str) {
        let lines = text.lines().map(str::to_owned);
        self.lock().history.end.reports.extend(lines);
    }

    /// Notes that the store went on with less.
    pub(crate) fn lost(
        &self,
        moment: Moment,
        cause: Cause,
        from: Option<usize>,
        to: Option<usize>,
    ) {
        let mut state = self.lock();
        let settled = state.settled;
        state.history.losses.push(Loss { moment, cause, from, to, settled });
    }

    /// Notes up to which result the ledger has them now.
    pub(crate) fn settled(&self, through: u64) {
        self.lock().settled = through;
    }

    /// Notes that a leader wrote into the ledger after another one had begun there.
    pub(crate) fn wrote_late(&self, moment: Moment) {
        self.lock().history.settled_late.push(moment);
    }

    pub(crate) fn failed_over(&self, moment: Moment, server: usize) {
        self.lock().history.failovers.push((moment, server));
    }

    pub(crate) fn demoted(&self, moment: Moment) {
        self.lock().history.demotions.push(moment);
    }

    pub(crate) fn carried_over(&self, moment: Moment) {
        self.lock().history.carried_over.push(moment);
    }

    pub(crate) fn clock_stepped(&self, moment: Moment, by: i64) {
        self.lock().history.clock_steps.push((moment, by));
    }

    pub(crate) fn ledger_restored(&self, moment: Moment) {
        self.lock().history.ledger_restored.push(moment);
    }

    /// Notes a question; gives its number.
    pub(crate) fn asked(&self, exchange: Exchange) -> usize {
        let exchanges = &mut self.lock().history.exchanges;
        exchanges.push(exchange);
        exchanges.len() - 1
    }

    /// Notes what was heard.
    pub(crate) fn heard(&self, number: usize, heard_at: Moment, reply: Reply) {
        if let Some(exchange) = self.lock().history.exchanges.get_mut(number) {
            exchange.heard_at = heard_at;
            exchange.reply = reply;
        }
    }

    /// Notes that a request begins to wait in the queue; gives its number.
    pub(crate) fn wait_begins(&self, exchange: usize, began: Moment) -> usize {
        let waits = &mut self.lock().history.queue_waits;
        waits.push(QueueWait { exchange, began, left: None });
        waits.len() - 1
    }

    /// Notes that the wait ended.
    pub(crate) fn wait_ends(&self, number: usize, moment: Moment) {
        if let Some(wait) = self.lock().history.queue_waits.get_mut(number) {
            wait.left = Some(moment);
        }
    }

    /// Notes that a caller was shown a code.
    pub(crate) fn shown(&self, shown: ShownCode) {
        self.lock().history.codes_shown.push(shown);
    }

    /// Begins a life; gives its number.
    pub(crate) fn born(&self, began: Moment, node: NodeId) -> usize {
        let mut state = self.lock();
        state.history.node_runs.push(NodeRun { node, began, ..NodeRun::default() });
        state.history.node_runs.len() - 1
    }

    pub(crate) fn applied(&self, node_run: usize, moment: Moment, entry: usize) {
        if let Some(node_run) = self.lock().history.node_runs.get_mut(node_run) {
            node_run.applied.push((moment, entry));
        }
    }

    pub(crate) fn stop_requested(&self, node_run: usize, moment: Moment) {
        if let Some(node_run) = self.lock().history.node_runs.get_mut(node_run) {
            node_run.reply = Some(moment);
        }
    }

    pub(crate) fn died(&self, node_run: usize, moment: Moment) {
        if let Some(node_run) = self.lock().history.node_runs.get_mut(node_run) {
            node_run.ended.get_or_insert(moment);
        }
    }

    /// Looks at what is written, or adds to it.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut History) -> T) -> T {
        look(&mut self.lock().history)
    }

    fn lock(&self) -> MutexGuard<'_, RecordState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
