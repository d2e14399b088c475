//! Whose tables these are; making them where there are none; moving them out of the way.

use super::{Identity, LONGEST};
use crate::ledger::{LAYOUT, LedgerError};
use firstcome_core::SpaceId;
use firstcome_store::mysql::{MySqlPool, Row, bytes, cell, text};

/// The tables, in the order in which they are made.
const TABLES: [&str; 6] = ["meta", "settled", "pools", "results", "webhooks", "details"];
/// What is asked in each transaction: whose ledger it is.
pub(super) const OWNER: &str = "SELECT layout, space FROM ~meta";
/// The SQLSTATE of a table or a database that is not there.
const MISSING: [&str; 2] = ["42S02", "42000"];

/// Makes the tables where they are not there; refuses those of somebody else.
pub(super) async fn open(pool: &MySqlPool, identity: &Identity) -> Result<(), LedgerError> {
    if is_there(pool, identity).await? {
        return Ok(());
    }
    let Identity { space, database } = identity;
    pool.step(&format!("CREATE DATABASE IF NOT EXISTS `{database}`")).await?;
    let make = format!("CREATE TABLE IF NOT EXISTS `{database}`.");
    pool.step(&include_str!("schema.sql").replace("CREATE TABLE ", &make)).await?;
    pool.step(&identity.sql(include_str!("views.sql"))).await?;
    // Where there is a binary log, a server may let only administrators make them: a ledger without them is as good.
    drop(pool.step(&identity.sql(include_str!("triggers.sql"))).await);
    let space = bytes(&space.0);
    pool.step(&identity.sql(&format!(
        "INSERT IGNORE INTO ~settled VALUES (1, 0, 0); \
         INSERT IGNORE INTO ~meta VALUES (1, {LAYOUT}, {space}, UNHEX(MD5(CONCAT(UUID(), RAND()))))"
    )))
    .await?;
    match is_there(pool, identity).await? {
        true => Ok(()),
        false => Err(broken(identity, "its tables were removed while they were made")),
    }
}

/// Says whether the ledger is there; refuses what is not ours.
pub(super) async fn is_there(pool: &MySqlPool, identity: &Identity) -> Result<bool, LedgerError> {
    let database = text(&identity.database);
    let names: Vec<String> = TABLES.iter().map(|table| text(table)).collect();
    let found = pool
        .step(&format!(
            "SELECT GROUP_CONCAT(table_name ORDER BY table_name SEPARATOR ', ') FROM information_schema.tables \
             WHERE table_schema = {database} AND table_name IN ({}); \
             SELECT COUNT(*) FROM information_schema.columns WHERE table_schema = {database} \
             AND table_name = 'meta' AND column_name IN ('one', 'layout', 'space')",
            names.join(", ")
        ))
        .await?;
    let Some(tables) = first::<Option<String>>(&found, 0)? else { return Ok(false) };
    if first::<i64>(&found, 1)? != 3 {
        return Err(broken(identity, &format!("there are tables of something else: {tables}")));
    }
    if tables.split(", ").count() < TABLES.len() {
        // Somebody makes them, or stopped in the middle of it.
        return Ok(false);
    }
    let found = pool.step(&identity.sql(OWNER)).await?;
    let Some(owner) = found.first().and_then(|rows| rows.first()) else { return Ok(false) };
    check(owner, identity).map(|()| true)
}

/// Refuses a ledger of another space or of a newer build, by its row of [`OWNER`].
pub(super) fn check(owner: &Row, identity: &Identity) -> Result<(), LedgerError> {
    let layout = u32::try_from(cell::<i64>(owner, 0)?).unwrap_or(u32::MAX);
    if layout > LAYOUT {
        return Err(LedgerError::TooNew(layout));
    }
    let found = <[u8; 16]>::try_from(cell::<Vec<u8>>(owner, 1)?).map(SpaceId);
    let found = found.map_err(|_| broken(identity, "`meta` names no space"))?;
    if found != identity.space {
        return Err(LedgerError::OtherSpace { found, wanted: identity.space });
    }
    Ok(())
}

/// Says whether a statement failed because the tables are not there.
pub(super) fn is_missing(failure: &firstcome_store::StoreError) -> bool {
    use firstcome_store::StoreError;
    matches!(failure, StoreError::NoDatabase { .. })
        || matches!(failure, StoreError::Statement { code, .. } if MISSING.contains(&code.as_str()))
}

/// Moves the tables to a database with another name; gives it, or nothing if there are none.
pub(super) async fn set_aside(
    pool: &MySqlPool,
    database: &str,
) -> Result<Option<String>, LedgerError> {
    let is_there = async |database: &str| -> Result<bool, LedgerError> {
        let sql = "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = ";
        let found = pool.step(&format!("{sql}{}", text(database))).await?;
        Ok(first::<i64>(&found, 0)? > 0)
    };
    if !is_there(database).await? {
        return Ok(None);
    }
    for number in 1_u32.. {
        let mut aside = format!("set_aside_{number}_{database}");
        aside.truncate(LONGEST);
        if is_there(&aside).await? {
            continue;
        }
        let renamed = TABLES.map(|table| format!("`{database}`.{table} TO `{aside}`.{table}"));
        // A table with triggers, and a view, stay in their database: they are made anew.
        let of = |database: &str, sql: &str| sql.replace('~', &format!("`{database}`."));
        let without = "DROP VIEW IF EXISTS ~results_utc, ~claims_utc, ~claims; \
            DROP TRIGGER IF EXISTS ~results_are_never_changed; DROP TRIGGER IF EXISTS ~results_are_never_deleted; \
            DROP TRIGGER IF EXISTS ~details_are_never_changed; DROP TRIGGER IF EXISTS ~details_are_never_deleted";
        pool.step(&format!(
            "CREATE DATABASE `{aside}`; {}; RENAME TABLE {}",
            of(database, without),
            renamed.join(", ")
        ))
        .await?;
        pool.step(&of(&aside, include_str!("views.sql"))).await?;
        drop(pool.step(&of(&aside, include_str!("triggers.sql"))).await);
        pool.step(&format!("DROP DATABASE `{database}`")).await?;
        return Ok(Some(aside));
    }
    Ok(None)
}

/// Returns the first column of the first row of a list.
fn first<T: firstcome_store::mysql::FromValue>(
    found: &[Vec<Row>],
    list: usize,
) -> Result<T, LedgerError> {
    let row = found.get(list).and_then(|rows| rows.first());
    let none = || LedgerError::Unavailable("the catalogue gives no answer".to_owned());
    Ok(cell(row.ok_or_else(none)?, 0)?)
}

pub(super) fn broken(identity: &Identity, what: &str) -> LedgerError {
    LedgerError::Broken(format!("database {}: {what}", identity.database))
}
