//! Several locks in one step.

use std::sync::LazyLock;
use std::time::Duration;

use firstcome_store::{Command, Script};
use tokio::time::Instant;

use super::{RedisBackend, millis, remaining};
use crate::backend::requests::{NotAfter, TogetherAnswer};
use crate::error::Error;
use crate::keys::LockKeys;

static ACQUIRE_TOGETHER: LazyLock<Script> =
    LazyLock::new(|| Script::new(include_str!("acquire_together.lua")));

impl RedisBackend {
    pub(crate) async fn acquire_together(
        &self,
        keys: &[&LockKeys],
        owner: &str,
        lease: Duration,
    ) -> Result<TogetherAnswer, (Error, NotAfter)> {
        let names: Vec<&str> =
            keys.iter().flat_map(|keys| [keys.name.as_str(), keys.fence.as_str()]).collect();
        let mut slots = keys.iter().map(|keys| self.slot_of(keys));
        let first = slots.next().unwrap_or_default();
        if slots.any(|slot| slot != first) {
            let reason = "in a Redis Cluster several locks are taken in one step only if their names have the same part in braces";
            return Err((Error::Name { reason }, NotAfter(0)));
        }
        let clock = self.clock_of(keys.first().map_or("", |keys| &keys.name));
        let life = keys.first().map_or(0, |keys| keys.fence_life_ms);
        // As for one lock: a request that is told it is late has certainly changed nothing, so it may be sent again.
        for _ in 0..2 {
            let not_after = self.not_after(&clock);
            let asked = Instant::now();
            let command = Command::script(&ACQUIRE_TOGETHER, &names)
                .arg(owner)
                .arg(millis(lease))
                .arg(not_after.0)
                .arg(life);
            let answered = self.redis.send(&command).await;
            let numbers = answered.and_then(|reply| reply.numbers());
            let numbers = numbers.map_err(|failure| (failure.into(), not_after))?;
            if let [_, now, ..] = numbers[..] {
                clock.note(now, asked);
            }
            match numbers[..] {
                [-1, _] => {}
                [0, _, at, left] => {
                    let at = usize::try_from(at).unwrap_or(usize::MAX);
                    return Ok(TogetherAnswer::Held { at, remaining: remaining(left) });
                }
                [1, _, ref fences @ ..] if fences.len() == keys.len() => {
                    let fences = fences.iter().map(|fence| fence.unsigned_abs()).collect();
                    return Ok(TogetherAnswer::Yes { fences });
                }
                _ => return Err((Error::unexpected("a fence for each lock"), not_after)),
            }
        }
        Ok(TogetherAnswer::Late)
    }
}
