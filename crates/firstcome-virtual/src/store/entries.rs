//! Every entry that any server of the store ever had, once and with a number, and which of them each server has.

use super::Store;
use crate::events::Event;
use firstcome_core::state::Stamp;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Entry, Journal, Name};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;
use xxhash_rust::xxh3::xxh3_64;

/// An entry a server of the store came to have which none had before.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    /// When, as the time since the store began.
    pub moment: Duration,
    pub entry: Entry,
    pub name: Name,
    /// The name of its batch.
    pub batch: Name,
}

impl StoredEntry {
    /// Names the entry for people.
    pub fn tell(&self) -> String {
        let Self { entry, name, moment, .. } = self;
        let node = name.node.to_string();
        format!(
            "entry {}.{} ({}/{}, stored at {:.3} s)",
            entry.epoch,
            entry.position,
            &node[..8],
            name.number,
            moment.as_secs_f64()
        )
    }
}

/// The entries, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Entries {
    stored: Vec<StoredEntry>,
    /// The number of each entry.
    numbers: HashMap<EntryKey, usize>,
    /// The same, by position and name: a message may come twice, and a batch then stand at two positions.
    names: HashMap<(u64, Name), usize>,
}

/// The fields by which two entries differ.
#[derive(Debug, PartialEq, Eq, Hash)]
struct EntryKey(u64, i64, u32, [u8; 16], u64, u64);

impl Entries {
    /// Notes an entry a server has; gives its number, the same each time, and whether it is a new one.
    fn add(&mut self, moment: Duration, entry: &Entry, name: Name) -> (usize, bool) {
        let (at, before, body) = (entry.at.as_micros(), entry.before, xxh3_64(&entry.body));
        let key = EntryKey(entry.position, at, entry.epoch, before.node.0, before.number, body);
        let number = self.stored.len();
        let known = *self.numbers.entry(key).or_insert(number);
        if known == number {
            let batch = entry.open().map_or(name, |(stamp, _)| stamp.batch());
            self.stored.push(StoredEntry { moment, entry: entry.clone(), name, batch });
            self.names.insert((entry.position, name), number);
        }
        (known, known == number)
    }

    /// Returns the entries up to the one with this position and name, from the first one on, as far as any server ever had
    /// them.
    fn ancestry(&self, mut at: (u64, Name)) -> Vec<usize> {
        let mut chain = Vec::new();
        while let Some(number) = self.names.get(&at) {
            chain.push(*number);
            at = (at.0 - 1, self.stored[*number].entry.before);
        }
        chain.reverse();
        chain
    }
}

impl Store {
    /// Looks at every entry that any server ever had, each at its number.
    pub fn with_entries<T>(&self, look: impl FnOnce(&[StoredEntry]) -> T) -> T {
        look(&self.lock().entries.stored)
    }

    /// Returns the number of the entry a state is as of.
    pub fn number_of(&self, stamp: Stamp) -> Option<usize> {
        self.lock().entries.names.get(&(stamp.position, stamp.name())).copied()
    }

    /// Writes down which entries a server has now.
    pub(super) async fn record_entries(&self, number: usize, memory: &Memory) {
        let journal = Journal::Memory(memory.clone());
        let (chain, last) = {
            let state = self.lock();
            let chain = Arc::clone(&state.servers[number].chain);
            let last = chain.last().copied();
            (chain, last)
        };
        let Ok(head) = journal.head().await else {
            return self.record_head(number, Arc::default());
        };
        let known = last.map(|last| {
            self.with_entries(|stored| (stored[last].entry.position, stored[last].name))
        });
        let (position, same) = match known {
            None => (0, true),
            Some((position, name)) if position == head.position => (position, name == head.name),
            Some((position, _)) => (position, position < head.position),
        };
        if same && position == head.position {
            return;
        }
        if same
            && let Ok(read) = journal.read(position).await
            && read
                .entries
                .first()
                .is_some_and(|first| known.is_none_or(|(_, name)| first.before == name))
        {
            let mut chain = chain;
            let mut entries = read.entries;
            let mut last_of_chain = position;
            while !entries.is_empty() {
                for entry in &entries {
                    let index = self.record_entry(number, entry);
                    Arc::make_mut(&mut chain).push(index);
                }
                let after = last_of(&entries);
                // A store that makes mistakes may have entries which stand below their place.
                let further = after > last_of_chain;
                last_of_chain = after;
                entries = if further { entries_beyond(&journal, after).await } else { Vec::new() };
            }
            return self.record_head(number, chain);
        }
        // Another history than before: its beginning may be trimmed, and is what it was.
        let mut after = head.first - 1;
        let mut fresh = Vec::new();
        let mut base = head.name;
        loop {
            let entries = entries_beyond(&journal, after).await;
            let Some(first) = entries.first() else { break };
            if fresh.is_empty() {
                base = first.before;
            }
            let further = last_of(&entries) > after;
            after = last_of(&entries);
            fresh.extend(entries.iter().map(|entry| self.record_entry(number, entry)));
            if !further {
                break;
            }
        }
        let mut chain = self.lock().entries.ancestry((head.first - 1, base));
        chain.append(&mut fresh);
        self.record_head(number, Arc::new(chain));
    }

    fn record_entry(&self, server: usize, entry: &Entry) -> usize {
        let name = entry.name().unwrap_or_default();
        let (number, is_new) = self.lock().entries.add(self.begun.elapsed(), entry, name);
        if is_new {
            self.observer.observe(Event::Stored { server, entry, name });
        }
        number
    }

    fn record_head(&self, server: usize, chain: Arc<Vec<usize>>) {
        let last = chain.last().copied();
        self.lock().servers[server].chain = chain;
        self.observer.observe(Event::HeadChanged { server, last, replaced: false });
    }
}

async fn entries_beyond(journal: &Journal, after: u64) -> Vec<Entry> {
    journal.read(after).await.map_or_else(|_| Vec::new(), |read| read.entries)
}

fn last_of(entries: &[Entry]) -> u64 {
    entries.last().map_or(0, |last| last.position)
}
