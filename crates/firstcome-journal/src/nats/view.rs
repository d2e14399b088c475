//! Where a stream and the journal in it stand.

use super::stored::{HeadRecord, read_entry, whole};
use super::subjects::Subjects;
use super::{COPY_PAUSE, Nats};
use crate::database::{Broken, HeadRow};
use crate::failure::Failure;
use crate::name::{Name, Tip};
use firstcome_store::nats::{Info, Stream};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use tokio::time::sleep;

/// How often a view is taken again whose parts are of different moments.
const LOOKS: u32 = 16;
/// Of how many entries it is remembered which message of the stream they are.
const REMEMBERED: usize = 1024;

/// The last entry, and which message of the stream it is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub(super) tip: Tip,
    pub(super) epoch: u32,
    pub(super) sequence: u64,
}

/// Where a stream stood at one moment.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// The sequence of its last message.
    pub(super) last: u64,
    /// The sequence of the head; 0 where there is none.
    pub(super) head_sequence: u64,
    pub(super) head: HeadRecord,
    /// The last entry that is kept.
    pub(super) entry: Option<Last>,
    /// How often the connection had been made.
    pub(super) connections: u64,
}

impl View {
    /// Gives the row of the head, with the end of the entries.
    pub(super) fn row(&self) -> Option<HeadRow> {
        let row = self.head.row?;
        let epoch = self.entry.map_or(row.epoch, |last| row.epoch.max(last.epoch));
        Some(HeadRow { epoch, last: self.entry.map(|last| last.tip), ..row })
    }
}

/// Looks where a stream stands.
pub(super) async fn look(stream: &Stream, subjects: &Subjects) -> Result<(View, Info), Broken> {
    let mut looks = 1;
    loop {
        let connections = stream.nats().connections();
        let info = stream.info().await?;
        let (head_subject, entries) = (subjects.head(), subjects.entries());
        let (head, entry) = tokio::join!(stream.last(&head_subject), stream.last(&entries));
        let (head, entry) = (head?, entry?);
        // What is not younger than the stream's last message was is what there was then.
        let newest = [&head, &entry].into_iter().flatten().map(|stored| stored.sequence).max();
        if newest.is_some_and(|newest| newest > info.last) && looks < LOOKS {
            looks += 1;
            continue;
        }
        let head_sequence = head.as_ref().map_or(0, |stored| stored.sequence);
        let head = head.map(|stored| HeadRecord::read(&stored.bytes)).transpose()?;
        let head = head.unwrap_or_default();
        let entry = match entry {
            Some(stored) if stored.sequence > head.floor => {
                let broken = || Failure::Broken("an entry has no position".to_owned());
                let position = subjects.position(&stored.subject).ok_or_else(broken)?;
                let stored = whole(stream, stored).await?;
                let entry = read_entry(position, &stored)?;
                let tip = Tip { position, name: entry.name()?, at: entry.at };
                Some(Last { tip, epoch: entry.epoch, sequence: stored.sequence })
            }
            Some(_) | None => None,
        };
        return Ok((View { last: info.last, head_sequence, head, entry, connections }, info));
    }
}

/// What a node remembers of a stream, so that it need not ask again.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// Where it stood when this node saw it last; its conditions say whether it still does.
    view: Option<View>,
    /// Of some entries, which message of the stream they are, the newest last.
    sequences: VecDeque<(u64, u64)>,
    /// Up to which message of the stream there was no entry beyond a position.
    nothing: Option<(u64, u64)>,
}

impl Nats {
    /// Looks where the stream stands; fails once where it may have lost something since.
    pub(super) async fn look(&self) -> Result<(View, Info), Broken> {
        let before = self.last_seen();
        let (view, info) = look(&self.inner.stream, &self.inner.subjects).await?;
        self.note_run(&info, before)?;
        let mut known = self.inner.known.lock();
        if let Some(last) = view.entry {
            known.remember(last.tip.position, last.sequence);
        }
        known.view = Some(view.clone());
        drop(known);
        Ok((view, info))
    }

    /// Gives where the stream stood last, unless the connection was made anew since.
    pub(super) fn seen(&self) -> Option<View> {
        let view = self.inner.known.lock().view.clone();
        view.filter(|view| view.connections == self.inner.stream.nats().connections())
    }

    /// Remembers where the stream stands after a step of this node.
    pub(super) fn set_seen(&self, view: Option<View>) {
        let mut known = self.inner.known.lock();
        if let Some(last) = view.as_ref().and_then(|view| view.entry) {
            known.remember(last.tip.position, last.sequence);
        }
        known.view = view;
    }

    /// Gives the last message of the stream that this node has seen.
    pub(super) fn last_seen(&self) -> u64 {
        self.inner.known.lock().view.as_ref().map_or(0, |view| view.last)
    }

    /// Notes which server answered, and that the stream is no shorter than it was before the server was asked.
    pub(super) fn note_run(&self, info: &Info, before: u64) -> Result<(), Failure> {
        let noted = self.inner.run.note(run_of(&self.inner.stream, info));
        let shorter = info.last < before;
        if noted.is_err() || shorter {
            *self.inner.known.lock() = Known::default();
        }
        match noted {
            Ok(()) if shorter => self.inner.run.note_again(),
            noted => noted,
        }
    }

    /// Gives the sequence from which on an entry is to be looked for; `None` where there is none.
    pub(super) async fn sequence_of(&self, position: u64) -> Result<Option<u64>, Broken> {
        if let Some(sequence) = self.inner.known.lock().sequence_of(position) {
            return Ok(Some(sequence));
        }
        let found = self.inner.stream.last(&self.inner.subjects.at(position)).await?;
        Ok(found.map(|stored| stored.sequence))
    }

    pub(super) fn remember(&self, position: u64, sequence: u64) {
        self.inner.known.lock().remember(position, sequence);
    }

    /// Forgets which messages of the stream entries are: what was found there was something else.
    pub(super) fn forget_sequences(&self) {
        self.inner.known.lock().sequences.clear();
    }

    /// Says whether it is known that up to a message of the stream there is no entry beyond a position.
    pub(super) fn nothing_new(&self, last: u64, after: u64) -> bool {
        self.inner.known.lock().nothing == Some((last, after))
    }

    pub(super) fn note_nothing(&self, last: u64, after: u64) {
        self.inner.known.lock().nothing = Some((last, after));
    }

    /// Waits a moment for a server that lags.
    pub(super) async fn pause(&self) {
        sleep(COPY_PAUSE).await;
    }
}

impl Known {
    fn remember(&mut self, position: u64, sequence: u64) {
        if self.sequences.back().is_some_and(|(newest, _)| *newest >= position) {
            return;
        }
        if self.sequences.len() == REMEMBERED {
            self.sequences.pop_front();
        }
        self.sequences.push_back((position, sequence));
    }

    fn sequence_of(&self, position: u64) -> Option<u64> {
        let place = self.sequences.partition_point(|(known, _)| *known < position);
        if let Some((known, sequence)) = self.sequences.get(place)
            && *known == position
        {
            return Some(*sequence);
        }
        // The next one comes behind the one before it.
        let (known, sequence) = self.sequences.get(place.checked_sub(1)?)?;
        (known + 1 == position).then_some(sequence + 1)
    }
}

/// Gives a number for what answers: another one where the connection leads to another server or to one that was started
/// again, where another server leads the stream, and where the stream was made anew.
pub(super) fn run_of(stream: &Stream, info: &Info) -> i64 {
    let mut hasher = DefaultHasher::new();
    (stream.nats().server(), &info.created, &info.leader).hash(&mut hasher);
    hasher.finish().cast_signed()
}

/// Gives the name of what an entry at a position would follow.
pub(super) fn end_of(view: &View) -> Option<(u64, Name)> {
    let row = view.row()?;
    Some(row.last.map_or((row.base.0, row.base.1), |tip| (tip.position, tip.name)))
}
