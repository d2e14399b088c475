//! Atomic steps in a stream, each a batch of messages on the condition that the head is as it was: see [`Transaction`].

use super::change::{Change, needs};
use super::load::{Ground, load};
use super::view::run_of;
use super::{Nats, TURN_WITHIN, looked, trouble};
use crate::conditions;
use crate::database::{Broken, Needs, makes_the_space};
use crate::failure::Failure;
use crate::transaction::{Check, Seen, Transaction};
use firstcome_core::Timestamp;
use firstcome_store::Failure as Store;
use tokio::time::Instant;

impl Nats {
    pub(crate) async fn commit(&self, transaction: Transaction) -> Result<Seen, Failure> {
        let done = self.try_commit(&transaction).await;
        let space = self.inner.space;
        done.map_err(|broken| match broken {
            Broken::Own(failure) => failure,
            Broken::Store(failure) if transaction.writes.is_empty() => looked(space, failure),
            Broken::Store(failure) => trouble(space, failure),
        })
    }

    async fn try_commit(&self, transaction: &Transaction) -> Result<Seen, Broken> {
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
        let dropped = loop {
            let ground = self.load(&first).await?;
            conditions::check(&ground.loaded, &transaction.checks)?;
            if ground.info.is_none() {
                if !makes_the_space(transaction) {
                    return Err(Failure::Gone(self.inner.space).into());
                }
                self.make_again().await?;
                continue;
            }
            match self.carry_out(transaction, &ground).await {
                Err(Broken::Store(Store::Held { .. })) if Instant::now() < end => {}
                done => break done?,
            }
        };
        let mut then = Needs::default();
        then.add_reads(&transaction.reads);
        let ground = self.load(&then).await.map_err(|broken| self.after(broken))?;
        Ok(conditions::see(&ground.loaded, &transaction.reads, dropped)?)
    }

    /// Makes the stream of a lost space. That it was made anew is no other run of a server.
    async fn make_again(&self) -> Result<(), Broken> {
        let (stream, subjects) = (&self.inner.stream, &self.inner.subjects);
        stream.create(&subjects.all(), self.inner.replicas).await?;
        self.set_seen(None);
        self.forget_sequences();
        self.inner.run.forget(run_of(stream, &stream.info().await?));
        Ok(())
    }

    /// Says what it means that what was changed cannot be read.
    fn after(&self, broken: Broken) -> Failure {
        Failure::Unknown(self.unchanged(broken).to_string())
    }

    async fn load(&self, needs: &Needs) -> Result<Ground, Broken> {
        let inner = &self.inner;
        let mut ground =
            load(&inner.stream, &inner.subjects, inner.space, needs).await.map_err(|broken| {
                match broken {
                    Broken::Store(failure) => Broken::Own(looked(inner.space, failure)),
                    own => own,
                }
            })?;
        ground.loaded.check_space()?;
        ground.loaded.now = self.clock().unwrap_or(ground.loaded.now);
        Ok(ground)
    }

    /// Stores the changes; gives how many pieces were dropped.
    async fn carry_out(&self, transaction: &Transaction, ground: &Ground) -> Result<usize, Broken> {
        let now: Timestamp = ground.loaded.now;
        let mut change = Change::new(self, ground, now);
        for write in &transaction.writes {
            change.write(write)?;
        }
        let dropped = change.dropped;
        let on_end = |check: &Check| matches!(check, Check::End { .. } | Check::Nothing);
        let on_end = transaction.checks.iter().any(on_end);
        let (messages, removed) = change.finish(on_end);
        let mut last = ground.view.last + 1;
        if !messages.is_empty() {
            last = self.inner.stream.put(messages).await?;
        }
        for (subject, before) in removed {
            let purged = self.inner.stream.purge(&subject, before.unwrap_or(last)).await;
            match purged {
                // What is of no use any more goes another time.
                Err(_) if before.is_none() => {}
                purged => purged?,
            }
        }
        Ok(dropped)
    }
}
