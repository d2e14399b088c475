//! Single statements, each a transaction of its own: one round trip, and a failure that says whether it may count.

use std::time::Duration;

use tokio::time::{Instant, timeout};
use tokio_postgres::Row;
use tokio_postgres::types::{ToSql, Type};

use super::dial::{Dialler, Line, Manner};
use super::pool::{PostgresPool, Session};
use super::{identity, refusal};
use crate::error::StoreError;

/// The longest pause before a statement that was undone by the server is sent again.
const PAUSE_MS: u64 = 20;

/// A transaction whose commit waits, as the session's `synchronous_commit` has it, for all that was committed before it: it
/// writes a message into the log that nobody reads.
const SYNC: &str = "SELECT pg_logical_emit_message(true, 'firstcome', '')";

/// When a statement is answered only once all that was committed before is durable.
#[derive(Debug, Clone, Copy)]
enum Wait {
    /// Its own commit says so.
    Never,
    /// Whatever it gives.
    Always,
    /// If it gives rows that are used.
    Where(fn(&[Row]) -> bool),
}

impl PostgresPool {
    /// Runs one statement as a transaction of its own, READ COMMITTED, and gives its rows.
    ///
    /// A statement that the server undid because of a deadlock or a conflict is sent again, for as long as
    /// [`PostgresOptions::answer_within`](super::PostgresOptions::answer_within) allows; nothing else is. The statement is prepared
    /// once for each connection; behind a pooler, which has connections of its own, it is sent whole between a BEGIN and
    /// a COMMIT that travel with it.
    ///
    /// # Errors
    ///
    /// [`StoreError::Unknown`] when the answer was lost: it may count. Also when somebody ended the wait for a synchronous
    /// standby: see [`Work::commit`](super::Work::commit). Otherwise it does not.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: whether it counts is then unknown.
    pub async fn step(
        &self,
        sql: &'static str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, StoreError> {
        let mut session = self.session().await?;
        session.step(sql, values, Wait::Never).await
    }

    /// The same for a statement that may commit without waiting for the disk: the answer comes when what it committed is as
    /// durable as what other transactions of this pool commit, and with it all that the statement could see.
    ///
    /// It is followed by a second transaction, which is sent with it: others need not wait for the disk before they get the
    /// locks of the first one.
    ///
    /// # Errors
    ///
    /// Those of [`PostgresPool::step`]; [`StoreError::Unknown`] also where it counts and may be lost when the server crashes;
    /// [`StoreError::Unreachable`] where a pooler stands between, which could give the second one to another process of the server:
    /// see [`PostgresPool::met_pooler`].
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: whether it counts is then unknown.
    pub async fn step_and_sync(
        &self,
        sql: &'static str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<Vec<Row>, StoreError> {
        let mut session = self.session().await?;
        session.step(sql, values, Wait::Always).await
    }

    /// The same for a statement that reads what others may have committed without waiting for the disk: if it gives rows that
    /// are `used`, they are as durable as what other transactions of this pool commit. It waits in the process of the server
    /// that gave the rows: another run of the server may have lost them.
    ///
    /// # Errors
    ///
    /// Those of [`PostgresPool::step`]; [`StoreError::Unknown`] also where it was waited for too long, although nothing was changed.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but the server goes on waiting.
    pub async fn read_and_sync(
        &self,
        sql: &'static str,
        values: &[(&(dyn ToSql + Sync), Type)],
        used: fn(&[Row]) -> bool,
    ) -> Result<Vec<Row>, StoreError> {
        let mut session = self.session().await?;
        session.step(sql, values, Wait::Where(used)).await
    }

    /// Says whether a connection of this pool led to a pooler.
    #[must_use]
    pub fn met_pooler(&self) -> bool {
        self.inner.dialler.met_pooler()
    }

    /// Returns what the server says it is, in its own words: some only look like PostgreSQL.
    ///
    /// # Errors
    ///
    /// Why there is no answer: see [`StoreError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn version(&self) -> Result<String, StoreError> {
        let mut session = self.session().await?;
        let line = match session.take() {
            Some(line) => line,
            None => session.inner().dialler.line().await?,
        };
        let dialler = &session.inner().dialler;
        let asking = line.client.query_typed("SELECT version()", &[]);
        let rows = dialler.nothing_changed(asking).await?;
        session.keep(line);
        let said = rows.first().and_then(|row| row.try_get::<_, String>(0).ok());
        said.ok_or_else(|| StoreError::Unexpected {
            detail: "a server without a version".to_owned(),
        })
    }

    /// Tells whether a pooler stands between: then a connection is nobody's own, and cannot listen.
    ///
    /// # Errors
    ///
    /// Why there is no connection: see [`StoreError`].
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn is_pooled(&self) -> Result<bool, StoreError> {
        let mut session = self.session().await?;
        let mut line = match session.take() {
            Some(line) => line,
            None => session.inner().dialler.line().await?,
        };
        let manner = session.inner().dialler.detect_pooler(&mut line).await?;
        session.keep(line);
        Ok(manner == Manner::Pooled)
    }
}

impl Session {
    async fn step(
        &mut self,
        sql: &'static str,
        values: &[(&(dyn ToSql + Sync), Type)],
        wait: Wait,
    ) -> Result<Vec<Row>, StoreError> {
        let limit = self.inner().dialler.options.answer_within;
        let deadline = Instant::now() + limit;
        loop {
            let (failure, again) = match self.step_once(sql, values, wait).await {
                Ok(rows) => return Ok(rows),
                Err(failed) => failed,
            };
            let pause = Duration::from_millis(fastrand::u64(1..=PAUSE_MS));
            if !again || Instant::now() + pause >= deadline {
                return Err(failure);
            }
            tokio::time::sleep(pause).await;
        }
    }

    /// Returns with a failure whether the server undid it in favour of another transaction, so that it can be sent again.
    async fn step_once(
        &mut self,
        sql: &'static str,
        values: &[(&(dyn ToSql + Sync), Type)],
        wait: Wait,
    ) -> Result<Vec<Row>, (StoreError, bool)> {
        let never = |failure| (failure, false);
        // Taken out while it is used: if this future is dropped, nobody goes on in the middle of something.
        let kept = self.take();
        let was_kept = kept.is_some();
        let mut line = match kept {
            Some(line) => line,
            None => self.inner().dialler.line().await.map_err(never)?,
        };
        let mut ready = self.inner().dialler.prepare(&mut line, sql, values, wait).await;
        // A server that was started again has cut the connections of before; nothing was sent that could count.
        if was_kept && ready.is_err() && line.client.is_closed() {
            line = self.inner().dialler.line().await.map_err(never)?;
            ready = self.inner().dialler.prepare(&mut line, sql, values, wait).await;
        }
        let manner = match ready {
            Ok(manner) => manner,
            Err(failure) => {
                if !line.client.is_closed() {
                    self.keep(line);
                }
                return Err(never(failure));
            }
        };
        let place = self.inner().dialler.place();
        let limit = self.inner().dialler.options.answer_within;
        let asking = async {
            match (manner, wait) {
                (Manner::Direct, Wait::Never) => Ok((direct(&line, sql, values).await?, None)),
                (Manner::Direct, Wait::Always) => {
                    // Sent together, in this order.
                    let (asked, synced) =
                        tokio::join!(direct(&line, sql, values), direct(&line, SYNC, &[]));
                    Ok((asked?, synced.err()))
                }
                (Manner::Direct, Wait::Where(used)) => {
                    let rows = direct(&line, sql, values).await?;
                    if used(&rows) {
                        direct(&line, SYNC, &[]).await?;
                    }
                    Ok((rows, None))
                }
                (Manner::Pooled, _) => {
                    let begin = self.inner().dialler.options.begin();
                    Ok((pooled(&line, &begin, (sql, values), wait).await?, None))
                }
            }
        };
        match timeout(limit, asking).await {
            Ok(Ok((rows, unsynced))) => {
                line.used = Instant::now();
                let replicated = line.replicated(&place);
                if !line.client.is_closed() {
                    self.keep(line);
                }
                if let Some(error) = unsynced {
                    return Err(never(refusal::unsynced(&place, &error)));
                }
                replicated.map(|()| rows).map_err(never)
            }
            Ok(Err(error)) => {
                let again = refusal::gave_way(&error);
                let failure = refusal::uncertain(&place, &error);
                // What comes next over this connection was not cancelled.
                line.replicated(&place).ok();
                // An error of the statement itself leaves the connection as it was.
                if !line.client.is_closed() && !matches!(failure, StoreError::Unknown { .. }) {
                    self.keep(line);
                }
                Err((failure, again))
            }
            Err(_) => {
                if manner == Manner::Direct && !matches!(wait, Wait::Never) {
                    self.end_wait(line);
                }
                let reason = format!("no answer within {limit:?}");
                Err(never(StoreError::Unknown { place, reason }))
            }
        }
    }
}

async fn direct(
    line: &Line,
    sql: &'static str,
    values: &[(&(dyn ToSql + Sync), Type)],
) -> Result<Vec<Row>, tokio_postgres::Error> {
    let statement = line.prepared.get(sql).expect("it was prepared before");
    let values: Vec<&(dyn ToSql + Sync)> = values.iter().map(|(value, _)| *value).collect();
    line.client.query(statement, &values).await
}

/// Runs a statement in a transaction of its own, which waits for what it read where that is used.
async fn pooled(
    line: &Line,
    begin: &str,
    (sql, values): (&'static str, &[(&(dyn ToSql + Sync), Type)]),
    wait: Wait,
) -> Result<Vec<Row>, tokio_postgres::Error> {
    // Sent together, in this order; after one that failed the server refuses the others.
    let begun = async {
        let (begun, asked) =
            tokio::join!(line.client.batch_execute(begin), line.client.query_typed(sql, values));
        begun.and(asked)
    };
    let commit = line.client.batch_execute("COMMIT");
    let Wait::Where(used) = wait else {
        let (rows, committed) = tokio::join!(begun, commit);
        let rows = rows?;
        return committed.map(|()| rows);
    };
    let rows = begun.await;
    let synced = match rows.as_ref().is_ok_and(|rows| used(rows)) {
        true => line.client.query_typed(SYNC, &[]).await.map(drop),
        false => Ok(()),
    };
    // Sent whatever came before: the connection is the next one's.
    let committed = commit.await;
    let rows = rows?;
    synced.and(committed).map(|()| rows)
}

impl Dialler {
    /// Finds out who is at the other end, and sets a connection of our own to what single statements need.
    pub(super) async fn detect_pooler(&self, line: &mut Line) -> Result<Manner, StoreError> {
        if let Some(manner) = line.manner {
            return Ok(manner);
        }
        let settling = async {
            let ours = identity::process_id(&line.client).await;
            let asked = "SELECT pg_backend_pid()";
            let rows = line.client.query_typed(asked, &[]).await?;
            let theirs = rows.first().map(|row| row.try_get::<_, i32>(0)).transpose()?;
            // A pooler gives out numbers of its own. What is set there would be set for everybody.
            if theirs.is_none() || theirs != ours {
                self.note_pooler();
                return Ok(Manner::Pooled);
            }
            line.client.batch_execute(&self.options.session()).await?;
            Ok(Manner::Direct)
        };
        let manner = self.nothing_changed(settling).await?;
        line.manner = Some(manner);
        Ok(manner)
    }

    /// Makes a connection ready for a statement; nothing that counts is sent.
    async fn prepare(
        &self,
        line: &mut Line,
        sql: &'static str,
        values: &[(&(dyn ToSql + Sync), Type)],
        wait: Wait,
    ) -> Result<Manner, StoreError> {
        let manner = self.detect_pooler(line).await?;
        match (manner, wait) {
            (Manner::Direct, Wait::Never) => self.prepare_one(line, sql, values).await?,
            (Manner::Direct, Wait::Always | Wait::Where(_)) => {
                self.prepare_one(line, sql, values).await?;
                self.prepare_one(line, SYNC, &[]).await?;
            }
            (Manner::Pooled, Wait::Always) => {
                let reason = "a pooler stands between, and did not before".to_owned();
                return Err(StoreError::Unreachable { place: self.place(), reason });
            }
            (Manner::Pooled, Wait::Never | Wait::Where(_)) => {}
        }
        Ok(manner)
    }

    async fn prepare_one(
        &self,
        line: &mut Line,
        sql: &'static str,
        values: &[(&(dyn ToSql + Sync), Type)],
    ) -> Result<(), StoreError> {
        if !line.prepared.contains_key(sql) {
            let types: Vec<Type> = values.iter().map(|(_, kind)| kind.clone()).collect();
            let preparing = line.client.prepare_typed(sql, &types);
            let statement = self.nothing_changed(preparing).await?;
            line.prepared.insert(sql, statement);
        }
        Ok(())
    }

    async fn nothing_changed<T>(
        &self,
        asking: impl Future<Output = Result<T, tokio_postgres::Error>>,
    ) -> Result<T, StoreError> {
        let (limit, place) = (self.options.answer_within, self.place());
        match timeout(limit, asking).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(refusal::undone(&place, &error)),
            Err(_) => {
                let reason = format!("no answer within {limit:?}");
                Err(StoreError::Unreachable { place, reason })
            }
        }
    }
}
