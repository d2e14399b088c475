//! By which commands messages about locks are published and heard.

use std::sync::LazyLock;

use firstcome_store::{PubSub, Script};

/// A script that publishes, in a version for each way to do so.
pub(super) type Versions = LazyLock<[Script; 3]>;

/// All ways at once, in a cluster with clients of both kinds.
const BOTH: &[PubSub] = &[PubSub::Plain, PubSub::Sharded];

/// How messages are published and heard: in one way or in both.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Messages(pub(crate) &'static [PubSub]);

impl Messages {
    /// Makes the versions of a script that calls `publish(channel, message)`.
    pub(super) fn versions(text: &str) -> [Script; 3] {
        [&[PubSub::Plain], &[PubSub::Sharded], BOTH].map(|ways| {
            let calls = Messages(ways).commands();
            let calls =
                calls.map(|command| format!("    redis.call('{command}', channel, message)\n"));
            let calls: String = calls.collect();
            Script::new(format!("local function publish(channel, message)\n{calls}end\n\n{text}"))
        })
    }

    pub(super) fn of(self, versions: &'static Versions) -> &'static Script {
        let [plain, sharded, both] = &**versions;
        match self.0 {
            [PubSub::Sharded] => sharded,
            [PubSub::Plain] | [] => plain,
            [_, _, ..] => both,
        }
    }

    /// Returns the commands that publish a message.
    pub(super) fn commands(self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|way| match way {
            PubSub::Plain => "PUBLISH",
            PubSub::Sharded => "SPUBLISH",
        })
    }
}
