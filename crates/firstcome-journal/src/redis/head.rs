//! Reads the head of the journal.

use super::keys::Keys;
use super::scripts;
use crate::entry::Head;
use crate::error::JournalError;
use firstcome_core::Timestamp;
use firstcome_store::{Command, RedisReply};

/// The command that asks for a head.
pub(super) fn fields(keys: &Keys) -> Command {
    let fields = ["space", "level", "position", "name", "at", "epoch", "first"];
    let command = Command::new("HMGET").arg(&keys.head);
    fields.into_iter().fold(command, |command, field| command.arg(field))
}

/// Reads what [`fields`] asked for, and how many entries are skipped; none where there is no head.
pub(super) fn read(
    fields: &RedisReply,
    skips: &RedisReply,
    now: Timestamp,
) -> Result<Option<Head>, JournalError> {
    let broken = || JournalError::Broken("its head cannot be read".to_owned());
    let [space, level, position, name, at, epoch, first] = fields.list().map_err(|_| broken())?
    else {
        return Err(broken());
    };
    if *space == RedisReply::Nil {
        return Ok(None);
    }
    let at = scripts::signed(at)?;
    Ok(Some(Head {
        space: scripts::space(space)?,
        level: scripts::small(level)?,
        position: scripts::number(position)?,
        name: scripts::name(name)?,
        // Before the first entry there is no time of the last one.
        at: if at == 0 { now } else { Timestamp::from_micros(at) },
        epoch: scripts::small(epoch)?,
        first: scripts::number(first)?,
        skips: scripts::small(skips)?,
        now,
    }))
}
