//! Read/write locks and semaphores in Redis: those of Redisson, with an end for each hold.

use std::sync::LazyLock;
use std::time::Duration;

use firstcome_store::{Command, Script};

use super::messages::{Messages, Versions};
use super::{NotAfter, RenewalRequest, millis};
use crate::keys::{Kind, LockKeys, braced, prefixed};

script!(RW_ACQUIRE, "mint.lua", "late.lua", "rw_acquire.lua");
publishing_script!(PERMIT_ACQUIRE, "mint.lua", "late.lua", "permit_acquire.lua");
publishing_script!(RW_RELEASE, "latch.lua", "rw_release.lua");
publishing_script!(PERMIT_RELEASE, "latch.lua", "permit_release.lua");
script!(PERMIT_RENEW, "permit_renew.lua");

/// One hold, as it is written.
struct Hold {
    what: &'static str,
    /// Who has it: a field of the lock, or a member of those who have permits.
    field: String,
    /// The key beside the lock: what the hold of a reader ends with, or who has permits of a semaphore. A writer has none.
    beside: String,
}

impl Hold {
    fn of(keys: &LockKeys, owner: &str) -> Self {
        match keys.kind {
            Kind::Semaphore { .. } => Self {
                what: "permit",
                field: owner.to_owned(),
                beside: prefixed("fc:permits", &keys.name),
            },
            Kind::Write => {
                Self { what: "write", field: format!("{owner}:write"), beside: keys.name.clone() }
            }
            // Locks do not come here.
            Kind::Read | Kind::Plain | Kind::Fenced | Kind::Fair | Kind::Token => Self {
                what: "read",
                field: owner.to_owned(),
                beside: format!("{}:{owner}:rwlock_timeout:1", braced(&keys.name)),
            },
        }
    }
}

/// Returns the request to take one.
pub(super) fn acquire(
    messages: Messages,
    keys: &LockKeys,
    most: u32,
    owner: &str,
    lease: Duration,
    not_after: NotAfter,
) -> Command {
    let hold = Hold::of(keys, owner);
    let is_permit = matches!(keys.kind, Kind::Semaphore { .. });
    let script = if is_permit { messages.of(&PERMIT_ACQUIRE) } else { &RW_ACQUIRE };
    let names = [&*keys.name, &keys.fence, &hold.beside, &keys.channel];
    let command = Command::script(script, if is_permit { &names } else { &names[..3] })
        .arg(&hold.field)
        .arg(millis(lease))
        .arg(not_after.0)
        .arg(keys.fence_life_ms);
    if is_permit { command.arg(most) } else { command.arg(hold.what).arg(most) }
}

/// Returns the request to give one back; one that is recognised when it is sent again has a number, which is kept for a while.
pub(super) fn release(
    messages: Messages,
    keys: &LockKeys,
    owner: &str,
    kept: Option<(u128, Duration)>,
) -> Command {
    let hold = Hold::of(keys, owner);
    let is_permit = matches!(keys.kind, Kind::Semaphore { .. });
    let script = if is_permit { &PERMIT_RELEASE } else { &RW_RELEASE };
    let (request, life) = kept.unwrap_or_default();
    let release_id = keys.release_id(request);
    Command::script(messages.of(script), &[&keys.name, &keys.channel, &release_id, &hold.beside])
        .arg(&hold.field)
        .arg(millis(life))
        .arg(hold.what)
        .arg(&*braced(&keys.name))
}

/// Returns the request that renews holds, or only looks at them.
pub(super) fn renewal(
    holds: &[RenewalRequest<'_>],
    lease: Option<Duration>,
) -> (&'static Script, Command) {
    let written: Vec<Hold> = holds.iter().map(|(keys, owner)| Hold::of(keys, owner)).collect();
    let names: Vec<&str> = holds
        .iter()
        .zip(&written)
        .flat_map(|((keys, _), hold)| [&*keys.name, &*hold.beside])
        .collect();
    let command = Command::script(&PERMIT_RENEW, &names).arg(lease.map_or(0, millis));
    let with = |command: Command, hold: &Hold| command.arg(hold.what).arg(&hold.field);
    (&PERMIT_RENEW, written.iter().fold(command, with))
}
