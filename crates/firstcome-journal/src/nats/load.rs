//! Loads what the conditions and the reads of a transaction rest on.

use super::follow::next_entries;
use super::stored::{CellPart, Index, read_entry, whole};
use super::subjects::Subjects;
use super::view::{View, look};
use super::{COPY_PAUSE, COPY_WITHIN};
use crate::cell::{Cell, Kind};
use crate::conditions::OLD_BYTES;
use crate::database::{Broken, Loaded, Needs};
use crate::entry::Entry;
use crate::failure::Failure;
use crate::transaction::OLD_ENTRIES;
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;
use firstcome_store::Failure as Store;
use firstcome_store::nats::{Info, Stored, Stream};
use std::collections::BTreeMap;
use tokio::time::{Instant, sleep};

/// A stream at one moment, as far as it was asked for.
pub(super) struct Ground {
    pub(super) loaded: Loaded,
    pub(super) view: View,
    /// What the stream said of itself; nothing where it is not there.
    pub(super) info: Option<Info>,
    pub(super) index: Index,
    /// Which messages the loaded entries are, by position.
    pub(super) sequences: BTreeMap<u64, u64>,
}

/// Loads what is needed; a stream that is not there has nothing.
pub(super) async fn load(
    stream: &Stream,
    subjects: &Subjects,
    space: SpaceId,
    needs: &Needs,
) -> Result<Ground, Broken> {
    let (view, info) = match look(stream, subjects).await {
        Err(Broken::Store(Store::NoDatabase { .. })) => return Ok(nothing(stream, space)),
        looked => looked?,
    };
    let mut loaded = Loaded::new(space, view.row(), Timestamp::from_micros(info.now));
    let index = match stream.last(&subjects.index()).await? {
        Some(stored) => Index::read(&stored.bytes)?,
        None => Index::default(),
    };
    loaded.manifests.clone_from(&index.manifests);
    loaded.pieces = index.pieces.keys().copied().collect();
    if let Some(name) = needs.piece.filter(|name| index.pieces.contains_key(name)) {
        loaded.piece = stream.last(&subjects.piece(name)).await?.map(|stored| stored.bytes);
    }
    for kind in &needs.kinds {
        let stored = each(stream, &subjects.cells(*kind), info.last).await?;
        loaded.cells.extend(cells(*kind, &stored));
    }
    let mut sequences = BTreeMap::new();
    for position in &needs.entries {
        if let Some(stored) = stream.last(&subjects.at(*position)).await?
            && stored.sequence > view.head.floor
        {
            sequences.insert(*position, stored.sequence);
            let stored = whole(stream, stored).await?;
            loaded.entries.push(read_entry(*position, &stored)?);
        }
    }
    if let (Some((through, cutoff)), Some(row)) = (needs.old, loaded.row) {
        let found = next_entries(stream, subjects, view.head.floor + 1, OLD_ENTRIES).await?;
        let entries = found.into_iter().map(|(entry, _)| entry);
        loaded.old = old(row.base.0, entries, through, cutoff);
    }
    Ok(Ground { loaded, view, info: Some(info), index, sequences })
}

fn nothing(stream: &Stream, space: SpaceId) -> Ground {
    let view = View {
        last: 0,
        head_sequence: 0,
        head: super::stored::HeadRecord::default(),
        entry: None,
        connections: stream.nats().connections(),
    };
    let loaded = Loaded::new(space, None, Timestamp::from_micros(0));
    Ground { loaded, view, info: None, index: Index::default(), sequences: BTreeMap::new() }
}

/// Reads the last message of each subject, of a server that has all up to a sequence.
async fn each(stream: &Stream, subject: &str, last: u64) -> Result<Vec<Stored>, Broken> {
    let end = Instant::now() + COPY_WITHIN;
    loop {
        if let Some(found) = stream.each(subject, last).await? {
            return Ok(found);
        }
        if Instant::now() >= end {
            let late = "a server of the stream lags behind the others".to_owned();
            return Err(Failure::Unavailable(late).into());
        }
        sleep(COPY_PAUSE).await;
    }
}

/// Puts the parts of cells together; one of which a part is missing or unknown is no cell.
fn cells(kind: Kind, stored: &[Stored]) -> Vec<Cell> {
    let mut parts: BTreeMap<Vec<u8>, BTreeMap<usize, (&Stored, CellPart<'_>)>> = BTreeMap::new();
    for one in stored {
        if let (Some((key, number)), Some(part)) =
            (Subjects::key_and_part(&one.subject), CellPart::read(&one.bytes))
        {
            parts.entry(key).or_default().insert(number, (one, part));
        }
    }
    let whole = |(key, parts): (Vec<u8>, BTreeMap<usize, (&Stored, CellPart<'_>)>)| {
        let (first, front) = parts.get(&0)?;
        let mut value = Vec::new();
        if front.stamped {
            value.extend_from_slice(&first.at.to_le_bytes());
        }
        for number in 0..front.parts {
            value.extend_from_slice(parts.get(&number)?.1.value);
        }
        Some(Cell { kind, key, value })
    };
    parts.into_iter().filter_map(whole).collect()
}

/// Gives the last of the first entries that may go.
fn old(
    base: u64,
    entries: impl Iterator<Item = Entry>,
    through: u64,
    cutoff: Timestamp,
) -> Option<u64> {
    let (mut bytes, mut wanted) = (0, base + 1);
    let mut last = None;
    for entry in entries {
        let fits = bytes <= OLD_BYTES && entry.position <= through && entry.at <= cutoff;
        if !fits || entry.position != wanted {
            break;
        }
        bytes += entry.body.len();
        wanted += 1;
        last = Some(entry.position);
    }
    last
}
