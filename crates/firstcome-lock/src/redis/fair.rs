//! Fair locks in Redis: Redisson's, whose waiters stand in a line at the server.

use std::sync::LazyLock;
use std::time::Duration;

use firstcome_store::{Command, Script};

use super::messages::{Messages, Versions};
use super::{NotAfter, millis};
use crate::durations::WAITED_FOR;
use crate::keys::{LockKeys, prefixed};

script!(ACQUIRE, "line.lua", "mint.lua", "late.lua", "fair_acquire.lua");
publishing_script!(RELEASE, "line.lua", "latch.lua", "fair_release.lua");

/// The keys of the line: who stands in it, and until when each is waited for.
fn line(keys: &LockKeys) -> [String; 2] {
    ["redisson_lock_queue", "redisson_lock_timeout"].map(|prefix| prefixed(prefix, &keys.name))
}

/// Returns the request to take one; who `waits` stands in line from then on.
pub(super) fn acquire(
    keys: &LockKeys,
    owner: &str,
    lease: Duration,
    not_after: NotAfter,
    waits: bool,
) -> Command {
    let [line, deadlines] = line(keys);
    Command::script(&ACQUIRE, &[&keys.name, &keys.fence, &line, &deadlines])
        .arg(owner)
        .arg(millis(lease))
        .arg(not_after.0)
        .arg(keys.fence_life_ms)
        .arg(millis(WAITED_FOR))
        .arg(u8::from(waits))
}

/// Returns the request to give one back, or to leave its line; one that is recognised when it is sent again has a number, which is
/// kept for a while.
pub(super) fn release(
    messages: Messages,
    keys: &LockKeys,
    owner: &str,
    kept: Option<(u128, Duration)>,
) -> Command {
    let [line, deadlines] = line(keys);
    let (request, life) = kept.unwrap_or_default();
    let release_id = keys.release_id(request);
    let names = [&*keys.name, &keys.channel, &release_id, &line, &deadlines];
    Command::script(messages.of(&RELEASE), &names)
        .arg(owner)
        .arg(millis(life))
        .arg(millis(WAITED_FOR))
}
