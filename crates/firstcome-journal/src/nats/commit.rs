//! Atomic steps, each a batch of messages in one of the streams, on a condition: see [`Transaction`].

use super::change::{Change, Changes, needs};
use super::load::{Ground, load};
use super::view::{Remembered, run_of};
use super::{Nats, TURN_WITHIN, looked, trouble};
use crate::database::{DatabaseError, Needs, makes_the_space};
use crate::error::JournalError;
use crate::transaction::conditions;
use crate::transaction::{Seen, Transaction};
use firstcome_core::Timestamp;
use firstcome_store::StoreError;
use tokio::time::Instant;

/// How often a step is tried at least whose ground others change meanwhile: on a busy machine one try takes long.
const TRIES: u32 = 16;

impl Nats {
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, JournalError> {
        let done = self.try_commit(&transaction).await;
        let space = self.inner.space;
        done.map_err(|broken| match broken {
            DatabaseError::Own(failure) => failure,
            DatabaseError::Store(failure) if transaction.writes.is_empty() => {
                looked(space, failure)
            }
            DatabaseError::Store(failure) => trouble(space, failure),
        })
    }

    async fn try_commit(&self, transaction: &Transaction) -> Result<Seen, DatabaseError> {
        let end = Instant::now() + TURN_WITHIN;
        let mut first = Needs::default();
        first.add_checks(&transaction.checks);
        if transaction.writes.is_empty() {
            first.add_reads(&transaction.reads);
            let ground = self.load(&first).await?;
            conditions::check(&ground.loaded, &transaction.checks)?;
            return Ok(conditions::see(&ground.loaded, &transaction.reads, 0)?);
        }
        needs(&transaction.writes, &mut first);
        let mut tries = 0;
        let dropped = loop {
            tries += 1;
            let ground = self.load(&first).await?;
            conditions::check(&ground.loaded, &transaction.checks)?;
            if ground.info.is_none() {
                if !makes_the_space(transaction) || tries > TRIES {
                    return Err(JournalError::Gone(self.inner.space).into());
                }
                self.make_again().await?;
                continue;
            }
            match self.carry_out(transaction, &ground).await {
                Ok(Some(dropped)) => break dropped,
                Err(DatabaseError::Store(StoreError::Held { .. })) | Ok(None)
                    if tries < TRIES || Instant::now() < end => {}
                Err(DatabaseError::Store(StoreError::Held { .. })) => {
                    let late = "others were quicker each time".to_owned();
                    return Err(JournalError::Unavailable(late).into());
                }
                Ok(None) => {
                    let made = "its log is being made".to_owned();
                    return Err(JournalError::Unavailable(made).into());
                }
                Err(broken) => return Err(broken),
            }
        };
        let mut then = Needs::default();
        then.add_reads(&transaction.reads);
        let ground = self.load(&then).await.map_err(|broken| self.after(broken))?;
        Ok(conditions::see(&ground.loaded, &transaction.reads, dropped)?)
    }

    /// Makes the streams of a lost space. That they were made anew is no other run of a server.
    async fn make_again(&self) -> Result<(), DatabaseError> {
        let (streams, replicas) = (&self.inner.streams, self.inner.replicas);
        streams.make_table(replicas).await?;
        if let Err(StoreError::NoDatabase { .. }) = streams.log.stream.info().await {
            streams.make_log(1, replicas).await?;
        }
        streams.log.forget();
        *self.inner.remembered.lock() = Remembered::default();
        let log = &streams.log.stream;
        self.inner.run.forget(run_of(log, &log.info().await?));
        Ok(())
    }

    /// Says what it means that what was changed cannot be read.
    fn after(&self, broken: DatabaseError) -> JournalError {
        JournalError::Unknown(self.unchanged(broken).to_string())
    }

    async fn load(&self, needs: &Needs) -> Result<Ground, DatabaseError> {
        let inner = &self.inner;
        let looked_at = self.look().await;
        let ground = load(&inner.streams, looked_at, inner.space, needs).await;
        let mut ground = ground.map_err(|broken| match broken {
            DatabaseError::Store(failure) => DatabaseError::Own(looked(inner.space, failure)),
            own => own,
        })?;
        ground.loaded.check_space()?;
        ground.loaded.now = self.clock().unwrap_or(ground.loaded.now);
        Ok(ground)
    }

    /// Stores the changes; gives how many pieces were dropped, or nothing where something else had to be mended first.
    ///
    /// What changes the log is in the log alone, and stored first, on the condition that it ends where it was seen to end.
    async fn carry_out(
        &self,
        transaction: &Transaction,
        ground: &Ground,
    ) -> Result<Option<usize>, DatabaseError> {
        let now: Timestamp = ground.loaded.now;
        let mut change = Change::new(self, ground, now);
        for write in &transaction.writes {
            change.write(write)?;
        }
        let Changes { in_log, in_table, removed, log_before, dropped } = change.finish();
        let streams = &self.inner.streams;
        if !in_log.is_empty() {
            if streams.mend_log(&ground.view, self.inner.replicas).await? {
                return Ok(None);
            }
            streams.log.stream.put(in_log).await?;
        }
        let mut last = ground.view.last + 1;
        if !in_table.is_empty() {
            last = streams.table.put(in_table).await?;
        }
        for (subject, before) in removed {
            let purged = streams.table.purge(&subject, before.unwrap_or(last)).await;
            match purged {
                // What is of no use any more goes another time.
                Err(_) if before.is_none() => {}
                purged => purged?,
            }
        }
        if let Some(before) = log_before {
            streams.log.stream.begin_with(before).await?;
        }
        Ok(Some(dropped))
    }
}
