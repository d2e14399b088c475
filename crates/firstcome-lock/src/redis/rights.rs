//! What the user of a connection may do, asked when it is made: a right that is missing would show when a lock is given back.

use firstcome_store::{Command, PubSub, Redis, StoreError};

use super::messages::Messages;
use crate::error::Error;

/// What a right is to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    /// A command, whatever it is about.
    Command(&'static str),
    /// All keys that begin so.
    Keys(&'static str),
    /// All channels that begin so.
    Channel(&'static str),
}

use Right::{Channel, Keys};

/// The rights that are asked for, each with a command that takes it; those to commands come first.
///
/// Of what the README lists, PING, INFO and ROLE are left out: a connection does without them.
#[rustfmt::skip]
const ASKED: [(Right, &[&str]); 30] = [
    command(&["PEXPIRE", "fc:{fc:rights}", "1"]),
    command(&["TIME"]),
    command(&["EVALSHA", "0000000000000000000000000000000000000000", "0"]),
    (Right::Command("SCRIPT LOAD"), &["SCRIPT", "LOAD", "return 0"]),
    command(&["COPY", "fc:{fc:rights}", "fc:{fc:rights}:copy"]),
    command(&["HDEL", "fc:{fc:rights}", "a"]),
    command(&["PUBLISH", "fc:leader:{fc:rights}", "0"]),
    command(&["PTTL", "fc:{fc:rights}"]),
    command(&["DEL", "fc:{fc:rights}"]),
    command(&["SUBSCRIBE", "fc:leader:{fc:rights}"]),
    command(&["UNSUBSCRIBE", "fc:leader:{fc:rights}"]),
    command(&["EXISTS", "fc:{fc:rights}"]),
    command(&["HSET", "fc:{fc:rights}", "a", "1"]),
    command(&["HGET", "fc:{fc:rights}", "a"]),
    command(&["HMGET", "fc:{fc:rights}", "a"]),
    command(&["HGETALL", "fc:{fc:rights}"]),
    command(&["HEXISTS", "fc:{fc:rights}", "a"]),
    command(&["HINCRBY", "fc:{fc:rights}", "a", "1"]),
    command(&["HLEN", "fc:{fc:rights}"]),
    command(&["GET", "fc:{fc:rights}"]),
    command(&["SET", "fc:{fc:rights}", "1"]),
    command(&["STRLEN", "fc:{fc:rights}"]),
    command(&["LINDEX", "fc:{fc:rights}", "0"]),
    command(&["TYPE", "fc:{fc:rights}"]),
    (Keys("fc:"), &["EXISTS", "fc:fence:{fc:rights}"]),
    (Keys("redisson_"), &["EXISTS", "redisson_unlock_latch:{fc:rights}"]),
    (Keys("redisson_"), &["EXISTS", "redisson_lock_token:{fc:rights}"]),
    (Channel("redisson_lock__channel:"), &["PUBLISH", "redisson_lock__channel:{fc:rights}", "0"]),
    (Channel("redisson_rwlock:"), &["PUBLISH", "redisson_rwlock:{fc:rights}", "0"]),
    (Channel("fc:leader:"), &["PUBLISH", "fc:leader:{fc:rights}", "0"]),
];

/// Those that are asked for beside them where messages are published in shards.
#[rustfmt::skip]
const SHARDED: [(Right, &[&str]); 3] = [
    command(&["SPUBLISH", "fc:leader:{fc:rights}", "0"]),
    command(&["SSUBSCRIBE", "fc:leader:{fc:rights}"]),
    command(&["SUNSUBSCRIBE", "fc:leader:{fc:rights}"]),
];

const fn command(words: &'static [&'static str]) -> (Right, &'static [&'static str]) {
    (Right::Command(words[0]), words)
}

/// What a server denies of a command that it was asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Denied {
    TheCommand,
    AKey,
    AChannel,
}

impl Denied {
    /// Reads the server's words: those of Redis 6.2, of 7 and of Valkey.
    fn read(said: &str) -> Self {
        if said.contains("to run the '") {
            Self::TheCommand
        } else if said.contains("channel") {
            Self::AChannel
        } else {
            Self::AKey
        }
    }
}

/// Refuses a user who has no right to a command that locks need, or to some of their keys and channels.
///
/// A user who may not even reach `fc:*` is limited to locks of certain names, which are not known here; such a one is told
/// when a lock is taken. A server that does not answer this is no reason to refuse it.
pub(crate) async fn check(redis: &Redis, messages: Messages) -> Result<(), Error> {
    let sharded = SHARDED.iter().filter(|_| messages.0.contains(&PubSub::Sharded));
    let asked = ASKED.iter().chain(sharded);
    let commands = asked.clone().map(|(_, words)| {
        words[1..].iter().fold(Command::new(words[0]), |command, word| command.arg(*word))
    });
    let Ok(denied) = redis.denied(commands.collect()).await else { return Ok(()) };
    let missing = missing(asked.map(|(right, _)| *right), &denied);
    if missing.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "this user has no right to {}; what locks need is listed in the README of firstcome-lock, under Requirements",
        missing.join(", "),
    );
    Err(StoreError::Denied { code: "NOPERM".to_owned(), detail }.into())
}

/// Names the rights that are missing, of those that were asked for.
fn missing(asked: impl Iterator<Item = Right> + Clone, denied: &[Option<String>]) -> Vec<String> {
    let kinds: Vec<_> = denied.iter().map(|said| said.as_deref().map(Denied::read)).collect();
    let frame = [Right::Command("MULTI"), Right::Command("EXEC")];
    let rights = frame.into_iter().chain(asked);
    let limited_to_names = rights
        .clone()
        .zip(&kinds)
        .any(|(right, kind)| right == Keys("fc:") && *kind == Some(Denied::AKey));
    let mut missing: Vec<String> = Vec::new();
    for (right, kind) in rights.zip(kinds) {
        let name = match (right, kind) {
            (Right::Command(name), Some(Denied::TheCommand)) => name.to_owned(),
            (Keys(begin), Some(Denied::AKey)) if !limited_to_names => format!("the keys {begin}*"),
            (Channel(begin), Some(Denied::AChannel)) if !limited_to_names => {
                format!("the channels {begin}*")
            }
            _ => continue,
        };
        if !missing.contains(&name) {
            missing.push(name);
        }
    }
    missing
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns what is in backticks between `from` and the next semicolon or full stop of the README.
    fn listed(from: &str) -> Vec<&'static str> {
        let (_, rest) = include_str!("../../README.md").split_once(from).unwrap();
        let part = rest.split_once(';').map_or(rest, |(part, _)| part);
        part.split('`').skip(1).step_by(2).collect()
    }

    fn commands(asked: &[(Right, &[&str])]) -> Vec<&'static str> {
        let command = |(right, words): &(Right, &[&str])| match right {
            Right::Command(name) => {
                assert!(name.starts_with(words[0]));
                Some(*name)
            }
            Keys(_) | Channel(_) => None,
        };
        asked.iter().filter_map(command).collect()
    }

    #[test]
    fn every_command_of_the_readme_is_asked_for() {
        assert_eq!(commands(&SHARDED), listed("and from Redis 7.0 on"));
        let asked = commands(&ASKED).into_iter();
        let mut asked: Vec<_> = asked.chain(["MULTI", "EXEC", "PING", "INFO", "ROLE"]).collect();
        let mut documented: Vec<_> = listed("and the commands")
            .into_iter()
            .filter(|word| word.chars().all(|c| c.is_ascii_uppercase() || c == ' '))
            .collect();
        asked.sort_unstable();
        documented.sort_unstable();
        assert_eq!(asked, documented);
    }

    #[test]
    fn the_words_of_every_server_are_understood() {
        for (said, denied) in [
            (
                "NOPERM this user has no permissions to run the 'copy' command or its subcommand",
                Denied::TheCommand,
            ),
            (
                "NOPERM User keyes has no permissions to run the 'script|load' command",
                Denied::TheCommand,
            ),
            (
                "NOPERM this user has no permissions to access one of the keys used as arguments",
                Denied::AKey,
            ),
            ("NOPERM No permissions to access a key", Denied::AKey),
            (
                "NOPERM this user has no permissions to access one of the channels used as arguments",
                Denied::AChannel,
            ),
            ("NOPERM No permissions to access a channel", Denied::AChannel),
        ] {
            assert_eq!(Denied::read(said), denied, "{said}");
        }
    }
}
