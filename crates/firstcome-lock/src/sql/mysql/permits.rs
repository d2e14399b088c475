//! Semaphores and read/write locks in MariaDB (MySQL untested).

use firstcome_store::mysql::{cell, text};

use super::{MySqlTable, fill};
use crate::error::Error;
use crate::sql::permit_row::{PermitStep, Permits};

const LOOK: &str = include_str!("permits_look.sql");
const ACQUIRE: &str = include_str!("permits_acquire.sql");
const RELEASE: &str = include_str!("permits_release.sql");
const RENEW: &str = include_str!("permits_renew.sql");
const OWNERS: &str = include_str!("permits_owners.sql");

/// The columns that `{columns}` stands for: those of who has a permit, out of the JSON of a row.
const COLUMNS: &str = "'$[*]' COLUMNS (owner VARCHAR(255) PATH '$.owner', until BIGINT PATH '$.until', \
    alone BIGINT PATH '$.alone', fence BIGINT PATH '$.fence')";

impl MySqlTable {
    pub(in crate::sql) async fn permit(
        &self,
        name: &str,
        owner: &str,
        request: i64,
        step: PermitStep,
    ) -> Result<Permits, Error> {
        let mut values = vec![
            ("columns", COLUMNS.to_owned()),
            ("name", text(name)),
            ("owner", text(owner)),
            ("request", request.to_string()),
        ];
        let (pool, sql) = match step {
            PermitStep::Look => (&self.ask, ""),
            PermitStep::Acquire { lease, not_after, most, .. } => {
                values.extend([
                    ("lease", lease.to_string()),
                    ("not_after", not_after.to_string()),
                    ("most", most.to_string()),
                    ("alone", i32::from(most == 0).to_string()),
                ]);
                (&self.ask, ACQUIRE)
            }
            PermitStep::Return => (&self.keep, RELEASE),
        };
        // What changes the row and what looks at it travel together.
        let sets = pool.step(&fill(&[sql, LOOK].concat(), &values)).await?;
        let row =
            sets.last().and_then(|rows| rows.first()).ok_or_else(|| Error::unexpected("a row"))?;
        Ok(Permits {
            mine: cell(row, 0)?,
            count: cell(row, 1)?,
            alone: cell(row, 2)?,
            first: cell(row, 3)?,
            last: cell(row, 4)?,
            request: cell(row, 5)?,
            now: cell(row, 6)?,
            carried_out: !matches!(step, PermitStep::Look) && cell(row, 7)?,
        })
    }

    pub(in crate::sql) async fn renew_permits(
        &self,
        name: String,
        owners: Vec<String>,
        lease: i64,
    ) -> Result<Vec<String>, Error> {
        let owners: Vec<String> = owners.iter().map(|owner| text(owner)).collect();
        let values = [
            ("columns", COLUMNS.to_owned()),
            ("name", text(&name)),
            ("owners", owners.join(", ")),
            ("lease", lease.to_string()),
        ];
        let sql = if lease > 0 { [RENEW, OWNERS].concat() } else { OWNERS.to_owned() };
        let sets = self.keep.step(&fill(&sql, &values)).await?;
        sets.last().into_iter().flatten().map(|row| Ok(cell(row, 0)?)).collect()
    }
}
