//! ShedLock's key on Redis.

use std::sync::LazyLock;
use std::time::Duration;

use firstcome_store::{Command, Options, Redis, Reply, Script};

use super::ask::Ask;
use super::settings::KeySpace;
use super::time::{client_now, iso, millis};
use crate::failure::Failure;

static KEEP: LazyLock<Script> = LazyLock::new(|| Script::new(include_str!("keep.lua")));

/// Keys on a server.
#[derive(Debug)]
pub(super) struct RedisKeys {
    redis: Redis,
    keys: KeySpace,
}

impl RedisKeys {
    pub(super) async fn connect(options: Options, keys: KeySpace) -> Result<Self, Failure> {
        keys.check()?;
        Ok(Self { redis: Redis::connect(options).await?, keys })
    }

    pub(super) fn ask(
        &self,
        name: &str,
        at_most: Duration,
        at_least: Duration,
    ) -> Result<Ask, Failure> {
        self.keys.key(name)?;
        let (holder, added) = (&self.keys.holder, iso(client_now()));
        let value = format!("ADDED:{added}@{holder}:{}", crate::shared::random_uuid());
        Ask::new(name, value, at_most, at_least)
    }

    pub(super) async fn take(&self, ask: &Ask) -> Result<bool, Failure> {
        let command = Command::new("SET")
            .arg(self.keys.key(&ask.name)?)
            .arg(&ask.locked_by)
            .arg("NX")
            .arg("PX")
            .arg(millis(ask.at_most));
        Ok(self.redis.send(&command).await? != Reply::Nil)
    }

    pub(super) async fn extend(&self, ask: &Ask) -> Result<bool, Failure> {
        self.keep(ask, millis(ask.at_most)).await
    }

    pub(super) async fn unlock(&self, ask: &Ask) -> Result<bool, Failure> {
        self.keep(ask, ask.keep_ms()).await
    }

    pub(super) async fn undo(&self, ask: &Ask) -> Result<bool, Failure> {
        self.keep(ask, 0).await
    }

    /// Has a key of this holder's live for so many milliseconds from now on, none to delete it.
    async fn keep(&self, ask: &Ask, ms: i64) -> Result<bool, Failure> {
        let key = self.keys.key(&ask.name)?;
        let command = Command::script(&KEEP, &[&key]).arg(&ask.locked_by).arg(ms);
        Ok(self.redis.send(&command).await?.number()? == 1)
    }

    pub(super) fn answer_within(&self) -> Duration {
        self.redis.answer_within()
    }

    pub(super) async fn close(&self) {
        self.redis.close().await;
    }
}
