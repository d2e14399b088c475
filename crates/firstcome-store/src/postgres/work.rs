//! Transactions.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::time::{Instant, timeout};
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Error, Row};

use super::dial::Line;
use super::pool::Session;
use super::refusal;
use crate::error::StoreError;

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Read only.
    ReadOnly,
    /// Read only, and every statement sees what there was at the first one.
    Snapshot,
    /// As the database and the user are set; the default is to write.
    Usual,
}

/// A transaction under way.
///
/// Statements may be sent together: futures of [`Work::query`], [`Work::execute`] and [`Work::batch`] send when they
/// are first polled, in that order, and the server carries them out in that order; after one that failed it refuses
/// the others. Dropped before [`Work::commit`], the transaction is undone: its connection is left.
#[derive(Debug)]
pub struct Work<'a> {
    session: &'a mut Session,
    line: Option<Line>,
    /// Statements sent whose answer has not been heard.
    open: AtomicUsize,
    failed: AtomicBool,
}

impl Session {
    /// Begins a transaction: READ COMMITTED unless it is a [`Access::Snapshot`], with the time-outs of
    /// [`PostgresOptions`](super::PostgresOptions).
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; nothing was carried out.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the connection is left.
    pub async fn begin(&mut self, access: Access) -> Result<Work<'_>, StoreError> {
        // Taken out while it is used: if this future is dropped, nobody goes on in the middle of something.
        let kept = self.take();
        let was_kept = kept.is_some();
        let line = match kept {
            Some(line) => line,
            None => self.inner().dialler.line().await?,
        };
        let (mut line, mut begun) = self.try_begin(line, access).await;
        // A server that was started again has cut the connections of before; BEGIN changes nothing and may come again.
        if was_kept && line.client.is_closed() && begun.is_err() {
            (line, begun) = self.try_begin(self.inner().dialler.line().await?, access).await;
        }
        begun?;
        line.used = Instant::now();
        Ok(Work::new(self, line))
    }

    async fn try_begin(&self, line: Line, access: Access) -> (Line, Result<(), StoreError>) {
        let options = &self.inner().dialler.options;
        let text = match access {
            Access::Usual => options.begin(),
            Access::ReadOnly => format!("{}; SET TRANSACTION READ ONLY", options.begin()),
            Access::Snapshot => options.begin_snapshot(),
        };
        let place = self.inner().dialler.place();
        let begun = match timeout(options.answer_within, line.client.batch_execute(&text)).await {
            Ok(begun) => begun.map_err(|error| refusal::undone(&place, &error)),
            Err(_) => {
                let reason = format!("no answer within {:?}", options.answer_within);
                Err(StoreError::Unreachable { place, reason })
            }
        };
        (line, begun)
    }
}

impl<'a> Work<'a> {
    fn new(session: &'a mut Session, line: Line) -> Self {
        let (open, failed) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { session, line: Some(line), open, failed }
    }

    /// Returns the number of this connection: it is another one whenever the server may be another one.
    #[must_use]
    pub fn connection(&self) -> u64 {
        self.line().number
    }

    /// Runs a statement and gives its rows.
    ///
    /// # Errors
    ///
    /// See [`StoreError`]; nothing of the transaction was carried out.
    pub async fn query(
        &self,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, StoreError> {
        self.ask(self.line().client.query_typed(sql, values)).await
    }

    /// Runs a statement and gives how many rows it changed.
    ///
    /// # Errors
    ///
    /// As [`Work::query`].
    pub async fn execute(
        &self,
        sql: &str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<u64, StoreError> {
        self.ask(self.line().client.execute_typed(sql, values)).await
    }

    /// Runs several statements without values, separated by `;`.
    ///
    /// # Errors
    ///
    /// As [`Work::query`].
    pub async fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.ask(self.line().client.batch_execute(sql)).await
    }

    /// Makes it count, and answers when it is durable.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`] when the answer was lost: it may count. Also when somebody ended the wait for a synchronous
    /// standby: it counts on this server, and may be lost with it. Otherwise it does not.
    ///
    /// # Panics
    ///
    /// A statement failed before, or was not waited for.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: whether it counts is then unknown.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        let whole = !*self.failed.get_mut() && *self.open.get_mut() == 0;
        assert!(whole, "only what was heard to succeed may be committed");
        let (limit, place) = self.limit_and_place();
        // Taken out: should this future be dropped, the connection is left.
        let Some(mut line) = self.line.take() else { unreachable!("it is there until the end") };
        match timeout(limit, line.client.batch_execute("COMMIT")).await {
            Ok(Ok(())) => {
                line.used = Instant::now();
                let replicated = line.replicated(&place);
                self.session.keep(line);
                replicated
            }
            Ok(Err(error)) => Err(refusal::uncertain(&place, &error)),
            Err(_) => {
                let reason = format!("no answer within {limit:?}");
                Err(StoreError::Unknown { place, reason })
            }
        }
    }

    /// Undoes it and keeps the connection, if that still answers.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: the connection is left.
    pub async fn roll_back(mut self) {
        let (limit, _) = self.limit_and_place();
        let Some(mut line) = self.line.take() else { return };
        if let Ok(Ok(())) = timeout(limit, line.client.batch_execute("ROLLBACK")).await {
            line.used = Instant::now();
            self.session.keep(line);
        }
    }

    async fn ask<T>(
        &self,
        asking: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, StoreError> {
        let (limit, place) = self.limit_and_place();
        self.open.fetch_add(1, Ordering::Relaxed);
        let answer = timeout(limit, asking).await;
        self.open.fetch_sub(1, Ordering::Relaxed);
        let failure = match answer {
            Ok(Ok(answer)) => return Ok(answer),
            Ok(Err(error)) => refusal::undone(&place, &error),
            Err(_) => {
                StoreError::Unreachable { place, reason: format!("no answer within {limit:?}") }
            }
        };
        self.failed.store(true, Ordering::Relaxed);
        Err(failure)
    }

    fn line(&self) -> &Line {
        self.line.as_ref().expect("it is there until the end")
    }

    fn limit_and_place(&self) -> (std::time::Duration, String) {
        let dialler = &self.session.inner().dialler;
        (dialler.options.answer_within, dialler.place())
    }
}
