//! Waiting until replicas have what was acquired.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use firstcome_store::{Command, Pinned, Redis, RedisOptions, StoreError};
use tokio::time::Instant;

use super::{known_of, millis, renewal};
use crate::error::Error;
use crate::keys::LockKeys;
use crate::lease::loss::Loss;

/// Twice the longest wait: a connection that answers nothing for this long is taken for dead.
const HEARTBEAT: Duration = Duration::from_secs(2);

/// How many replicas have to acknowledge an acquire, and how long they have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Replicas {
    pub(crate) count: u32,
    pub(crate) within: Duration,
}

impl Replicas {
    pub(crate) const LEAST_WAIT: Duration = Duration::from_millis(1);
    pub(crate) const LONGEST_WAIT: Duration = Duration::from_secs(1);
    pub(crate) const MOST: u32 = 100;
}

/// Asks servers how many replicas have what they wrote.
#[derive(Debug)]
pub(crate) struct ReplicaCheck {
    wanted: Replicas,
    /// Connections of its own: a WAIT holds up whatever is sent behind it.
    redis: Redis,
    /// One for each server of a cluster that has locks which are used.
    last: Mutex<HashMap<u64, Arc<Last>>>,
}

type Last = tokio::sync::Mutex<Option<Waited>>;

/// The last WAIT: it is believed by everybody whose write was there before it.
#[derive(Debug)]
struct Waited {
    on: Pinned,
    sent: Instant,
    acknowledged: u32,
}

impl ReplicaCheck {
    pub(crate) async fn connect(wanted: Replicas, options: RedisOptions) -> Result<Self, Error> {
        let redis = Redis::connect(options.heartbeat(HEARTBEAT)).await?;
        Ok(Self { wanted, redis, last: Mutex::default() })
    }

    fn last_at(&self, server: u64) -> Arc<Last> {
        known_of(&mut self.last.lock().unwrap_or_else(PoisonError::into_inner), server)
    }

    /// Waits until enough replicas have the hold, which was confirmed before this.
    ///
    /// A WAIT speaks of what was written on its own connection. So the hold is renewed there first: that write is behind
    /// the acquire in what replicas are sent, and shows that this very server has the hold.
    pub(crate) async fn wait_for(
        &self,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
    ) -> Result<(), Error> {
        let deadline = || Instant::now() + self.wanted.within + self.redis.answer_within();
        let on = self.renew(keys, owner, lease, deadline()).await?;
        let written = Instant::now();
        let last = self.last_at(self.redis.server_of(&keys.name));
        let mut last = last.lock().await;
        let acknowledged = match &*last {
            // Those who came while one WAIT was under way share the next one.
            Some(waited) if waited.on.is_same(&on) && waited.sent >= written => waited.acknowledged,
            Some(_) | None => {
                let Replicas { count, within } = self.wanted;
                let sent = Instant::now();
                let wait = Command::new("WAIT").arg(count).arg(millis(within));
                let said = on.send(wait, deadline()).await?.number()?;
                let acknowledged = u32::try_from(said).unwrap_or(0);
                *last = Some(Waited { on, sent, acknowledged });
                acknowledged
            }
        };
        let wanted = self.wanted.count;
        if acknowledged >= wanted {
            return Ok(());
        }
        Err(Error::TooFewReplicas { name: keys.name.clone(), wanted, acknowledged })
    }

    /// Renews a hold, and gives the connection on which it was written.
    async fn renew(
        &self,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
        deadline: Instant,
    ) -> Result<Pinned, Error> {
        let holds = [(keys, owner)];
        let (script, command) = renewal(&holds, Some(lease));
        loop {
            let on = self.redis.pin(&keys.name, deadline).await?;
            let mut answer = on.send(command.clone(), deadline).await;
            if let Err(StoreError::UnknownScript) = answer {
                on.load(script, deadline).await?;
                answer = on.send(command.clone(), deadline).await;
            }
            if let Err(StoreError::Moved { .. }) = answer
                && Instant::now() < deadline
            {
                // It goes to the server that has the slot now; after that this one is known.
                self.redis.send(&command).await?;
                continue;
            }
            return match answer?.numbers()?[..] {
                [1] => Ok(on),
                _ => Err(Error::Lost(Loss::Taken)),
            };
        }
    }

    pub(crate) async fn close(&self) {
        self.redis.close().await;
    }
}
