//! What a transaction changes: messages to store in one of the streams, and what is removed after that.

use super::Nats;
use super::append::in_two;
use super::load::Ground;
use super::stored::{CellPart, HeadRecord, Index, Restart};
use super::subjects::Subjects;
use crate::ancestry::{Content, Message, Place, REACH, mark};
use crate::database::{HeadRow, term_after};
use crate::entry::Entry;
use crate::error::JournalError;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::{IDLE_PIECES, Write};
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;
use firstcome_store::nats::Put;

/// Bytes of a cell's value in one message.
const PART: usize = 512 << 10;

/// The changes of a transaction, as they add up.
pub(super) struct Change<'a> {
    journal: &'a Nats,
    before: &'a Ground,
    now: Timestamp,
    head: HeadRecord,
    index: Index,
    /// Messages of pieces and cells.
    messages: Vec<Put>,
    /// Messages of the log.
    in_log: Vec<Put>,
    /// Whether the head changes, or what rests on it.
    exclusive: bool,
    index_changed: bool,
    /// Whether the journal goes on after a state.
    restarts: bool,
    /// Subjects of the table to remove, each before a sequence; `None`: before the last message of this change.
    removed: Vec<(String, Option<u64>)>,
    /// Before which message those of the log are to be removed.
    log_before: Option<u64>,
    dropped: usize,
}

/// What is to be stored, and what is to be removed then.
pub(super) struct Changes {
    /// In the log, all or none, if it ends where it was seen to end.
    pub(super) in_log: Vec<Put>,
    /// In the table, all or none, if the head is as it was seen.
    pub(super) in_table: Vec<Put>,
    /// Subjects of the table, each before a sequence; `None`: before the last message that was stored.
    pub(super) removed: Vec<(String, Option<u64>)>,
    /// Messages of the log before this one.
    pub(super) log_before: Option<u64>,
    /// How many pieces are dropped.
    pub(super) dropped: usize,
}

impl<'a> Change<'a> {
    pub(super) fn new(journal: &'a Nats, before: &'a Ground, now: Timestamp) -> Self {
        let head = HeadRecord { row: before.view.row(), ..before.view.head.clone() };
        // What a message of the log began again is written into the table by whoever writes there next.
        let begun_again = before.view.begun_again.is_some();
        Self {
            journal,
            before,
            now,
            head,
            index: before.index.clone(),
            messages: Vec::new(),
            in_log: Vec::new(),
            exclusive: begun_again,
            index_changed: begun_again,
            restarts: false,
            removed: Vec::new(),
            log_before: None,
            dropped: 0,
        }
    }

    fn row(&mut self) -> Result<&mut HeadRow, JournalError> {
        self.exclusive = true;
        self.head.row.as_mut().ok_or(JournalError::Gone(self.journal.inner.space))
    }

    pub(super) fn write(&mut self, write: &Write) -> Result<(), JournalError> {
        let now = self.now;
        match write {
            Write::Term => self.row()?.term += 1,
            Write::Epoch => self.row()?.epoch += 1,
            Write::Level(level) => {
                if self.head.row.is_none_or(|row| row.level < *level) {
                    self.row()?.level = *level;
                }
            }
            Write::Entries(entries) => {
                for entry in entries {
                    self.write_again(entry)?;
                }
            }
            Write::Restart { tip, epoch, level } => {
                let term = term_after(self.head.row.map(|row| row.term), now).cast_unsigned();
                let skips = self.head.row.map_or(0, |row| row.skips);
                let space = self.journal.inner.space;
                let base = (tip.position, tip.name, Some(tip.at));
                let (epoch, level) = (*epoch, *level);
                let row = HeadRow { space, level, epoch, term, base, last: None, skips };
                (self.head.row, self.head.mark) = (Some(row), None);
                (self.exclusive, self.restarts) = (true, true);
            }
            Write::Trim(through) => self.trim(*through)?,
            Write::Manifests(manifests) => {
                self.index.manifests.clone_from(manifests);
                self.index_changed = true;
            }
            Write::Piece(name, bytes) => {
                self.messages.push(Put::new(self.subjects().piece(*name), bytes.clone()));
                let idle = self.index.pieces.entry(*name).or_insert(Some(now));
                *idle = idle.map(|_| now);
                self.index_changed = true;
            }
            Write::Named(names) => self.set_idle(names, None),
            Write::Unnamed(names) => self.set_idle(names, Some(now)),
            Write::DropIdle(since) => self.drop_idle(*since),
            Write::Put(cell) => self.put(cell, None)?,
            Write::Stamped(cell) => self.put(cell, Some(self.journal.clock()))?,
            Write::Delete(kind, key) => {
                // One that came since is behind what was seen.
                let before = self.before.view.last + 1;
                self.removed.push((self.subjects().cell(*kind, key), Some(before)));
            }
            Write::Mark(mark) | Write::Vacate(mark) => {
                if let Write::Vacate(_) = write {
                    self.head.row = None;
                }
                (self.head.mark, self.exclusive) = (Some(mark.clone()), true);
            }
            Write::Unmark => (self.head.mark, self.exclusive) = (None, true),
        }
        Ok(())
    }

    fn subjects(&self) -> &'a Subjects {
        &self.journal.inner.streams.subjects
    }

    /// Puts an entry into the log whole.
    fn write_again(&mut self, entry: &Entry) -> Result<(), JournalError> {
        let journal = self.journal;
        let subject = || journal.inner.streams.subjects.entries();
        let (body, rest) = in_two(&entry.body, journal.inner.streams.table.nats().max_payload());
        let mut part = 0;
        if !rest.is_empty() {
            self.in_log.push(Put::new(subject(), Message::Part(rest).write(journal.nonce())));
            part = self.before.view.log_last() + self.in_log.len() as u64;
        }
        let exact = Message::Exact {
            position: entry.position,
            at: entry.at,
            epoch: entry.epoch,
            before: entry.before,
            content: Content { name: entry.name()?, part, body },
        };
        self.in_log.push(Put::new(subject(), exact.write(journal.nonce())));
        Ok(())
    }

    fn trim(&mut self, through: u64) -> Result<(), JournalError> {
        let row = self.row()?;
        if through <= row.base.0 {
            return Ok(());
        }
        let missing =
            || JournalError::Damaged { position: through, why: "it is missing".to_owned() };
        let cursor = self.before.standing.get(&through).ok_or_else(missing)?;
        let (tip, place, epoch) = (cursor.tip, cursor.place, cursor.epoch);
        self.row()?.base = (through, tip.name, Some(tip.at));
        (self.head.floor, self.head.floor_epoch) = (place, epoch);
        // So many before it are needed to see which entries behind it count.
        self.log_before = place.sequence.checked_sub(REACH).filter(|before| *before > 1);
        Ok(())
    }

    fn set_idle(&mut self, names: &[firstcome_core::names::PieceName], since: Option<Timestamp>) {
        for name in names {
            if let Some(idle) = self.index.pieces.get_mut(name) {
                *idle = since;
                self.index_changed = true;
            }
        }
    }

    fn drop_idle(&mut self, since: Timestamp) {
        let old =
            self.index.pieces.iter().filter(|(_, idle)| idle.is_some_and(|idle| idle <= since));
        let old: Vec<_> = old.map(|(name, _)| *name).take(IDLE_PIECES).collect();
        self.dropped = old.len();
        for name in old {
            self.index.pieces.remove(&name);
            self.index_changed = true;
            self.removed.push((self.subjects().piece(name), None));
        }
    }

    /// Stores a cell; `stamp` is whether with a time before it, and which one if it is not the message's.
    fn put(&mut self, cell: &Cell, stamp: Option<Option<Timestamp>>) -> Result<(), JournalError> {
        let mut value = cell.value.clone();
        if let Some(Some(time)) = stamp {
            value = [&time.as_micros().to_le_bytes()[..], &value].concat();
        }
        if cell.kind == Kind::Skip {
            let known = &self.before.loaded.cells;
            let known = known.iter().any(|one| one.kind == cell.kind && one.key == cell.key);
            self.row()?.skips += u32::from(!known);
        }
        let stamped = stamp == Some(None);
        let chunks: Vec<&[u8]> =
            if value.is_empty() { vec![&[]] } else { value.chunks(PART).collect() };
        let parts = chunks.len();
        for (number, value) in chunks.into_iter().enumerate() {
            let subject = self.subjects().part(cell.kind, &cell.key, number);
            self.messages.push(Put::new(subject, CellPart { parts, stamped, value }.write()));
        }
        Ok(())
    }

    /// Returns the messages to store, on their conditions, and what is to be removed then.
    pub(super) fn finish(mut self) -> Changes {
        let before = self.before;
        if self.restarts {
            let (head, manifests) = (self.head.clone(), self.index.manifests.clone());
            let state = Restart { head, manifests }.write();
            let bytes = Message::Restart(&state).write(self.journal.nonce());
            let sequence = before.view.log_last() + 1;
            let floor = Place { sequence, mark: mark(&bytes) };
            let epoch = self.head.row.map_or(0, |row| row.epoch);
            self.head = HeadRecord { floor, floor_epoch: epoch, origin: floor, ..self.head };
            self.in_log = vec![Put::new(self.subjects().restarts(), bytes)];
            self.log_before = Some(sequence);
        }
        if let Some(first) = self.in_log.first_mut() {
            first.after = Some(before.view.log_last());
        }
        let mut in_table = std::mem::take(&mut self.messages);
        if self.exclusive || self.index_changed {
            let head = self.subjects().head();
            let rests_on = Some((head.clone(), before.view.head_sequence));
            if self.index_changed {
                in_table.push(Put::new(self.subjects().index(), self.index.write()));
            }
            in_table.push(Put { rests_on, ..Put::new(head, self.head.write()) });
        }
        let Self { in_log, removed, log_before, dropped, .. } = self;
        Changes { in_log, in_table, removed, log_before, dropped }
    }
}

/// The kinds of cells that a change rests on, beside its conditions.
pub(super) fn needs(writes: &[Write], needs: &mut crate::database::Needs) {
    for write in writes {
        match write {
            Write::Trim(through) => needs.entries.push(*through),
            Write::Put(cell) if cell.kind == Kind::Skip => {
                needs.kinds.insert(Kind::Skip);
            }
            Write::Put(_)
            | Write::Term
            | Write::Epoch
            | Write::Level(_)
            | Write::Entries(_)
            | Write::Restart { .. }
            | Write::Manifests(_)
            | Write::Piece(..)
            | Write::Named(_)
            | Write::Unnamed(_)
            | Write::DropIdle(_)
            | Write::Stamped(_)
            | Write::Delete(..)
            | Write::Mark(_)
            | Write::Unmark
            | Write::Vacate(_) => {}
        }
    }
}

/// Returns the head of a new space.
pub(super) fn first_head(space: SpaceId, level: u32) -> HeadRecord {
    let base = (0, crate::name::Name::default(), None);
    let (epoch, term, skips) = (0, 0, 0);
    let row = HeadRow { space, level, epoch, term, base, last: None, skips };
    HeadRecord { row: Some(row), ..HeadRecord::default() }
}
