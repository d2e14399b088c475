//! Atomic steps in MariaDB, each a transaction that begins with the row of the head: see [`Transaction`].

use super::load::{CLOCK, HEAD, begin, read, statements};
use super::opening::{current_run, make_tables, make_token};
use super::{MySql, Tables};
use crate::database::{
    DatabaseError, Loaded, Needs, TABLES, makes_the_space, number_of, refused, strange, term_after,
};
use crate::entry::Entry;
use crate::error::JournalError;
use crate::name::Tip;
use crate::snapshots::manifest::Manifest;
use crate::transaction::cell::{Cell, Kind};
use crate::transaction::conditions;
use crate::transaction::{IDLE_PIECES, Seen, Transaction, Write};
use firstcome_core::Timestamp;
use firstcome_core::names::PieceName;
use firstcome_store::StoreError;
use firstcome_store::mysql::{Row, Work, bytes, cell};

impl MySql {
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, JournalError> {
        let mut done = self.try_commit(&transaction).await;
        if done.as_ref().is_err_and(DatabaseError::is_missing) {
            if transaction.writes.is_empty() {
                return self.see_nothing(&transaction);
            }
            if makes_the_space(&transaction) {
                self.make_again().await?;
                done = self.try_commit(&transaction).await;
            }
        }
        // Somebody else's head stands there since it was looked at: what was to be done rests on that now.
        if makes_the_space(&transaction) && done.as_ref().is_err_and(is_taken) {
            done = self.try_commit(&transaction).await;
        }
        done.map_err(|broken| broken.of(self.inner.space, &transaction))
    }

    /// Makes the tables of a lost space. The token of the server's run was lost with them: a new one is no other run.
    async fn make_again(&self) -> Result<(), JournalError> {
        let (pool, tables) = (&self.inner.pool, &self.inner.tables);
        make_tables(pool, tables).await?;
        make_token(pool, tables).await.map_err(refused)?;
        self.inner.run.forget(current_run(pool, tables).await?);
        Ok(())
    }

    /// Answers for a store without tables.
    fn see_nothing(&self, transaction: &Transaction) -> Result<Seen, JournalError> {
        let now = self.clock().unwrap_or(Timestamp::from_micros(0));
        let nothing = Loaded::new(self.inner.space, None, now);
        conditions::check(&nothing, &transaction.checks)?;
        conditions::see(&nothing, &transaction.reads, 0)
    }

    async fn try_commit(&self, transaction: &Transaction) -> Result<Seen, DatabaseError> {
        let mut needs = Needs::default();
        needs.add_checks(&transaction.checks);
        if transaction.writes.is_empty() {
            needs.add_reads(&transaction.reads);
            let loaded = self.look_once(&needs).await?;
            conditions::check(&loaded, &transaction.checks)?;
            return Ok(conditions::see(&loaded, &transaction.reads, 0)?);
        }
        let tables = &self.inner.tables;
        let head = tables.sql(&format!("{HEAD} FOR UPDATE; {CLOCK}"));
        let (mut work, mut found) = self.inner.pool.begin(&head).await?;
        if !needs.is_empty() {
            found.extend(work.ask(&statements(tables, &needs).join("; ")).await?);
        }
        match self.carry_out(&mut work, transaction, &needs, found).await {
            Ok(seen) => {
                work.commit("").await?;
                Ok(seen)
            }
            Err(DatabaseError::Own(failure)) => {
                work.roll_back().await;
                Err(DatabaseError::Own(failure))
            }
            // After a failure of the store its connection is left.
            Err(broken) => Err(broken),
        }
    }

    /// Reads at one moment.
    async fn look_once(&self, needs: &Needs) -> Result<Loaded, DatabaseError> {
        let loaded =
            snapshot(&self.inner.pool, &self.inner.tables, self.inner.space, needs).await?;
        loaded.check_space()?;
        let now = self.clock().unwrap_or(loaded.now);
        Ok(Loaded { now, ..loaded })
    }

    async fn carry_out(
        &self,
        work: &mut Work<'_>,
        transaction: &Transaction,
        needs: &Needs,
        found: Vec<Vec<Row>>,
    ) -> Result<Seen, DatabaseError> {
        let (space, tables) = (self.inner.space, &self.inner.tables);
        let mut before = take_in(space, needs, found)?;
        before.now = self.clock().unwrap_or(before.now);
        before.check_space()?;
        conditions::check(&before, &transaction.checks)?;
        let mut step = Step { work: &mut *work, tables, before: &before, dropped: 0 };
        for write in &transaction.writes {
            step.write(write).await?;
        }
        let dropped = step.dropped;
        let mut needs = Needs::default();
        needs.add_reads(&transaction.reads);
        let mut all = vec![tables.sql(HEAD), tables.sql(CLOCK)];
        all.extend(statements(tables, &needs));
        let found = work.ask(&all.join("; ")).await?;
        let after = Loaded { now: before.now, ..take_in(space, &needs, found)? };
        Ok(conditions::see(&after, &transaction.reads, dropped)?)
    }
}

/// The SQLSTATE of a row whose key another one has.
const TAKEN: &str = "23000";

/// Says whether a row stands already where one was to be made.
fn is_taken(broken: &DatabaseError) -> bool {
    matches!(broken, DatabaseError::Store(StoreError::Statement { code, .. }) if code == TAKEN)
}

/// Reads at one moment, in one round trip.
pub(super) async fn snapshot(
    pool: &firstcome_store::mysql::MySqlPool,
    tables: &Tables,
    space: firstcome_core::names::SpaceId,
    needs: &Needs,
) -> Result<Loaded, DatabaseError> {
    let mut all = vec![tables.sql(HEAD), tables.sql(CLOCK)];
    all.extend(statements(tables, needs));
    let found = pool.snapshot(&all.join("; ")).await?;
    Ok(take_in(space, needs, found)?)
}

fn take_in(
    space: firstcome_core::names::SpaceId,
    needs: &Needs,
    found: Vec<Vec<Row>>,
) -> Result<Loaded, JournalError> {
    let mut found = found.into_iter();
    let (Some(head), Some(clock)) = (found.next(), found.next()) else {
        return Err(strange("no head"));
    };
    let mut loaded = begin(space, head.first(), &clock)?;
    read(&mut loaded, needs, found)?;
    Ok(loaded)
}

/// One transaction, and what there was before it.
struct Step<'a, 'b> {
    work: &'a mut Work<'b>,
    tables: &'a Tables,
    before: &'a Loaded,
    /// How many pieces were dropped.
    dropped: usize,
}

impl Step<'_, '_> {
    async fn run(&mut self, text: String) -> Result<Vec<Vec<Row>>, StoreError> {
        let text = self.tables.sql(&text);
        self.work.ask(&text).await
    }

    /// Does one change.
    async fn write(&mut self, write: &Write) -> Result<(), DatabaseError> {
        let now = self.before.now.as_micros();
        let text = match write {
            Write::Term => "UPDATE `~head` SET term = term + 1".to_owned(),
            Write::Epoch => "UPDATE `~head` SET epoch = epoch + 1".to_owned(),
            Write::Level(level) if self.before.row.is_some_and(|row| row.level < *level) => {
                format!("UPDATE `~head` SET level = {level}")
            }
            Write::Level(_) => return Ok(()),
            Write::Entries(entries) => return self.put_back(entries).await,
            Write::Restart { tip, epoch, level } => self.restart(*tip, *epoch, *level),
            Write::Trim(through) => format!(
                "UPDATE `~head` h JOIN (SELECT position, name, at FROM `~entries` WHERE position <= {through} \
                 ORDER BY position DESC LIMIT 1) e ON e.position > h.base_position \
                 SET h.base_position = e.position, h.base_name = e.name, h.base_at = e.at; \
                 DELETE FROM `~entries` WHERE position <= {through}"
            ),
            Write::Manifests(manifests) => keep_manifests(manifests),
            Write::Mark(mark) => leave_mark(mark),
            Write::Vacate(mark) => {
                format!("DELETE FROM `~entries`; DELETE FROM `~head`; {}", leave_mark(mark))
            }
            Write::Unmark => "DELETE FROM `~head` WHERE space IS NULL".to_owned(),
            Write::Piece(name, content) => format!(
                "INSERT INTO `~pieces` (name, idle, bytes) VALUES ({}, {now}, {}) \
                 ON DUPLICATE KEY UPDATE idle = IF(idle IS NULL, NULL, VALUES(idle))",
                bytes(&name.0),
                bytes(content)
            ),
            Write::Named(names) | Write::Unnamed(names) if names.is_empty() => return Ok(()),
            Write::Named(names) => set_idle(names, "NULL"),
            Write::Unnamed(names) => set_idle(names, &now.to_string()),
            Write::DropIdle(since) => return self.drop_idle(*since).await,
            Write::Put(Cell { kind, key, value }) => put(*kind, key, value),
            Write::Stamped(Cell { kind, key, value }) => {
                put(*kind, key, &[&now.to_le_bytes()[..], value].concat())
            }
            Write::Delete(kind, key) => format!(
                "DELETE FROM `~cells` WHERE kind = {} AND cell = {}",
                number_of(*kind),
                bytes(key)
            ),
        };
        self.run(text).await?;
        Ok(())
    }

    async fn drop_idle(&mut self, since: Timestamp) -> Result<(), DatabaseError> {
        let rows = self
            .run(format!(
                "DELETE FROM `~pieces` WHERE idle <= {} ORDER BY name LIMIT {IDLE_PIECES}; SELECT ROW_COUNT()",
                since.as_micros()
            ))
            .await?;
        let count =
            rows.first().and_then(|rows| rows.first()).ok_or_else(|| strange("no count"))?;
        self.dropped += cell::<usize>(count, 0)?;
        Ok(())
    }

    /// Each entry by itself: together they could be more than the server takes at once.
    async fn put_back(&mut self, entries: &[Entry]) -> Result<(), DatabaseError> {
        for entry in entries {
            self.run(format!(
                "INSERT INTO `~entries` VALUES ({}, {}, {}, {}, {}, {})",
                entry.position,
                entry.at.as_micros(),
                entry.epoch,
                bytes(&entry.name()?.to_bytes()),
                bytes(&entry.before.to_bytes()),
                bytes(&entry.body)
            ))
            .await?;
        }
        let Some(last) = entries.last() else { return Ok(()) };
        let epoch = entries.iter().map(|entry| entry.epoch).max().unwrap_or(0);
        self.run(format!(
            "UPDATE `~head` SET last_position = {}, last_name = {}, last_at = {}, epoch = GREATEST(epoch, {epoch})",
            last.position,
            bytes(&last.name()?.to_bytes()),
            last.at.as_micros()
        ))
        .await?;
        Ok(())
    }

    fn restart(&self, tip: Tip, epoch: u32, level: u32) -> String {
        let term = term_after(self.before.row.map(|row| row.term), self.before.now);
        let (position, name, at) = (tip.position, bytes(&tip.name.to_bytes()), tip.at.as_micros());
        // Where there was no row, none was locked: another one that does the same may have made its own since.
        let seen = if self.before.row.is_some() { "" } else { " WHERE space IS NULL" };
        format!(
            "DELETE FROM `~entries`; DELETE FROM `~head`{seen}; INSERT INTO `~head` VALUES (1, {TABLES}, {}, {level}, \
             {epoch}, {term}, {position}, {name}, {at}, {position}, {name}, {at}, NULL)",
            bytes(&self.before.space.0)
        )
    }
}

fn leave_mark(mark: &[u8]) -> String {
    format!(
        "INSERT INTO `~head` VALUES (1, {TABLES}, NULL, 0, 0, 0, 0, '', NULL, 0, '', NULL, {}) \
         ON DUPLICATE KEY UPDATE mark = IF(space IS NULL, VALUES(mark), NULL)",
        bytes(mark)
    )
}

fn put(kind: Kind, key: &[u8], value: &[u8]) -> String {
    format!(
        "INSERT INTO `~cells` (kind, cell, value) VALUES ({}, {}, {}) ON DUPLICATE KEY UPDATE value = VALUES(value)",
        number_of(kind),
        bytes(key),
        bytes(value)
    )
}

fn set_idle(names: &[PieceName], to: &str) -> String {
    let names: Vec<String> = names.iter().map(|name| bytes(&name.0)).collect();
    format!("UPDATE `~pieces` SET idle = {to} WHERE name IN ({})", names.join(", "))
}

fn keep_manifests(manifests: &[Manifest]) -> String {
    let mut text = "DELETE FROM `~manifests`".to_owned();
    for manifest in manifests {
        let pieces: Vec<u8> = manifest.pieces.iter().flat_map(|name| name.0).collect();
        text.push_str(&format!(
            "; INSERT INTO `~manifests` VALUES ({}, {}, {})",
            manifest.position,
            bytes(&pieces),
            bytes(&manifest.bytes)
        ));
    }
    text
}
