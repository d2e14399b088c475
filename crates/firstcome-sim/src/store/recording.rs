//! Records what each server has, for the judge: every entry once, and the last entry of each server.

use super::Store;
use crate::history::HeadChange;
use firstcome_journal::memory::Memory;
use firstcome_journal::{Entry, Journal};
use std::sync::Arc;

impl Store {
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
            self.record.with(|history| {
                let stored = &history.stored[last];
                (stored.entry.position, stored.name)
            })
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
        let mut chain = self.record.ancestry((head.first - 1, base));
        chain.append(&mut fresh);
        self.record_head(number, Arc::new(chain));
    }

    fn record_entry(&self, server: usize, entry: &Entry) -> usize {
        let name = entry.name().unwrap_or_default();
        let (index, is_new) = self.record.stored(self.trace.now(), entry, name);
        if is_new {
            let Entry { position, epoch, .. } = entry;
            let commands = entry.open().map(|(_, body)| body.commands());
            self.trace.tell(format_args!(
                "server {server} has entry {epoch}.{position}, batch {name}: {commands:?}"
            ));
        }
        index
    }

    fn record_head(&self, server: usize, chain: Arc<Vec<usize>>) {
        let last = chain.last().copied();
        self.lock().servers[server].chain = chain;
        self.record.head_changed(HeadChange {
            moment: self.trace.now(),
            server,
            last,
            replaced: false,
        });
    }
}

async fn entries_beyond(journal: &Journal, after: u64) -> Vec<Entry> {
    journal.read(after).await.map_or_else(|_| Vec::new(), |read| read.entries)
}

fn last_of(entries: &[Entry]) -> u64 {
    entries.last().map_or(0, |last| last.position)
}
