//! Where the streams and the journal in them stand.

use super::Nats;
use super::log::{Log, raw};
use super::stored::{HeadRecord, Restart};
use super::subjects::Subjects;
use crate::ancestry::Cursor;
use crate::database::{DatabaseError, HeadRow};
use crate::error::JournalError;
use crate::name::Tip;
use crate::snapshots::manifest::Manifest;
use firstcome_core::Timestamp;
use firstcome_store::StoreError;
use firstcome_store::nats::{Info, Keeps, Put, Stream};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// The streams of a journal.
#[derive(Debug)]
pub(super) struct Streams {
    /// The head, the index of snapshots, pieces and cells.
    pub(super) table: Stream,
    /// The entries.
    pub(super) log: Log,
    pub(super) subjects: Subjects,
}

/// Where the streams stood at one moment.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// The sequence of the table's last message.
    pub(super) last: u64,
    /// The sequence of the head; 0 where there is none.
    pub(super) head_sequence: u64,
    pub(super) head: HeadRecord,
    /// The manifest with which the journal was begun again, where the table does not know of it yet.
    pub(super) begun_again: Option<Vec<Manifest>>,
    /// What the log said of itself; nothing where it is not there.
    pub(super) log: Option<Info>,
    /// Behind the last message of the log.
    pub(super) end: Cursor,
}

impl View {
    /// Returns what stands before there is anything.
    pub(super) fn nothing() -> Self {
        let head = HeadRecord::default();
        let end = base_of(&head);
        Self { last: 0, head_sequence: 0, head, begun_again: None, log: None, end }
    }

    /// Returns the row of the head, with the end of the entries.
    pub(super) fn row(&self) -> Option<HeadRow> {
        let row = self.head.row?;
        let last = (self.end.tip.position > row.base.0).then_some(self.end.tip);
        Some(HeadRow { epoch: row.epoch.max(self.end.epoch), last, ..row })
    }

    /// Returns where a reader stands before the first entry that is kept.
    pub(super) fn base(&self) -> Cursor {
        base_of(&self.head)
    }

    /// Returns the sequence of the log's last message: at least that of the floor, see [`Streams::mend_log`].
    pub(super) fn log_last(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.last).max(self.head.floor.sequence)
    }
}

fn base_of(head: &HeadRecord) -> Cursor {
    let zero = Timestamp::from_micros(0);
    let tip =
        head.row.map_or(Tip { position: 0, name: crate::name::Name::default(), at: zero }, |row| {
            Tip { position: row.base.0, name: row.base.1, at: row.base.2.unwrap_or(zero) }
        });
    Cursor::bare(head.floor, tip, head.floor_epoch, head.origin)
}

impl Streams {
    /// Looks where the streams stand.
    pub(super) async fn look(&self) -> Result<(View, Info), DatabaseError> {
        let info = self.table.info().await?;
        let (head, restarts) = (self.subjects.head(), self.subjects.restarts());
        let (head, log, restart) = tokio::join!(
            self.table.last(&head),
            there(self.log.stream.info()),
            there(self.log.stream.last(&restarts)),
        );
        let (head, log, restart) = (head?, log?, restart?.flatten());
        let head_sequence = head.as_ref().map_or(0, |stored| stored.sequence);
        let head = head.map(|stored| HeadRecord::read(&stored.bytes)).transpose()?;
        let mut head = head.unwrap_or_default();
        let mut begun_again = None;
        // Without a head there is no journal, whatever the log has.
        let restart =
            restart.filter(|stored| head.row.is_some() && stored.sequence > head.origin.sequence);
        if let Some(stored) = restart {
            let again = Restart::read(&stored.bytes)?;
            head = head.begun_again(again.head, raw(&stored).place());
            begun_again = Some(again.manifests);
        }
        let base = base_of(&head);
        let last = log.as_ref().map_or(0, |log| log.last);
        let end = if head.row.is_none() || last <= base.sequence {
            base
        } else {
            let end = self.log.stand_behind(&base, last).await?;
            self.log.remember(&end);
            end
        };
        Ok((View { last: info.last, head_sequence, head, begun_again, log, end }, info))
    }

    /// Returns where a reader stands behind the entry of a position that is kept, or before the first one.
    pub(super) async fn stand_at(
        &self,
        view: &View,
        position: u64,
    ) -> Result<Cursor, DatabaseError> {
        let base = view.base();
        if position == base.tip.position {
            return Ok(base);
        }
        if position == view.end.tip.position {
            return Ok(view.end.clone());
        }
        self.log.stand_at(&base, position).await
    }

    /// Has the log be there, and go on behind the floor; says whether it was not so: then the view is another one now.
    ///
    /// What was there before is nobody's ancestor then.
    pub(super) async fn mend_log(&self, view: &View, replicas: u32) -> Result<bool, StoreError> {
        let floor = view.head.floor;
        if view.log.as_ref().is_some_and(|log| log.last >= floor.sequence) {
            return Ok(false);
        }
        if view.head.row.is_some() && view.head.origin != floor {
            let head = HeadRecord { origin: floor, ..view.head.clone() }.write();
            let rests_on = Some((self.subjects.head(), view.head_sequence));
            self.table.put(vec![Put { rests_on, ..Put::new(self.subjects.head(), head) }]).await?;
        }
        match &view.log {
            None => self.make_log(floor.sequence + 1, replicas).await?,
            Some(_) => self.log.stream.begin_with(floor.sequence + 1).await?,
        }
        Ok(true)
    }

    pub(super) async fn make_log(&self, first: u64, replicas: u32) -> Result<(), StoreError> {
        self.log.stream.create(&self.subjects.all_of_log(), replicas, Keeps::All { first }).await
    }

    pub(super) async fn make_table(&self, replicas: u32) -> Result<(), StoreError> {
        self.table.create(&self.subjects.all(), replicas, Keeps::LastOfEach).await
    }
}

/// Returns nothing where a stream is not there.
async fn there<T>(
    asked: impl Future<Output = Result<T, StoreError>>,
) -> Result<Option<T>, StoreError> {
    match asked.await {
        Err(StoreError::NoDatabase { .. }) => Ok(None),
        asked => asked.map(Some),
    }
}

/// What a node remembers of the streams, so that it need not ask again.
#[derive(Debug, Default)]
pub(super) struct Remembered {
    /// The last message of the table and of the log that it has seen.
    last: (u64, u64),
    /// The epoch of the head.
    pub(super) epoch: u32,
    /// Up to which message of the log there was no entry beyond a position.
    nothing: Option<(u64, u64)>,
}

impl Nats {
    /// Looks where the streams stand; fails once where they may have lost something since.
    pub(super) async fn look(&self) -> Result<(View, Info), DatabaseError> {
        let before = self.inner.remembered.lock().last;
        let (view, info) = self.inner.streams.look().await?;
        let shorter = info.last < before.0;
        if let Some(log) = &view.log {
            self.note_run(log, before.1, shorter)?;
        }
        let mut remembered = self.inner.remembered.lock();
        remembered.last = (info.last, view.log.as_ref().map_or(0, |log| log.last));
        remembered.epoch = view.row().map_or(0, |row| row.epoch);
        drop(remembered);
        Ok((view, info))
    }

    /// Returns the last message of the log that this node has seen.
    pub(super) fn last_seen(&self) -> u64 {
        self.inner.remembered.lock().last.1
    }

    /// Notes which server answered, and that the log is no shorter than it was before the server was asked.
    pub(super) fn note_run(
        &self,
        log: &Info,
        before: u64,
        shorter: bool,
    ) -> Result<(), JournalError> {
        let noted = self.inner.run.note(run_of(&self.inner.streams.log.stream, log));
        let shorter = shorter || log.last < before;
        if noted.is_err() || shorter {
            *self.inner.remembered.lock() = Remembered::default();
            self.inner.streams.log.forget();
        }
        match noted {
            Ok(()) if shorter => self.inner.run.note_again(),
            noted => noted,
        }
    }

    /// Says whether it is known that up to a message of the log there is no entry beyond a position.
    pub(super) fn nothing_new(&self, last: u64, after: u64) -> bool {
        self.inner.remembered.lock().nothing == Some((last, after))
    }

    pub(super) fn note_nothing(&self, last: u64, after: u64) {
        self.inner.remembered.lock().nothing = Some((last, after));
    }
}

/// Returns a number for what answers: another one where the connection leads to another server or to one that was started
/// again, where another server leads the log, and where the log was made anew.
pub(super) fn run_of(stream: &Stream, info: &Info) -> i64 {
    let mut hasher = DefaultHasher::new();
    (stream.nats().server(), &info.created, &info.leader).hash(&mut hasher);
    hasher.finish().cast_signed()
}
