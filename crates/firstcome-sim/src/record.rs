//! Records the history of a world while it runs, for the judge.

use crate::history::{
    Cause, Exchange, HeadChange, History, Loss, Moment, NodeRun, QueueWait, Reply, ShownCode,
    Stored,
};
use firstcome_core::state::Stamp;
use firstcome_core::{NodeId, Timestamp};
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
    /// The entry before each, on the server that came to have it last, as far as that is known.
    before: Vec<Option<usize>>,
    /// The same as `indexes`, by what a state knows of the entry it is as of.
    stamps: HashMap<(u64, i64, u32, [u8; 16], u64), usize>,
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
                before: Vec::new(),
                stamps: HashMap::new(),
                settled: 0,
            })),
        }
    }

    /// Notes an entry a server has, and the one it stands behind there if that is known; gives its number, the same each
    /// time, and whether it is a new one.
    pub(crate) fn stored(
        &self,
        moment: Moment,
        entry: &Entry,
        name: Name,
        behind: Option<usize>,
    ) -> (usize, bool) {
        let (at, before, body) = (entry.at.as_micros(), entry.before, xxh3_64(&entry.body));
        let key = EntryKey(entry.position, at, entry.epoch, before.node.0, before.number, body);
        let mut state = self.lock();
        let RecordState { history, indexes, before: known_before, stamps, .. } = &mut *state;
        let number = history.stored.len();
        let known = *indexes.entry(key).or_insert(number);
        if known == number {
            history.stored.push(Stored { moment, entry: entry.clone(), name });
            stamps.insert((entry.position, at, entry.epoch, name.node.0, name.number), number);
            known_before.push(None);
        }
        // What was lost and sent again stands on two branches under one name: the later server has the one that survived.
        if behind.is_some() {
            known_before[known] = behind;
        }
        (known, known == number)
    }

    /// Returns the entries up to the one with this position and name, from the first one on, as far as any
    /// server ever had them.
    ///
    /// Of two that differ in their time alone it is the one that `next` stood behind where a server had it last; where that
    /// is not known, the latest that is not after `at`, the time of `next` or of the head itself.
    pub(crate) fn ancestry(
        &self,
        (position, name): (u64, Name),
        mut at: Timestamp,
        mut next: Option<usize>,
    ) -> Vec<usize> {
        let state = self.lock();
        let stored = &state.history.stored;
        let (mut chain, mut wanted) = (Vec::new(), (position, name));
        while wanted.0 > 0 {
            let fits = |it: &Stored| (it.entry.position, it.name) == wanted;
            let stood = next.and_then(|next| state.before[next]).filter(|at| fits(&stored[*at]));
            let found = stood.or_else(|| {
                let same = (0..stored.len()).filter(|index| fits(&stored[*index]));
                same.max_by_key(|index| {
                    let one = stored[*index].entry.at;
                    (one <= at).then_some(one)
                })
            });
            let Some(index) = found else { break };
            chain.push(index);
            (at, next) = (stored[index].entry.at, Some(index));
            wanted = (wanted.0 - 1, stored[index].entry.before);
        }
        chain.reverse();
        chain
    }

    /// Returns the number of the entry a state is as of.
    pub(crate) fn index_of(&self, stamp: Stamp) -> Option<usize> {
        let Stamp { position, at, epoch, node, number, level: _ } = stamp;
        self.lock().stamps.get(&(position, at.as_micros(), epoch, node.0, number)).copied()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::{Durability, End};
    use std::time::Duration;

    fn record() -> Record {
        Record::begin(History {
            durability: Durability::Memory,
            exchanges: Vec::new(),
            stored: Vec::new(),
            head_changes: Vec::new(),
            losses: Vec::new(),
            failovers: Vec::new(),
            demotions: Vec::new(),
            carried_over: Vec::new(),
            clock_steps: Vec::new(),
            ledger_restored: Vec::new(),
            settled_late: Vec::new(),
            queue_waits: Vec::new(),
            codes_shown: Vec::new(),
            node_runs: Vec::new(),
            end: End::default(),
        })
    }

    fn name(number: u64) -> Name {
        Name { node: NodeId([1; 16]), number }
    }

    /// Stores batch `number` at the position of that number, at a time, behind another entry.
    fn store(record: &Record, number: u64, at: i64, behind: Option<usize>) -> usize {
        let before = if number == 1 { Name::default() } else { name(number - 1) };
        let (position, at) = (number, Timestamp::from_micros(at));
        let entry = Entry { position, at, epoch: 0, before, body: vec![number as u8].into() };
        record.stored(Duration::ZERO, &entry, name(number), behind).0
    }

    #[test]
    fn of_two_copies_of_an_entry_the_one_of_the_branch_that_survived_is_found() {
        let record = record();
        let first = store(&record, 1, 10, None);
        // It was sent again to another server, while the first one goes on with its own copy.
        let lost = store(&record, 2, 20, Some(first));
        let survived = store(&record, 2, 30, Some(first));
        let end = store(&record, 3, 40, Some(lost));
        let at = Timestamp::from_micros;
        assert_eq!(record.ancestry((3, name(3)), at(40), None), [first, lost, end]);
        // The last one is put back behind the copy that survived, and is trimmed away there with all before it.
        assert_eq!(store(&record, 3, 40, Some(survived)), end);
        assert_eq!(record.ancestry((3, name(3)), at(40), None), [first, survived, end]);
        assert_eq!(record.ancestry((2, name(2)), at(40), Some(end)), [first, survived]);
    }

    #[test]
    fn the_end_of_a_journal_without_entries_is_the_copy_of_its_time() {
        let record = record();
        let first = store(&record, 1, 10, None);
        // The later copy was seen first: clocks of servers differ.
        let later = store(&record, 2, 30, Some(first));
        let earlier = store(&record, 2, 20, Some(first));
        for (time, copy) in [(20, earlier), (30, later)] {
            let at = Timestamp::from_micros(time);
            assert_eq!(record.ancestry((2, name(2)), at, None), [first, copy], "{time}");
        }
    }
}
