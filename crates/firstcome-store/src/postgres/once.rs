use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::pool::Session;
use super::refusal;
use crate::Failure;

impl Session {
    /// Runs one statement by itself, with no transaction around it, in one round trip: it counts when this answers.
    ///
    /// The isolation level is that of the database and the user, and the server's time-outs are those, too; a statement
    /// that needs others sets them for itself, with `set_config(…, …, true)`.
    ///
    /// # Errors
    ///
    /// See [`Failure`]; [`Failure::Unknown`] when the answer was lost: it may have been carried out.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: whether it was carried out is then unknown. The connection is left.
    pub async fn once(
        &mut self,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, Failure> {
        // Taken out while it is used: if this future is dropped, nobody goes on in the middle of something.
        let mut line = match self.take_line() {
            Some(line) => line,
            None => self.inner().dialler.line().await?,
        };
        let dialler = &self.inner().dialler;
        let (limit, place) = (dialler.options.answer_within, dialler.place());
        let failure = match timeout(limit, line.client.query_typed(sql, values)).await {
            Ok(Ok(rows)) => {
                line.used = Instant::now();
                self.keep(line);
                return Ok(rows);
            }
            Ok(Err(error)) => refusal::uncertain(&place, &error),
            Err(_) => {
                let reason = format!("no answer within {limit:?}");
                return Err(Failure::Unknown { place, reason });
            }
        };
        // A statement that was refused leaves the connection as good as it was.
        if failure.effect() == crate::Effect::None && !line.client.is_closed() {
            self.keep(line);
        }
        Err(failure)
    }
}
