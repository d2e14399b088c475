//! The journal in Redis or Valkey, which several nodes share.
//!
//! An append is one script on two keys, and what comes back is read with a plain command sent right
//! after it. Two connections take turns where an append is followed by a WAIT; a third one waits
//! for news; a fourth does the rest. The keys are described in `docs/reference/in-redis.md`.
//!
//! | File | Subject |
//! |---|---|
//! | `append.lua`, `append` | the step that stores an entry |
//! | `confirm` | when it is durable |
//! | `follow`, `first_kept` | reading, waiting for more, and noticing what was trimmed |
//! | `opening`, `fitness` | whether a store is fit to hold a journal, at the start and later |
//! | `incarnation` | whether the server is the one that was there before |
//! | `headroom` | how much memory the server has left |
//! | `connection` | the connections that appends take in turn |
//! | `head` | reading the head of the journal |
//! | `read_only` | reading beside the nodes that write |
//! | `commit.lua`, `commit` | every other step that changes something |
//! | `stored` | manifests, pieces and cells as they are stored |

mod append;
mod commit;
mod confirm;
mod connection;
mod first_kept;
mod fitness;
mod follow;
mod head;
mod headroom;
mod incarnation;
mod info;
mod keys;
mod opening;
mod options;
mod read_only;
mod scripts;
mod stored;
mod trouble;
mod value;

pub use crate::journal::warning::Warning;
pub use headroom::MemoryUse;
pub use options::{Durability, Options};
pub use read_only::ReadOnly;

use crate::archive::Archiving;
use crate::entry::Sealer;
use crate::error::JournalError;
use connection::AppendConnection;
use first_kept::FirstKept;
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;
use firstcome_inject::{Mistake, inject};
use firstcome_store::{Command, RedisOptions, RedisReply, Wire};
use fitness::Fitness;
use headroom::Headroom;
use incarnation::Incarnation;
use keys::Keys;
use opening::Server;
use options::Waits;
use scripts::{Scripts, Step};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;
use trouble::looked;

/// How many pieces [`Redis::remove`] removes with one command.
const REMOVED_AT_ONCE: usize = 256;

/// A journal in Redis.
///
/// Clones are the same journal. [`Redis::close`] ends its connections; so does dropping the last clone.
#[derive(Clone, Debug)]
pub struct Redis {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    append_connections: Vec<AppendConnection>,
    /// Counts appends, which take the connections in turn.
    next_connection: AtomicUsize,
    /// Waits for news.
    subscriber: Wire,
    /// Everything else.
    rest: Wire,
    keys: Keys,
    scripts: &'static Scripts,
    space: SpaceId,
    /// The identity as the head has it.
    space_text: String,
    options: Options,
    waits: Waits,
    headroom: Headroom,
    fitness: Fitness,
    first_kept: FirstKept,
    incarnation: Incarnation,
    archiving: Archiving,
    warnings: Vec<Warning>,
}

impl Redis {
    /// Opens the journal of a space, which is made where nothing is stored of it.
    ///
    /// A heartbeat of the store's options below a second is too short: the server may keep a connection waiting for
    /// 300 ms, and one that is silent for longer than a heartbeat is left.
    ///
    /// # Errors
    ///
    /// Each changes nothing: [`JournalError::Unfit`] where the server's settings cannot keep the promise or a key is
    /// something else's; [`JournalError::OtherSpace`]; [`JournalError::Gone`] where a space is wanted and nothing is there;
    /// [`JournalError::TooNew`]; those of the store being out of reach.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but the space may have been made.
    pub async fn open(store: RedisOptions, options: Options) -> Result<Self, JournalError> {
        let keys = Keys::of(&options.space_name);
        let rest = Wire::connect(keys.at_owner(store)).await.map_err(looked)?;
        let deadline = Instant::now() + rest.answer_within();
        let pinned = rest.pin(deadline).await.map_err(looked)?;
        let server = Server::look(&pinned, deadline).await?;
        let waits = server.check(options.durability)?;
        let warnings = server.warnings(options.durability);
        let space = opening::enter(&rest, &keys, &options).await?;

        // Only a connection on which somebody waits is in anybody's way.
        let count = if waits == Waits::No { 1 } else { 2 };
        let mut append_connections = Vec::new();
        for _ in 0..count {
            append_connections
                .push(AppendConnection::new(rest.another().await.map_err(looked)?, waits));
        }
        let subscriber = rest.another().await.map_err(looked)?;
        let scripts = if inject(Mistake::PredecessorIgnored) {
            Scripts::without_names()
        } else {
            Scripts::get()
        };
        #[cfg(feature = "inject")]
        let scripts = if options.clock.is_some() { Scripts::with_clock() } else { scripts };
        let sealer = Sealer { space };
        Ok(Self {
            inner: Arc::new(Inner {
                append_connections,
                next_connection: AtomicUsize::new(0),
                subscriber,
                rest,
                keys,
                scripts,
                space,
                space_text: space.to_string(),
                waits,
                headroom: Headroom::default(),
                fitness: Fitness::default(),
                first_kept: FirstKept::default(),
                incarnation: Incarnation::new(server.run()),
                archiving: Archiving::new(options.archive.clone(), sealer),
                warnings,
                options,
            }),
        })
    }

    /// Returns the identity of the space.
    pub fn space(&self) -> SpaceId {
        self.inner.space
    }

    /// Returns what an operator should know of the store's settings as they were when it was opened.
    pub fn warnings(&self) -> &[Warning] {
        &self.inner.warnings
    }

    /// Says in one sentence what an accepted claim has survived.
    pub fn promise(&self) -> String {
        opening::promise(self.inner.options.durability, self.inner.waits)
    }

    /// Removes the journal and all that belongs to it, which nobody may be using: a server that runs on it finds its store
    /// emptied. What is left of a removal that was cut off is removed by the next one.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach; [`JournalError::Unknown`] when the answer was lost.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but part of it may have been removed.
    pub async fn remove(&self) -> Result<(), JournalError> {
        let Inner { rest, keys, .. } = &*self.inner;
        let reply = rest.send(&stored::ask_piece_names(keys)).await.map_err(looked)?;
        let pieces = stored::piece_keys(keys, &reply)?;
        for some in pieces.chunks(REMOVED_AT_ONCE) {
            let unlink = Command::new("UNLINK");
            let unlink = some.iter().fold(unlink, |unlink, key| unlink.arg(key));
            rest.send(&unlink).await.map_err(trouble::trouble)?;
        }
        // The names of the pieces go last, with the rest: so nothing is left that nobody can find.
        let unlink = keys.all().into_iter().fold(Command::new("UNLINK"), Command::arg);
        rest.send(&unlink).await.map(drop).map_err(trouble::trouble)
    }

    /// Closes all connections and waits for their tasks. Calls from now on answer unavailable.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: it closes all the same, unless it was dropped before its first poll.
    pub async fn close(&self) {
        let Inner { append_connections, subscriber, rest, .. } = &*self.inner;
        for connection in append_connections {
            connection.close().await;
        }
        subscriber.close().await;
        rest.close().await;
    }

    pub(crate) fn incarnations(&self) -> watch::Receiver<u64> {
        self.inner.incarnation.times()
    }

    /// Returns how much memory the server uses of what it may.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach, or of the user not being allowed to ask.
    pub async fn memory_use(&self) -> Result<MemoryUse, JournalError> {
        self.inner.headroom.ask(&self.inner.rest).await
    }

    pub(crate) fn confirms_at_once(&self) -> bool {
        self.inner.waits == Waits::No
    }

    pub(crate) fn keep_for(&self) -> Duration {
        self.inner.options.keep_for
    }

    /// Reads the answer of `TIME`.
    fn time(&self, reply: &RedisReply) -> Result<Timestamp, JournalError> {
        #[cfg(feature = "inject")]
        if let Some(clock) = &self.inner.options.clock {
            return Ok(clock.now());
        }
        let parts = reply.numbers().map_err(looked)?;
        let [seconds, micros] = parts[..] else {
            return Err(trouble::unexpected(reply, "a time"));
        };
        Ok(Timestamp::from_micros(seconds * 1_000_000 + micros))
    }

    pub(crate) fn archiving(&self) -> &Archiving {
        &self.inner.archiving
    }

    /// Begins the call of a script, which is given the space first.
    fn call(&self, step: &'static Step, keys: &[&str]) -> Command {
        Command::script(&step.script, keys).arg(&self.inner.space_text)
    }

    /// Ends the call of a script: tests give those that read the clock the time.
    fn ready(&self, step: &'static Step, command: Command) -> Command {
        #[cfg(feature = "inject")]
        if let (true, Some(clock)) = (step.timed, &self.inner.options.clock) {
            return command.arg(clock.now().as_micros());
        }
        #[cfg(not(feature = "inject"))]
        let _: &Step = step;
        command
    }
}
