//! Locks in the memory of one process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::broadcast;
use tokio::time::Instant;

use crate::backend::{
    Answer, Ear, Kept, Left, NotAfter, Record, Renewal, Return, Topic, Undone, later,
};
use crate::keys::{Keys, Kind};
use crate::{Failure, Holder};

/// A store of locks in the memory of this process, for the tests of those who use this library.
///
/// It follows tokio's clock, so a test with that clock paused can let leases end without waiting. Every
/// [`Locks`](crate::Locks) made from clones of one `Memory` shares its locks, as separate processes share a server.
///
/// # Examples
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), firstcome_lock::Failure> {
/// use firstcome_lock::{Locks, Memory};
///
/// let memory = Memory::new();
/// let (one, other) = (Locks::with_memory(&memory), Locks::with_memory(&memory));
/// let lease = one.lock("stock")?.lock().await?;
/// assert!(other.lock("stock")?.try_lock().await?.got().is_none());
/// lease.release().await?;
/// assert!(other.lock("stock")?.try_lock().await?.got().is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Memory {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// The wall clock in µs at `started`, as the store's clock for fences.
    wall_us: u64,
    started: Instant,
    locks: HashMap<String, Entry>,
    fences: HashMap<String, u64>,
    channels: HashMap<String, broadcast::Sender<()>>,
    leaders: HashMap<String, (Record, String)>,
    guarded: HashMap<String, (u64, String, Vec<u8>)>,
}

#[derive(Debug)]
struct Entry {
    value: Value,
    expires: Instant,
}

#[derive(Debug)]
enum Value {
    Held { owner: String, holds: u64 },
    Token(String),
}

impl Memory {
    /// Makes an empty store.
    #[must_use]
    pub fn new() -> Self {
        let wall = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let state = State {
            wall_us: u64::try_from(wall.as_micros()).unwrap_or(u64::MAX / 2),
            started: Instant::now(),
            locks: HashMap::new(),
            fences: HashMap::new(),
            channels: HashMap::new(),
            leaders: HashMap::new(),
            guarded: HashMap::new(),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Every step is complete before anything in it can panic.
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        state.locks.retain(|_, entry| entry.expires > now);
        state
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn ready(&self) -> Result<(), Failure> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn acquire(
        &self,
        keys: &Keys,
        owner: &str,
        lease: Duration,
    ) -> Result<Answer, (Failure, NotAfter)> {
        let mut state = self.state();
        let now = Instant::now();
        let expires = later(now, lease);
        let fence = state.fences.get(&keys.fence).copied().unwrap_or(0);
        let token = keys.kind == Kind::Token;
        match state.locks.get_mut(&keys.name) {
            None => {}
            Some(Entry { value: Value::Held { owner: holder, holds }, expires: until })
                if !token && holder == owner =>
            {
                *holds += 1;
                *until = expires;
                return Ok(Answer::Yes { holds: *holds, fence });
            }
            Some(Entry { value: Value::Token(_), .. }) if !token => {
                return Err((wrong_kind(), NotAfter(0)));
            }
            Some(entry) => {
                return Ok(Answer::Held { remaining: Some(entry.expires - now) });
            }
        }
        let value = if token {
            Value::Token(owner.to_owned())
        } else {
            Value::Held { owner: owner.to_owned(), holds: 1 }
        };
        state.locks.insert(keys.name.clone(), Entry { value, expires });
        Ok(Answer::Yes { holds: 1, fence: state.mint(&keys.fence) })
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn undo(
        &self,
        keys: &Keys,
        owner: &str,
        keep: u64,
        _not_after: NotAfter,
    ) -> Result<Undone, Failure> {
        let mut state = self.state();
        let Some(holds) = state.holds(keys, owner).filter(|holds| *holds > keep) else {
            return Ok(Undone::Nothing);
        };
        for _ in keep..holds {
            state.give_back(keys, owner, None);
        }
        Ok(Undone::TakenBack)
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn release(&self, asked: Return<'_>) -> Result<Left, Failure> {
        let Return { keys, owner, lease, .. } = asked;
        let mut state = self.state();
        if state.holds(keys, owner).is_none() {
            return Ok(Left::Nothing);
        }
        Ok(state.give_back(keys, owner, Some(lease)))
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn pass(
        &self,
        owner: &str,
        next_keys: &Keys,
        next: &str,
        lease: Duration,
    ) -> Result<Option<u64>, Failure> {
        let mut state = self.state();
        if state.holds(next_keys, owner) != Some(1) {
            return Ok(None);
        }
        let value = Value::Held { owner: next.to_owned(), holds: 1 };
        let expires = later(Instant::now(), lease);
        state.locks.insert(next_keys.name.clone(), Entry { value, expires });
        Ok(Some(state.mint(&next_keys.fence)))
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn renew(
        &self,
        holds: &[Renewal<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<Kept>, Failure> {
        let mut state = self.state();
        let now = Instant::now();
        let answers = holds.iter().map(|(keys, owner)| {
            let held = state.holds(keys, owner).is_some();
            if let (true, Some(lease), Some(entry)) = (held, lease, state.locks.get_mut(&keys.name))
            {
                entry.expires = later(now, lease);
            }
            Kept::from(held)
        });
        Ok(answers.collect())
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn inspect(&self, keys: &Keys) -> Result<Option<Holder>, Failure> {
        let state = self.state();
        let last_fence = state.fences.get(&keys.fence).copied();
        Ok(state.locks.get(&keys.name).map(|entry| {
            let (owner, holds) = match &entry.value {
                Value::Held { owner, holds } => (owner.clone(), *holds),
                Value::Token(token) => (token.clone(), 1),
            };
            let remaining = Some(entry.expires - Instant::now());
            Holder { owner, holds, remaining, last_fence }
        }))
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn force(&self, keys: &Keys) -> Result<bool, Failure> {
        let mut state = self.state();
        let existed = state.locks.remove(&keys.name).is_some();
        if existed {
            state.wake(&keys.channel);
        }
        Ok(existed)
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn taken_for(&self, keys: &Keys) -> Result<Option<Option<Duration>>, Failure> {
        let state = self.state();
        Ok(state.locks.get(&keys.name).map(|entry| Some(entry.expires - Instant::now())))
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn listen(&self, topic: Topic<'_>) -> Result<Ear, Failure> {
        let mut state = self.state();
        state.channels.retain(|_, sender| sender.receiver_count() > 0);
        let channel = topic.channel().into_owned();
        let sender = state.channels.entry(channel).or_insert_with(|| broadcast::Sender::new(16));
        Ok(Ear::Memory(sender.subscribe()))
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn forget(&self, _latches: Vec<String>) -> Result<(), Failure> {
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn announce(
        &self,
        name: &str,
        record: &Record,
        owner: &str,
    ) -> Result<(), Failure> {
        let mut state = self.state();
        if state.leaders.get(name).is_none_or(|(known, _)| known.term <= record.term) {
            state.leaders.insert(name.to_owned(), (record.clone(), owner.to_owned()));
            state.wake(&crate::keys::prefixed("fc:leader", name));
        }
        Ok(())
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn leader(
        &self,
        name: &str,
    ) -> Result<(Option<Record>, Option<Duration>), Failure> {
        let state = self.state();
        let Some(entry) = state.locks.get(name) else { return Ok((None, None)) };
        let left = Some(entry.expires - Instant::now());
        let record = state.leaders.get(name).filter(
            |(_, leader)| matches!(&entry.value, Value::Held { owner, .. } if owner == leader),
        );
        Ok((record.map(|(record, _)| record.clone()), left))
    }

    #[expect(clippy::unused_async, reason = "the same shape as the other stores")]
    pub(crate) async fn guarded_write(
        &self,
        key: &str,
        fence: u64,
        owner: &str,
        value: &[u8],
    ) -> Result<Result<(), u64>, Failure> {
        let mut state = self.state();
        if let Some((last, by, _)) = state.guarded.get(key)
            && (fence < *last || (fence == *last && by != owner))
        {
            return Ok(Err(*last));
        }
        state.guarded.insert(key.to_owned(), (fence, owner.to_owned(), value.to_vec()));
        Ok(Ok(()))
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

    fn holds(&self, keys: &Keys, owner: &str) -> Option<u64> {
        match &self.locks.get(&keys.name)?.value {
            Value::Held { owner: holder, holds } if keys.kind != Kind::Token && holder == owner => {
                Some(*holds)
            }
            Value::Token(token) if keys.kind == Kind::Token && token == owner => Some(1),
            Value::Held { .. } | Value::Token(_) => None,
        }
    }

    /// Takes one hold away from `owner`, who has one.
    fn give_back(&mut self, keys: &Keys, owner: &str, lease: Option<Duration>) -> Left {
        if let Some(entry) = self.locks.get_mut(&keys.name)
            && let Value::Held { owner: holder, holds } = &mut entry.value
            && holder == owner
            && *holds > 1
        {
            *holds -= 1;
            if let Some(lease) = lease {
                entry.expires = later(Instant::now(), lease);
            }
            return Left::Holds(*holds);
        }
        self.locks.remove(&keys.name);
        if keys.kind != Kind::Token {
            self.wake(&keys.channel);
        }
        Left::Free
    }

    fn wake(&self, channel: &str) {
        if let Some(sender) = self.channels.get(channel) {
            // Nobody listening is fine.
            drop(sender.send(()));
        }
    }
}

fn wrong_kind() -> Failure {
    let detail = "a token lock has this name".to_owned();
    firstcome_store::Failure::WrongKind { detail }.into()
}
