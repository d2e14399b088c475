//! Locks in Redis and Valkey.

/// A script of one file or of several, one behind the other.
macro_rules! script {
    ($name:ident, $first:literal $(, $more:literal)*) => {
        static $name: LazyLock<Script> = LazyLock::new(|| {
            Script::new(concat!(include_str!($first) $(, "\n", include_str!($more))*))
        });
    };
}

/// The same for a script that publishes.
macro_rules! publishing_script {
    ($name:ident, $first:literal $(, $more:literal)*) => {
        static $name: Versions = LazyLock::new(|| {
            Messages::versions(concat!(include_str!($first) $(, "\n", include_str!($more))*))
        });
    };
}

mod fair;
mod messages;
#[cfg(feature = "permits")]
mod permits;
mod replicas;
mod rights;
mod subscriber;
mod together;

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use firstcome_store::{Command, Redis, RedisReply, Script};
use tokio::sync::watch;
use tokio::time::Instant;

pub(crate) use self::messages::Messages;
use self::messages::Versions;
pub(crate) use self::replicas::{ReplicaCheck, Replicas};
pub(crate) use self::rights::check as check_rights;
pub(crate) use self::subscriber::RedisSubscriber;
use crate::backend::holder::Holder;
use crate::backend::requests::{
    AcquireAnswer, NotAfter, Record, ReleaseAnswer, ReleaseRequest, RenewalAnswer, RenewalRequest,
    Topic, UndoAnswer,
};
use crate::backend::store_clock::StoreClock;
use crate::error::Error;
use crate::inject::{Mistake, Mistakes};
use crate::keys::{Kind, LockKeys, prefixed};

script!(ACQUIRE, "redis/mint.lua", "redis/late.lua", "redis/acquire.lua");
publishing_script!(RELEASE, "redis/release.lua");
script!(PASS, "redis/mint.lua", "redis/pass.lua");
publishing_script!(UNDO, "redis/undo.lua");
script!(RENEW, "redis/renew.lua");
script!(TOKEN_ACQUIRE, "redis/mint.lua", "redis/late.lua", "redis/token_acquire.lua");
script!(TOKEN_RELEASE, "redis/token_release.lua");
script!(TOKEN_RENEW, "redis/token_renew.lua");
publishing_script!(ANNOUNCE, "redis/announce.lua");
script!(LEADER, "redis/leader.lua");
script!(GUARD, "redis/guard.lua");
publishing_script!(FORCE, "redis/holder.lua", "redis/force.lua");
script!(INSPECT, "redis/holder.lua", "redis/inspect.lua");

/// How much longer a release id is kept than a release is sent again, and how long at most.
const RELEASE_ID_GRACE: Duration = Duration::from_secs(20);
const LONGEST_RELEASE_ID: Duration = Duration::from_secs(86_400);

/// How long the record of a leader is kept; it counts only while its owner holds the lock.
const RECORD_LIFE_MS: u64 = 86_400_000;

/// Servers of a cluster of which something is known at one time: those that were replaced would stay for ever. What is forgotten, as
/// the clock, is learned from the next answer.
const SERVERS: usize = 1_024;

/// Returns what is known of a server.
fn known_of<T: Default>(all: &mut HashMap<u64, Arc<T>>, server: u64) -> Arc<T> {
    if all.len() >= SERVERS && !all.contains_key(&server) {
        all.clear();
    }
    Arc::clone(all.entry(server).or_default())
}

/// The connections, and what is known of the servers' clocks.
#[derive(Debug)]
pub(crate) struct RedisBackend {
    redis: Redis,
    /// One for each server of a cluster that has locks which are used.
    clocks: Mutex<HashMap<u64, Arc<StoreClock>>>,
    generations: watch::Receiver<u64>,
    messages: Messages,
    /// Where replicas have to acknowledge what is acquired.
    replicas: Option<ReplicaCheck>,
    mistakes: Mistakes,
}

impl RedisBackend {
    pub(crate) fn new(
        redis: Redis,
        messages: Messages,
        replicas: Option<ReplicaCheck>,
        mistakes: Mistakes,
    ) -> Self {
        let generations = redis.generations();
        Self { redis, clocks: Mutex::default(), generations, messages, replicas, mistakes }
    }

    /// Returns what is known of the clock of the server that has a lock.
    fn clock_of(&self, name: &str) -> Arc<StoreClock> {
        let server = self.redis.server_of(name);
        known_of(&mut self.clocks.lock().unwrap_or_else(PoisonError::into_inner), server)
    }

    /// Returns until when, on the server's clock, a request that is sent now may take effect.
    pub(crate) fn last_moment(&self, keys: &LockKeys) -> NotAfter {
        self.not_after(&self.clock_of(&keys.name))
    }

    /// Tells holds apart that cannot be renewed with one request: in a cluster, those of other slots.
    pub(crate) fn slot_of(&self, keys: &LockKeys) -> u16 {
        self.redis.slot_of(&keys.name)
    }

    pub(crate) async fn ready(&self) -> Result<(), Error> {
        self.redis.ready().await?;
        if !self.clock_of("").is_known() {
            self.ask_clock().await?;
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
        let clock = self.clock_of(&keys.name);
        let mut not_after = NotAfter(0);
        // A request that is told it is late has certainly changed nothing, so it may be sent again: the first time
        // what was known of the clock may have been that of another server.
        for _ in 0..2 {
            not_after = self.not_after(&clock);
            let asked = Instant::now();
            let command = self.acquiring(keys, owner, lease, not_after, waits);
            let mut reply = self.redis.send(&command).await;
            if self.mistakes.makes(Mistake::ResendAcquire) && lost(&reply) {
                reply = self.redis.send(&command).await;
            }
            let reply = reply.map_err(|failure| (failure.into(), not_after))?;
            let [kind, number, now] = three(&reply).map_err(|failure| (failure, not_after))?;
            clock.note(now, asked);
            match kind {
                -1 => {}
                0 => return Ok(AcquireAnswer::Held { remaining: remaining(number) }),
                holds => {
                    return Ok(AcquireAnswer::Yes {
                        holds: holds.unsigned_abs(),
                        fence: number.unsigned_abs(),
                    });
                }
            }
        }
        debug_assert!(not_after.0 > 0, "a request was made");
        Ok(AcquireAnswer::Late)
    }

    pub(crate) async fn undo(
        &self,
        keys: &LockKeys,
        owner: &str,
        keep: u64,
        not_after: NotAfter,
    ) -> Result<UndoAnswer, Error> {
        let command = match keys.kind {
            Kind::Token => Command::script(&TOKEN_RELEASE, &[&keys.name]).arg(owner),
            Kind::Plain | Kind::Fenced => {
                Command::script(self.messages.of(&UNDO), &[&keys.name, &keys.channel])
                    .arg(owner)
                    .arg(keep)
            }
            Kind::Fair => fair::release(self.messages, keys, owner, None),
            #[cfg(feature = "permits")]
            Kind::Semaphore { .. } | Kind::Read | Kind::Write => {
                permits::release(self.messages, keys, owner, None)
            }
        };
        let numbers = self.redis.send(&command).await?.numbers()?;
        let (taken_back, now) = match numbers[..] {
            [taken_back, now] => (taken_back == 1, now),
            _ => return Err(Error::unexpected("two numbers")),
        };
        let left = not_after.0.saturating_sub(now);
        if taken_back {
            Ok(UndoAnswer::TakenBack)
        } else if left < 0 {
            Ok(UndoAnswer::Nothing)
        } else {
            Ok(UndoAnswer::MayArrive(Duration::from_micros(left.unsigned_abs() + 1)))
        }
    }

    pub(crate) async fn release(&self, asked: ReleaseRequest<'_>) -> Result<ReleaseAnswer, Error> {
        let ReleaseRequest { keys, owner, lease, .. } = asked;
        if keys.kind == Kind::Token {
            let command = Command::script(&TOKEN_RELEASE, &[&keys.name]).arg(owner);
            let numbers = self.redis.send(&command).await?.numbers()?;
            return Ok(if numbers.first() == Some(&1) {
                ReleaseAnswer::Free { receivers: 0 }
            } else {
                ReleaseAnswer::Nothing
            });
        }
        let kept = Some((asked.request, self.release_id_life(lease)));
        let only = match keys.kind {
            Kind::Fair => Some(fair::release(self.messages, keys, owner, kept)),
            #[cfg(feature = "permits")]
            Kind::Semaphore { .. } | Kind::Read | Kind::Write => {
                Some(permits::release(self.messages, keys, owner, kept))
            }
            Kind::Plain | Kind::Fenced | Kind::Token => None,
        };
        if let Some(command) = only {
            let numbers = self.redis.send(&command).await?.numbers()?;
            return Ok(match numbers.first() {
                Some(1) => ReleaseAnswer::Free { receivers: 0 },
                _ => ReleaseAnswer::Nothing,
            });
        }
        if !asked.reentrant {
            return self.release_only(asked).await;
        }
        let release_id = keys.release_id(asked.request);
        let command =
            Command::script(self.messages.of(&RELEASE), &[&keys.name, &keys.channel, &release_id])
                .arg(owner)
                .arg(millis(lease))
                .arg(millis(self.release_id_life(lease)));
        let reply = self.redis.send(&command).await?;
        if reply == RedisReply::Nil {
            return Ok(ReleaseAnswer::Nothing);
        }
        Ok(match reply.number()? {
            0 => ReleaseAnswer::Free { receivers: 0 },
            holds => ReleaseAnswer::Holds(holds.unsigned_abs()),
        })
    }

    /// Returns how long a release id is kept: a release may be sent again until its lease is over, and answered after that.
    fn release_id_life(&self, lease: Duration) -> Duration {
        lease.saturating_add(self.answer_within() + RELEASE_ID_GRACE).min(LONGEST_RELEASE_ID)
    }

    /// Gives back the only hold of an owner that takes a lock once in its life.
    ///
    /// Plain commands, which cost a server less than a script. The release id is a copy of the lock as it was: it holds
    /// this owner only where this request, sent for the first time, found it there.
    async fn release_only(&self, asked: ReleaseRequest<'_>) -> Result<ReleaseAnswer, Error> {
        let ReleaseRequest { keys, owner, .. } = asked;
        let release_id = keys.release_id(asked.request);
        let mut commands = vec![
            // Never overwrites that of the same request.
            Command::new("COPY").arg(&keys.name).arg(&release_id),
            Command::new("HDEL").arg(&keys.name).arg(owner),
        ];
        let publish = |command| Command::new(command).arg(&keys.channel).arg("0");
        commands.extend(self.messages.commands().map(publish));
        let published = 2..commands.len();
        if asked.again {
            commands.push(Command::new("HEXISTS").arg(&release_id).arg(owner));
        }
        // The copy ends with the lease. That is soon enough for one that nobody removes, and late enough for
        // whoever waits for the answer, unless the lease is very long or nearly over, or it is asked again.
        let least = RELEASE_ID_GRACE.max(2 * self.answer_within());
        if asked.again || !(least..=LONGEST_RELEASE_ID).contains(&asked.remaining) {
            let life = millis(self.release_id_life(asked.lease));
            commands.push(Command::new("PEXPIRE").arg(&release_id).arg(life));
        }
        let replies = match self.redis.send_together(commands).await {
            Err(failure) if has_no_room(&failure) => return self.release_unmarked(asked).await,
            replies => replies?,
        };
        let yes = |at: usize| replies.get(at).is_some_and(|reply| *reply == RedisReply::Number(1));
        Ok(if yes(1) || asked.again && yes(published.end) {
            let heard = replies.get(published).unwrap_or_default();
            let heard = heard.iter().filter_map(|reply| reply.number().ok());
            // Who listens in both ways is counted in both.
            ReleaseAnswer::Free { receivers: heard.map(i64::unsigned_abs).max().unwrap_or(0) }
        } else {
            ReleaseAnswer::Nothing
        })
    }

    /// Gives back the only hold of an owner at a server that has no room, and so takes neither a release id nor commands that
    /// are to be carried out together: to take something away with a script needs none.
    async fn release_unmarked(&self, asked: ReleaseRequest<'_>) -> Result<ReleaseAnswer, Error> {
        match self.undo(asked.keys, asked.owner, 0, NotAfter(0)).await? {
            UndoAnswer::TakenBack => Ok(ReleaseAnswer::Free { receivers: 0 }),
            // Nothing tells whether that was the doing of the request that got no answer.
            UndoAnswer::Nothing | UndoAnswer::MayArrive(_) if asked.again => {
                let detail = "nothing tells whether it was given back before".to_owned();
                Err(firstcome_store::StoreError::Unexpected { detail }.into())
            }
            UndoAnswer::Nothing | UndoAnswer::MayArrive(_) => Ok(ReleaseAnswer::Nothing),
        }
    }

    pub(crate) async fn pass(
        &self,
        owner: &str,
        next_keys: &LockKeys,
        next: &str,
        lease: Duration,
    ) -> Result<Option<u64>, Error> {
        let command = Command::script(&PASS, &[&next_keys.name, &next_keys.fence])
            .arg(owner)
            .arg(next)
            .arg(millis(lease))
            .arg(next_keys.fence_life_ms);
        match self.redis.send(&command).await?.numbers()?[..] {
            [1, fence] => Ok(Some(fence.unsigned_abs())),
            [0, _] => Ok(None),
            _ => Err(Error::unexpected("two numbers")),
        }
    }

    pub(crate) async fn renew(
        &self,
        holds: &[RenewalRequest<'_>],
        lease: Option<Duration>,
    ) -> Result<Vec<RenewalAnswer>, Error> {
        let (_, command) = renewal(holds, lease);
        let numbers = self.redis.send(&command).await?.numbers()?;
        if numbers.len() != holds.len() {
            return Err(Error::unexpected("an answer for each lock"));
        }
        Ok(numbers.into_iter().map(|number| RenewalAnswer::from(number == 1)).collect())
    }

    pub(crate) async fn inspect(&self, keys: &LockKeys) -> Result<Option<Holder>, Error> {
        let [ours, theirs] = keys.counters();
        let command = Command::script(&INSPECT, &[&keys.name, &ours, &theirs])
            .arg(u8::from(keys.kind == Kind::Token));
        let reply = self.redis.send(&command).await?;
        if reply == RedisReply::Nil {
            return Ok(None);
        }
        let [owner, holds, left, fence] = reply.list()? else {
            return Err(Error::unexpected("four parts"));
        };
        Ok(Some(Holder {
            owner: owner.text()?,
            holds: holds.number()?.unsigned_abs(),
            remaining: remaining(left.number()?),
            last_fence: Some(fence.number()?.unsigned_abs()).filter(|fence| *fence > 0),
        }))
    }

    pub(crate) async fn force(&self, keys: &LockKeys) -> Result<bool, Error> {
        let fair = prefixed("redisson_lock_queue", &keys.name);
        let nobodys = keys.release_id(0);
        let names = [&*keys.name, &keys.channel, &fair, &nobodys];
        let command = Command::script(self.messages.of(&FORCE), &names)
            .arg(u8::from(keys.kind == Kind::Token))
            .arg(prefixed("redisson_rwlock", &keys.name));
        Ok(self.redis.send(&command).await?.number()? == 1)
    }

    pub(crate) async fn taken_for(
        &self,
        keys: &LockKeys,
    ) -> Result<Option<Option<Duration>>, Error> {
        let left = self.redis.send(&Command::new("PTTL").arg(&keys.name)).await?.number()?;
        Ok(if left == -2 { None } else { Some(remaining(left)) })
    }

    pub(crate) async fn listen(&self, topic: Topic<'_>) -> Result<RedisSubscriber, Error> {
        RedisSubscriber::listen(&self.redis, self.messages, &topic.channel()).await
    }

    pub(crate) async fn forget(&self, release_ids: Vec<String>) -> Result<(), Error> {
        let mut by_slot: BTreeMap<u16, Command> = BTreeMap::new();
        for id in &release_ids {
            let slot = self.redis.slot_of(id);
            let command = by_slot.remove(&slot).unwrap_or_else(|| Command::new("DEL"));
            by_slot.insert(slot, command.arg(id));
        }
        for command in by_slot.into_values() {
            self.redis.send(&command).await?;
        }
        Ok(())
    }

    pub(crate) async fn announce(
        &self,
        name: &str,
        record: &Record,
        owner: &str,
    ) -> Result<(), Error> {
        let key = prefixed("fc:leader", name);
        let command = Command::script(self.messages.of(&ANNOUNCE), &[&key, &key])
            .arg(record.term)
            .arg(&record.node)
            .arg(owner)
            .arg(RECORD_LIFE_MS);
        self.redis.send(&command).await?;
        Ok(())
    }

    pub(crate) async fn leader(
        &self,
        name: &str,
    ) -> Result<(Option<Record>, Option<Duration>), Error> {
        let command = Command::script(&LEADER, &[name, &prefixed("fc:leader", name)]);
        let reply = self.redis.send(&command).await?;
        let [node, term, left] = reply.list()? else {
            return Err(Error::unexpected("three parts"));
        };
        let (node, term) = (node.text()?, term.number()?.unsigned_abs());
        let record = Some(Record { node, term }).filter(|record| record.term > 0);
        Ok((record, remaining(left.number()?)))
    }

    pub(crate) async fn guarded_write(
        &self,
        key: &str,
        fence: u64,
        owner: &str,
        value: &[u8],
    ) -> Result<Result<(), u64>, Error> {
        let command = Command::script(&GUARD, &[key, &prefixed("fc:guard", key)])
            .arg(fence)
            .arg(owner)
            .arg(value);
        match self.redis.send(&command).await?.numbers()?[..] {
            [1, _] => Ok(Ok(())),
            [0, highest] => Ok(Err(highest.unsigned_abs())),
            _ => Err(Error::unexpected("two numbers")),
        }
    }

    pub(crate) async fn reconnected(&self, seen: &mut u64) {
        let mut generations = self.generations.clone();
        let last = *seen;
        let newer = generations.wait_for(|generation| *generation > last.max(1)).await;
        let newer = newer.map(|generation| *generation).ok();
        match newer {
            Some(generation) => *seen = generation,
            None => std::future::pending().await,
        }
    }

    pub(crate) fn answer_within(&self) -> Duration {
        self.redis.answer_within()
    }

    /// Waits until as many replicas have a hold as were asked for.
    pub(crate) async fn wait_for_replicas(
        &self,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
    ) -> Result<(), Error> {
        match &self.replicas {
            Some(replicas) => replicas.wait_for(keys, owner, lease).await,
            None => Ok(()),
        }
    }

    pub(crate) async fn close(&self) {
        if let Some(replicas) = &self.replicas {
            replicas.close().await;
        }
        self.redis.close().await;
    }

    async fn ask_clock(&self) -> Result<(), Error> {
        let asked = Instant::now();
        match self.redis.send(&Command::new("TIME")).await?.numbers()?[..] {
            [seconds, micros] => {
                self.clock_of("").note(seconds * 1_000_000 + micros, asked);
                Ok(())
            }
            _ => Err(Error::unexpected("two numbers")),
        }
    }

    /// Returns the command that asks once for a lock.
    fn acquiring(
        &self,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
        not_after: NotAfter,
        waits: bool,
    ) -> Command {
        if keys.kind == Kind::Fair {
            return fair::acquire(keys, owner, lease, not_after, waits);
        }
        #[cfg(feature = "permits")]
        if let Some(most) = keys.kind.permits() {
            return permits::acquire(self.messages, keys, most, owner, lease, not_after);
        }
        let script = if keys.kind == Kind::Token { &*TOKEN_ACQUIRE } else { &*ACQUIRE };
        Command::script(script, &[&keys.name, &keys.fence])
            .arg(owner)
            .arg(millis(lease))
            .arg(not_after.0)
            .arg(keys.fence_life_ms)
    }

    /// Returns the time on the server's clock after which nobody waits for an answer to what is sent now.
    fn not_after(&self, clock: &StoreClock) -> NotAfter {
        if self.mistakes.makes(Mistake::AcceptLateAcquire) {
            return NotAfter(i64::MAX / 1024);
        }
        NotAfter(clock.not_after(self.answer_within()))
    }
}

/// Returns the command that renews holds of one kind, or only looks at them, and its script.
fn renewal(holds: &[RenewalRequest<'_>], lease: Option<Duration>) -> (&'static Script, Command) {
    #[cfg(feature = "permits")]
    if holds.first().is_some_and(|(keys, _)| keys.kind.permits().is_some()) {
        return permits::renewal(holds, lease);
    }
    let tokens = holds.first().is_some_and(|(keys, _)| keys.kind == Kind::Token);
    let names: Vec<&str> = holds.iter().map(|(keys, _)| keys.name.as_str()).collect();
    let script = if tokens { &*TOKEN_RENEW } else { &*RENEW };
    let command = Command::script(script, &names).arg(lease.map_or(0, millis));
    (script, holds.iter().fold(command, |command, (_, owner)| command.arg(*owner)))
}

/// Tells whether the server is at its `maxmemory`, so that it takes in nothing new.
fn has_no_room(failure: &firstcome_store::StoreError) -> bool {
    failure.meaning() == Some(firstcome_store::Meaning::NoRoom)
}

fn lost(reply: &Result<RedisReply, firstcome_store::StoreError>) -> bool {
    matches!(reply, Err(firstcome_store::StoreError::Unknown { .. }))
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Reads what PTTL gives; nothing for a key without an expiry.
fn remaining(left: i64) -> Option<Duration> {
    u64::try_from(left).ok().map(Duration::from_millis)
}

fn three(reply: &RedisReply) -> Result<[i64; 3], Error> {
    reply.numbers()?.try_into().map_err(|_| Error::unexpected("three numbers"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn so_many_clocks_are_known_and_one_more_server_begins_anew() {
        let mut clocks = HashMap::<u64, Arc<StoreClock>>::new();
        let first = known_of(&mut clocks, 0);
        (1..SERVERS as u64).for_each(|server| drop(known_of(&mut clocks, server)));
        assert!(Arc::ptr_eq(&first, &known_of(&mut clocks, 0)), "it is still known");
        drop(known_of(&mut clocks, u64::MAX));
        assert_eq!(clocks.len(), 1);
    }
}
