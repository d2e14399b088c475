//! What an answer that left is safe against, which may change while a server runs.

use tokio::sync::watch;

/// What an answer that left is safe against.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Durability {
    /// In a sentence that begins with its name: `fsync: …`.
    pub promise: String,
    /// Why that is less than what was chosen; nothing if it is not.
    pub trouble: Option<String>,
    /// Whether commands are refused for that.
    pub refuses: bool,
}

impl Durability {
    /// Returns a promise that does not change.
    pub fn fixed(promise: String) -> watch::Receiver<Self> {
        watch::channel(Self { promise, trouble: None, refuses: false }).1
    }

    /// Returns the name of the promise.
    pub(crate) fn name(&self) -> &str {
        self.promise.split_once(':').map_or(&*self.promise, |(name, _)| name)
    }
}
