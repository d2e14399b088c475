//! ShedLock's table on PostgreSQL.
//!
//! Every step is one statement by itself, so CURRENT_TIMESTAMP is the time that very statement began, whatever the
//! caller has open elsewhere, and a pooler in transaction mode may stand between.

use std::fmt::Display;
use std::time::Duration;

use firstcome_store::postgres::{Options, Postgres, ToSql, Type};
use tokio::time::{Instant, sleep};

use super::ask::Ask;
use super::settings::{Table, check_name};
use super::time::{client_now, millis};
use crate::{Backoff, Failure};

/// The pause before a statement that met a conflict is sent again.
const CONFLICT_PAUSE: Duration = Duration::from_millis(2);

/// Tables on a server.
#[derive(Debug)]
pub(super) struct PostgresTable {
    postgres: Postgres,
    table: Table,
    statements: Statements,
}

/// The text of each step. `$1` is the name, `$2` the holder, `$3` a duration in ms, `$4` the client's clock in ms since
/// 1970, `$5` for how long to wait for a row that another transaction has.
#[derive(Debug)]
struct Statements {
    take: String,
    extend: String,
    unlock: String,
    undo: String,
}

/// What each statement sees to for itself: that it does not wait for ever behind somebody's open transaction, and that
/// what is answered was written to the disk.
const LIMITS: &str = "WITH limits AS MATERIALIZED (SELECT set_config('lock_timeout', $5, true), \
    set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'off' THEN 'on' \
    ELSE current_setting('synchronous_commit') END, true), $4::int8 AS client_ms)";

/// Gives the statement that makes the table.
pub(super) fn table_sql(table: &Table) -> String {
    format!(
        "CREATE TABLE IF NOT EXISTS {} (name VARCHAR(64) NOT NULL, lock_until TIMESTAMP NOT NULL, \
         locked_at TIMESTAMP NOT NULL, locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))",
        table.name
    )
}

/// A time so many milliseconds after 1970.
fn after_1970(ms: impl Display) -> String {
    format!("(timestamp '1970-01-01 00:00:00' + ({ms}) * interval '1 millisecond')")
}

impl Statements {
    fn new(Table { name: table, client_time, .. }: &Table) -> Self {
        let now = match client_time {
            true => after_1970("limits.client_ms"),
            false => "timezone('utc', CURRENT_TIMESTAMP)".to_owned(),
        };
        // Text: the type that the interval is made from is then the same in every version.
        let later = "make_interval(secs => $3::float8 / 1000)";
        // Both modes have the same unlock in Java, but for whose clock it is and since when at-least-for counts: from
        // the row's locked_at by the database's clock, from the last extension by the client's.
        let at_least_until = match client_time {
            true => format!("({now} + {later})"),
            false => format!("(held.locked_at + {later})"),
        };
        Self {
            take: format!(
                "{LIMITS} INSERT INTO {table} AS held (name, lock_until, locked_at, locked_by) \
                 SELECT $1, {now} + {later}, {now}, $2 FROM limits ON CONFLICT (name) DO UPDATE \
                 SET lock_until = EXCLUDED.lock_until, locked_at = EXCLUDED.locked_at, \
                 locked_by = EXCLUDED.locked_by \
                 WHERE held.lock_until <= EXCLUDED.locked_at RETURNING true"
            ),
            extend: format!(
                "{LIMITS} UPDATE {table} AS held SET lock_until = {now} + {later} FROM limits \
                 WHERE held.name = $1 AND held.locked_by = $2 AND held.lock_until > {now} RETURNING true"
            ),
            unlock: format!(
                "{LIMITS} UPDATE {table} AS held SET lock_until = GREATEST({at_least_until}, {now}) \
                 FROM limits WHERE held.name = $1 AND held.locked_by = $2 RETURNING true"
            ),
            // An insert, so that it waits for a row that was made and not committed yet: it is about an answer that
            // was lost. Where there was no row, it leaves a free one, and took nothing back.
            undo: format!(
                "{LIMITS} INSERT INTO {table} AS held (name, lock_until, locked_at, locked_by) \
                 SELECT $1, {now}, {now}, $2 FROM limits \
                 ON CONFLICT (name) DO UPDATE SET lock_until = EXCLUDED.lock_until \
                 WHERE held.locked_by = $2 AND held.lock_until > EXCLUDED.lock_until \
                 RETURNING held.lock_until > held.locked_at"
            ),
        }
    }
}

impl PostgresTable {
    pub(super) async fn connect(options: Options, table: Table) -> Result<Self, Failure> {
        table.check()?;
        let postgres = Postgres::new(options)?;
        // The first connection, and with it whatever is wrong with the address or the rights.
        drop(postgres.session().await?);
        let statements = Statements::new(&table);
        Ok(Self { postgres, table, statements })
    }

    pub(super) fn ask(
        &self,
        name: &str,
        at_most: Duration,
        at_least: Duration,
    ) -> Result<Ask, Failure> {
        check_name(name)?;
        let locked_by = format!("{}:{:016x}", self.table.holder, fastrand::u64(..));
        Ask::new(name, locked_by, at_most, at_least)
    }

    pub(super) async fn take(&self, ask: &Ask) -> Result<bool, Failure> {
        self.run(&self.statements.take, ask, millis(ask.at_most), ask.client_ms).await
    }

    pub(super) async fn extend(&self, ask: &Ask) -> Result<bool, Failure> {
        self.run(&self.statements.extend, ask, millis(ask.at_most), ask.client_ms).await
    }

    pub(super) async fn unlock(&self, ask: &Ask) -> Result<bool, Failure> {
        let client_now = client_now();
        let at_least = match self.table.client_time {
            false => millis(ask.at_least),
            true => ask.client_ms.saturating_add(millis(ask.at_least)).saturating_sub(client_now),
        };
        self.run(&self.statements.unlock, ask, at_least, client_now).await
    }

    pub(super) async fn undo(&self, ask: &Ask) -> Result<bool, Failure> {
        self.run(&self.statements.undo, ask, 0, client_now()).await
    }

    /// Makes the table where it is not there.
    pub(super) async fn create_table(&self) -> Result<(), Failure> {
        let statement = table_sql(&self.table);
        let mut session = self.postgres.session().await?;
        match session.once(&statement, &[]).await {
            // Somebody else was making it at the same moment: IF NOT EXISTS does not see that.
            Err(firstcome_store::Failure::Statement { code, .. })
                if code == "23505" || code == "42P07" =>
            {
                session.once(&statement, &[]).await?;
            }
            made => drop(made?),
        }
        Ok(())
    }

    /// Sends a statement, again where the server undid it because of a conflict, and gives the answer in its row, no
    /// where there is none.
    async fn run(
        &self,
        statement: &str,
        ask: &Ask,
        span_ms: i64,
        client_ms: i64,
    ) -> Result<bool, Failure> {
        let begun = Instant::now();
        // The server gives up before its answer would come too late.
        let patience = self.postgres.lock_within().min(self.postgres.answer_within() * 3 / 4);
        let lock_within = patience.as_millis().clamp(1, i32::MAX as u128).to_string();
        #[expect(clippy::cast_precision_loss, reason = "a hundred years of ms are exact")]
        let span = span_ms as f64;
        let values: [(&(dyn ToSql + Sync), Type); 5] = [
            (&ask.name, Type::VARCHAR),
            (&ask.locked_by, Type::VARCHAR),
            (&span, Type::FLOAT8),
            (&client_ms, Type::INT8),
            (&lock_within, Type::TEXT),
        ];
        let mut pauses = Backoff::new(CONFLICT_PAUSE).pauses();
        loop {
            let mut session = self.postgres.session().await?;
            match session.once(statement, &values).await {
                Ok(rows) => return Ok(rows.first().is_some_and(|row| row.get(0))),
                // Two transactions met, or somebody has the row: nothing happened.
                Err(firstcome_store::Failure::Held { .. }) if begun.elapsed() < patience => {}
                Err(firstcome_store::Failure::Statement { code, .. }) if code == "42P01" => {
                    return Err(Failure::NoTable { table: self.table.name.clone() });
                }
                Err(failure) => return Err(failure.into()),
            }
            drop(session);
            sleep(pauses.next().unwrap_or(CONFLICT_PAUSE)).await;
        }
    }

    pub(super) fn answer_within(&self) -> Duration {
        self.postgres.answer_within()
    }

    pub(super) async fn close(&self) {
        self.postgres.close().await;
    }
}
