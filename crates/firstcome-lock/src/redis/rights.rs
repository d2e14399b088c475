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

impl Right {
    /// Returns the right to another command, where it is one to a command.
    fn named(self, name: &'static str) -> Self {
        match self {
            Self::Command(_) => Self::Command(name),
            Keys(_) | Channel(_) => self,
        }
    }
}

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
    let asked = asked(messages);
    let commands = asked.iter().map(|(_, name, words)| {
        words.iter().fold(Command::new(name), |command, word| command.arg(*word))
    });
    let Ok(denied) = redis.denied(commands.collect()).await else { return Ok(()) };
    let missing = missing(asked.iter().map(|(right, ..)| *right), &denied);
    if missing.is_empty() {
        return Ok(());
    }
    let detail = format!(
        "this user has no right to {}; what locks need is listed in the README of firstcome-lock, under Requirements",
        missing.join(", "),
    );
    Err(StoreError::Denied { code: "NOPERM".to_owned(), detail }.into())
}

/// Returns what is asked for, with the commands for messages that are used here: for each a right, a command and its arguments.
fn asked(messages: Messages) -> Vec<(Right, &'static str, &'static [&'static str])> {
    let of = |way: &PubSub, right: Right, name: &'static str| match (way, name) {
        (PubSub::Sharded, "PUBLISH") => (right.named("SPUBLISH"), "SPUBLISH"),
        (PubSub::Sharded, "SUBSCRIBE") => (right.named("SSUBSCRIBE"), "SSUBSCRIBE"),
        (PubSub::Sharded, "UNSUBSCRIBE") => (right.named("SUNSUBSCRIBE"), "SUNSUBSCRIBE"),
        _ => (right, name),
    };
    let mut asked: Vec<(Right, &str, &[&str])> = Vec::new();
    for (right, words) in ASKED {
        for way in messages.0 {
            let (right, name) = of(way, right, words[0]);
            let one = (right, name, &words[1..]);
            if !asked.contains(&one) {
                asked.push(one);
            }
        }
    }
    asked
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

    #[test]
    fn every_command_of_the_readme_is_asked_for() {
        let asked = ASKED.iter().filter_map(|(right, words)| match right {
            Right::Command(name) => {
                assert!(name.starts_with(words[0]));
                Some(*name)
            }
            Keys(_) | Channel(_) => None,
        });
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
