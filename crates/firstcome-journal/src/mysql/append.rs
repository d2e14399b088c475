//! Appends an entry, and reads what the caller has not applied yet.

use super::MySql;
use super::fitness::{CHANGING, READ_ONLY, ServerSettings};
use super::load::{CLOCK, HEAD, RUN, begin, cell, entry, run_of};
use crate::database::{HeadRow, Loaded, follow_on, front, strange, trouble, unchanged};
use crate::entry::{Append, AppendAnswer, Confirm, EntriesRead, Entry};
use crate::error::JournalError;
use crate::journal::warning::Warning;
use crate::name::Name;
use firstcome_core::Timestamp;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::mysql::{Row, bytes};
use std::sync::Arc;
use tokio::time::Instant;

impl MySql {
    pub(crate) async fn append(&self, append: Append) -> Result<AppendAnswer, JournalError> {
        let inner = &*self.inner;
        let gone = |failure| trouble(inner.space, failure);
        // The name at what was applied, then the entries beyond it: bodies of what was applied are of no use.
        let (applied, most, asked) = (append.applied, READ_ENTRIES, Instant::now());
        let look = inner.tables.sql(&format!(
            "{HEAD} FOR UPDATE; {CLOCK}; {RUN}; {CHANGING}; SELECT name FROM `~entries` WHERE position = {applied}; \
             SELECT position, at, epoch, before_name, body FROM `~entries` WHERE position > {applied} \
             ORDER BY position LIMIT {most}"
        ));
        let (work, found) = inner.pool.begin(&look).await.map_err(gone)?;
        let rested = match self.rests(&append, &found) {
            Ok(rested) => rested,
            Err(failure) => {
                work.roll_back().await;
                self.make_token(&failure).await;
                return Err(unchanged(failure));
            }
        };
        let Rested { row, now, mut entries } = rested;
        let tip = row.head(now);
        let entry = Entry {
            position: tip.position + 1,
            at: tip.at.max(now),
            epoch: row.epoch,
            before: tip.name,
            body: Arc::clone(&append.body),
        };
        let store = inner.tables.sql(&format!(
            "INSERT INTO `~entries` VALUES ({position}, {at}, {epoch}, {name}, {before}, {body}); \
             UPDATE `~head` SET last_position = {position}, last_name = {name}, last_at = {at} WHERE one = 1",
            position = entry.position,
            at = entry.at.as_micros(),
            epoch = entry.epoch,
            name = bytes(&append.name.to_bytes()),
            before = bytes(&entry.before.to_bytes()),
            body = bytes(&entry.body),
        ));
        work.commit(&store).await.map_err(gone)?;
        let end = entry.position;
        if entries.len() < READ_ENTRIES {
            entries.push(entry);
        }
        Ok(AppendAnswer::of(EntriesRead::of(applied, entries, end, asked), Confirm::AtOnce))
    }

    /// Looks whether what the caller applied is what is stored.
    fn rests(&self, append: &Append, found: &[Vec<Row>]) -> Result<Rested, JournalError> {
        let [head, clock, run, settings, name, missed] = found else {
            return Err(strange("other lists"));
        };
        self.note_run(run)?;
        self.check_settings(&ServerSettings::changing(settings)?)?;
        let loaded: Loaded = begin(self.inner.space, head.first(), clock)?;
        loaded.check_space()?;
        let row = loaded.row.ok_or(JournalError::Gone(self.inner.space))?;
        let (applied, tip) = (append.applied, row.head(loaded.now));
        if applied > tip.position {
            return Err(JournalError::Behind { head: tip.position, applied });
        }
        if applied < row.base.0 {
            return Err(JournalError::Trimmed { wanted: applied + 1, first: tip.first });
        }
        let there = if applied == row.base.0 {
            row.base.1
        } else {
            let name = name.first().map(|row| cell::<Vec<u8>>(row, 0)).transpose()?;
            name.and_then(|name| Name::from_bytes(&name)).unwrap_or_default()
        };
        if there != append.applied_name && !self.inner.blind {
            let applied_name = append.applied_name;
            return Err(JournalError::Forked {
                position: applied,
                found: there,
                applied: applied_name,
            });
        }
        let missed: Vec<Entry> = missed.iter().map(entry).collect::<Result<_, _>>()?;
        let entries = front(follow_on(applied, missed))?;
        Ok(Rested { row, now: self.clock().unwrap_or(loaded.now), entries })
    }

    /// Refuses a server whose settings do not keep what was chosen any more.
    fn check_settings(&self, settings: &ServerSettings) -> Result<(), JournalError> {
        let options = &self.inner.options;
        if settings.is_read_only() {
            let (why, fix) = READ_ONLY;
            return Err(JournalError::Unfit { why: why.to_owned(), fix: fix.to_owned() });
        }
        match settings.less(options.durability).filter(|_| options.refuses_less()) {
            Some(Warning { what, fix }) => {
                self.inner.refusals.notify_one();
                Err(JournalError::LessDurable { what, fix })
            }
            None => Ok(()),
        }
    }

    /// Notes which run of which server answered.
    pub(super) fn note_run(&self, run: &[Row]) -> Result<(), JournalError> {
        self.inner.run.note(run_of(run)?.ok_or(JournalError::Changed)?)
    }

    /// Makes a token for a run that has none, where that is why something failed.
    pub(super) async fn make_token(&self, failure: &JournalError) {
        if let JournalError::Changed = failure {
            // Whoever comes next does it where this fails.
            drop(super::opening::make_token(&self.inner.pool, &self.inner.tables).await);
        }
    }
}

/// What an append rests on, and what its caller has not applied.
struct Rested {
    row: HeadRow,
    now: Timestamp,
    entries: Vec<Entry>,
}
