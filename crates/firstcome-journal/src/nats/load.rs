//! Loads what the conditions and the reads of a transaction rest on.

use super::stored::{CellPart, Index};
use super::subjects::Subjects;
use super::view::{Streams, View};
use super::{COPY_PAUSE, COPY_WITHIN};
use crate::ancestry::Cursor;
use crate::database::{DatabaseError, Loaded, Needs};
use crate::entry::Entry;
use crate::error::JournalError;
use crate::transaction::OLD_ENTRIES;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::conditions::OLD_BYTES;
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;
use firstcome_store::StoreError;
use firstcome_store::nats::{Info, Stored, Stream};
use std::collections::BTreeMap;
use tokio::time::{Instant, sleep};

/// The streams at one moment, as far as they were asked for.
pub(super) struct Ground {
    pub(super) loaded: Loaded,
    pub(super) view: View,
    /// What the table said of itself; nothing where it is not there.
    pub(super) info: Option<Info>,
    pub(super) index: Index,
    /// Where a reader stands behind the loaded entries, by position.
    pub(super) standing: BTreeMap<u64, Cursor>,
}

/// Loads what is needed; a table that is not there has nothing.
pub(super) async fn load(
    streams: &Streams,
    looked: Result<(View, Info), DatabaseError>,
    space: SpaceId,
    needs: &Needs,
) -> Result<Ground, DatabaseError> {
    let (view, info) = match looked {
        Err(DatabaseError::Store(StoreError::NoDatabase { .. })) => return Ok(nothing(space)),
        looked => looked?,
    };
    let Streams { table, subjects, .. } = streams;
    let now = view.log.as_ref().map_or(info.now, |log| log.now);
    let loaded = Loaded::new(space, view.row(), Timestamp::from_micros(now));
    let mut loaded = Loaded { mark: view.head.mark.clone(), ..loaded };
    let mut index = match table.last(&subjects.index()).await? {
        Some(stored) => Index::read(&stored.bytes)?,
        None => Index::default(),
    };
    if let Some(manifests) = &view.begun_again {
        index.keep_only(manifests, loaded.now);
    }
    loaded.manifests.clone_from(&index.manifests);
    loaded.pieces = index.pieces.keys().copied().collect();
    if let Some(name) = needs.piece.filter(|name| index.pieces.contains_key(name)) {
        loaded.piece = table.last(&subjects.piece(name)).await?.map(|stored| stored.bytes);
    }
    for kind in &needs.kinds {
        let stored = each(table, &subjects.cells(*kind), info.last).await?;
        loaded.cells.extend(cells(*kind, &stored));
    }
    let mut standing = BTreeMap::new();
    let base = view.base();
    for position in &needs.entries {
        if *position <= base.tip.position || *position > view.end.tip.position {
            continue;
        }
        let mut cursor = streams.stand_at(&view, position - 1).await?;
        let read = streams.log.read_to(&mut cursor, view.log_last(), 1).await?;
        loaded.entries.extend(read.entries);
        standing.insert(*position, cursor);
    }
    if let (Some((through, cutoff)), Some(row)) = (needs.old, loaded.row)
        && view.log_last() > base.sequence
    {
        let read = streams.log.read_to(&mut base.clone(), view.log_last(), OLD_ENTRIES).await?;
        loaded.old = old(row.base.0, read.entries.into_iter(), through, cutoff);
    }
    Ok(Ground { loaded, view, info: Some(info), index, standing })
}

fn nothing(space: SpaceId) -> Ground {
    let (view, index, standing) = (View::nothing(), Index::default(), BTreeMap::new());
    let loaded = Loaded::new(space, None, Timestamp::from_micros(0));
    Ground { loaded, view, info: None, index, standing }
}

/// Reads the last message of each subject, of a server that has all up to a sequence.
async fn each(stream: &Stream, subject: &str, last: u64) -> Result<Vec<Stored>, DatabaseError> {
    let end = Instant::now() + COPY_WITHIN;
    loop {
        if let Some(found) = stream.each(subject, last).await? {
            return Ok(found);
        }
        if Instant::now() >= end {
            let late = "a server of the stream lags behind the others".to_owned();
            return Err(JournalError::Unavailable(late).into());
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

/// Returns the last of the first entries that may go.
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
