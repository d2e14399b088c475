//! Commands and scripts.

use std::borrow::Cow;

use redis::{Arg, ToRedisArgs};

use super::slot::Slot;

/// Commands that are about no key.
const KEYLESS: [&str; 8] = ["CONFIG", "INFO", "PUBSUB", "ROLE", "SCAN", "SCRIPT", "TIME", "WAIT"];

/// A Lua script, known to the server by the hash of its text.
#[derive(Debug)]
pub struct Script {
    text: Cow<'static, str>,
    hash: String,
}

impl Script {
    /// Takes the text of a script.
    #[must_use]
    pub fn new(text: impl Into<Cow<'static, str>>) -> Self {
        let text = text.into();
        let hash = redis::Script::new(&text).get_hash().to_owned();
        Self { text, hash }
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }
}

/// One command and its arguments.
#[derive(Debug, Clone)]
pub struct Command {
    pub(crate) words: redis::Cmd,
    pub(crate) script: Option<&'static Script>,
}

impl Command {
    /// Begins a command by its name.
    #[must_use]
    pub fn new(name: &'static str) -> Self {
        Self { words: redis::cmd(name), script: None }
    }

    /// Begins the call of a script on `keys`; its arguments follow.
    ///
    /// It is called by its hash. A server that does not know the hash has certainly not run it; it is then given the
    /// text and called again.
    #[must_use]
    pub fn script(script: &'static Script, keys: &[&str]) -> Self {
        let mut words = redis::cmd("EVALSHA");
        words.arg(&script.hash).arg(keys.len());
        for key in keys {
            words.arg(key);
        }
        Self { words, script: Some(script) }
    }

    /// Returns the slot of its first key; none for one that is about no key.
    pub(super) fn slot(&self) -> Option<Slot> {
        let mut words = self.words.args_iter();
        let name = words.next().and_then(word)?;
        if KEYLESS.contains(&&*name) {
            return None;
        }
        // Behind the hash of a script stands how many keys follow.
        let key = if self.script.is_some() { words.nth(2) } else { words.next() };
        key.and_then(word).map(|key| Slot::of(&key))
    }

    /// Adds an argument: text, bytes or a number.
    #[must_use]
    pub fn arg(mut self, word: impl Word) -> Self {
        word.add_to(&mut self.words);
        self
    }
}

/// What a word of a command says; keys that are no text are none of ours.
fn word(word: Arg<&[u8]>) -> Option<Cow<'_, str>> {
    let Arg::Simple(bytes) = word else { return None };
    Some(String::from_utf8_lossy(bytes))
}

/// What can be an argument of a [`Command`].
pub trait Word: private::Sealed {}

impl<T: private::Sealed> Word for T {}

mod private {
    /// Keeps the crate that speaks the protocol out of the public interface.
    pub trait Sealed {
        fn add_to(self, words: &mut redis::Cmd);
    }
}

impl<T: ToRedisArgs> private::Sealed for T {
    fn add_to(self, words: &mut redis::Cmd) {
        words.arg(self);
    }
}
