//! Commands and scripts.

use redis::ToRedisArgs;

/// A Lua script, known to the server by the hash of its text.
#[derive(Debug)]
pub struct Script {
    text: &'static str,
    hash: String,
}

impl Script {
    /// Takes the text of a script.
    #[must_use]
    pub fn new(text: &'static str) -> Self {
        Self { text, hash: redis::Script::new(text).get_hash().to_owned() }
    }

    pub(crate) fn text(&self) -> &'static str {
        self.text
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

    /// Adds an argument: text, bytes or a number.
    #[must_use]
    pub fn arg(mut self, word: impl Word) -> Self {
        word.add_to(&mut self.words);
        self
    }
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
