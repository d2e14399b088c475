//! Appends an entry, and reads what the caller has not applied yet.

use super::stored::{When, entry_messages, read_entry, whole, write_entry};
use super::view::{Last, View};
use super::{COPY_WITHIN, Nats, TURN_WITHIN, looked, trouble};
use crate::database::Broken;
use crate::entry::{Append, Confirm, Entry, Exchange};
use crate::failure::Failure;
use crate::name::Tip;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::Failure as Store;
use firstcome_store::nats::Put;
use tokio::time::Instant;

impl Nats {
    pub(crate) async fn append(&self, append: Append) -> Result<Exchange, Failure> {
        let end = Instant::now() + TURN_WITHIN;
        let looked = |broken| self.unchanged(broken);
        // What was seen last is good enough if it still is so when the entry is stored.
        let mut seen = self.seen();
        loop {
            let (view, fresh) = match seen.take() {
                Some(view) => (view, false),
                None => (self.look().await.map_err(looked)?.0, true),
            };
            let rested = match self.rests(&append, &view).await {
                Err(_) if !fresh => continue,
                rested => rested.map_err(looked)?,
            };
            let stored = self.inner.stream.put(rested.messages).await;
            match stored {
                Ok(sequence) => return self.appended(append, view, rested.entries, sequence).await,
                Err(Store::Held { .. }) if Instant::now() < end => {}
                // Nobody takes it: a look says whether the stream is gone.
                Err(Store::Unreachable { .. }) if !fresh => {}
                Err(failure) => {
                    self.set_seen(None);
                    return Err(trouble(self.inner.space, failure));
                }
            }
        }
    }

    /// Looks whether what the caller applied is what is stored, and gives what to store and what the caller lacks.
    async fn rests(&self, append: &Append, view: &View) -> Result<Rested, Broken> {
        let (space, applied) = (self.inner.space, append.applied);
        let row = view.row().ok_or(Failure::Gone(space))?;
        if row.space != space {
            return Err(Failure::OtherSpace { found: row.space, wanted: space }.into());
        }
        let tip = row.last.unwrap_or(Tip {
            position: row.base.0,
            name: row.base.1,
            at: row.base.2.unwrap_or(firstcome_core::Timestamp::from_micros(0)),
        });
        if applied > tip.position {
            return Err(Failure::Behind { head: tip.position, applied }.into());
        }
        if applied < row.base.0 {
            let first = row.base.0 + 1;
            return Err(Failure::Trimmed { wanted: applied + 1, first }.into());
        }
        let mut entries = Vec::new();
        let there = if applied == tip.position {
            tip.name
        } else {
            let from = applied.max(row.base.0 + 1);
            entries = self.all_of(from, tip.position).await?;
            if from == applied { entries.remove(0).name()? } else { row.base.1 }
        };
        if there != append.applied_name && !self.inner.blind {
            let applied_name = append.applied_name;
            let forked = Failure::Forked { position: applied, found: there, applied: applied_name };
            return Err(forked.into());
        }
        entries.truncate(READ_ENTRIES);
        let when = match self.clock() {
            None => When::NotBefore(tip.at),
            Some(now) => When::At(now.max(tip.at)),
        };
        let subject = self.inner.subjects.entry(tip.position + 1, append.name);
        let bytes = write_entry(when, row.epoch, tip.name, &append.body);
        let messages = self.next_entry(view, subject, bytes);
        Ok(Rested { messages, entries })
    }

    /// Makes the messages of an entry that is stored only if the stream stands where it was seen.
    fn next_entry(&self, view: &View, subject: String, bytes: Vec<u8>) -> Vec<Put> {
        // The sequence alone is not enough: a stream that lost its end may have grown to the same number.
        let rests_on = match view.entry {
            Some(last) => {
                (self.inner.subjects.entry(last.tip.position, last.tip.name), last.sequence)
            }
            None => (self.inner.subjects.head(), view.head_sequence),
        };
        let max_payload = self.inner.stream.nats().max_payload();
        let mut messages = entry_messages(subject, bytes, max_payload);
        if let Some(first) = messages.first_mut() {
            (first.after, first.rests_on) = (Some(view.last), Some(rests_on));
        }
        messages
    }

    /// Reads the entry that was just stored.
    async fn appended(
        &self,
        append: Append,
        view: View,
        mut entries: Vec<Entry>,
        sequence: u64,
    ) -> Result<Exchange, Failure> {
        let position = super::view::end_of(&view).map_or(1, |(position, _)| position + 1);
        // It is stored, but when is not known without this.
        let lost = || Failure::Unknown("its time could not be read".to_owned());
        let end = Instant::now() + COPY_WITHIN;
        let stored = loop {
            match self.inner.stream.at(sequence).await {
                Ok(Some(stored)) => break stored,
                Ok(None) if Instant::now() < end => self.pause().await,
                Ok(None) | Err(_) => {
                    self.set_seen(None);
                    return Err(lost());
                }
            }
        };
        let stored = whole(&self.inner.stream, stored).await.map_err(|_| lost())?;
        let entry = read_entry(position, &stored).map_err(|_| lost())?;
        let tip = Tip { position, name: append.name, at: entry.at };
        let last = Last { tip, epoch: entry.epoch, sequence };
        self.set_seen(Some(View { last: sequence, entry: Some(last), ..view }));
        // Whoever does not hear it looks by itself.
        drop(self.inner.stream.nats().tell(self.inner.subjects.news(), Vec::new()).await);
        if entries.len() < READ_ENTRIES {
            entries.push(entry);
        }
        Ok(Exchange { entries, confirm: Confirm::AtOnce })
    }

    pub(super) fn unchanged(&self, broken: Broken) -> Failure {
        match broken {
            Broken::Own(failure) => crate::database::unchanged(failure),
            Broken::Store(failure) => looked(self.inner.space, failure),
        }
    }
}

/// What is stored by an append, and what its caller has not applied.
struct Rested {
    messages: Vec<Put>,
    entries: Vec<Entry>,
}
