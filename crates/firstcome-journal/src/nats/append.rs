//! Appends an entry, and reads what the caller has not applied yet.

use super::log::{Ended, Read};
use super::stored::HEADERS;
use super::{Nats, TURN_WITHIN, looked, trouble};
use crate::ancestry::{Content, Cursor, Message};
use crate::database::DatabaseError;
use crate::entry::{Append, AppendAnswer, Confirm, EntriesRead};
use crate::error::JournalError;
use firstcome_store::StoreError;
use firstcome_store::nats::Put;
use std::sync::atomic::Ordering;
use tokio::time::Instant;

/// How often an entry that was ignored is sent at least: one time may have taken long.
const TRIES: u32 = 4;

impl Nats {
    pub(crate) async fn append(&self, append: Append) -> Result<AppendAnswer, JournalError> {
        let asked = Instant::now();
        let end = asked + TURN_WITHIN;
        let log = &self.inner.streams.log;
        let way = self.way();
        let (mut entries, mut tries) = (Vec::new(), 0);
        // What was read last is good enough: if it is not in the log any more, the entry counts for nobody.
        let name = (!self.inner.everything).then_some(append.applied_name);
        let mut known = log.known(append.applied, name);
        loop {
            let (mut cursor, fresh) = match known.take() {
                Some(cursor) => (cursor, false),
                None => {
                    entries.clear();
                    (self.ground(&append).await.map_err(|broken| self.unchanged(broken))?, true)
                }
            };
            let sequence = match self.send(&append, &cursor).await {
                Ok(sequence) => sequence,
                // Nobody takes it: a look says whether the streams are gone.
                Err(StoreError::Unreachable { .. }) if !fresh => continue,
                Err(failure) => return Err(trouble(self.inner.space, failure)),
            };
            // It is stored, but whether it counts and when it was is not known without this.
            let lost =
                |broken: DatabaseError| JournalError::Unknown(self.unchanged(broken).to_string());
            let read = if sequence > cursor.sequence {
                log.read_delivered_to(&mut cursor, sequence, usize::MAX).await.map_err(lost)?
            } else {
                // The log is shorter than it was.
                Read { ended: Ended::Lost, ..Read::default() }
            };
            let Read { entries: more, ignored, mut ended } = read;
            entries.extend(more);
            if ended == Ended::There && ignored < sequence {
                log.remember(&cursor);
                // It was stored after it was asked for, and all before it was read.
                let end = cursor.tip.position;
                let read = EntriesRead::of(append.applied, entries, end, asked);
                return Ok(AppendAnswer::of(read, Confirm::AtOnce));
            }
            if ended == Ended::There {
                // So many others came before it that its ancestor was too far back. What they appended since is read first.
                let read = log.catch_up(&mut cursor).await;
                let read = read.map_err(|broken| self.unchanged(broken))?;
                entries.extend(read.entries);
                ended = read.ended;
            }
            if ended != Ended::There {
                // What was read last is not there any more. What the caller applied may be, and then the entry counts.
                log.forget();
                drop(self.inner.run.note_again());
                return Err(JournalError::Unknown(
                    "the log is not the one that was read".to_owned(),
                ));
            }
            log.remember(&cursor);
            if self.way() != way {
                // It is looked first whether the log lost something.
                return Err(JournalError::Changed);
            }
            known = Some(cursor);
            tries += 1;
            if tries >= TRIES && Instant::now() >= end {
                return Err(JournalError::Unavailable("others were quicker each time".to_owned()));
            }
        }
    }

    /// Returns a value that is another one after a new connection, and once another run of a server was noticed.
    fn way(&self) -> (u64, i64) {
        (self.inner.streams.log.stream.nats().connections(), self.inner.run.seen())
    }

    /// Looks whether what the caller applied is what is stored, and gives where it stands.
    async fn ground(&self, append: &Append) -> Result<Cursor, DatabaseError> {
        let (space, applied) = (self.inner.space, append.applied);
        let streams = &self.inner.streams;
        let mut view = self.look().await?.0;
        if view.head.row.is_some() && streams.mend_log(&view, self.inner.replicas).await? {
            view = self.look().await?.0;
        }
        let row = view.row().ok_or(JournalError::Gone(space))?;
        if row.space != space {
            return Err(JournalError::OtherSpace { found: row.space, wanted: space }.into());
        }
        let head = view.end.tip.position;
        if applied > head {
            return Err(JournalError::Behind { head, applied }.into());
        }
        if applied < row.base.0 {
            let first = row.base.0 + 1;
            return Err(JournalError::Trimmed { wanted: applied + 1, first }.into());
        }
        let cursor = streams.stand_at(&view, applied).await?;
        let (found, applied_name) = (cursor.tip.name, append.applied_name);
        if found != applied_name && !self.inner.everything {
            return Err(
                JournalError::Forked { position: applied, found, applied: applied_name }.into()
            );
        }
        Ok(cursor)
    }

    /// Sends an entry that rests on where its sender stands; gives the message it became.
    async fn send(&self, append: &Append, cursor: &Cursor) -> Result<u64, StoreError> {
        let log = &self.inner.streams.log.stream;
        let subject = self.inner.streams.subjects.entries();
        let (body, rest) = in_two(&append.body, log.nats().max_payload());
        let mut part = 0;
        if !rest.is_empty() {
            let rest = Message::Part(rest).write(self.nonce());
            part = log.put(vec![Put::new(subject.clone(), rest)]).await?;
        }
        let entry = Message::Entry {
            ancestor: cursor.ancestor(),
            epoch: self.inner.remembered.lock().epoch,
            clock: self.clock(),
            content: Content { name: append.name, part, body },
        };
        log.put(vec![Put::new(subject, entry.write(self.nonce()))]).await
    }

    /// Returns a number that no other message of the log has.
    pub(super) fn nonce(&self) -> u64 {
        self.inner.nonces.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn unchanged(&self, broken: DatabaseError) -> JournalError {
        match broken {
            DatabaseError::Own(failure) => crate::database::unchanged(failure),
            DatabaseError::Store(failure) => looked(self.inner.space, failure),
        }
    }
}

/// Cuts a body in two where it does not fit into one message.
pub(super) fn in_two(body: &[u8], max_payload: usize) -> (&[u8], &[u8]) {
    body.split_at_checked(max_payload - HEADERS).unwrap_or((body, &[]))
}
