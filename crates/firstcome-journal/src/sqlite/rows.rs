//! Rows of the table `journal`, as entries.

use super::stored;
use super::trouble::is_corrupt;
use crate::entry::{Chain, Entry, Sealer};
use crate::error::JournalError;
use crate::name::{Name, Tip};
use firstcome_core::Timestamp;
use firstcome_core::names::NodeId;
use firstcome_core::snapshot::{BadSnapshot, Manifest as Snapshot};
use firstcome_core::state::Stamp;
use rusqlite::types::FromSqlError;
use rusqlite::{Connection, OptionalExtension, Row};

/// Entries read, up to the first that is not good.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// The good ones with their names, following each other.
    pub(super) good: Vec<(Entry, Name)>,
    /// Why there are no more.
    pub(super) bad: Option<JournalError>,
}

impl Rows {
    /// Returns all entries, or why not all of them are good.
    pub(super) fn whole(self) -> Result<Vec<(Entry, Name)>, JournalError> {
        match self.bad {
            Some(failure) => Err(failure),
            None => Ok(self.good),
        }
    }

    /// Returns the good entries in front, or why there is not even one.
    pub(super) fn front(self) -> Result<Vec<(Entry, Name)>, JournalError> {
        match self.bad {
            Some(failure) if self.good.is_empty() => Err(failure),
            Some(_) | None => Ok(self.good),
        }
    }
}

/// Reads up to `limit` entries beyond a position, each checked and following the one before it.
pub(super) fn read(connection: &Connection, sealer: &Sealer, after: u64, limit: usize) -> Rows {
    let mut rows = Rows::default();
    rows.bad = fill(connection, sealer, after, limit, &mut rows.good).err();
    rows
}

fn fill(
    connection: &Connection,
    sealer: &Sealer,
    after: u64,
    limit: usize,
    good: &mut Vec<(Entry, Name)>,
) -> Result<(), JournalError> {
    let mut statement = connection.prepare_cached(include_str!("read.sql"))?;
    let mut rows = statement.query((after.cast_signed(), limit as i64))?;
    let mut chain = Chain::default();
    let mut wanted = after + 1;
    while let Some(row) = rows.next().map_err(|error| at(wanted, error))? {
        let (entry, seal) = entry(row).map_err(|error| at(wanted, error))?;
        if entry.position != wanted {
            let why = format!("it is missing, entry {} stands there", entry.position);
            return Err(JournalError::Damaged { position: wanted, why });
        }
        let name = sealer.check(&entry, seal)?;
        chain.follow(&entry, name)?;
        good.push((entry, name));
        wanted += 1;
    }
    Ok(())
}

/// Reads the last entry.
pub(super) fn last(
    connection: &Connection,
    sealer: &Sealer,
) -> Result<Option<(Entry, Name)>, JournalError> {
    let mut statement = connection.prepare_cached(include_str!("last.sql"))?;
    let mut rows = statement.query([])?;
    let Some(row) = rows.next()? else { return Ok(None) };
    let position: i64 = row.get(0)?;
    let (entry, seal) = entry(row).map_err(|error| at(position.cast_unsigned(), error))?;
    let name = sealer.check(&entry, seal)?;
    Ok(Some((entry, name)))
}

/// Returns what the journal ends with: the last entry, or the state that it begins after where it has no entry.
pub(super) fn tip(connection: &Connection, sealer: &Sealer) -> Result<Option<Tip>, JournalError> {
    if let Some((Entry { position, at, .. }, name)) = last(connection, sealer)? {
        return Ok(Some(Tip { position, name, at }));
    }
    let Some(manifest) = stored::manifests(connection)?.into_iter().next() else { return Ok(None) };
    let broken = |why: BadSnapshot| JournalError::Broken(format!("its newest snapshot: {why}"));
    let stamp = Snapshot::decode(&manifest.bytes).map_err(broken)?.stamp;
    let Stamp { position, at, .. } = stamp;
    // Before the first entry there is none with a time.
    Ok((position > 0).then_some(Tip { position, name: stamp.name(), at }))
}

/// Returns the first position that is kept, or the next one where none is.
pub(super) fn first_kept(connection: &Connection, sealer: &Sealer) -> Result<u64, JournalError> {
    match first(connection)? {
        Some(first) => Ok(first),
        None => Ok(tip(connection, sealer)?.map_or(0, |tip| tip.position) + 1),
    }
}

/// Returns the first position there is.
pub(super) fn first(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    let sql = "SELECT min(position) FROM journal";
    let first: Option<i64> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(first.map(i64::cast_unsigned))
}

/// Returns the last position there is.
pub(super) fn last_position(connection: &Connection) -> rusqlite::Result<Option<u64>> {
    let sql = "SELECT max(position) FROM journal";
    let last: Option<i64> = connection.prepare_cached(sql)?.query_row([], |row| row.get(0))?;
    Ok(last.map(i64::cast_unsigned))
}

/// Returns the checksum of the entry at a position.
pub(super) fn seal(connection: &Connection, position: u64) -> rusqlite::Result<Option<u64>> {
    let sql = "SELECT seal FROM journal WHERE position = ?1";
    let mut statement = connection.prepare_cached(sql)?;
    let seal = statement.query_row([position.cast_signed()], |row| row.get(0)).optional()?;
    Ok(seal.map(i64::cast_unsigned))
}

fn entry(row: &Row<'_>) -> rusqlite::Result<(Entry, u64)> {
    let node = row.get_ref(3)?.as_blob().and_then(|node| {
        let wrong = FromSqlError::InvalidBlobSize { expected_size: 16, blob_size: node.len() };
        node.try_into().map(NodeId).map_err(|_| wrong)
    });
    let entry = Entry {
        position: row.get::<_, i64>(0)?.cast_unsigned(),
        at: Timestamp::from_micros(row.get(1)?),
        epoch: row.get(2)?,
        before: Name { node: node?, number: row.get::<_, i64>(4)?.cast_unsigned() },
        body: row.get_ref(6)?.as_blob()?.into(),
    };
    Ok((entry, row.get::<_, i64>(5)?.cast_unsigned()))
}

/// Says what an error means when it comes while a certain entry is read.
fn at(position: u64, error: rusqlite::Error) -> JournalError {
    if error.sqlite_error().is_some() && !is_corrupt(&error) {
        return error.into();
    }
    JournalError::Damaged { position, why: format!("it cannot be read: {error}") }
}
