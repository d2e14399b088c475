//! The connections to the servers of a Redis Cluster, made as their keys are used.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{OnceCell, watch};
use tokio::time::Instant;

use super::address::Address;
use super::cluster::{Range, ask_all};
use super::command::Command;
use super::dial::Dialler;
use super::link::Link;
use super::options::RedisOptions;
use super::pinned::Pinned;
use super::pubsub::{Mode, PubSub};
use super::reply::RedisReply;
use super::slot::Slot;
use super::subscriptions::{Subscription, Subscriptions};
use crate::error::StoreError;
use crate::host::Host;

/// The pause before a command is sent again whose slot was not where it was looked for.
const AGAIN_AFTER: Duration = Duration::from_millis(20);

/// One connection for commands and one for subscriptions, to a server.
#[derive(Debug)]
pub(super) struct Shard {
    pub(super) link: Link,
    pub(super) subscriptions: Subscriptions,
}

impl Shard {
    pub(super) async fn connect(dialler: Dialler) -> Result<Self, StoreError> {
        let dialler = Arc::new(dialler);
        let link = Link::connect(Arc::clone(&dialler)).await?;
        let subscriptions = Subscriptions::start(dialler, link.place());
        Ok(Self { link, subscriptions })
    }

    pub(super) async fn close(&self) {
        self.subscriptions.close().await;
        self.link.close().await;
    }
}

/// The servers of a cluster. Each shard follows the slot for which it was made when that goes to another server; who else
/// was at the old one went with it, or is told so by the answer MOVED.
#[derive(Debug)]
pub(super) struct Shards {
    options: Arc<RedisOptions>,
    address: Arc<Address>,
    /// Asks who has which slots.
    dialler: Dialler,
    map: Mutex<Map>,
    /// One asks at a time.
    asking: tokio::sync::Mutex<()>,
    generations: watch::Sender<u64>,
    closed: AtomicBool,
}

#[derive(Debug, Default)]
struct Map {
    ranges: Vec<Range>,
    /// How often they were asked for.
    version: u64,
    shards: Vec<Follower>,
}

type Cell = Arc<OnceCell<Arc<Shard>>>;

/// The connections that follow a slot, and who has it. None is ever given up: somebody may wait for a message on it, also
/// where the slots of two have come to one server. There is at most one for each slot.
#[derive(Debug)]
struct Follower {
    slot: Slot,
    owner: Option<Host>,
    cell: Cell,
}

impl Map {
    fn owner(&self, slot: Slot) -> Option<&Host> {
        self.ranges.iter().find(|range| range.has(slot)).map(|range| &range.owner)
    }

    /// Takes in who has the slots now.
    fn learn(&mut self, ranges: Vec<Range>) {
        self.ranges = ranges;
        self.version += 1;
        let mut shards = std::mem::take(&mut self.shards);
        shards.iter_mut().for_each(|shard| shard.owner = self.owner(shard.slot).cloned());
        self.shards = shards;
    }

    /// Returns connections to the server that has a slot, which may have to be made; none where nobody has it.
    fn cell(&mut self, slot: Slot) -> Option<Cell> {
        let owner = self.owner(slot)?.clone();
        if let Some(shard) = self.shards.iter().find(|shard| shard.owner.as_ref() == Some(&owner)) {
            return Some(Arc::clone(&shard.cell));
        }
        let cell = Cell::default();
        self.shards.push(Follower { slot, owner: Some(owner), cell: Arc::clone(&cell) });
        Some(cell)
    }
}

impl Shards {
    /// Connects to the server that has the slot of the options.
    pub(super) async fn connect(
        options: Arc<RedisOptions>,
        address: Arc<Address>,
    ) -> Result<Self, StoreError> {
        let dialler = Dialler::new(Arc::clone(&options), Arc::clone(&address))?;
        let (map, asking) = (Mutex::default(), tokio::sync::Mutex::default());
        let generations = watch::Sender::new(1);
        let closed = AtomicBool::new(false);
        let shards = Self { options, address, dialler, map, asking, generations, closed };
        shards.find(shards.options.slot).await?;
        Ok(shards)
    }

    fn map(&self) -> MutexGuard<'_, Map> {
        // Every change under this lock is complete in itself.
        self.map.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the server that has a slot, by default that of the options, as of a version of what is known of the cluster.
    async fn shard(
        &self,
        slot: Option<Slot>,
        deadline: Instant,
    ) -> Result<(Arc<Shard>, u64), StoreError> {
        let found = self.find(slot.unwrap_or(self.options.slot));
        tokio::time::timeout_at(deadline, found).await.unwrap_or_else(|_| {
            let reason = "no connection in time".to_owned();
            Err(StoreError::Unreachable { place: self.dialler.place(), reason })
        })
    }

    async fn find(&self, slot: Slot) -> Result<(Arc<Shard>, u64), StoreError> {
        if self.closed.load(Ordering::Acquire) {
            return Err(StoreError::Closed);
        }
        let (is_known, version) = {
            let map = self.map();
            (map.owner(slot).is_some(), map.version)
        };
        if !is_known {
            self.ask(version).await?;
        }
        let (cell, version) = {
            let mut map = self.map();
            (map.cell(slot).ok_or_else(|| self.nobody_has(slot))?, map.version)
        };
        // Nobody else waits for one that cannot be reached.
        let shard = cell.get_or_try_init(|| self.make(slot)).await?;
        Ok((Arc::clone(shard), version))
    }

    fn nobody_has(&self, slot: Slot) -> StoreError {
        let reason = format!("no server of the cluster has slot {}", slot.0);
        StoreError::Unreachable { place: self.dialler.place(), reason }
    }

    async fn make(&self, slot: Slot) -> Result<Arc<Shard>, StoreError> {
        let options = RedisOptions { slot, ..(*self.options).clone() };
        let shard =
            Shard::connect(Dialler::new(Arc::new(options), Arc::clone(&self.address))?).await?;
        let (mut generations, all) = (shard.link.generations(), self.generations.clone());
        generations.mark_unchanged();
        // It ends with the shard.
        tokio::spawn(async move {
            while generations.changed().await.is_ok() {
                all.send_modify(|all| *all += 1);
            }
        });
        Ok(Arc::new(shard))
    }

    /// Asks who has which slots, unless somebody else did since this version.
    async fn ask(&self, version: u64) -> Result<(), StoreError> {
        let _one = self.asking.lock().await;
        if self.map().version > version {
            return Ok(());
        }
        let ranges = self.dialler.within(ask_all(&self.dialler)).await?;
        self.map().learn(ranges);
        Ok(())
    }

    /// Sends a command to the server that has the slot of its key. Where another one has it, nothing was carried out, and it is
    /// sent there, until the deadline.
    pub(super) async fn send(
        &self,
        command: &Command,
        deadline: Instant,
    ) -> Result<RedisReply, StoreError> {
        loop {
            let (shard, version) = self.shard(command.slot(), deadline).await?;
            match shard.link.send(command, deadline).await {
                Err(moved @ StoreError::Moved { .. }) => {
                    self.follow(version, moved, deadline).await?
                }
                done => return done,
            }
        }
    }

    /// Sends commands together to the server that has the slot of the first one, as [`Shards::send`] does one.
    pub(super) async fn send_together(
        &self,
        commands: Vec<Command>,
        deadline: Instant,
    ) -> Result<RedisReply, StoreError> {
        let slot = commands.first().and_then(Command::slot);
        loop {
            let (shard, version) = self.shard(slot, deadline).await?;
            match shard.link.send_together(commands.clone(), deadline).await {
                Err(moved @ StoreError::Moved { .. }) => {
                    self.follow(version, moved, deadline).await?
                }
                done => return done,
            }
        }
    }

    /// Asks, after a pause, where a slot is that was not where this version has it; fails with what was said where there is no
    /// time for that.
    async fn follow(
        &self,
        version: u64,
        moved: StoreError,
        deadline: Instant,
    ) -> Result<(), StoreError> {
        if Instant::now() + AGAIN_AFTER >= deadline {
            return Err(moved);
        }
        tokio::time::sleep(AGAIN_AFTER).await;
        tokio::time::timeout_at(deadline, self.ask(version)).await.unwrap_or(Err(moved))
    }

    pub(super) async fn pin(&self, slot: Slot, deadline: Instant) -> Result<Pinned, StoreError> {
        let (shard, _) = self.shard(Some(slot), deadline).await?;
        shard.link.pin(deadline).await
    }

    pub(super) async fn denied(
        &self,
        commands: Vec<Command>,
        deadline: Instant,
    ) -> Result<Vec<Option<String>>, StoreError> {
        let (shard, _) = self.shard(None, deadline).await?;
        shard.link.denied(commands, deadline).await
    }

    pub(super) async fn ready(&self, deadline: Instant) -> Result<(), StoreError> {
        let (shard, _) = self.shard(None, deadline).await?;
        shard.link.up(deadline).await.map(drop)
    }

    pub(super) async fn subscribe(
        &self,
        channel: &str,
        pubsub: PubSub,
        deadline: Instant,
    ) -> Result<Subscription, StoreError> {
        loop {
            let (shard, version) = self.shard(Some(Slot::of(channel)), deadline).await?;
            match shard.subscriptions.join(channel, pubsub, deadline).await {
                Err(moved @ StoreError::Moved { .. }) => {
                    // Its connections may still lead to the server that had the slot.
                    shard.link.suspect();
                    self.follow(version, moved, deadline).await?;
                }
                done => return done,
            }
        }
    }

    pub(super) fn pubsub_mode(&self) -> Mode {
        self.address.pubsub
    }

    pub(super) fn generations(&self) -> watch::Receiver<u64> {
        self.generations.subscribe()
    }

    /// Returns which server has a slot, as a number: another one for another server.
    pub(super) fn server(&self, slot: Slot) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.map().owner(slot).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns a slot of each server that has some.
    pub(super) async fn slots(&self) -> Result<Vec<Slot>, StoreError> {
        let version = self.map().version;
        self.ask(version).await?;
        let map = self.map();
        let slots: HashMap<&Host, Slot> =
            map.ranges.iter().map(|range| (&range.owner, Slot(range.first))).collect();
        Ok(slots.into_values().collect())
    }

    pub(super) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let cells: Vec<Cell> =
            self.map().shards.iter().map(|shard| Arc::clone(&shard.cell)).collect();
        for cell in cells {
            if let Some(shard) = cell.get() {
                shard.close().await;
            }
        }
    }
}
