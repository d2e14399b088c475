//! Locks in a table: what the databases have in common.
//!
//! A step is one request about one row, and gives the row as it stands after that. Each request has an id, which is
//! written into the row by the one that changed it; so a request that is sent again finds out that it was carried out
//! already.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::name;
use super::numbers::{micros, request_id, short_id, signed, unsigned};
use super::retry::{TRIES, pause};
use super::row::{Rows, Seen, Step};
use super::subscriber::SqlSubscriber;
use super::table::LockTable;
use crate::backend::holder::Holder;
use crate::backend::requests::{
    AcquireAnswer, NotAfter, Record, ReleaseAnswer, ReleaseRequest, RenewalAnswer, RenewalRequest,
    Topic, UndoAnswer,
};
use crate::backend::store_clock::StoreClock;
use crate::error::Error;
use crate::inject::{Mistake, Mistakes};
use crate::keys::LockKeys;

/// How many rows are looked at for old ones with one request.
const SWEEP_ROWS: i64 = 500;

/// How many locks are listed with one request.
const PAGE: i64 = 500;

/// A table of locks, and what is known of its server's clock.
#[derive(Debug)]
pub(crate) struct SqlBackend {
    pub(super) table: LockTable,
    pub(super) clock: StoreClock,
    pub(super) mistakes: Mistakes,
    sweep: Mutex<Sweep>,
}

/// Where the search for old rows stands.
#[derive(Debug)]
struct Sweep {
    every: Duration,
    last: Instant,
    /// The last names that were looked at, of locks and of permits.
    after: String,
    #[cfg(feature = "permits")]
    after_permit: String,
}

impl SqlBackend {
    pub(crate) fn new(table: LockTable, sweep_every: Duration, mistakes: Mistakes) -> Self {
        // Clients that are started together do not all look at once.
        let ago = sweep_every.mul_f64(fastrand::f64());
        let last = Instant::now().checked_sub(ago).unwrap_or_else(Instant::now);
        let sweep = Sweep {
            every: sweep_every,
            last,
            after: String::new(),
            #[cfg(feature = "permits")]
            after_permit: String::new(),
        };
        let sweep = Mutex::new(sweep);
        Self { table, clock: StoreClock::default(), mistakes, sweep }
    }

    pub(crate) async fn ready(&self) -> Result<(), Error> {
        if !self.clock.is_known() {
            self.step("", 0, &Step::Look).await?;
        }
        Ok(())
    }

    pub(crate) async fn acquire(
        &self,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
        waits: bool,
    ) -> Result<AcquireAnswer, (Error, NotAfter)> {
        #[cfg(feature = "permits")]
        if let Some(most) = keys.kind.permits() {
            return self.acquire_permit(keys, most.into(), owner, lease, waits).await;
        }
        let (name, lease) = (name::stored(&keys.name), micros(lease));
        let mut late = false;
        for _ in 0..TRIES {
            let not_after = self.not_after();
            let (step, request) = (Step::Acquire { owner, lease, not_after, waits }, request_id());
            // A statement that began in time may take so much longer.
            let last = not_after.saturating_add(micros(self.answer_within()));
            let seen = self.step(&name, request, &step).await;
            let seen = seen.map_err(|failure| (failure, NotAfter(last)))?;
            if let Some(row) = seen.changed_by(request) {
                return Ok(AcquireAnswer::Yes { holds: row.holds, fence: row.fence });
            }
            match seen.held() {
                Some(row) if row.owner != owner => {
                    return Ok(AcquireAnswer::Held { remaining: Some(row.remaining(seen.now)) });
                }
                // By what was known of the clock it was in time: that was another server's, or long ago.
                Some(_) | None if seen.now > not_after => {
                    if late {
                        return Ok(AcquireAnswer::Late);
                    }
                    late = true;
                }
                // It became free meanwhile.
                Some(_) | None => pause().await,
            }
        }
        Err((Error::row_in_use(&keys.name), NotAfter(0)))
    }

    pub(crate) async fn undo(
        &self,
        keys: &LockKeys,
        owner: &str,
        keep: u64,
        not_after: NotAfter,
    ) -> Result<UndoAnswer, Error> {
        #[cfg(feature = "permits")]
        if keys.kind.permits().is_some() {
            return self.undo_permit(keys, owner, not_after).await;
        }
        let step = Step::Undo { owner, keep: signed(keep) };
        let request = request_id();
        let seen = self.complete(keys, request, &step, |seen| {
            seen.held().is_none_or(|row| row.owner != owner || row.holds <= keep)
        });
        let seen = seen.await?;
        Ok(match seen.changed_by(request) {
            Some(_) => UndoAnswer::TakenBack,
            None if seen.carried_out => UndoAnswer::TakenBack,
            None => UndoAnswer::nothing_by(seen.now, not_after),
        })
    }

    pub(crate) async fn release(&self, asked: ReleaseRequest<'_>) -> Result<ReleaseAnswer, Error> {
        let ReleaseRequest { keys, owner, reentrant, lease, .. } = asked;
        #[cfg(feature = "permits")]
        if keys.kind.permits().is_some() {
            return self.release_permit(asked).await;
        }
        let step = Step::Release { owner, all: !reentrant, lease: micros(lease) };
        let request = short_id(asked.request);
        let seen = self.complete(keys, request, &step, |seen| {
            seen.held().is_none_or(|row| row.owner != owner)
        });
        let seen = seen.await?;
        Ok(match seen.changed_by(request) {
            Some(row) if row.holds == 0 => ReleaseAnswer::Free { receivers: 0 },
            Some(row) => ReleaseAnswer::Holds(row.holds),
            // The next owner has it already.
            None if seen.carried_out => ReleaseAnswer::Free { receivers: 0 },
            None => ReleaseAnswer::Nothing,
        })
    }

    pub(crate) async fn pass(
        &self,
        owner: &str,
        next_keys: &LockKeys,
        next: &str,
        lease: Duration,
        more_wait: bool,
    ) -> Result<Option<u64>, Error> {
        let step = Step::Pass { owner, next, lease: micros(lease), more_wait };
        let seen = self.complete(next_keys, request_id(), &step, |seen| {
            seen.held().is_none_or(|row| row.owner != owner || row.holds != 1)
        });
        // Sent again, it has been passed already.
        Ok(seen.await?.held().filter(|row| row.owner == next).map(|row| row.fence))
    }

    pub(crate) async fn renew(
        &self,
        holds: &[RenewalRequest<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<RenewalAnswer>, Error> {
        #[cfg(feature = "permits")]
        if holds.first().is_some_and(|(keys, _)| keys.kind.permits().is_some()) {
            return self.renew_permits(holds, lease).await;
        }
        let names = holds.iter().map(|(keys, _)| name::stored(&keys.name)).collect();
        let owners = holds.iter().map(|(_, owner)| (*owner).to_owned()).collect();
        let answers = self.table.renew(names, owners, lease.map_or(0, micros)).await?;
        if answers.len() != holds.len() {
            return Err(Error::unexpected("an answer for each lock"));
        }
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                2 => RenewalAnswer::Yes,
                1 if lease.is_none() => RenewalAnswer::Yes,
                1 => RenewalAnswer::NotRenewed,
                _ => RenewalAnswer::Gone,
            })
            .collect())
    }

    pub(crate) async fn inspect(&self, keys: &LockKeys) -> Result<Option<Holder>, Error> {
        let seen = self.look(&keys.name).await?;
        Ok(seen.held().map(|row| row.holder(seen.now)))
    }

    /// Lists what is held, in the order of names.
    pub(crate) async fn held(&self) -> Result<Vec<(String, Holder)>, Error> {
        let mut held: Vec<(String, Holder)> = Vec::new();
        loop {
            let after = held.last().map_or("", |(name, _)| name).to_owned();
            let page = self.table.held(after, PAGE).await?;
            let was_last = page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
            held.extend(page.into_iter().map(|(name, row, now)| (name, row.holder(now))));
            if was_last {
                return Ok(held);
            }
        }
    }

    pub(crate) async fn force(&self, keys: &LockKeys) -> Result<bool, Error> {
        let request = request_id();
        let seen = self.complete(keys, request, &Step::Force, |seen| seen.held().is_none());
        let seen = seen.await?;
        Ok(seen.carried_out || seen.changed_by(request).is_some())
    }

    pub(crate) async fn taken_for(
        &self,
        keys: &LockKeys,
    ) -> Result<Option<Option<Duration>>, Error> {
        #[cfg(feature = "permits")]
        if let Some(most) = keys.kind.permits() {
            return self.permit_taken_for(keys, most.into()).await;
        }
        let seen = self.look(&keys.name).await?;
        Ok(seen.held().map(|row| Some(row.remaining(seen.now))))
    }

    pub(crate) async fn listen(&self, topic: Topic<'_>) -> Result<SqlSubscriber, Error> {
        let (kind, name) = match topic {
            Topic::Lock(keys) if keys.kind.permits().is_some() => ("permits", keys.queue.row()),
            Topic::Lock(keys) | Topic::Turn(keys, _) => ("lock", keys.queue.row()),
            Topic::Leader(name) => ("leader", name.into()),
        };
        self.table.listen(format!("{kind} {}", name::stored(&name))).await
    }

    /// Looks for old rows, once in a while: there are no release ids to forget.
    pub(crate) async fn forget(&self, _release_ids: Vec<String>) -> Result<(), Error> {
        let after = {
            let mut sweep = self.sweep();
            if sweep.last.elapsed() < sweep.every {
                return Ok(());
            }
            sweep.last = Instant::now();
            sweep.after.clone()
        };
        let locks = self.table.sweep(Rows::Locks, after, SWEEP_ROWS).await?;
        self.sweep().after = locks.unwrap_or_default();
        #[cfg(feature = "permits")]
        {
            let after = self.sweep().after_permit.clone();
            let permits = self.table.sweep(Rows::Permits, after, SWEEP_ROWS).await?;
            self.sweep().after_permit = permits.unwrap_or_default();
        }
        Ok(())
    }

    pub(crate) async fn announce(
        &self,
        name: &str,
        record: &Record,
        owner: &str,
    ) -> Result<(), Error> {
        let step = Step::Announce { owner, term: signed(record.term), node: &record.node };
        self.step(&name::stored(name), request_id(), &step).await?;
        Ok(())
    }

    pub(crate) async fn leader(
        &self,
        name: &str,
    ) -> Result<(Option<Record>, Option<Duration>), Error> {
        let seen = self.look(name).await?;
        let Some(row) = seen.held() else { return Ok((None, None)) };
        let node = row.metadata.clone();
        let record = node.map(|node| Record { node, term: row.fence });
        Ok((record, Some(row.remaining(seen.now))))
    }

    pub(crate) async fn guarded_write(
        &self,
        key: &str,
        fence: u64,
        owner: &str,
        value: &[u8],
    ) -> Result<Result<(), u64>, Error> {
        let name = name::stored(key);
        for _ in 0..TRIES {
            let found = self.table.guard(&name, signed(fence), owner, value).await?;
            match found {
                Some((_, true)) => return Ok(Ok(())),
                // A row that came in between, and stands in nobody's way, is looked at again.
                Some((highest, false)) if unsigned(highest) >= fence => {
                    return Ok(Err(unsigned(highest)));
                }
                Some(_) | None => pause().await,
            }
        }
        Err(Error::row_in_use(key))
    }

    #[cfg(feature = "permits")]
    pub(crate) fn has_permits(&self) -> bool {
        self.table.has_permits()
    }

    pub(crate) fn polls(&self) -> bool {
        self.table.polls()
    }

    pub(crate) fn answer_within(&self) -> Duration {
        self.table.answer_within()
    }

    pub(crate) async fn close(&self) {
        self.table.close().await;
    }

    /// Returns until when a request that is sent now may take effect, by the store's clock.
    pub(super) fn not_after(&self) -> i64 {
        match self.mistakes.makes(Mistake::AcceptLateAcquire) {
            true => i64::MAX / 4,
            false => self.clock.not_after(self.answer_within()),
        }
    }

    async fn look(&self, name: &str) -> Result<Seen, Error> {
        self.step(&name::stored(name), 0, &Step::Look).await
    }

    /// Sends a step until it was carried out, or until there was nothing for it to do.
    ///
    /// A step that waited for another one's end may show the row as it was before that.
    async fn complete(
        &self,
        keys: &LockKeys,
        request: i64,
        step: &Step<'_>,
        nothing_to_do: impl Fn(&Seen) -> bool,
    ) -> Result<Seen, Error> {
        let name = name::stored(&keys.name);
        for _ in 0..TRIES {
            let seen = self.step(&name, request, step).await?;
            if seen.carried_out || seen.changed_by(request).is_some() || nothing_to_do(&seen) {
                return Ok(seen);
            }
            pause().await;
        }
        Err(Error::row_in_use(&keys.name))
    }

    async fn step(&self, name: &str, request: i64, step: &Step<'_>) -> Result<Seen, Error> {
        let asked = Instant::now();
        let seen = self.table.step(name, request, step).await?;
        self.clock.note(seen.now, asked);
        Ok(seen)
    }

    fn sweep(&self) -> std::sync::MutexGuard<'_, Sweep> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
