//! Semaphores and read/write locks in SQLite.

use firstcome_store::sqlite::rusqlite::types::Value;
use firstcome_store::sqlite::rusqlite::{self, Connection, params};

use super::{SqliteTable, number, text};
use crate::error::Error;
use crate::sql::permit_row::{PermitStep, Permits};

const LOOK: &str = include_str!("permits_look.sql");
const ACQUIRE: &str = include_str!("permits_acquire.sql");
const RELEASE: &str = include_str!("permits_release.sql");
const RENEW: &str = include_str!("permits_renew.sql");

impl SqliteTable {
    pub(in crate::sql) async fn permit(
        &self,
        name: &str,
        owner: &str,
        request: i64,
        step: PermitStep,
    ) -> Result<Permits, Error> {
        let (name, owner) = (name.to_owned(), owner.to_owned());
        let mut all = vec![text(&name), text(&owner)];
        match step {
            PermitStep::Look => Ok(self.file.read(move |file| look(file, &name, &owner)).await?),
            PermitStep::Acquire { lease, not_after, most, .. } => {
                all.extend([number(lease), number(not_after), number(request), number(most)]);
                let (looked_for, who) = (name.clone(), owner.clone());
                let done = self.file.look_or_write(
                    move |file| {
                        // Most of those who ask in vain need not have the file for themselves.
                        let seen = look(file, &looked_for, &who)?;
                        Ok(Some(seen).filter(|seen| seen.taken_for(most).is_some()))
                    },
                    move |file| change(file, ACQUIRE, &all, &name, &owner),
                );
                Ok(done.await?)
            }
            PermitStep::Return => {
                all.push(number(request));
                let done = self.file.write(move |file| change(file, RELEASE, &all, &name, &owner));
                Ok(done.await?)
            }
        }
    }

    pub(in crate::sql) async fn renew_permits(
        &self,
        name: String,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<String>, Error> {
        let has = |file: &Connection, name: &str, owner: &str| {
            Ok::<_, rusqlite::Error>(look(file, name, owner)?.mine.is_some())
        };
        let keep = move |file: &Connection| {
            let mut kept = Vec::new();
            for owner in &owners {
                let renewed = match lease {
                    0 => has(file, &name, owner)?,
                    _ => file.prepare_cached(RENEW)?.execute(params![name, owner, lease])? == 1,
                };
                if renewed {
                    kept.push(owner.clone());
                }
            }
            Ok(kept)
        };
        Ok(if lease == 0 { self.file.read(keep).await? } else { self.file.write(keep).await? })
    }
}

fn change(
    file: &Connection,
    sql: &str,
    values: &[Value],
    name: &str,
    owner: &str,
) -> rusqlite::Result<Permits> {
    file.prepare_cached(sql)?.execute(rusqlite::params_from_iter(values))?;
    look(file, name, owner)
}

fn look(file: &Connection, name: &str, owner: &str) -> rusqlite::Result<Permits> {
    file.prepare_cached(LOOK)?.query_row([name, owner], |row| {
        Ok(Permits {
            mine: row.get(0)?,
            count: row.get(1)?,
            alone: row.get(2)?,
            first: row.get(3)?,
            last: row.get(4)?,
            request: row.get(5)?,
            now: row.get(6)?,
            carried_out: false,
        })
    })
}
