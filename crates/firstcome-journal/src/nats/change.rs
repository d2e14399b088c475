//! What a transaction changes: messages to store together, and what is removed after that.

use super::Nats;
use super::load::Ground;
use super::stored::{CellPart, HeadRecord, Index, When, entry_messages, write_entry};
use crate::cell::{Cell, Kind};
use crate::database::{HeadRow, term_after};
use crate::failure::Failure;
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
    /// Messages of pieces, cells and entries.
    messages: Vec<Put>,
    /// Whether the head or the index change, or it rests on them.
    exclusive: bool,
    index_changed: bool,
    /// Whether it rests on where the entries end.
    at_the_end: bool,
    /// Subjects to remove, each before a sequence; `None`: before the last message of this change.
    removed: Vec<(String, Option<u64>)>,
    pub(super) dropped: usize,
}

impl<'a> Change<'a> {
    pub(super) fn new(journal: &'a Nats, before: &'a Ground, now: Timestamp) -> Self {
        let head = HeadRecord { row: before.view.row(), floor: before.view.head.floor };
        let index = before.index.clone();
        Self {
            journal,
            before,
            now,
            head,
            index,
            messages: Vec::new(),
            exclusive: false,
            index_changed: false,
            at_the_end: false,
            removed: Vec::new(),
            dropped: 0,
        }
    }

    fn row(&mut self) -> Result<&mut HeadRow, Failure> {
        self.exclusive = true;
        self.head.row.as_mut().ok_or(Failure::Gone(self.journal.inner.space))
    }

    pub(super) fn write(&mut self, write: &Write) -> Result<(), Failure> {
        let now = self.now;
        match write {
            Write::Term => self.row()?.term += 1,
            Write::Epoch => {
                self.row()?.epoch += 1;
                self.at_the_end = true;
            }
            Write::Level(level) => {
                if self.head.row.is_none_or(|row| row.level < *level) {
                    self.row()?.level = *level;
                }
            }
            Write::Entries(entries) => {
                self.row()?;
                self.at_the_end = true;
                for entry in entries {
                    let subject = self.subjects().entry(entry.position, entry.name()?);
                    let bytes =
                        write_entry(When::At(entry.at), entry.epoch, entry.before, &entry.body);
                    let most = self.journal.inner.stream.nats().max_payload();
                    self.messages.extend(entry_messages(subject, bytes, most));
                }
            }
            Write::Restart { tip, epoch, level } => {
                let term = term_after(self.head.row.map(|row| row.term), now).cast_unsigned();
                let skips = self.head.row.map_or(0, |row| row.skips);
                let (space, shard) = (self.journal.inner.space, self.journal.inner.options.shard);
                let base = (tip.position, tip.name, Some(tip.at));
                let (epoch, level) = (*epoch, *level);
                let row = HeadRow { space, shard, level, epoch, term, base, last: None, skips };
                self.head = HeadRecord { row: Some(row), floor: self.before.view.last };
                (self.exclusive, self.at_the_end) = (true, true);
                self.removed
                    .push((self.subjects().all_of_entries(), Some(self.before.view.last + 1)));
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
        }
        Ok(())
    }

    fn subjects(&self) -> &'a super::Subjects {
        &self.journal.inner.subjects
    }

    fn trim(&mut self, through: u64) -> Result<(), Failure> {
        let row = self.row()?;
        if through <= row.base.0 {
            return Ok(());
        }
        let missing = || Failure::Damaged { position: through, why: "it is missing".to_owned() };
        let loaded = &self.before.loaded.entries;
        let entry = loaded.iter().find(|entry| entry.position == through).ok_or_else(missing)?;
        let sequence = self.before.sequences.get(&through).copied().ok_or_else(missing)?;
        let base = (through, entry.name()?, Some(entry.at));
        self.row()?.base = base;
        self.head.floor = sequence;
        self.removed.push((self.subjects().all_of_entries(), Some(sequence + 1)));
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
    fn put(&mut self, cell: &Cell, stamp: Option<Option<Timestamp>>) -> Result<(), Failure> {
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

    /// Gives the messages to store, on their conditions, and what is to be removed then.
    pub(super) fn finish(mut self, resting_on_end: bool) -> (Vec<Put>, Vec<(String, Option<u64>)>) {
        let exclusive = self.exclusive || self.index_changed;
        let mut messages = std::mem::take(&mut self.messages);
        if exclusive {
            let head = self.subjects().head();
            let rests_on = Some((head.clone(), self.before.view.head_sequence));
            if self.index_changed {
                messages.push(Put::new(self.subjects().index(), self.index.write()));
            }
            messages.push(Put { rests_on, ..Put::new(head, self.head.write()) });
            if (self.at_the_end || resting_on_end)
                && let Some(first) = messages.first_mut()
            {
                first.after = Some(self.before.view.last);
            }
        }
        (messages, self.removed)
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
            | Write::Delete(..) => {}
        }
    }
}

/// Gives the head of a new space.
pub(super) fn first_head(space: SpaceId, shard: u32, level: u32) -> HeadRecord {
    let base = (0, crate::name::Name::default(), None);
    let (epoch, term, skips) = (0, 0, 0);
    let row = HeadRow { space, shard, level, epoch, term, base, last: None, skips };
    HeadRecord { row: Some(row), floor: 0 }
}
