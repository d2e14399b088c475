//! Loads what the conditions and the reads of a transaction rest on.

use super::append::{cell, entry};
use crate::database::{
    DatabaseError, HeadRow, Loaded, Needs, cell_of, manifest, number_of, piece_name, space_of,
    strange,
};
use crate::error::JournalError;
use crate::name::{Name, Tip};
use crate::transaction::OLD_ENTRIES;
use crate::transaction::conditions::OLD_BYTES;
use firstcome_core::Timestamp;
use firstcome_core::names::{PieceName, SpaceId};
use firstcome_store::postgres::{Row, ToSql, Type, Work};

/// Where the journal stands, and the clock; columns of the head are missing where there is none.
const HEAD: &str = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, \
    h.space, h.level, h.epoch, h.term, h.base_position, h.base_name, h.base_at, \
    l.position, l.name, l.at, (SELECT count(*) FROM cells WHERE kind = 1), h.mark \
    FROM (SELECT 1) AS one LEFT JOIN head h ON true LEFT JOIN LATERAL \
    (SELECT position, name, at FROM entries ORDER BY entries.position DESC LIMIT 1) l ON true";

/// Up to where the first entries are old: not beyond `$1`, of a time up to `$2`, as few as have `$4` bytes before them.
const OLD: &str = "SELECT max(o.position) FROM (SELECT f.position, f.at, \
    sum(f.bytes) OVER (ORDER BY f.position) - f.bytes AS before FROM (SELECT e.position, e.at, \
    octet_length(e.body) AS bytes FROM head h, entries e WHERE e.position > h.base_position \
    ORDER BY e.position LIMIT $3) f) o WHERE o.position <= $1 AND o.at <= $2 AND o.before <= $4";

/// Loads where the journal stands and what is needed beside it.
pub(super) async fn load(
    work: &Work<'_>,
    space: SpaceId,
    needs: &Needs,
) -> Result<Loaded, DatabaseError> {
    let rows = work.query(HEAD, &[]).await?;
    let row = rows.first().ok_or_else(|| strange("no row"))?;
    let now = Timestamp::from_micros(cell(row, 0)?);
    let mut loaded = Loaded { mark: cell(row, 12)?, ..Loaded::new(space, head(row)?, now) };
    if needs.manifests {
        let sql = "SELECT position, pieces, bytes FROM manifests ORDER BY manifests.position DESC";
        for row in work.query(sql, &[]).await? {
            loaded.manifests.push(manifest(cell(&row, 0)?, cell(&row, 1)?, cell(&row, 2)?));
        }
    }
    if !needs.pieces.is_empty() {
        let names = names_of(&needs.pieces);
        let sql = "SELECT name FROM pieces WHERE name = ANY($1)";
        for row in work.query(sql, &[(&names, Type::BYTEA_ARRAY)]).await? {
            loaded.pieces.insert(piece_name(cell(&row, 0)?)?);
        }
    }
    if let Some(name) = needs.piece {
        let sql = "SELECT bytes FROM pieces WHERE name = $1";
        let rows = work.query(sql, &[(&&name.0[..], Type::BYTEA)]).await?;
        loaded.piece = rows.first().map(|row| cell(row, 0)).transpose()?;
    }
    if !needs.kinds.is_empty() {
        let numbers: Vec<i16> = needs.kinds.iter().copied().map(number_of).collect();
        let sql = "SELECT kind, key, value FROM cells WHERE kind = ANY($1)";
        for row in work.query(sql, &[(&numbers, Type::INT2_ARRAY)]).await? {
            let number: i16 = cell(&row, 0)?;
            loaded.cells.extend(cell_of(number.into(), cell(&row, 1)?, cell(&row, 2)?));
        }
    }
    if !needs.entries.is_empty() {
        let positions: Vec<i64> = needs.entries.iter().map(|one| one.cast_signed()).collect();
        let sql = "SELECT 0, e.position, e.at, e.epoch, e.before, e.body FROM entries e \
            WHERE e.position = ANY($1) ORDER BY e.position";
        for row in work.query(sql, &[(&positions, Type::INT8_ARRAY)]).await? {
            loaded.entries.push(entry(&row, cell::<&[u8]>(&row, 5)?.into())?);
        }
    }
    if let Some((through, cutoff)) = needs.old {
        let (through, cutoff) = (through.cast_signed(), cutoff.as_micros());
        let (most, bytes) = (OLD_ENTRIES as i64, OLD_BYTES as i64);
        let values: [(&(dyn ToSql + Sync), Type); 4] = [
            (&through, Type::INT8),
            (&cutoff, Type::INT8),
            (&most, Type::INT8),
            (&bytes, Type::INT8),
        ];
        let rows = work.query(OLD, &values).await?;
        let last: Option<i64> = rows.first().map(|row| cell(row, 0)).transpose()?.flatten();
        loaded.old = last.map(i64::cast_unsigned);
    }
    Ok(loaded)
}

fn head(row: &Row) -> Result<Option<HeadRow>, JournalError> {
    let broken = || JournalError::Broken("its head cannot be read".to_owned());
    let Some(space) = cell::<Option<&[u8]>>(row, 1)? else { return Ok(None) };
    let small = |column| u32::try_from(cell::<i64>(row, column)?).map_err(|_| broken());
    let name = |bytes: &[u8]| Name::from_bytes(bytes).ok_or_else(broken);
    let base_at: Option<i64> = cell(row, 7)?;
    let last = match cell::<Option<i64>>(row, 8)? {
        None => None,
        Some(position) => Some(Tip {
            position: position.cast_unsigned(),
            name: name(cell(row, 9)?)?,
            at: Timestamp::from_micros(cell(row, 10)?),
        }),
    };
    Ok(Some(HeadRow {
        space: space_of(space)?,
        level: small(2)?,
        epoch: small(3)?,
        term: cell::<i64>(row, 4)?.cast_unsigned(),
        base: (
            cell::<i64>(row, 5)?.cast_unsigned(),
            name(cell(row, 6)?)?,
            base_at.map(Timestamp::from_micros),
        ),
        last,
        skips: small(11)?,
    }))
}

pub(super) fn names_of(pieces: &[PieceName]) -> Vec<&[u8]> {
    pieces.iter().map(|name| &name.0[..]).collect()
}
