//! Records the history of a world while it runs, for the judge.

use crate::history::{
    Durability, End, Exchange, HeadChange, History, Loss, Moment, NodeRun, QueueWait, Reply, Row,
    ShownCode,
};
use crate::trace::Trace;
use firstcome_core::NodeId;
use firstcome_journal::Entry;
use firstcome_virtual::events::{Event, Observer};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Records what happens. Clones write into the same history.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    trace: Trace,
    state: Arc<Mutex<RecordState>>,
}

#[derive(Debug)]
struct RecordState {
    history: History,
    /// Up to which result the ledger has them.
    settled: u64,
}

impl Record {
    pub(crate) fn begin(durability: Durability, trace: Trace) -> Self {
        let state = RecordState { history: empty(durability), settled: 0 };
        Self { trace, state: Arc::new(Mutex::new(state)) }
    }

    /// Records what a node reported to the operator.
    pub(crate) fn said(&self, text: &str) {
        let lines = text.lines().map(str::to_owned);
        self.lock().history.end.reports.extend(lines);
    }

    /// Notes the last results that the ledger has now: one, or all where it was replaced; none while it has none.
    pub(crate) fn settled(&self, moment: Moment, last: impl IntoIterator<Item = Row>) {
        let mut state = self.lock();
        state.settled = 0;
        for row in last {
            state.settled = row.number;
            state.history.ledger_had.push((moment, row));
        }
    }

    /// Notes that a leader wrote into the ledger after another one had begun there.
    pub(crate) fn wrote_late(&self, moment: Moment) {
        self.lock().history.settled_late.push(moment);
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
    pub(crate) fn born(&self, began: Moment, node: NodeId, first: u64) -> usize {
        let mut state = self.lock();
        state.history.node_runs.push(NodeRun { node, began, first, ..NodeRun::default() });
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

/// Records what happens in the store, and tells the story of it.
impl Observer for Record {
    fn observe(&self, event: Event<'_>) {
        let (trace, moment, mut state) = (&self.trace, self.trace.now(), self.lock());
        let RecordState { history, settled } = &mut *state;
        match event {
            Event::Called { call, link, server } => {
                trace.tell(format_args!("{call:?} of slot {link} at server {server}"));
            }
            Event::Stored { server, entry, name } => {
                let Entry { position, epoch, .. } = entry;
                let commands = entry.open().map(|(_, body)| body.commands());
                trace.tell(format_args!(
                    "server {server} has entry {epoch}.{position}, batch {name}: {commands:?}"
                ));
            }
            Event::HeadChanged { server, last, replaced } => {
                history.head_changes.push(HeadChange { moment, server, last, replaced });
            }
            Event::Lost { cause, from, to } => {
                history.losses.push(Loss { moment, cause, from, to, settled: *settled });
            }
            Event::FailedOver { server } => history.failovers.push((moment, server)),
            Event::Demoted => history.demotions.push(moment),
            Event::CarriedOver => history.carried_over.push(moment),
            Event::ClockStepped { by } => history.clock_steps.push((moment, by)),
        }
    }
}

/// Returns the history of a world in which nothing happened yet.
fn empty(durability: Durability) -> History {
    History {
        durability,
        exchanges: Vec::new(),
        stored: Vec::new(),
        head_changes: Vec::new(),
        losses: Vec::new(),
        failovers: Vec::new(),
        demotions: Vec::new(),
        carried_over: Vec::new(),
        clock_steps: Vec::new(),
        ledger_restored: Vec::new(),
        ledger_had: Vec::new(),
        settled_late: Vec::new(),
        queue_waits: Vec::new(),
        codes_shown: Vec::new(),
        node_runs: Vec::new(),
        end: End::default(),
    }
}
