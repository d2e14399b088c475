//! Waiting until replicas have what was acquired.

use std::time::Duration;

use firstcome_store::{Command, Pinned, RedisOptions, RedisReply, StoreError, Wire};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::{millis, renewal};
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

/// Asks a server how many replicas have what it wrote.
#[derive(Debug)]
pub(crate) struct ReplicaCheck {
    wanted: Replicas,
    /// A connection of its own: a WAIT holds up whatever is sent behind it.
    wire: Wire,
    last: Mutex<Option<Waited>>,
}

/// The last WAIT: it is believed by everybody whose write was there before it.
#[derive(Debug)]
struct Waited {
    on: Pinned,
    sent: Instant,
    acknowledged: u32,
}

impl ReplicaCheck {
    pub(crate) async fn connect(wanted: Replicas, options: RedisOptions) -> Result<Self, Error> {
        let wire = Wire::connect(options.heartbeat(HEARTBEAT)).await?;
        Ok(Self { wanted, wire, last: Mutex::default() })
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
        let deadline = || Instant::now() + self.wanted.within + self.wire.answer_within();
        let on = self.wire.pin(deadline()).await?;
        if self.renew(&on, keys, owner, lease, deadline()).await?.numbers()? != [1] {
            return Err(Error::Lost(Loss::Taken));
        }
        let written = Instant::now();
        let mut last = self.last.lock().await;
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

    async fn renew(
        &self,
        on: &Pinned,
        keys: &LockKeys,
        owner: &str,
        lease: Duration,
        deadline: Instant,
    ) -> Result<RedisReply, Error> {
        let holds = [(keys, owner)];
        let (script, command) = renewal(&holds, Some(lease));
        match on.send(command.clone(), deadline).await {
            Err(StoreError::UnknownScript) => {
                on.load(script, deadline).await?;
                Ok(on.send(command, deadline).await?)
            }
            answered => Ok(answered?),
        }
    }

    pub(crate) async fn close(&self) {
        self.wire.close().await;
    }
}
