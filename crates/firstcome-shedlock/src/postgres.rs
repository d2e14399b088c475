//! ShedLock's table on PostgreSQL.
//!
//! Every step is one statement and a transaction by itself, so CURRENT_TIMESTAMP is the time that very statement began,
//! whatever the caller has open elsewhere.

use std::time::Duration;

use firstcome_store::postgres::{PostgresOptions, PostgresPool, ToSql, Type};

use crate::ask::Ask;
use crate::error::Error;
use crate::settings::{Table, check_name};
use crate::statements::Statements;
use crate::time::{client_now, millis};

/// Tables on a server.
#[derive(Debug)]
pub(crate) struct PostgresTable {
    postgres: PostgresPool,
    table: Table,
    statements: &'static Statements,
}

impl PostgresTable {
    pub(crate) async fn connect(options: PostgresOptions, table: Table) -> Result<Self, Error> {
        table.check()?;
        let postgres = PostgresPool::new(options)?;
        // The first connection, and with it whatever is wrong with the address or the rights.
        drop(postgres.session().await?);
        let statements = Statements::of(&table);
        Ok(Self { postgres, table, statements })
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

    pub(crate) async fn take(&self, ask: &Ask) -> Result<bool, Error> {
        self.run(self.statements.take, ask, millis(ask.at_most), ask.client_ms).await
    }

    pub(crate) async fn extend(&self, ask: &Ask) -> Result<bool, Error> {
        self.run(self.statements.extend, ask, millis(ask.at_most), ask.client_ms).await
    }

    pub(crate) async fn unlock(&self, ask: &Ask) -> Result<bool, Error> {
        let client_now = client_now();
        let at_least = match self.table.client_time {
            false => millis(ask.at_least),
            true => ask.client_ms.saturating_add(millis(ask.at_least)).saturating_sub(client_now),
        };
        self.run(self.statements.unlock, ask, at_least, client_now).await
    }

    pub(crate) async fn undo(&self, ask: &Ask) -> Result<bool, Error> {
        self.run(self.statements.undo, ask, 0, client_now()).await
    }

    /// Makes the table where it is not there.
    pub(crate) async fn create_table(&self) -> Result<(), Error> {
        let statement = self.statements.create;
        match self.postgres.step(statement, &[]).await {
            // Somebody else was making it at the same moment, which IF NOT EXISTS does not see: a row of the catalogue,
            // the type or the table is there.
            Err(firstcome_store::StoreError::Statement { code, .. })
                if ["23505", "42710", "42P07"].contains(&code.as_str()) =>
            {
                self.postgres.step(statement, &[]).await?;
            }
            made => drop(made?),
        }
        Ok(())
    }

    /// Sends a statement and gives the answer in its row, no where there is none.
    async fn run(
        &self,
        statement: &'static str,
        ask: &Ask,
        span_ms: i64,
        client_ms: i64,
    ) -> Result<bool, Error> {
        #[expect(clippy::cast_precision_loss, reason = "a hundred years of ms are exact")]
        let span = span_ms as f64;
        let values: [(&(dyn ToSql + Sync), Type); 4] = [
            (&ask.name, Type::VARCHAR),
            (&ask.locked_by, Type::VARCHAR),
            (&span, Type::FLOAT8),
            (&client_ms, Type::INT8),
        ];
        match self.postgres.step(statement, &values).await {
            Ok(rows) => Ok(rows.first().is_some_and(|row| row.get(0))),
            Err(firstcome_store::StoreError::Statement { code, .. }) if code == "42P01" => {
                Err(Error::NoTable { table: self.table.name.clone() })
            }
            Err(failure) => Err(failure.into()),
        }
    }

    pub(crate) fn answer_within(&self) -> Duration {
        self.postgres.answer_within()
    }

    pub(crate) async fn close(&self) {
        self.postgres.close().await;
    }
}
