//! ShedLock's key on Redis.

use std::sync::LazyLock;
use std::time::Duration;

use firstcome_store::client::random_uuid;
use firstcome_store::{Command, Redis, RedisOptions, RedisReply, Script};

use crate::ask::Ask;
use crate::error::Error;
use crate::settings::KeySpace;
use crate::time::{client_now, iso, millis};

static KEEP: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("keep.lua")));

/// Keys on a server.
#[derive(Debug)]
pub(crate) struct RedisKeys {
    redis: Redis,
    keys: KeySpace,
}

impl RedisKeys {
    pub(crate) async fn connect(options: RedisOptions, keys: KeySpace) -> Result<Self, Error> {
        keys.check()?;
        Ok(Self { redis: Redis::connect(options).await?, keys })
    }

    pub(crate) fn ask(
        &self,
        name: &str,
        at_most: Duration,
        at_least: Duration,
    ) -> Result<Ask, Error> {
        self.keys.key(name)?;
        let (holder, added) = (&self.keys.holder, iso(client_now()));
        let value = format!("ADDED:{added}@{holder}:{}", random_uuid());
        Ask::new(name, value, at_most, at_least)
    }

    pub(crate) async fn take(&self, ask: &Ask) -> Result<bool, Error> {
        let command = Command::new("SET")
            .arg(self.keys.key(&ask.name)?)
            .arg(&ask.locked_by)
            .arg("NX")
            .arg("PX")
            .arg(millis(ask.at_most));
        Ok(self.redis.send(&command).await? != RedisReply::Nil)
    }

    pub(crate) async fn extend(&self, ask: &Ask) -> Result<bool, Error> {
        self.keep(ask, millis(ask.at_most)).await
    }

    pub(crate) async fn unlock(&self, ask: &Ask) -> Result<bool, Error> {
        self.keep(ask, ask.keep_ms()).await
    }

    pub(crate) async fn undo(&self, ask: &Ask) -> Result<bool, Error> {
        self.keep(ask, 0).await
    }

    /// Has a key of this holder's live for so many milliseconds from now on, none to delete it.
    async fn keep(&self, ask: &Ask, ms: i64) -> Result<bool, Error> {
        let key = self.keys.key(&ask.name)?;
        let command = Command::script(&KEEP, &[&key]).arg(&ask.locked_by).arg(ms);
        Ok(self.redis.send(&command).await?.number()? == 1)
    }

    pub(crate) fn answer_within(&self) -> Duration {
        self.redis.answer_within()
    }

    pub(crate) async fn close(&self) {
        self.redis.close().await;
    }
}
