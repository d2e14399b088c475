//! The writer thread: the one connection that changes the file.

use super::durable::{Durable, Form, execute};
use super::log::{Checkpointer, Due};
use super::options::Options;
use super::rows::{self, Rows};
use super::stored;
use crate::archive::Archive;
use crate::clock::Clock;
use crate::entry::{Append, AppendAnswer, Confirm, EntriesRead, Entry, Head, Sealer};
use crate::error::JournalError;
use crate::folder::DataFolder;
use crate::name::{Name, Tip};
use firstcome_core::command::level_of;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::SpaceId;
use firstcome_core::{Timestamp, newest_level};
use rusqlite::Connection;
use std::time::Instant;

/// What makes a file a journal.
pub(super) const FORM: Form = Form {
    application_id: i32::from_be_bytes(*b"FCjl"),
    what: "a journal of firstcome",
    settle: "UPDATE head SET settled = settled + 1",
};

/// The writer: the one connection that changes the file.
pub(super) struct Writer {
    pub(super) file: Durable,
    /// Kept so that the folder is not free before the file is closed.
    pub(super) folder: DataFolder,
    pub(super) sealer: Sealer,
    pub(super) clock: Clock,
    /// Where the journal stands. Nobody else writes to it, so this is as good as looking.
    pub(super) head: CachedHead,
    pub(super) archived: bool,
    pub(super) archive: Option<Archive>,
    pub(super) untidy: bool,
    /// When the last append ended.
    pub(super) appended: Instant,
    pub(super) checkpoint: Due,
}

/// Where a journal stands, as far as it is kept in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct CachedHead {
    pub(super) position: u64,
    pub(super) name: Name,
    pub(super) at: Timestamp,
    pub(super) epoch: u32,
    pub(super) level: u32,
    pub(super) first: u64,
    pub(super) term: u64,
    /// How many entries are skipped.
    pub(super) skips: u32,
}

impl CachedHead {
    /// Returns where the journal stands, with the clock as it is now.
    pub(super) fn head(&self, sealer: &Sealer, now: Timestamp) -> Head {
        Head {
            space: sealer.space,
            level: self.level,
            position: self.position,
            name: self.name,
            at: if self.position == 0 { now } else { self.at },
            epoch: self.epoch,
            first: self.first,
            skips: self.skips,
            now,
        }
    }
}

/// The row of the table `head`.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadRow {
    pub(super) sealer: Sealer,
    pub(super) level: u32,
    pub(super) epoch: u32,
    pub(super) term: u64,
}

impl HeadRow {
    pub(super) fn read(connection: &Connection) -> Result<Self, JournalError> {
        let row = connection.query_row(include_str!("head.sql"), [], |row| {
            let sealer = Sealer { space: SpaceId(row.get(0)?) };
            let (level, epoch) = (row.get(1)?, row.get(2)?);
            Ok(Self { sealer, level, epoch, term: row.get::<_, i64>(3)?.cast_unsigned() })
        })?;
        if row.level > newest_level() {
            return Err(JournalError::TooNew(row.level));
        }
        Ok(row)
    }
}

impl Writer {
    pub(super) fn open(
        folder: &DataFolder,
        options: &Options,
    ) -> Result<(Self, Checkpointer), JournalError> {
        let mut file = Durable::open(&folder.journal(), FORM, |connection| {
            let space = options.space.unwrap_or(options.fresh_space);
            connection.execute_batch(include_str!("schema.sql"))?;
            let sql = "INSERT INTO head VALUES (1, ?1, ?2, 0, 0, 0)";
            execute(connection, sql, (space.0, options.fresh_level))?;
            Ok::<_, JournalError>(())
        })?;
        let row = HeadRow::read(file.connection())?;
        let (sealer, found) = (row.sealer, row.sealer.space);
        if let Some(wanted) = options.space.filter(|wanted| *wanted != found) {
            return Err(JournalError::OtherSpace { found, wanted });
        }
        let checkpointer = file.checkpoint_beside(&folder.journal())?;
        let tip = rows::tip(file.connection(), &sealer)?;
        let first = rows::first_kept(file.connection(), &sealer)?;
        let skips = stored::count_skips(file.connection())?;
        let at = Timestamp::from_micros(i64::MIN);
        let Tip { position, name, at } =
            tip.unwrap_or(Tip { position: 0, name: Name::default(), at });
        let writer = Self {
            file,
            folder: folder.clone(),
            sealer,
            clock: options.clock.clone(),
            head: CachedHead {
                position,
                name,
                at,
                epoch: row.epoch,
                level: row.level,
                first,
                term: row.term,
                skips,
            },
            archived: options.archive,
            archive: None,
            untidy: true,
            appended: Instant::now(),
            checkpoint: Due::new(checkpointer.observed()),
        };
        Ok((writer, checkpointer))
    }

    pub(super) fn append(
        &mut self,
        append: Append,
        asked: tokio::time::Instant,
    ) -> Result<AppendAnswer, JournalError> {
        let Self { file, sealer, clock, head, .. } = self;
        self.untidy = true;
        let Append { body, name, applied, applied_name } = append;
        let level = level_of(&body).unwrap_or(head.level).max(head.level);
        let (entry, mut entries) = file.transaction(
            |connection| {
                let missed = missed(connection, sealer, head, applied, applied_name)?;
                let entry = Entry {
                    position: head.position + 1,
                    // Nobody else can come before this entry any more: the write lock is held.
                    at: head.at.max(clock.now()),
                    epoch: head.epoch,
                    before: head.name,
                    body,
                };
                insert(connection, sealer, &entry)?;
                if level > head.level {
                    execute(connection, "UPDATE head SET level = ?1", [level])?;
                }
                Ok::<_, JournalError>((entry, missed))
            },
            |connection, (entry, _)| Ok(rows::last_position(connection)? == Some(entry.position)),
        )?;
        head.position = entry.position;
        head.name = name;
        head.at = entry.at;
        head.level = level;
        if entries.len() < READ_ENTRIES {
            entries.push(entry);
        }
        self.appended = Instant::now();
        let read = EntriesRead::of(applied, entries, self.head.position, asked);
        Ok(AppendAnswer::of(read, Confirm::AtOnce))
    }

    pub(super) fn read(
        &self,
        after: u64,
        asked: tokio::time::Instant,
    ) -> Result<EntriesRead, JournalError> {
        if after >= self.head.position {
            return Ok(EntriesRead::of(after, Vec::new(), self.head.position, asked));
        }
        if after + 1 < self.head.first {
            return Err(JournalError::Trimmed { wanted: after + 1, first: self.head.first });
        }
        let rows = rows::read(self.file.connection(), &self.sealer, after, READ_ENTRIES);
        let entries = rows.front()?.into_iter().map(|(entry, _)| entry).collect();
        Ok(EntriesRead::of(after, entries, self.head.position, asked))
    }

    /// Returns the journal's time: the clock's, but never before that of the last entry.
    pub(super) fn now(&self) -> Timestamp {
        self.head.at.max(self.clock.now())
    }
}

/// Returns the entries the caller has not applied yet, if what it applied is what is stored.
fn missed(
    connection: &Connection,
    sealer: &Sealer,
    head: &CachedHead,
    applied: u64,
    applied_name: Name,
) -> Result<Vec<Entry>, JournalError> {
    if applied > head.position {
        return Err(JournalError::Behind { head: head.position, applied });
    }
    if applied + 1 < head.first {
        return Err(JournalError::Trimmed { wanted: applied + 1, first: head.first });
    }
    let missed = match applied == head.position {
        true => Rows::default(),
        false => rows::read(connection, sealer, applied, READ_ENTRIES),
    }
    .whole()?;
    let found = missed.first().map_or(head.name, |(entry, _)| entry.before);
    if found != applied_name {
        return Err(JournalError::Forked { position: applied, found, applied: applied_name });
    }
    Ok(missed.into_iter().map(|(entry, _)| entry).collect())
}

fn insert(connection: &Connection, sealer: &Sealer, entry: &Entry) -> Result<(), JournalError> {
    let values = (
        entry.position.cast_signed(),
        entry.at.as_micros(),
        entry.epoch,
        entry.before.node.0,
        entry.before.number.cast_signed(),
        sealer.seal(entry).cast_signed(),
        &*entry.body,
    );
    execute(connection, include_str!("append.sql"), values)?;
    Ok(())
}
