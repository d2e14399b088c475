//! What is written down while a world lives, for those who judge it.

use crate::history::{Cause, Exchange, Headed, History, Life, Lined, Loss, Moment, Stored, Told};
use firstcome_core::NodeId;
use firstcome_core::state::Stamp;
use firstcome_journal::{Entry, Name};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::xxh3_64;

/// Writes down what happens. Clones write into the same book.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    inside: Arc<Mutex<Inside>>,
}

#[derive(Debug)]
struct Inside {
    history: History,
    /// Where each entry stands in the history.
    places: HashMap<Place, usize>,
    /// The same, by what a state knows of the entry it is as of.
    stamps: HashMap<(u64, i64, u32, [u8; 16], u64), usize>,
    /// Up to which result the ledger has them.
    settled: u64,
}

/// What tells two entries apart.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Place(u64, i64, u32, [u8; 16], u64, u64);

impl Record {
    pub(crate) fn begin(history: History) -> Self {
        Self {
            inside: Arc::new(Mutex::new(Inside {
                history,
                places: HashMap::new(),
                stamps: HashMap::new(),
                settled: 0,
            })),
        }
    }

    /// Notes an entry a server has; gives its number, the same each time, and whether it is a new one.
    pub(crate) fn stored(&self, moment: Moment, entry: &Entry, name: Name) -> (usize, bool) {
        let (at, before, body) = (entry.at.as_micros(), entry.before, xxh3_64(&entry.body));
        let place = Place(entry.position, at, entry.epoch, before.node.0, before.number, body);
        let mut inside = self.lock();
        let Inside { history, places, stamps, .. } = &mut *inside;
        let number = history.stored.len();
        let known = *places.entry(place).or_insert(number);
        if known == number {
            history.stored.push(Stored { moment, entry: entry.clone(), name });
            stamps.insert((entry.position, at, entry.epoch, name.node.0, name.number), number);
        }
        (known, known == number)
    }

    /// Gives the entries up to the one with this position and name, from the first one on, as far as any
    /// server ever had them; of two that differ in their time alone, the one that came later.
    pub(crate) fn ancestry(&self, position: u64, name: Name) -> Vec<usize> {
        let inside = self.lock();
        let stored = &inside.history.stored;
        let (mut chain, mut wanted) = (Vec::new(), (position, name));
        while wanted.0 > 0 {
            let fits = |it: &Stored| (it.entry.position, it.name) == wanted;
            let Some(place) = stored.iter().rposition(fits) else { break };
            chain.push(place);
            wanted = (wanted.0 - 1, stored[place].entry.before);
        }
        chain.reverse();
        chain
    }

    /// Gives the number of the entry a state is as of.
    pub(crate) fn place(&self, stamp: Stamp) -> Option<usize> {
        let Stamp { position, at, epoch, node, number } = stamp;
        self.lock().stamps.get(&(position, at.as_micros(), epoch, node.0, number)).copied()
    }

    pub(crate) fn headed(&self, headed: Headed) {
        self.lock().history.headed.push(headed);
    }

    /// Notes what a node told the operator.
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
        let mut inside = self.lock();
        let settled = inside.settled;
        inside.history.losses.push(Loss { moment, cause, from, to, settled });
    }

    /// Notes up to which result the ledger has them now.
    pub(crate) fn settled(&self, through: u64) {
        self.lock().settled = through;
    }

    /// Notes that a leader wrote into the ledger after another one had taken its place there.
    pub(crate) fn wrote_late(&self, moment: Moment) {
        self.lock().history.settled_late.push(moment);
    }

    pub(crate) fn turned(&self, moment: Moment, server: usize) {
        self.lock().history.turns.push((moment, server));
    }

    pub(crate) fn demoted(&self, moment: Moment) {
        self.lock().history.demotions.push(moment);
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
    pub(crate) fn heard(&self, number: usize, heard_at: Moment, told: Told) {
        if let Some(exchange) = self.lock().history.exchanges.get_mut(number) {
            exchange.heard_at = heard_at;
            exchange.told = told;
        }
    }

    /// Notes that somebody takes a place in line; gives its number.
    pub(crate) fn lines_up(&self, exchange: usize, began: Moment) -> usize {
        let lined = &mut self.lock().history.lined;
        lined.push(Lined { exchange, began, left: None });
        lined.len() - 1
    }

    /// Notes that they left it.
    pub(crate) fn leaves_line(&self, number: usize, moment: Moment) {
        if let Some(lined) = self.lock().history.lined.get_mut(number) {
            lined.left = Some(moment);
        }
    }

    /// Begins a life; gives its number.
    pub(crate) fn born(&self, began: Moment, node: NodeId) -> usize {
        let mut inside = self.lock();
        inside.history.lives.push(Life { node, began, ..Life::default() });
        inside.history.lives.len() - 1
    }

    pub(crate) fn applied(&self, life: usize, moment: Moment, entry: usize) {
        if let Some(life) = self.lock().history.lives.get_mut(life) {
            life.applied.push((moment, entry));
        }
    }

    pub(crate) fn told_to_stop(&self, life: usize, moment: Moment) {
        if let Some(life) = self.lock().history.lives.get_mut(life) {
            life.told = Some(moment);
        }
    }

    pub(crate) fn died(&self, life: usize, moment: Moment) {
        if let Some(life) = self.lock().history.lives.get_mut(life) {
            life.ended.get_or_insert(moment);
        }
    }

    /// Looks at what is written, or adds to it.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut History) -> T) -> T {
        look(&mut self.lock().history)
    }

    fn lock(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
