//! Appends an entry, and reads what the caller has not applied yet.

use super::Postgres;
use super::fitness::fsync_is_off;
use crate::database::{
    Durability, EntryColumns, follow_on, front, is_missing, space_of, strange, trouble,
};
use crate::entry::{Append, AppendAnswer, Confirm, EntriesRead, Entry};
use crate::error::JournalError;
use crate::journal::warning::Warning;
use crate::name::Name;
use firstcome_core::Timestamp;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_store::postgres::{FromSql, Row, ToSql, Type};
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// The step that appends.
pub(super) const FUNCTION: &str = include_str!("append.sql");
/// What calls it.
pub(super) const CALL: &str =
    "SELECT * FROM append_3($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)";
/// The pause between two notifications of one node at least: each costs all commits of the server.
pub(super) const TELL_EVERY: Duration = Duration::from_millis(20);
/// How long after an entry of somebody else an append lets others go on before it is on the disk.
const OTHERS_FOR: Duration = Duration::from_secs(10);

impl Postgres {
    pub(crate) async fn append(&self, append: Append) -> Result<AppendAnswer, JournalError> {
        let (inner, asked) = (&*self.inner, Instant::now());
        let (applied, body) = (append.applied.cast_signed(), &append.body[..]);
        let (applied_name, name) = (append.applied_name.to_bytes(), append.name.to_bytes());
        let tell = self.may_tell();
        let clock = self.clock().map(Timestamp::as_micros);
        let names = &inner.names;
        let (late, on_disk) = (self.lets_others_go_on(), inner.options.refuses_less());
        let values: [(&(dyn ToSql + Sync), Type); 14] = [
            (&&inner.space.0[..], Type::BYTEA),
            (&inner.run.seen(), Type::INT8),
            (&names.order_lock, Type::INT8),
            (&applied, Type::INT8),
            (&&applied_name[..], Type::BYTEA),
            (&&name[..], Type::BYTEA),
            (&body, Type::BYTEA),
            (&tell, Type::BOOL),
            (&names.listening_lock, Type::INT8),
            (&names.schema, Type::TEXT),
            (&inner.note, Type::TEXT),
            (&clock, Type::INT8),
            (&late, Type::BOOL),
            (&on_disk, Type::BOOL),
        ];
        let rows = match late {
            true => inner.pool.step_and_sync(inner.append, &values).await,
            false => inner.pool.step(inner.append, &values).await,
        };
        let rows = match rows {
            Err(failure) if is_missing(&failure) => return Err(self.make_function_again().await),
            rows => rows.map_err(|failure| trouble(inner.space, failure))?,
        };
        let (first, missed) = rows.split_first().ok_or_else(|| strange("no row"))?;
        self.refuse(&append, first)?;
        // From here on it is stored: nothing that goes wrong may say otherwise.
        if cell(first, 6)? {
            *inner.told.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        if !missed.is_empty() {
            *inner.others.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        }
        let mut entries = Vec::with_capacity(missed.len() + 1);
        for row in missed {
            entries.push(entry(row, cell::<&[u8]>(row, 5)?.into())?);
        }
        if entries.len() < READ_ENTRIES {
            // Its body did not have to come back.
            entries.push(entry(first, Arc::clone(&append.body))?);
        }
        // Its own entry stands at the end.
        let end = cell::<i64>(first, 1)?.cast_unsigned();
        let entries = front(follow_on(append.applied, entries))?;
        let read = EntriesRead::of(append.applied, entries, end, asked);
        Ok(AppendAnswer::of(read, Confirm::AtOnce))
    }

    /// Returns why nothing was stored, if so.
    fn refuse(&self, append: &Append, row: &Row) -> Result<(), JournalError> {
        let (space, applied) = (self.inner.space, append.applied);
        let position = || cell(row, 1).map(i64::cast_unsigned);
        Err(match cell(row, 0)? {
            0 => return Ok(()),
            1 => JournalError::Gone(space),
            2 => JournalError::OtherSpace { found: space_of(cell(row, 4)?)?, wanted: space },
            3 => JournalError::Behind { head: position()?, applied },
            4 => {
                // No name at all where its row was removed by hand.
                let found = cell::<Option<&[u8]>>(row, 4)?.and_then(Name::from_bytes);
                let found = found.unwrap_or_default();
                JournalError::Forked { position: applied, found, applied: append.applied_name }
            }
            5 => JournalError::Trimmed { wanted: applied + 1, first: position()? },
            6 => {
                // Somebody else may have noticed it already: nothing was stored all the same.
                let _noticed = self.inner.run.note(cell(row, 1)?);
                JournalError::Changed
            }
            8 => {
                self.inner.refusals.notify_one();
                let Warning { what, fix } = fsync_is_off();
                JournalError::LessDurable { what, fix }
            }
            other => strange(format!("code {other}")),
        })
    }

    /// Says whether others append too: then each need not have the disk to itself. Alone it would only cost a statement.
    fn lets_others_go_on(&self) -> bool {
        let inner = &self.inner;
        let others = *inner.others.lock().unwrap_or_else(PoisonError::into_inner);
        let others = others.is_some_and(|seen| seen.elapsed() < OTHERS_FOR);
        others && !inner.pool.met_pooler() && inner.options.durability == Durability::Fsync
    }

    /// Says whether whoever listens may be told now.
    fn may_tell(&self) -> bool {
        let told = *self.inner.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.is_none_or(|told| told.elapsed() >= TELL_EVERY)
    }
}

/// Reads an entry out of columns 1 to 4: position, time, epoch, name of the one before.
pub(super) fn entry(row: &Row, body: Arc<[u8]>) -> Result<Entry, JournalError> {
    EntryColumns {
        position: cell(row, 1)?,
        at: cell(row, 2)?,
        epoch: cell(row, 3)?,
        before: cell(row, 4)?,
    }
    .entry(body)
}

pub(super) fn cell<'a, T: FromSql<'a>>(row: &'a Row, column: usize) -> Result<T, JournalError> {
    row.try_get(column).map_err(strange)
}
