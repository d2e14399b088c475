//! Transactions of several round trips.

use mysql_async::{Error, Row};
use tokio::sync::SemaphorePermit;
use tokio::time::timeout;

use super::pool::{Line, MySqlPool, Sent, ask};
use crate::error::StoreError;

/// The error with which a commit fails of which nobody knows whether it counts.
const DURING_COMMIT: u16 = 1180;

/// A transaction under way, READ COMMITTED.
///
/// Dropped before [`Work::commit`], it is undone: its connection is left.
#[derive(Debug)]
pub struct Work<'a> {
    pool: &'a MySqlPool,
    /// None after a failure.
    line: Option<Line>,
    _permit: SemaphorePermit<'a>,
}

impl MySqlPool {
    /// Begins a transaction with its first statements, separated by `;`; gives it with the rows of each that has some.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; nothing was carried out.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the connection is left.
    pub async fn begin(&self, sql: &str) -> Result<(Work<'_>, Vec<Vec<Row>>), StoreError> {
        let permit = self.permit().await?;
        let text = format!("START TRANSACTION; {sql}");
        let mut tries = 2;
        loop {
            let mut line = self.line().await?;
            match timeout(self.answer_within(), ask(&mut line.conn, &text)).await {
                Ok(Ok(rows)) => {
                    return Ok((Work { pool: self, line: Some(line), _permit: permit }, rows));
                }
                // A server that was started again has cut the connections of before; nothing of it counts.
                Ok(Err(Error::Io(_) | Error::Driver(_))) if tries > 1 => tries -= 1,
                Ok(Err(error)) => return Err(self.failure(&error, Sent::Nothing)),
                Err(_) => return Err(self.silent()),
            }
        }
    }
}

impl Work<'_> {
    /// Runs statements, separated by `;`, and gives the rows of each that has some.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; nothing of the transaction was carried out.
    ///
    /// # Panics
    ///
    /// A statement failed before.
    pub async fn ask(&mut self, sql: &str) -> Result<Vec<Vec<Row>>, StoreError> {
        // Taken out while it is used: what failed is left, and the server undoes it.
        let mut line = self.line.take().expect("nothing is asked after a failure");
        match timeout(self.pool.answer_within(), ask(&mut line.conn, sql)).await {
            Ok(Ok(rows)) => {
                self.line = Some(line);
                Ok(rows)
            }
            Ok(Err(error)) => Err(self.pool.failure(&error, Sent::Nothing)),
            Err(_) => Err(self.pool.silent()),
        }
    }

    /// Runs last statements, which may be none, and makes all of it count.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`] when the answer was lost: it may count. Otherwise it does not.
    ///
    /// # Panics
    ///
    /// A statement failed before.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: whether it counts is then unknown.
    pub async fn commit(mut self, sql: &str) -> Result<Vec<Vec<Row>>, StoreError> {
        let mut line = self.line.take().expect("nothing is committed after a failure");
        let text = if sql.is_empty() { "COMMIT".to_owned() } else { format!("{sql}; COMMIT") };
        match timeout(self.pool.answer_within(), ask(&mut line.conn, &text)).await {
            Ok(Ok(rows)) => {
                self.pool.keep(line);
                Ok(rows)
            }
            Ok(Err(Error::Server(refused))) if refused.code == DURING_COMMIT => {
                Err(self.pool.unknown(refused.message))
            }
            Ok(Err(error)) => Err(self.pool.failure(&error, Sent::Yes)),
            Err(_) => Err(self.pool.unknown("no answer in time".to_owned())),
        }
    }

    /// Undoes it and keeps the connection, if that still answers.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the connection is left.
    pub async fn roll_back(mut self) {
        let Some(mut line) = self.line.take() else { return };
        if let Ok(Ok(_)) = timeout(self.pool.answer_within(), ask(&mut line.conn, "ROLLBACK")).await
        {
            self.pool.keep(line);
        }
    }
}
