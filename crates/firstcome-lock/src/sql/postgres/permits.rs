//! Semaphores and read/write locks in PostgreSQL.

use super::{PostgresTable, Type, Value, cell, text};
use crate::error::Error;
use crate::sql::permit_row::{PermitStep, Permits};

const LOOK: &str = include_str!("permits_look.sql");
const ACQUIRE: &str = include_str!("permits_acquire.sql");
const RELEASE: &str = include_str!("permits_release.sql");
const RENEW: &str = include_str!("permits_renew.sql");

impl PostgresTable {
    pub(in crate::sql) async fn permit(
        &self,
        name: &str,
        owner: &str,
        request: i64,
        step: PermitStep,
    ) -> Result<Permits, Error> {
        let rows = match step {
            PermitStep::Look => self.ask.step(LOOK, &[text(&name), text(&owner)]).await,
            PermitStep::Acquire { lease, not_after, most, waits } => {
                let waits = waits && !self.pooled;
                let values: [Value<'_>; 7] = [
                    text(&name),
                    text(&owner),
                    (&lease, Type::INT8),
                    (&not_after, Type::INT8),
                    (&request, Type::INT8),
                    (&most, Type::INT8),
                    (&waits, Type::BOOL),
                ];
                self.ask.step(ACQUIRE, &values).await
            }
            PermitStep::Return => {
                let values: [Value<'_>; 3] = [text(&name), text(&owner), (&request, Type::INT8)];
                self.keep.step(RELEASE, &values).await
            }
        };
        let rows = rows?;
        let row = rows.first().ok_or_else(|| Error::unexpected("a row"))?;
        Ok(Permits {
            mine: cell(row, 0)?,
            count: cell(row, 1)?,
            alone: cell(row, 2)?,
            first: cell(row, 3)?,
            last: cell(row, 4)?,
            request: cell(row, 5)?,
            now: cell(row, 6)?,
            carried_out: false,
        })
    }

    pub(in crate::sql) async fn renew_permits(
        &self,
        name: String,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<String>, Error> {
        let values: [Value<'_>; 3] =
            [(&name, Type::TEXT), (&owners, Type::TEXT_ARRAY), (&lease, Type::INT8)];
        let rows = self.keep.step(RENEW, &values).await?;
        rows.iter().map(|row| cell(row, 0)).collect()
    }
}
