//! ShedLock's table on MariaDB (MySQL untested).
//!
//! Each step changes the row in one statement, a transaction by itself, and looks at it in a second one that travels
//! with it. The columns are of the type TIMESTAMP, which is written and read in the session's time zone, and ShedLock
//! writes UTC into them whatever that zone is: what is compared is right among sessions of one zone. So each step begins
//! with the server's own zone, which is what Java's sessions have.

use std::time::Duration;

use firstcome_store::mysql::{MySqlOptions, MySqlPool, cell, text};

use crate::ask::Ask;
use crate::error::Error;
use crate::settings::{Table, check_name};
use crate::time::{client_now, millis};

/// Tables on a server.
#[derive(Debug)]
pub(crate) struct MySqlTable {
    mysql: MySqlPool,
    table: Table,
}

/// The server's own zone; asked for each time, because it can be changed while connections are open.
const ZONE: &str = "SET SESSION time_zone = @@GLOBAL.time_zone";

impl MySqlTable {
    pub(crate) async fn connect(options: MySqlOptions, table: Table) -> Result<Self, Error> {
        table.check()?;
        let mysql = MySqlPool::new(options)?;
        // The first connection, and with it whatever is wrong with the address or the rights.
        mysql.step(ZONE).await?;
        Ok(Self { mysql, table })
    }

    pub(crate) fn ask(
        &self,
        name: &str,
        at_most: Duration,
        at_least: Duration,
    ) -> Result<Ask, Error> {
        check_name(name)?;
        Ask::new(name, self.table.fresh_holder(), at_most, at_least)
    }

    /// Returns the time that counts.
    fn now(&self, client_ms: i64) -> String {
        match self.table.client_time {
            true => later("TIMESTAMP'1970-01-01 00:00:00.000'", client_ms),
            false => "UTC_TIMESTAMP(3)".to_owned(),
        }
    }

    pub(crate) async fn take(&self, ask: &Ask) -> Result<bool, Error> {
        let (table, now) = (&self.table.name, self.now(ask.client_ms));
        let (name, me) = (text(&ask.name), text(&ask.locked_by));
        let until = later(&now, millis(ask.at_most));
        let free = "lock_until <= VALUES(locked_at)";
        // The time that is compared with is changed last: what stands before it is evaluated in this order.
        self.run(&format!(
            "INSERT INTO {table} (name, lock_until, locked_at, locked_by) \
             VALUES ({name}, {until}, {now}, {me}) ON DUPLICATE KEY UPDATE \
             locked_by = IF({free}, VALUES(locked_by), locked_by), \
             locked_at = IF({free}, VALUES(locked_at), locked_at), \
             lock_until = IF({free}, VALUES(lock_until), lock_until); \
             SELECT count(*) FROM {table} WHERE name = {name} AND locked_by = {me}"
        ))
        .await
    }

    pub(crate) async fn extend(&self, ask: &Ask) -> Result<bool, Error> {
        let (table, now) = (&self.table.name, self.now(ask.client_ms));
        let (name, me) = (text(&ask.name), text(&ask.locked_by));
        let until = later(&now, millis(ask.at_most));
        let ours = format!("name = {name} AND locked_by = {me} AND lock_until > {now}");
        self.run(&format!(
            "UPDATE {table} SET lock_until = {until} WHERE {ours}; \
             SELECT count(*) FROM {table} WHERE {ours}"
        ))
        .await
    }

    pub(crate) async fn unlock(&self, ask: &Ask) -> Result<bool, Error> {
        let client_now = client_now();
        let (table, now) = (&self.table.name, self.now(client_now));
        let (name, me) = (text(&ask.name), text(&ask.locked_by));
        let at_least = millis(ask.at_least);
        // Since when at-least-for counts: from the row's locked_at by the database's clock, from the last extension by
        // the client's, as in Java.
        let at_least_until = match self.table.client_time {
            true => self.now(ask.client_ms.saturating_add(at_least)),
            false => later("locked_at", at_least),
        };
        // A row that is this holder's and stays as it is does not count as changed.
        self.run(&format!(
            "UPDATE {table} SET lock_until = IF({at_least_until} > {now}, {at_least_until}, {now}) \
             WHERE name = {name} AND locked_by = {me}; \
             SELECT ROW_COUNT() > 0 OR EXISTS \
             (SELECT 1 FROM {table} WHERE name = {name} AND locked_by = {me})"
        ))
        .await
    }

    pub(crate) async fn undo(&self, ask: &Ask) -> Result<bool, Error> {
        let (table, now) = (&self.table.name, self.now(client_now()));
        let (name, me) = (text(&ask.name), text(&ask.locked_by));
        self.run(&format!(
            "UPDATE {table} SET lock_until = {now} \
             WHERE name = {name} AND locked_by = {me} AND lock_until > {now}; \
             SELECT ROW_COUNT() > 0"
        ))
        .await
    }

    /// Makes the table where it is not there.
    pub(crate) async fn create_table(&self) -> Result<(), Error> {
        let table = &self.table.name;
        self.mysql
            .step(&format!(
                "CREATE TABLE IF NOT EXISTS {table} (name VARCHAR(64) NOT NULL, \
                 lock_until TIMESTAMP(3) NOT NULL, \
                 locked_at TIMESTAMP(3) NOT NULL DEFAULT CURRENT_TIMESTAMP(3), \
                 locked_by VARCHAR(255) NOT NULL, PRIMARY KEY (name))"
            ))
            .await?;
        Ok(())
    }

    /// Sends statements, the last of which answers yes with a number above 0.
    async fn run(&self, statements: &str) -> Result<bool, Error> {
        match self.mysql.step(&format!("{ZONE}; {statements}")).await {
            Ok(sets) => {
                let row = sets.last().and_then(|rows| rows.first());
                let row = row.ok_or_else(|| firstcome_store::StoreError::Unexpected {
                    detail: "no row that says what came of it".to_owned(),
                })?;
                Ok(cell::<i64>(row, 0)? > 0)
            }
            Err(firstcome_store::StoreError::Statement { code, .. }) if code == "42S02" => {
                Err(Error::NoTable { table: self.table.name.clone() })
            }
            Err(failure) => Err(failure.into()),
        }
    }

    pub(crate) fn answer_within(&self) -> Duration {
        self.mysql.answer_within()
    }

    pub(crate) async fn close(&self) {
        self.mysql.close().await;
    }
}

/// Returns a time so many milliseconds after another.
fn later(time: &str, ms: i64) -> String {
    format!("TIMESTAMPADD(MICROSECOND, {}, {time})", i128::from(ms) * 1000)
}
