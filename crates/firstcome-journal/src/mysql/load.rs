//! Loads what the conditions and the reads of a transaction rest on, and writes values into statements.

use super::Tables;
use crate::database::{
    EntryColumns, HeadRow, Loaded, Needs, cell_of, manifest, number_of, piece_name, space_of,
    strange,
};
use crate::entry::Entry;
use crate::error::JournalError;
use crate::name::{Name, Tip};
use crate::transaction::OLD_ENTRIES;
use crate::transaction::conditions::OLD_BYTES;
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;
use firstcome_store::mysql::{self, Row, bytes};
use xxhash_rust::xxh3::xxh3_64;

/// The columns of the head.
pub(super) const HEAD: &str = "SELECT space, level, epoch, term, base_position, base_name, base_at, \
    last_position, last_name, last_at, mark FROM `~head` WHERE one = 1";
/// The clock, and how many entries are skipped, in a statement of its own: read when it is this one's turn. `NOW` would be
/// the time at which the statement began, which may be before that.
pub(super) const CLOCK: &str = "SELECT CAST(UNIX_TIMESTAMP(SYSDATE(6)) * 1000000 AS SIGNED), \
    (SELECT count(*) FROM `~cells` WHERE kind = 1)";
/// Which run of which server answers.
pub(super) const RUN: &str = "SELECT @@server_id, (SELECT token FROM `~run` WHERE one = 1)";

/// Returns the statements that load what is needed; [`read`] takes in what they give.
pub(super) fn statements(tables: &Tables, needs: &Needs) -> Vec<String> {
    let mut all = Vec::new();
    if needs.manifests {
        all.push(
            "SELECT position, pieces, bytes FROM `~manifests` ORDER BY position DESC".to_owned(),
        );
    }
    if !needs.pieces.is_empty() {
        let names = list(needs.pieces.iter().map(|name| bytes(&name.0)));
        all.push(format!("SELECT name FROM `~pieces` WHERE name IN ({names})"));
    }
    if let Some(name) = needs.piece {
        all.push(format!("SELECT bytes FROM `~pieces` WHERE name = {}", bytes(&name.0)));
    }
    if !needs.kinds.is_empty() {
        let kinds = list(needs.kinds.iter().map(|kind| number_of(*kind).to_string()));
        all.push(format!("SELECT kind, cell, value FROM `~cells` WHERE kind IN ({kinds})"));
    }
    if !needs.entries.is_empty() {
        let positions = list(needs.entries.iter().map(u64::to_string));
        all.push(format!(
            "SELECT position, at, epoch, before_name, body FROM `~entries` WHERE position IN ({positions}) \
             ORDER BY position"
        ));
    }
    if let Some((through, cutoff)) = needs.old {
        all.push(format!(
            "SELECT max(o.position) FROM (SELECT f.position, f.at, \
             sum(f.bytes) OVER (ORDER BY f.position) - f.bytes AS earlier FROM (SELECT e.position, e.at, \
             length(e.body) AS bytes FROM `~head` h JOIN `~entries` e ON e.position > h.base_position \
             ORDER BY e.position LIMIT {OLD_ENTRIES}) f) o \
             WHERE o.position <= {through} AND o.at <= {} AND o.earlier <= {OLD_BYTES}",
            cutoff.as_micros()
        ));
    }
    all.into_iter().map(|text| tables.sql(&text)).collect()
}

fn list(values: impl Iterator<Item = String>) -> String {
    values.collect::<Vec<_>>().join(", ")
}

/// Takes in what [`statements`] gave, of each that was asked one list of rows; one without rows has none.
pub(super) fn read(
    loaded: &mut Loaded,
    needs: &Needs,
    mut found: impl Iterator<Item = Vec<Row>>,
) -> Result<(), JournalError> {
    let mut next = || found.next().ok_or_else(|| strange("too few lists"));
    if needs.manifests {
        for row in next()? {
            let pieces: Vec<u8> = cell(&row, 1)?;
            loaded.manifests.push(manifest(cell(&row, 0)?, &pieces, cell(&row, 2)?));
        }
    }
    if !needs.pieces.is_empty() {
        for row in next()? {
            loaded.pieces.insert(piece_name(&cell::<Vec<u8>>(&row, 0)?)?);
        }
    }
    if needs.piece.is_some() {
        loaded.piece = next()?.first().map(|row| cell(row, 0)).transpose()?;
    }
    if !needs.kinds.is_empty() {
        for row in next()? {
            loaded.cells.extend(cell_of(cell(&row, 0)?, cell(&row, 1)?, cell(&row, 2)?));
        }
    }
    if !needs.entries.is_empty() {
        for row in next()? {
            loaded.entries.push(entry(&row)?);
        }
    }
    if needs.old.is_some() {
        let last: Option<i64> = next()?.first().map(|row| cell(row, 0)).transpose()?.flatten();
        loaded.old = last.map(i64::cast_unsigned);
    }
    Ok(())
}

/// Begins with the row of [`HEAD`], if there is one, and that of [`CLOCK`].
pub(super) fn begin(
    space: SpaceId,
    row: Option<&Row>,
    clock: &[Row],
) -> Result<Loaded, JournalError> {
    let clock = clock.first().ok_or_else(|| strange("no clock"))?;
    let now = Timestamp::from_micros(cell(clock, 0)?);
    let skips = cell(clock, 1)?;
    let mark = row.map(|row| cell(row, 10)).transpose()?.flatten();
    let row = row.map(|row| head(row, skips)).transpose()?.flatten();
    Ok(Loaded { mark, ..Loaded::new(space, row, now) })
}

/// Reads the row of the head; nothing where a mark stands in its place.
fn head(row: &Row, skips: u32) -> Result<Option<HeadRow>, JournalError> {
    let Some(space) = cell::<Option<Vec<u8>>>(row, 0)? else { return Ok(None) };
    let broken = || JournalError::Broken("its head cannot be read".to_owned());
    let small = |column| u32::try_from(cell::<i64>(row, column)?).map_err(|_| broken());
    let name = |column| Name::from_bytes(&cell::<Vec<u8>>(row, column)?).ok_or_else(broken);
    let time = |column| -> Result<Option<Timestamp>, JournalError> {
        Ok(cell::<Option<i64>>(row, column)?.map(Timestamp::from_micros))
    };
    let base = (cell::<i64>(row, 4)?.cast_unsigned(), name(5)?, time(6)?);
    let position = cell::<i64>(row, 7)?.cast_unsigned();
    let last = match time(9)? {
        Some(at) if position > base.0 => Some(Tip { position, name: name(8)?, at }),
        Some(_) | None => None,
    };
    Ok(Some(HeadRow {
        space: space_of(&space)?,
        level: small(1)?,
        epoch: small(2)?,
        term: cell::<i64>(row, 3)?.cast_unsigned(),
        base,
        last,
        skips,
    }))
}

/// Reads an entry out of columns 0 to 4.
pub(super) fn entry(row: &Row) -> Result<Entry, JournalError> {
    let before: Vec<u8> = cell(row, 3)?;
    let columns = EntryColumns {
        position: cell(row, 0)?,
        at: cell(row, 1)?,
        epoch: cell(row, 2)?,
        before: &before,
    };
    columns.entry(cell::<Vec<u8>>(row, 4)?.into())
}

pub(super) fn cell<T: mysql::FromValue>(row: &Row, column: usize) -> Result<T, JournalError> {
    mysql::cell(row, column).map_err(strange)
}

/// Returns a number for the run of the server that gave a row of [`RUN`]; `None` where it was started again, and nobody has
/// given it a token yet: the token is in a table that is empty after each start.
pub(super) fn run_of(run: &[Row]) -> Result<Option<i64>, JournalError> {
    let row = run.first().ok_or_else(|| strange("no run"))?;
    let (server, token) = (cell::<i64>(row, 0)?, cell::<Option<i64>>(row, 1)?);
    let both = |token: i64| [server.to_le_bytes(), token.to_le_bytes()].concat();
    Ok(token.map(|token| xxh3_64(&both(token)).cast_signed()))
}
