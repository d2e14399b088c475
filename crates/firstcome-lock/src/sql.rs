//! Locks in a database: a row for each.
//!
//! What the databases have in common is here: a step is one request about one row, and gives the row as it stands after
//! that. Each request has a number, which is written into the row by the one that changed it; so a request that is sent
//! again finds out that it was carried out already.

#[cfg(feature = "mysql")]
mod mysql;
mod name;
mod permits;
#[cfg(feature = "postgres")]
mod postgres;
mod row;
#[cfg(feature = "sqlite")]
mod sqlite;
mod table;

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

#[cfg(feature = "mysql")]
pub(crate) use self::mysql::MySqlTable;
#[cfg(feature = "postgres")]
pub(crate) use self::postgres::{PostgresEar, PostgresTable};
use self::row::{Rows, Seen, Step};
#[cfg(feature = "sqlite")]
pub(crate) use self::sqlite::SqliteTable;
pub(crate) use self::table::Table;
use crate::backend::{
    Answer, Ear, Kept, Left, NotAfter, Record, Renewal, Return, Topic, Undone, in_use,
};
use crate::keys::Keys;
use crate::protection::{Protection, Protections};
use crate::store_clock::StoreClock;
use crate::{Failure, Holder};

/// How often a step is sent again that somebody else's step came in between of.
const TRIES: u32 = 20;

/// How many rows are looked at then.
const BITE: i64 = 500;

/// How many locks are listed with one request.
const PAGE: i64 = 500;

/// A database that locks can be kept in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Database {
    /// PostgreSQL.
    #[cfg(feature = "postgres")]
    Postgres,
    /// MariaDB and MySQL.
    #[cfg(feature = "mysql")]
    MySql,
    /// A SQLite file.
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Database {
    /// Gives the statements that make the tables, for those who make them by hand; see
    /// [`Builder::make_tables`](crate::Builder::make_tables).
    #[must_use]
    pub fn create_tables(self) -> &'static str {
        match self {
            #[cfg(feature = "postgres")]
            Self::Postgres => postgres::CREATE,
            #[cfg(feature = "mysql")]
            Self::MySql => mysql::CREATE,
            #[cfg(feature = "sqlite")]
            Self::Sqlite => sqlite::CREATE,
        }
    }
}

/// A table of locks, and what is known of its server's clock.
#[derive(Debug)]
pub(crate) struct SqlBackend {
    table: Table,
    clock: StoreClock,
    protections: Protections,
    sweep: Mutex<Sweep>,
}

/// Where the search for old rows stands.
#[derive(Debug)]
struct Sweep {
    every: Duration,
    last: Instant,
    /// The last names that were looked at, of locks and of permits.
    after: (String, String),
}

impl SqlBackend {
    pub(crate) fn new(table: Table, sweep_every: Duration, protections: Protections) -> Self {
        // Clients that are started together do not all look at once.
        let ago = sweep_every.mul_f64(fastrand::f64());
        let last = Instant::now().checked_sub(ago).unwrap_or_else(Instant::now);
        let sweep = Mutex::new(Sweep { every: sweep_every, last, after: Default::default() });
        Self { table, clock: StoreClock::default(), protections, sweep }
    }

    pub(crate) async fn ready(&self) -> Result<(), Failure> {
        if !self.clock.is_known() {
            self.step("", 0, &Step::Look).await?;
        }
        Ok(())
    }

    pub(crate) async fn acquire(
        &self,
        keys: &Keys,
        owner: &str,
        lease: Duration,
        waits: bool,
    ) -> Result<Answer, (Failure, NotAfter)> {
        if let Some(most) = keys.kind.permits() {
            return self.acquire_permit(keys, most.into(), owner, lease, waits).await;
        }
        let (name, lease) = (name::stored(&keys.name), micros(lease));
        let mut late = false;
        for _ in 0..TRIES {
            let not_after = self.not_after();
            let (step, request) = (Step::Acquire { owner, lease, not_after, waits }, request());
            // A statement that began in time may take so much longer.
            let last = not_after.saturating_add(micros(self.answer_within()));
            let seen = self.step(&name, request, &step).await;
            let seen = seen.map_err(|failure| (failure, NotAfter(last)))?;
            if let Some(row) = seen.changed_by(request) {
                return Ok(Answer::Yes { holds: row.holds, fence: row.fence });
            }
            match seen.held() {
                Some(row) if row.owner != owner => {
                    return Ok(Answer::Held { remaining: Some(row.remaining(seen.now)) });
                }
                // By what was known of the clock it was in time: that was another server's, or long ago.
                Some(_) | None if seen.now > not_after => {
                    if late {
                        return Ok(Answer::Late);
                    }
                    late = true;
                }
                // It became free meanwhile.
                Some(_) | None => pause().await,
            }
        }
        Err((in_use(&keys.name), NotAfter(0)))
    }

    pub(crate) async fn undo(
        &self,
        keys: &Keys,
        owner: &str,
        keep: u64,
        not_after: NotAfter,
    ) -> Result<Undone, Failure> {
        if keys.kind.permits().is_some() {
            return self.undo_permit(keys, owner, not_after).await;
        }
        let step = Step::Undo { owner, keep: signed(keep) };
        let request = request();
        let seen = self.settled(keys, request, &step, |seen| {
            seen.held().is_none_or(|row| row.owner != owner || row.holds <= keep)
        });
        let seen = seen.await?;
        Ok(match seen.changed_by(request) {
            Some(_) => Undone::TakenBack,
            None if seen.carried_out => Undone::TakenBack,
            None => Undone::nothing_by(seen.now, not_after),
        })
    }

    pub(crate) async fn release(&self, asked: Return<'_>) -> Result<Left, Failure> {
        let Return { keys, owner, reentrant, lease, .. } = asked;
        if keys.kind.permits().is_some() {
            return self.release_permit(asked).await;
        }
        let step = Step::Release { owner, all: !reentrant, lease: micros(lease) };
        let request = number(asked.request);
        let seen = self
            .settled(keys, request, &step, |seen| seen.held().is_none_or(|row| row.owner != owner));
        let seen = seen.await?;
        Ok(match seen.changed_by(request) {
            Some(row) if row.holds == 0 => Left::Free,
            Some(row) => Left::Holds(row.holds),
            // The next owner has it already.
            None if seen.carried_out => Left::Free,
            None => Left::Nothing,
        })
    }

    pub(crate) async fn pass(
        &self,
        owner: &str,
        next_keys: &Keys,
        next: &str,
        lease: Duration,
        more_wait: bool,
    ) -> Result<Option<u64>, Failure> {
        let step = Step::Pass { owner, next, lease: micros(lease), more_wait };
        let seen = self.settled(next_keys, request(), &step, |seen| {
            seen.held().is_none_or(|row| row.owner != owner || row.holds != 1)
        });
        // Sent again, it has been passed already.
        Ok(seen.await?.held().filter(|row| row.owner == next).map(|row| row.fence))
    }

    pub(crate) async fn renew(
        &self,
        holds: &[Renewal<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<Kept>, Failure> {
        if holds.first().is_some_and(|(keys, _)| keys.kind.permits().is_some()) {
            return self.renew_permits(holds, lease).await;
        }
        let names = holds.iter().map(|(keys, _)| name::stored(&keys.name)).collect();
        let owners = holds.iter().map(|(_, owner)| (*owner).to_owned()).collect();
        let answers = self.table.renew(names, owners, lease.map_or(0, micros)).await?;
        if answers.len() != holds.len() {
            return Err(unexpected("an answer for each lock"));
        }
        Ok(answers
            .into_iter()
            .map(|answer| match answer {
                2 => Kept::Yes,
                1 if lease.is_none() => Kept::Yes,
                1 => Kept::NotRenewed,
                _ => Kept::Gone,
            })
            .collect())
    }

    pub(crate) async fn inspect(&self, keys: &Keys) -> Result<Option<Holder>, Failure> {
        let seen = self.look(&keys.name).await?;
        Ok(seen.held().map(|row| row.holder(seen.now)))
    }

    /// Lists what is held, in the order of names.
    pub(crate) async fn held(&self) -> Result<Vec<(String, Holder)>, Failure> {
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

    pub(crate) async fn force(&self, keys: &Keys) -> Result<bool, Failure> {
        let request = request();
        let seen = self.settled(keys, request, &Step::Force, |seen| seen.held().is_none());
        let seen = seen.await?;
        Ok(seen.carried_out || seen.changed_by(request).is_some())
    }

    pub(crate) async fn taken_for(&self, keys: &Keys) -> Result<Option<Option<Duration>>, Failure> {
        if let Some(most) = keys.kind.permits() {
            return self.permit_taken_for(keys, most.into()).await;
        }
        let seen = self.look(&keys.name).await?;
        Ok(seen.held().map(|row| Some(row.remaining(seen.now))))
    }

    pub(crate) async fn listen(&self, topic: Topic<'_>) -> Result<Ear, Failure> {
        let (kind, name) = match topic {
            Topic::Lock(keys) if keys.kind.permits().is_some() => ("permits", keys.line.row()),
            Topic::Lock(keys) => ("lock", keys.line.row()),
            Topic::Leader(name) => ("leader", name.into()),
        };
        self.table.listen(format!("{kind} {}", name::stored(&name))).await
    }

    /// Looks for old rows, once in a while: there are no latches to forget.
    pub(crate) async fn forget(&self, _latches: Vec<String>) -> Result<(), Failure> {
        let (locks, permits) = {
            let mut sweep = self.sweep();
            if sweep.last.elapsed() < sweep.every {
                return Ok(());
            }
            sweep.last = Instant::now();
            sweep.after.clone()
        };
        let locks = self.table.sweep(Rows::Locks, locks, BITE).await?;
        self.sweep().after.0 = locks.unwrap_or_default();
        let permits = self.table.sweep(Rows::Permits, permits, BITE).await?;
        self.sweep().after.1 = permits.unwrap_or_default();
        Ok(())
    }

    pub(crate) async fn announce(
        &self,
        name: &str,
        record: &Record,
        owner: &str,
    ) -> Result<(), Failure> {
        let step = Step::Announce { owner, term: signed(record.term), node: &record.node };
        self.step(&name::stored(name), request(), &step).await?;
        Ok(())
    }

    pub(crate) async fn leader(
        &self,
        name: &str,
    ) -> Result<(Option<Record>, Option<Duration>), Failure> {
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
    ) -> Result<Result<(), u64>, Failure> {
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
        Err(in_use(key))
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

    /// Gives until when a request that is sent now may take effect, by the store's clock.
    fn not_after(&self) -> i64 {
        match self.protections.lack(Protection::NotAfter) {
            true => i64::MAX / 4,
            false => self.clock.not_after(self.answer_within()),
        }
    }

    async fn look(&self, name: &str) -> Result<Seen, Failure> {
        self.step(&name::stored(name), 0, &Step::Look).await
    }

    /// Sends a step until it was carried out, or until there was nothing for it to do.
    ///
    /// A step that waited for another one's end may show the row as it was before that.
    async fn settled(
        &self,
        keys: &Keys,
        request: i64,
        step: &Step<'_>,
        nothing_to_do: impl Fn(&Seen) -> bool,
    ) -> Result<Seen, Failure> {
        let name = name::stored(&keys.name);
        for _ in 0..TRIES {
            let seen = self.step(&name, request, step).await?;
            if seen.carried_out || seen.changed_by(request).is_some() || nothing_to_do(&seen) {
                return Ok(seen);
            }
            pause().await;
        }
        Err(in_use(&keys.name))
    }

    async fn step(&self, name: &str, request: i64, step: &Step<'_>) -> Result<Seen, Failure> {
        let asked = Instant::now();
        let seen = self.table.step(name, request, step).await?;
        self.clock.note(seen.now, asked);
        Ok(seen)
    }

    fn sweep(&self) -> std::sync::MutexGuard<'_, Sweep> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the number of a request: even, so that a store may write the next one for a second hold.
fn request() -> i64 {
    fastrand::i64(1..i64::MAX / 4) * 2
}

/// Shortens the number of a request that may be sent again.
fn number(request: u128) -> i64 {
    let low = i64::try_from(request % (1 << 61)).unwrap_or(1);
    low.max(1) * 2
}

async fn pause() {
    tokio::time::sleep(Duration::from_micros(fastrand::u64(200..3000))).await;
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX / 4).min(i64::MAX / 4)
}

/// Writes a number into a column; none of those that are minted is as large as the largest.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}

fn unexpected(wanted: &str) -> Failure {
    firstcome_store::Failure::Unexpected { detail: format!("not {wanted}") }.into()
}
