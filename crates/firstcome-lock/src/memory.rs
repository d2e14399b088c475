//! Locks in the memory of one process.

mod link;
mod subscriber;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::broadcast;
use tokio::time::Instant;

pub use self::link::MemoryLink;
pub(crate) use self::subscriber::MemorySubscriber;
use crate::backend::holder::Holder;
use crate::backend::requests::{
    AcquireAnswer, NotAfter, Record, ReleaseAnswer, ReleaseRequest, RenewalAnswer, RenewalRequest,
    Topic, UndoAnswer,
};
use crate::error::Error;
use crate::keys::{Kind, LockKeys};
use firstcome_store::client::later;

/// A store of locks in the memory of this process, for tests of programs that use this library.
///
/// It uses tokio's clock, so a test with a paused clock can let leases end without waiting. All [`Locks`](crate::Locks) from
/// clones of one `Memory` share its locks, as separate processes share a server. For a client that loses its store, use it
/// [through](Memory::through) a [`MemoryLink`].
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), firstcome_lock::Error> {
/// use firstcome_lock::{Locks, Memory};
///
/// let memory = Memory::new();
/// let (one, other) = (Locks::with_memory(&memory), Locks::with_memory(&memory));
/// let lease = one.mutex("stock")?.lock().await?;
/// assert!(other.mutex("stock")?.try_lock().await?.acquired().is_none());
/// lease.release().await?;
/// assert!(other.mutex("stock")?.try_lock().await?.acquired().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Memory {
    state: Arc<Mutex<State>>,
    link: MemoryLink,
}

#[derive(Debug)]
struct State {
    /// The wall clock in µs at `started`, as the store's clock for fences.
    wall_us: u64,
    started: Instant,
    locks: BTreeMap<String, MemoryEntry>,
    fences: BTreeMap<String, u64>,
    channels: BTreeMap<String, broadcast::Sender<()>>,
    leaders: BTreeMap<String, (Record, String)>,
    guarded: BTreeMap<String, (u64, String, Vec<u8>)>,
}

#[derive(Debug)]
struct MemoryEntry {
    value: MemoryValue,
    expires: Instant,
}

#[derive(Debug)]
enum MemoryValue {
    Held { owner: String, holds: u64 },
    Token(String),
}

impl Memory {
    /// Creates an empty store with the clock of this machine.
    #[must_use]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Self::starting_at(u64::try_from(wall.as_micros()).unwrap_or(u64::MAX / 2))
    }

    /// Creates an empty store whose clock is at `micros` now, in microseconds since 1970-01-01T00:00:00Z.
    ///
    /// Fences come from this clock, so they are the same in every run of a test.
    #[must_use]
    pub fn starting_at(micros: u64) -> Self {
        let state = State {
            wall_us: micros,
            started: Instant::now(),
            locks: BTreeMap::new(),
            fences: BTreeMap::new(),
            channels: BTreeMap::new(),
            leaders: BTreeMap::new(),
            guarded: BTreeMap::new(),
        };
        Self { state: Arc::new(Mutex::new(state)), link: MemoryLink::new() }
    }

    /// Returns the same store through the link `way`, instead of the current link.
    ///
    /// [`Locks`](crate::Locks) from it are clients of the same store that can lose it: see [`MemoryLink`].
    #[must_use]
    pub fn through(&self, link: &MemoryLink) -> Self {
        Self { state: Arc::clone(&self.state), link: link.clone() }
    }

    /// Does one step at the store that changes something, unless the store refuses it: it happens when the call has
    /// arrived, and is known when its answer has.
    async fn change<T>(
        &self,
        step: impl FnOnce(&mut State) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.link.request_arrives().await;
        let answer = match self.link.refusal() {
            Some(error) => Err(refused(&error)),
            None => step(&mut self.state()),
        };
        self.link.answer_arrives().await;
        answer
    }

    /// Looks at the store, as it is when the call has arrived.
    async fn look<T>(&self, step: impl FnOnce(&mut State) -> T) -> T {
        self.link.request_arrives().await;
        let answer = step(&mut self.state());
        self.link.answer_arrives().await;
        answer
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every step is complete before anything in it can panic.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        state.locks.retain(|_, entry| entry.expires > now);
        state
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn ready(&self) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) async fn acquire(
        &self,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
    ) -> Result<AcquireAnswer, (Error, NotAfter)> {
        let acquired = self.change(|state| {
            let now = Instant::now();
            let expires = later(now, lease);
            let fence = state.fences.get(&keys.fence).copied().unwrap_or(0);
            let token = keys.kind == Kind::Token;
            match state.locks.get_mut(&keys.name) {
                None => {}
                Some(MemoryEntry {
                    value: MemoryValue::Held { owner: holder, holds },
                    expires: until,
                }) if !token && holder == owner => {
                    *holds += 1;
                    *until = expires;
                    return Ok(AcquireAnswer::Yes { holds: *holds, fence });
                }
                Some(MemoryEntry { value: MemoryValue::Token(_), .. }) if !token => {
                    return Err(wrong_kind());
                }
                Some(entry) => {
                    return Ok(AcquireAnswer::Held { remaining: Some(entry.expires - now) });
                }
            }
            let value = if token {
                MemoryValue::Token(owner.to_owned())
            } else {
                MemoryValue::Held { owner: owner.to_owned(), holds: 1 }
            };
            state.locks.insert(keys.name.clone(), MemoryEntry { value, expires });
            Ok(AcquireAnswer::Yes { holds: 1, fence: state.mint(&keys.fence) })
        });
        acquired.await.map_err(|failure| (failure, NotAfter(0)))
    }

    pub(crate) async fn undo(
        &self,
        keys: &LockKeys,
        owner: &str,
        keep: u64,
        _not_after: NotAfter,
    ) -> Result<UndoAnswer, Error> {
        self.change(|state| {
            let Some(holds) = state.holds(keys, owner).filter(|holds| *holds > keep) else {
                return Ok(UndoAnswer::Nothing);
            };
            for _ in keep..holds {
                state.give_back(keys, owner, None);
            }
            Ok(UndoAnswer::TakenBack)
        })
        .await
    }

    pub(crate) async fn release(&self, asked: ReleaseRequest<'_>) -> Result<ReleaseAnswer, Error> {
        let ReleaseRequest { keys, owner, lease, .. } = asked;
        self.change(|state| {
            if state.holds(keys, owner).is_none() {
                return Ok(ReleaseAnswer::Nothing);
            }
            Ok(state.give_back(keys, owner, Some(lease)))
        })
        .await
    }

    pub(crate) async fn pass(
        &self,
        owner: &str,
        next_keys: &LockKeys,
        next: &str,
        lease: Duration,
    ) -> Result<Option<u64>, Error> {
        self.change(|state| {
            if state.holds(next_keys, owner) != Some(1) {
                return Ok(None);
            }
            let value = MemoryValue::Held { owner: next.to_owned(), holds: 1 };
            let expires = later(Instant::now(), lease);
            state.locks.insert(next_keys.name.clone(), MemoryEntry { value, expires });
            Ok(Some(state.mint(&next_keys.fence)))
        })
        .await
    }

    pub(crate) async fn renew(
        &self,
        holds: &[RenewalRequest<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<RenewalAnswer>, Error> {
        self.change(|state| {
            let now = Instant::now();
            let answers = holds.iter().map(|(keys, owner)| {
                let held = state.holds(keys, owner).is_some();
                if let (true, Some(lease), Some(entry)) =
                    (held, lease, state.locks.get_mut(&keys.name))
                {
                    entry.expires = later(now, lease);
                }
                RenewalAnswer::from(held)
            });
            Ok(answers.collect())
        })
        .await
    }

    pub(crate) async fn inspect(&self, keys: &LockKeys) -> Result<Option<Holder>, Error> {
        self.look(|state| {
            let counters = keys.counters();
            let last_fence = counters.iter().filter_map(|key| state.fences.get(key)).max().copied();
            Ok(state.locks.get(&keys.name).map(|entry| {
                let (owner, holds) = match &entry.value {
                    MemoryValue::Held { owner, holds } => (owner.clone(), *holds),
                    MemoryValue::Token(token) => (token.clone(), 1),
                };
                let remaining = Some(entry.expires - Instant::now());
                Holder { owner, holds, remaining, last_fence }
            }))
        })
        .await
    }

    pub(crate) async fn force(&self, keys: &LockKeys) -> Result<bool, Error> {
        self.change(|state| {
            let existed = state.locks.remove(&keys.name).is_some();
            if existed {
                state.wake(&keys.channel);
            }
            Ok(existed)
        })
        .await
    }

    pub(crate) async fn taken_for(
        &self,
        keys: &LockKeys,
    ) -> Result<Option<Option<Duration>>, Error> {
        self.look(|state| {
            Ok(state.locks.get(&keys.name).map(|entry| Some(entry.expires - Instant::now())))
        })
        .await
    }

    pub(crate) async fn listen(&self, topic: Topic<'_>) -> Result<MemorySubscriber, Error> {
        self.look(|state| {
            let channel = topic.channel().into_owned();
            state.channels.retain(|_, sender| sender.receiver_count() > 0);
            let sender =
                state.channels.entry(channel).or_insert_with(|| broadcast::Sender::new(16));
            Ok(MemorySubscriber { channel: sender.subscribe(), link: self.link.clone() })
        })
        .await
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn forget(&self, _release_ids: Vec<String>) -> Result<(), Error> {
        Ok(())
    }

    pub(crate) async fn announce(
        &self,
        name: &str,
        record: &Record,
        owner: &str,
    ) -> Result<(), Error> {
        self.change(|state| {
            if state.leaders.get(name).is_none_or(|(known, _)| known.term <= record.term) {
                state.leaders.insert(name.to_owned(), (record.clone(), owner.to_owned()));
                state.wake(&crate::keys::prefixed("fc:leader", name));
            }
            Ok(())
        })
        .await
    }

    pub(crate) async fn leader(
        &self,
        name: &str,
    ) -> Result<(Option<Record>, Option<Duration>), Error> {
        self.look(|state| {
            let Some(entry) = state.locks.get(name) else { return Ok((None, None)) };
            let left = Some(entry.expires - Instant::now());
            let record = state.leaders.get(name).filter(
                |(_, leader)| matches!(&entry.value, MemoryValue::Held { owner, .. } if owner == leader),
            );
            Ok((record.map(|(record, _)| record.clone()), left))
        })
        .await
    }

    pub(crate) async fn guarded_write(
        &self,
        key: &str,
        fence: u64,
        owner: &str,
        value: &[u8],
    ) -> Result<Result<(), u64>, Error> {
        self.change(|state| {
            if let Some((last, by, _)) = state.guarded.get(key)
                && (fence < *last || (fence == *last && by != owner))
            {
                return Ok(Err(*last));
            }
            state.guarded.insert(key.to_owned(), (fence, owner.to_owned(), value.to_vec()));
            Ok(Ok(()))
        })
        .await
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl State {
    /// Mints the next fence: higher than the last one, and not below the clock.
    fn mint(&mut self, key: &str) -> u64 {
        let since = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX / 2);
        let now = self.wall_us.saturating_add(since);
        let fence = self.fences.entry(key.to_owned()).or_insert(0);
        *fence = now.max(*fence + 1);
        *fence
    }

    fn holds(&self, keys: &LockKeys, owner: &str) -> Option<u64> {
        match &self.locks.get(&keys.name)?.value {
            MemoryValue::Held { owner: holder, holds }
                if keys.kind != Kind::Token && holder == owner =>
            {
                Some(*holds)
            }
            MemoryValue::Token(token) if keys.kind == Kind::Token && token == owner => Some(1),
            MemoryValue::Held { .. } | MemoryValue::Token(_) => None,
        }
    }

    /// Takes one hold away from `owner`, who has one.
    fn give_back(
        &mut self,
        keys: &LockKeys,
        owner: &str,
        lease: Option<Duration>,
    ) -> ReleaseAnswer {
        if let Some(entry) = self.locks.get_mut(&keys.name)
            && let MemoryValue::Held { owner: holder, holds } = &mut entry.value
            && holder == owner
            && *holds > 1
        {
            *holds -= 1;
            if let Some(lease) = lease {
                entry.expires = later(Instant::now(), lease);
            }
            return ReleaseAnswer::Holds(*holds);
        }
        self.locks.remove(&keys.name);
        if keys.kind != Kind::Token {
            self.wake(&keys.channel);
        }
        ReleaseAnswer::Free { receivers: 0 }
    }

    fn wake(&self, channel: &str) {
        if let Some(sender) = self.channels.get(channel) {
            // Nobody listening is fine.
            drop(sender.send(()));
        }
    }
}

/// Makes the failure that an error of the store is; its code is its first word.
fn refused(error: &str) -> Error {
    let code = error.split(' ').next().unwrap_or_default().to_owned();
    firstcome_store::StoreError::of_redis("this process", code, error.to_owned()).into()
}

fn wrong_kind() -> Error {
    let detail = "a token lock has this name".to_owned();
    firstcome_store::StoreError::WrongKind { detail }.into()
}
