//! Atomic steps in PostgreSQL, each a transaction under the lock of the order: see [`Transaction`].

use super::Postgres;
use super::load::{load, names_of};
use super::opening::make_tables;
use crate::database::{
    DatabaseError, Loaded, Needs, TABLES, makes_the_space, number_of, term_after,
};
use crate::entry::Entry;
use crate::error::JournalError;
use crate::name::Tip;
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::conditions;
use crate::transaction::{IDLE_PIECES, Seen, Transaction, Write};
use firstcome_core::Timestamp;
use firstcome_store::StoreError;
use firstcome_store::postgres::{Access, ToSql, Type, Work};

type Values<'a> = &'a [(&'a (dyn ToSql + Sync), Type)];

impl Postgres {
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, JournalError> {
        let mut done = self.try_commit(&transaction).await;
        if done.as_ref().is_err_and(DatabaseError::is_missing) {
            if transaction.writes.is_empty() {
                return self.see_nothing(&transaction);
            }
            if makes_the_space(&transaction) {
                make_tables(&self.inner.pool, &self.inner.names).await?;
                done = self.try_commit(&transaction).await;
            }
        }
        done.map_err(|broken| broken.of(self.inner.space, &transaction))
    }

    /// Answers for a store without tables.
    fn see_nothing(&self, transaction: &Transaction) -> Result<Seen, JournalError> {
        let now = self.clock().unwrap_or(Timestamp::from_micros(0));
        let nothing = Loaded::new(self.inner.space, None, now);
        conditions::check(&nothing, &transaction.checks)?;
        conditions::see(&nothing, &transaction.reads, 0)
    }

    async fn try_commit(&self, transaction: &Transaction) -> Result<Seen, DatabaseError> {
        let inner = &self.inner;
        let only_reads = transaction.writes.is_empty();
        let mut session = inner.pool.session().await?;
        let access = if only_reads { Access::Snapshot } else { Access::Usual };
        let work = session.begin(access).await?;
        let done = self.carry_out(&work, transaction).await;
        match done {
            Ok(seen) if only_reads => {
                work.roll_back().await;
                Ok(seen)
            }
            Ok(seen) => {
                work.commit().await?;
                Ok(seen)
            }
            Err(broken) => {
                work.roll_back().await;
                Err(broken)
            }
        }
    }

    async fn carry_out(
        &self,
        work: &Work<'_>,
        transaction: &Transaction,
    ) -> Result<Seen, DatabaseError> {
        let space = self.inner.space;
        let mut needs = Needs::default();
        needs.add_checks(&transaction.checks);
        if transaction.writes.is_empty() {
            needs.add_reads(&transaction.reads);
        } else {
            let lock = [(&self.inner.names.order_lock as &(dyn ToSql + Sync), Type::INT8)];
            work.query("SELECT pg_advisory_xact_lock($1)", &lock).await?;
        }
        let loaded = self.load(work, &needs).await?;
        loaded.check_space()?;
        conditions::check(&loaded, &transaction.checks)?;
        if transaction.writes.is_empty() {
            return Ok(conditions::see(&loaded, &transaction.reads, 0)?);
        }
        let step = Step { work, before: &loaded };
        let mut dropped = 0;
        for write in &transaction.writes {
            dropped += step.write(write).await?;
        }
        let mut needs = Needs::default();
        needs.add_reads(&transaction.reads);
        let loaded = load(work, space, &needs).await?;
        let loaded = Loaded { now: step.before.now, ..loaded };
        Ok(conditions::see(&loaded, &transaction.reads, dropped)?)
    }

    async fn load(&self, work: &Work<'_>, needs: &Needs) -> Result<Loaded, DatabaseError> {
        let loaded = load(work, self.inner.space, needs).await?;
        let now = self.clock().unwrap_or(loaded.now);
        Ok(Loaded { now, ..loaded })
    }
}

/// One transaction, and what there was before it.
struct Step<'a> {
    work: &'a Work<'a>,
    before: &'a Loaded,
}

impl Step<'_> {
    async fn execute(&self, sql: &str, values: Values<'_>) -> Result<u64, StoreError> {
        self.work.execute(sql, values).await
    }

    /// Does one change; gives how many pieces it dropped.
    async fn write(&self, write: &Write) -> Result<usize, DatabaseError> {
        let now = self.before.now.as_micros();
        match write {
            Write::Term => {
                self.execute("UPDATE head SET term = term + 1", &[]).await?;
            }
            Write::Epoch => {
                self.execute("UPDATE head SET epoch = epoch + 1", &[]).await?;
            }
            Write::Level(level) => {
                if self.before.row.is_some_and(|row| row.level < *level) {
                    let sql = "UPDATE head SET level = $1";
                    self.execute(sql, &[(&i64::from(*level), Type::INT8)]).await?;
                }
            }
            Write::Entries(entries) => self.put_back(entries).await?,
            Write::Restart { tip, epoch, level } => self.restart(*tip, *epoch, *level).await?,
            Write::Trim(through) => {
                let sql = "WITH gone AS (DELETE FROM entries e USING head h \
                    WHERE e.position > h.base_position AND e.position <= $1 \
                    RETURNING e.position, e.name, e.at) \
                    UPDATE head SET base_position = g.position, base_name = g.name, base_at = g.at \
                    FROM (SELECT * FROM gone ORDER BY gone.position DESC LIMIT 1) g";
                self.execute(sql, &[(&through.cast_signed(), Type::INT8)]).await?;
            }
            Write::Manifests(manifests) => self.keep_manifests(manifests).await?,
            Write::Mark(mark) | Write::Vacate(mark) => {
                if let Write::Vacate(_) = write {
                    self.execute("DELETE FROM entries", &[]).await?;
                    self.execute("DELETE FROM head", &[]).await?;
                }
                let sql = "INSERT INTO head (tables, level, epoch, term, base_position, base_name, mark) \
                    VALUES ($1, 0, 0, 0, 0, '', $2) \
                    ON CONFLICT (one) DO UPDATE SET mark = excluded.mark WHERE head.space IS NULL";
                self.execute(sql, &[(&TABLES, Type::INT4), (&&mark[..], Type::BYTEA)]).await?;
            }
            Write::Unmark => {
                self.execute("DELETE FROM head WHERE space IS NULL", &[]).await?;
            }
            Write::Piece(name, bytes) => {
                let sql = "INSERT INTO pieces (name, idle, bytes) VALUES ($1, $2, $3) \
                    ON CONFLICT (name) DO UPDATE SET idle = excluded.idle WHERE pieces.idle IS NOT NULL";
                let (name, bytes) = (&name.0[..], &bytes[..]);
                let values: Values<'_> =
                    &[(&name, Type::BYTEA), (&now, Type::INT8), (&bytes, Type::BYTEA)];
                self.execute(sql, values).await?;
            }
            Write::Named(names) if !names.is_empty() => {
                let sql = "UPDATE pieces SET idle = NULL WHERE name = ANY($1)";
                self.execute(sql, &[(&names_of(names), Type::BYTEA_ARRAY)]).await?;
            }
            Write::Unnamed(names) if !names.is_empty() => {
                let sql = "UPDATE pieces SET idle = $2 WHERE name = ANY($1)";
                let values: Values<'_> =
                    &[(&names_of(names), Type::BYTEA_ARRAY), (&now, Type::INT8)];
                self.execute(sql, values).await?;
            }
            Write::Named(_) | Write::Unnamed(_) => {}
            Write::DropIdle(since) => {
                let sql = "DELETE FROM pieces WHERE name IN \
                    (SELECT name FROM pieces WHERE idle <= $1 ORDER BY name LIMIT $2)";
                let values: Values<'_> =
                    &[(&since.as_micros(), Type::INT8), (&(IDLE_PIECES as i64), Type::INT8)];
                let dropped = self.execute(sql, values).await?;
                return Ok(usize::try_from(dropped).unwrap_or(usize::MAX));
            }
            Write::Put(cell) => self.put(cell.kind, &cell.key, &cell.value).await?,
            Write::Stamped(Cell { kind, key, value }) => {
                let stamped = [&now.to_le_bytes()[..], value].concat();
                self.put(*kind, key, &stamped).await?;
            }
            Write::Delete(kind, key) => {
                let sql = "DELETE FROM cells WHERE kind = $1 AND key = $2";
                let values: Values<'_> =
                    &[(&number_of(*kind), Type::INT2), (&&key[..], Type::BYTEA)];
                self.execute(sql, values).await?;
            }
        }
        Ok(0)
    }

    async fn put(&self, kind: Kind, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
        let sql = "INSERT INTO cells (kind, key, value) VALUES ($1, $2, $3) \
            ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value";
        let values: Values<'_> =
            &[(&number_of(kind), Type::INT2), (&key, Type::BYTEA), (&value, Type::BYTEA)];
        self.execute(sql, values).await.map(drop)
    }

    async fn put_back(&self, entries: &[Entry]) -> Result<(), DatabaseError> {
        let mut columns = (Vec::new(), Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for entry in entries {
            columns.0.push(entry.position.cast_signed());
            columns.1.push(entry.at.as_micros());
            columns.2.push(i64::from(entry.epoch));
            columns.3.push(entry.name()?.to_bytes().to_vec());
            columns.4.push(entry.before.to_bytes().to_vec());
        }
        let bodies: Vec<&[u8]> = entries.iter().map(|entry| &entry.body[..]).collect();
        let sql = "INSERT INTO entries (position, at, epoch, name, before, body) \
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6)";
        let values: Values<'_> = &[
            (&columns.0, Type::INT8_ARRAY),
            (&columns.1, Type::INT8_ARRAY),
            (&columns.2, Type::INT8_ARRAY),
            (&columns.3, Type::BYTEA_ARRAY),
            (&columns.4, Type::BYTEA_ARRAY),
            (&bodies, Type::BYTEA_ARRAY),
        ];
        self.execute(sql, values).await?;
        let epoch = entries.iter().map(|entry| i64::from(entry.epoch)).max().unwrap_or(0);
        let sql = "UPDATE head SET epoch = greatest(epoch, $1)";
        self.execute(sql, &[(&epoch, Type::INT8)]).await?;
        Ok(())
    }

    async fn restart(&self, tip: Tip, epoch: u32, level: u32) -> Result<(), DatabaseError> {
        self.execute("DELETE FROM entries", &[]).await?;
        let term = term_after(self.before.row.map(|row| row.term), self.before.now);
        self.execute("DELETE FROM head", &[]).await?;
        let sql = "INSERT INTO head (tables, space, level, epoch, term, base_position, \
            base_name, base_at) VALUES (1, $1, $2, $3, $4, $5, $6, $7)";
        let values: Values<'_> = &[
            (&&self.before.space.0[..], Type::BYTEA),
            (&i64::from(level), Type::INT8),
            (&i64::from(epoch), Type::INT8),
            (&term, Type::INT8),
            (&tip.position.cast_signed(), Type::INT8),
            (&&tip.name.to_bytes()[..], Type::BYTEA),
            (&tip.at.as_micros(), Type::INT8),
        ];
        self.execute(sql, values).await?;
        Ok(())
    }

    async fn keep_manifests(&self, manifests: &[Manifest]) -> Result<(), StoreError> {
        let positions: Vec<i64> = manifests.iter().map(|one| one.position.cast_signed()).collect();
        let sql = "DELETE FROM manifests WHERE NOT manifests.position = ANY($1)";
        self.execute(sql, &[(&positions, Type::INT8_ARRAY)]).await?;
        for manifest in manifests {
            let pieces: Vec<u8> = manifest.pieces.iter().flat_map(|name| name.0).collect();
            let sql = "INSERT INTO manifests (position, pieces, bytes) VALUES ($1, $2, $3) \
                ON CONFLICT (position) DO UPDATE SET pieces = excluded.pieces, bytes = excluded.bytes \
                WHERE (manifests.pieces, manifests.bytes) <> (excluded.pieces, excluded.bytes)";
            let (pieces, bytes) = (&pieces[..], &manifest.bytes[..]);
            let values: Values<'_> = &[
                (&manifest.position.cast_signed(), Type::INT8),
                (&pieces, Type::BYTEA),
                (&bytes, Type::BYTEA),
            ];
            self.execute(sql, values).await?;
        }
        Ok(())
    }
}
