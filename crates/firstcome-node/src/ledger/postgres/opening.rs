//! Whose tables these are; and making them where there are none.

use super::Identity;
use crate::ledger::{LAYOUT, LedgerError};
use firstcome_core::SpaceId;
use firstcome_store::postgres::{Access, Session, ToSql, Type, Work};

/// One server makes tables at a time; the others wait for it and then find them.
const MAKING: i64 = i64::from_be_bytes(*b"FCledger");

/// What was found in the schema.
enum Found {
    Nothing { has_schema: bool },
    Ledger,
}

/// Looks whether the tables are there and ours, and makes them where they are not.
pub(super) async fn open(session: &mut Session, identity: &Identity) -> Result<(), LedgerError> {
    let work = session.begin(Access::Usual).await?;
    let whole = is_there(&work, identity).await;
    work.roll_back().await;
    if whole? {
        return Ok(());
    }
    let work = session.begin(Access::Usual).await?;
    match make(&work, identity).await {
        // If the answer is lost, the next look tells.
        Ok(()) => Ok(work.commit().await?),
        Err(failure) => {
            work.roll_back().await;
            Err(failure)
        }
    }
}

/// Says whether the ledger is there; refuses what is not ours.
pub(super) async fn is_there(work: &Work<'_>, identity: &Identity) -> Result<bool, LedgerError> {
    match look(work, identity).await? {
        Found::Ledger => check(work, identity).await.map(|()| true),
        Found::Nothing { .. } => Ok(false),
    }
}

/// Refuses tables of somebody else; says whether there are any.
async fn look(work: &Work<'_>, identity: &Identity) -> Result<Found, LedgerError> {
    let schema = &identity.schema;
    let rows = work.query(include_str!("look.sql"), &[(schema, Type::NAME)]).await?;
    let row = rows.first().ok_or_else(|| broken(identity, "the catalogue gives no answer"))?;
    let encoding: String = row.get("encoding");
    if encoding != "UTF8" {
        return Err(LedgerError::Broken(format!(
            "the database's encoding is {encoding}, which cannot hold every subject; \
             make one with `CREATE DATABASE name TEMPLATE template0 ENCODING 'UTF8'`"
        )));
    }
    let relations: Vec<String> = row.get("relations");
    if relations.is_empty() {
        return Ok(Found::Nothing { has_schema: row.get("has_schema") });
    }
    if row.get::<_, i64>("meta_columns") != 3 {
        let what = format!("there are tables of something else: {}", relations.join(", "));
        return Err(broken(identity, &what));
    }
    Ok(Found::Ledger)
}

/// Refuses a ledger of another space or of a newer build.
pub(super) async fn check(work: &Work<'_>, identity: &Identity) -> Result<(), LedgerError> {
    let rows = work.query("SELECT layout, space FROM meta", &[]).await?;
    let row = rows.first().ok_or_else(|| broken(identity, "`meta` is empty"))?;
    let layout = u32::try_from(row.get::<_, i64>(0)).unwrap_or(u32::MAX);
    if layout > LAYOUT {
        return Err(LedgerError::TooNew(layout));
    }
    let found = <[u8; 16]>::try_from(row.get::<_, &[u8]>(1)).map(SpaceId);
    let found = found.map_err(|_| broken(identity, "`meta` names no space"))?;
    if found != identity.space {
        return Err(LedgerError::OtherSpace { found, wanted: identity.space });
    }
    Ok(())
}

async fn make(work: &Work<'_>, identity: &Identity) -> Result<(), LedgerError> {
    work.query("SELECT pg_advisory_xact_lock($1)", &[(&MAKING, Type::INT8)]).await?;
    if let Found::Nothing { has_schema } = look(work, identity).await? {
        if !has_schema {
            work.batch(&format!("CREATE SCHEMA \"{}\"", identity.schema)).await?;
        }
        work.batch(include_str!("schema.sql")).await?;
        let sql = "INSERT INTO meta (one, layout, space, id) \
             VALUES (1, $1, $2, decode(md5(random()::text || clock_timestamp()::text || $2::text), 'hex'))";
        let space = &identity.space.0[..];
        let values: [(&(dyn ToSql + Sync), Type); 2] =
            [(&i64::from(LAYOUT), Type::INT8), (&space, Type::BYTEA)];
        work.execute(sql, &values).await?;
        work.execute("INSERT INTO settled (one, through, term) VALUES (1, 0, 0)", &[]).await?;
    }
    check(work, identity).await
}

pub(super) fn broken(identity: &Identity, what: &str) -> LedgerError {
    LedgerError::Broken(format!("schema {}: {what}", identity.schema))
}
