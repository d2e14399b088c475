//! Locks in PostgreSQL.

#[cfg(feature = "permits")]
mod permits;
mod subscriber;

use std::sync::OnceLock;
use std::time::Duration;

use firstcome_store::postgres::{
    self, FromSql, Listener, PostgresOptions, PostgresPool, ToSql, Type,
};

pub(super) use self::subscriber::PostgresSubscriber;
use super::numbers::unsigned;
use super::row::{Row, Rows, Seen, Step};
use crate::error::Error;

/// The tables, as they are made.
pub(super) const CREATE: &str = include_str!("postgres/create.sql");

const LOOK: &str = include_str!("postgres/look.sql");
const ACQUIRE: &str = include_str!("postgres/acquire.sql");
const RELEASE: &str = include_str!("postgres/release.sql");
const PASS: &str = include_str!("postgres/pass.sql");
const UNDO: &str = include_str!("postgres/undo.sql");
const FORCE: &str = include_str!("postgres/force.sql");
const ANNOUNCE: &str = include_str!("postgres/announce.sql");
const RENEW: &str = include_str!("postgres/renew.sql");
const GUARD: &str = include_str!("postgres/guard.sql");
const SWEEP: &str = include_str!("postgres/sweep.sql");
#[cfg(feature = "permits")]
const SWEEP_PERMITS: &str = include_str!("postgres/permits_sweep.sql");
const HELD: &str = include_str!("postgres/held.sql");
const RIGHTS: &str = include_str!("postgres/rights.sql");

/// The channel that everything is said on; what it is about is the payload.
const CHANNEL: &str = "firstcome_locks";

/// How many connections there are for what must not wait behind those who wait: giving back and renewing.
const KEEPING: usize = 2;

/// How often creating the tables is tried again if another client created them at the same time.
const MAKING: u32 = 5;

/// A database with the table of locks.
#[derive(Debug)]
pub(crate) struct PostgresTable {
    ask: PostgresPool,
    /// A lock whose row somebody else's transaction has may keep every connection of `ask` for a while; what is held has
    /// to be renewed and given back meanwhile.
    keep: PostgresPool,
    pooled: bool,
    listener: OnceLock<Listener>,
}

impl PostgresTable {
    /// Connects, and makes the tables where they are missing and may be made.
    pub(crate) async fn connect(
        options: PostgresOptions,
        make_tables: bool,
    ) -> Result<Self, Error> {
        let ask = PostgresPool::new(options.clone())?;
        let keep = PostgresPool::new(options.connections(KEEPING))?;
        let pooled = ask.is_pooled().await?;
        let table = Self { ask, keep, pooled, listener: OnceLock::new() };
        if make_tables {
            table.make().await?;
        }
        table.check_rights().await?;
        Ok(table)
    }

    /// Tells whether a pooler stands between.
    pub(crate) fn is_pooled(&self) -> bool {
        self.pooled
    }

    /// Refuses a role that lacks a right to a table: it would show when a lock is given back.
    async fn check_rights(&self) -> Result<(), Error> {
        let rows = self.ask.step(RIGHTS, &[]).await?;
        let missing: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let detail = format!(
            "this role has no right to {}; docs/reference/in-postgresql.md lists what locks need",
            missing.join(", "),
        );
        // SQLSTATE 42501: insufficient privilege.
        Err(firstcome_store::StoreError::Denied { code: "42501".to_owned(), detail }.into())
    }

    async fn make(&self) -> Result<(), Error> {
        let there = "SELECT to_regclass('firstcome_locks') IS NOT NULL \
                     AND to_regclass('firstcome_guards') IS NOT NULL \
                     AND to_regclass('firstcome_permits') IS NOT NULL";
        for _ in 0..MAKING {
            let rows = self.ask.step(there, &[]).await?;
            if rows.first().is_some_and(|row| row.get::<_, bool>(0)) {
                return Ok(());
            }
            let mut session = self.ask.session().await?;
            let work = session.begin(firstcome_store::postgres::Access::Usual).await?;
            let made = match work.batch(CREATE).await {
                Ok(()) => work.commit().await,
                Err(failure) => {
                    work.roll_back().await;
                    Err(failure)
                }
            };
            match made {
                Ok(()) => return Ok(()),
                // Somebody made them at the same time: "if not exists" does not wait for that.
                Err(firstcome_store::StoreError::Statement { code, .. })
                    if ["23505", "42P07", "42710"].contains(&code.as_str()) => {}
                Err(failure) => return Err(failure.into()),
            }
        }
        Ok(())
    }

    pub(super) async fn step(
        &self,
        name: &str,
        request: i64,
        step: &Step<'_>,
    ) -> Result<Seen, Error> {
        let rows = match step {
            Step::Look => self.ask.step(LOOK, &[text(&name)]).await,
            Step::Acquire { owner, lease, not_after, waits } => {
                let waits = *waits && !self.pooled;
                let (number, yes_or_no) = (Type::INT8, Type::BOOL);
                let values: [Value<'_>; 6] = [
                    text(&name),
                    text(owner),
                    (lease, number.clone()),
                    (not_after, number.clone()),
                    (&request, number),
                    (&waits, yes_or_no),
                ];
                self.ask.step(ACQUIRE, &values).await
            }
            Step::Release { owner, all, lease } => {
                let values: [Value<'_>; 5] = [
                    text(&name),
                    text(owner),
                    (&request, Type::INT8),
                    (all, Type::BOOL),
                    (lease, Type::INT8),
                ];
                self.keep.step(RELEASE, &values).await
            }
            Step::Pass { owner, next, lease, more_wait } => {
                let values: [Value<'_>; 6] = [
                    text(&name),
                    text(owner),
                    text(next),
                    (lease, Type::INT8),
                    (&request, Type::INT8),
                    (more_wait, Type::BOOL),
                ];
                self.keep.step(PASS, &values).await
            }
            Step::Undo { owner, keep } => {
                let values: [Value<'_>; 4] =
                    [text(&name), text(owner), (keep, Type::INT8), (&request, Type::INT8)];
                self.keep.step(UNDO, &values).await
            }
            Step::Force => self.ask.step(FORCE, &[text(&name), (&request, Type::INT8)]).await,
            Step::Announce { owner, term, node } => {
                let values: [Value<'_>; 4] =
                    [text(&name), text(owner), (term, Type::INT8), text(node)];
                self.keep.step(ANNOUNCE, &values).await
            }
        };
        let rows = rows?;
        seen(rows.first().ok_or_else(|| Error::unexpected("a row"))?)
    }

    pub(super) async fn renew(
        &self,
        names: Vec<String>,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<i32>, Error> {
        let values: [Value<'_>; 3] =
            [(&names, Type::TEXT_ARRAY), (&owners, Type::TEXT_ARRAY), (&lease, Type::INT8)];
        let rows = self.keep.step(RENEW, &values).await?;
        rows.iter().map(|row| cell(row, 0)).collect()
    }

    pub(super) async fn guard(
        &self,
        name: &str,
        fence: i64,
        owner: &str,
        value: &[u8],
    ) -> Result<Option<(i64, bool)>, Error> {
        let values: [Value<'_>; 4] =
            [text(&name), (&fence, Type::INT8), text(&owner), (&value, Type::BYTEA)];
        let rows = self.ask.step(GUARD, &values).await?;
        rows.first().map(|row| Ok((cell(row, 0)?, cell(row, 1)?))).transpose()
    }

    pub(super) async fn sweep(
        &self,
        rows: Rows,
        after: String,
        count: i64,
    ) -> Result<Option<String>, Error> {
        let sql = match rows {
            Rows::Locks => SWEEP,
            #[cfg(feature = "permits")]
            Rows::Permits => SWEEP_PERMITS,
        };
        let rows = self.keep.step(sql, &[(&after, Type::TEXT), (&count, Type::INT8)]).await?;
        rows.first().map_or(Ok(None), |row| cell(row, 0))
    }

    pub(super) async fn held(
        &self,
        after: String,
        count: i64,
    ) -> Result<Vec<(String, Row, i64)>, Error> {
        let rows = self.ask.step(HELD, &[(&after, Type::TEXT), (&count, Type::INT8)]).await?;
        let read = |row: &postgres::Row| Ok((cell(row, 0)?, lock(row, 1)?, cell(row, 7)?));
        rows.iter().map(read).collect()
    }

    pub(super) async fn listen(&self, topic: String) -> Result<Option<PostgresSubscriber>, Error> {
        if self.pooled {
            return Ok(None);
        }
        let listener = self.listener.get_or_init(|| self.keep.listener(CHANNEL));
        let said = listener.subscribe().await?;
        Ok(Some(PostgresSubscriber { topic, said, liveness: listener.liveness() }))
    }

    pub(super) fn answer_within(&self) -> Duration {
        self.ask.answer_within()
    }

    pub(super) async fn close(&self) {
        self.ask.close().await;
        self.keep.close().await;
    }
}

type Value<'a> = (&'a (dyn ToSql + Sync), Type);

fn text<'a>(value: &'a &str) -> Value<'a> {
    (value, Type::TEXT)
}

fn seen(row: &postgres::Row) -> Result<Seen, Error> {
    let there: Option<String> = cell(row, 0)?;
    let row_there = there.map(|_| lock(row, 0)).transpose()?;
    Ok(Seen { row: row_there, now: cell(row, 6)?, carried_out: false })
}

/// Reads a lock from six columns.
fn lock(row: &postgres::Row, first: usize) -> Result<Row, Error> {
    Ok(Row {
        owner: cell(row, first)?,
        holds: unsigned(cell(row, first + 1)?),
        fence: unsigned(cell(row, first + 2)?),
        expires_at: cell(row, first + 3)?,
        request: cell(row, first + 4)?,
        metadata: cell(row, first + 5)?,
    })
}

fn cell<'a, T: FromSql<'a>>(row: &'a postgres::Row, index: usize) -> Result<T, Error> {
    row.try_get(index).map_err(|error| Error::unexpected(&format!("a lock: {error}")))
}
