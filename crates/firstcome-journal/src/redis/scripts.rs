//! The Lua scripts, and how their answers are read.

use crate::cluster::mark::Mark;
use crate::error::JournalError;
use crate::name::Name;
use crate::redis::trouble::unexpected;
use firstcome_core::names::PieceName;
use firstcome_core::names::SpaceId;
use firstcome_store::{RedisReply, Script};
use std::sync::LazyLock;

/// How a script reads the server's clock; tests put a clock of their own in its place.
#[cfg(feature = "inject")]
const CLOCK: &str = "local time = redis.call('TIME')\nlocal now = time[1] * 1000000 + time[2]";

/// One script, and whether it reads the clock.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) script: Script,
    /// Whether its last argument is the time, which only happens in tests.
    #[cfg(feature = "inject")]
    pub(super) timed: bool,
}

/// Every script of a journal.
#[derive(Debug)]
pub(super) struct Scripts {
    pub(super) open: Step,
    pub(super) append: Step,
    pub(super) commit: Step,
}

static SCRIPTS: LazyLock<Scripts> = LazyLock::new(|| Scripts::of(|text| text));

impl Scripts {
    pub(super) fn get() -> &'static Self {
        &SCRIPTS
    }

    fn of(change: impl Fn(&'static str) -> &'static str) -> Self {
        let step = |text: &'static str| {
            let changed = change(text);
            Step {
                script: Script::new(changed),
                #[cfg(feature = "inject")]
                timed: changed.contains("tonumber(ARGV[#ARGV])"),
            }
        };
        Self {
            open: step(include_str!("open.lua")),
            append: step(include_str!("append.lua")),
            commit: step(include_str!("commit.lua")),
        }
    }

    /// The scripts with a clock that is an argument.
    #[cfg(feature = "inject")]
    pub(super) fn with_clock() -> &'static Self {
        static SET: LazyLock<Scripts> = LazyLock::new(|| {
            Scripts::of(|text| {
                String::leak(text.replace(CLOCK, "local now = tonumber(ARGV[#ARGV])"))
            })
        });
        &SET
    }

    /// The scripts for [`Mistake::PredecessorIgnored`](firstcome_inject::Mistake): an append compares the height alone.
    pub(super) fn without_names() -> &'static Self {
        static BLIND: LazyLock<Scripts> = LazyLock::new(|| {
            Scripts::of(|text| {
                let blind = text.replace("if found ~= ARGV[3] then", "if false then");
                String::leak(blind)
            })
        });
        &BLIND
    }
}

/// What a script answered: parts after the code, where it did as asked.
///
/// `applied` is the position the caller rested on and `name` the name there, for the failures that repeat them.
pub(super) fn done(
    reply: RedisReply,
    space: SpaceId,
    rested_on: (u64, Name),
    term: u64,
) -> Result<Vec<RedisReply>, JournalError> {
    let mut parts = match reply {
        RedisReply::List(parts) => parts,
        RedisReply::Number(0) => return Ok(Vec::new()),
        RedisReply::Number(_) | RedisReply::Bytes(_) | RedisReply::Nil => {
            return Err(unexpected(&reply, "a list"));
        }
    };
    if parts.is_empty() {
        return Err(unexpected(&RedisReply::List(parts), "a code"));
    }
    let code = number(&parts.remove(0))?;
    let part = |at: usize| parts.get(at).unwrap_or(&RedisReply::Nil);
    let (applied, applied_name) = rested_on;
    Err(match code {
        0 => return Ok(parts),
        1 => JournalError::Gone(space),
        2 => JournalError::OtherSpace { found: self::space(part(0))?, wanted: space },
        3 => JournalError::Behind { head: number(part(0))?, applied },
        4 => {
            JournalError::Forked { position: applied, found: name(part(0))?, applied: applied_name }
        }
        5 => JournalError::Trimmed { wanted: applied + 1, first: number(part(0))? },
        6 => JournalError::OldTerm { ours: term, theirs: number(part(0))? },
        7 => JournalError::Moved { head: number(part(0))?, name: name(part(1))? },
        8 => JournalError::PieceMissing(PieceName(hex(part(0))?)),
        9 => JournalError::Unfit {
            why: format!("the key {} is {}, something else's", text(part(0)), text(part(1))),
            fix: "use another space name or another database of this server".to_owned(),
        },
        10 => JournalError::Broken("it has entries and no head".to_owned()),
        11 => JournalError::Applied { position: applied, who: text(part(0)) },
        12 => Mark::refusal(bytes(part(0))?),
        _ => return Err(unexpected(&RedisReply::List(parts), "a known code")),
    })
}

pub(super) fn number(reply: &RedisReply) -> Result<u64, JournalError> {
    let read = reply.number().ok().and_then(|number| u64::try_from(number).ok());
    read.ok_or_else(|| unexpected(reply, "a number"))
}

pub(super) fn signed(reply: &RedisReply) -> Result<i64, JournalError> {
    reply.number().map_err(|_| unexpected(reply, "a number"))
}

pub(super) fn small(reply: &RedisReply) -> Result<u32, JournalError> {
    u32::try_from(number(reply)?).map_err(|_| unexpected(reply, "a small number"))
}

pub(super) fn bytes(reply: &RedisReply) -> Result<&[u8], JournalError> {
    match reply {
        RedisReply::Bytes(bytes) => Ok(bytes),
        RedisReply::Nil | RedisReply::Number(_) | RedisReply::List(_) => {
            Err(unexpected(reply, "bytes"))
        }
    }
}

pub(super) fn space(reply: &RedisReply) -> Result<SpaceId, JournalError> {
    Ok(SpaceId(hex(reply)?))
}

/// Reads a name.
pub(super) fn name(reply: &RedisReply) -> Result<Name, JournalError> {
    Name::from_bytes(bytes(reply)?).ok_or_else(|| unexpected(reply, "a name"))
}

pub(super) fn name_bytes(name: Name) -> [u8; 24] {
    name.to_bytes()
}

fn text(reply: &RedisReply) -> String {
    reply.text().unwrap_or_default()
}

fn hex(reply: &RedisReply) -> Result<[u8; 16], JournalError> {
    let bad = || unexpected(reply, "32 hexadecimal digits");
    let digits = bytes(reply)?;
    let digits = std::str::from_utf8(digits).map_err(|_| bad())?;
    if digits.len() != 32 {
        return Err(bad());
    }
    u128::from_str_radix(digits, 16).map(u128::to_be_bytes).map_err(|_| bad())
}
