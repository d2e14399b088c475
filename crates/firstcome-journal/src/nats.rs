//! The journal in two streams of NATS JetStream, which several nodes share.
//!
//! One stream is the log. An append is one message there, without a condition; whoever reads it decides whether it counts. The
//! other one is a table: it keeps the last message of each subject. Each other step is a batch of messages in one of them, on
//! a condition. What is decided is decided here. The subjects are described in `docs/reference/in-nats.md`.
//!
//! | File | Subject |
//! |---|---|
//! | `append` | the step that stores an entry |
//! | `log`, `tail` | reading the log, and having it delivered |
//! | `follow` | reading entries, and waiting for more |
//! | `view` | where the streams and the journal in them stand |
//! | `load`, `commit`, `change` | every other step: what its conditions rest on, and its changes |
//! | `subjects`, `stored` | the subjects, and the bytes of messages of the table; those of the log are in `ancestry` |
//! | `opening`, `rights` | whether a server is fit to hold a journal, and its user to have one |
//! | `read_only` | reading beside the nodes that write |

mod append;
mod change;
mod commit;
mod follow;
mod load;
mod log;
mod opening;
mod read_only;
mod rights;
mod stored;
mod subjects;
mod tail;
mod view;

pub use crate::database::{DatabaseOptions, Durability, ReadOnly};
pub use crate::journal::warning::Warning;
pub use read_only::open_read_only;

use crate::archive::Archiving;
use crate::cluster::EndedDeliveries;
use crate::database::{Run, refused, unchanged};
use crate::error::JournalError;
use firstcome_core::Timestamp;
use firstcome_core::names::SpaceId;
use firstcome_store::StoreError;
use firstcome_store::nats::NatsOptions;
use parking_lot::Mutex;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;
use tokio::sync::watch;
use view::{Remembered, Streams};

/// How long an answer may take.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);
/// How long a step is tried again while others are quicker.
const TURN_WITHIN: Duration = Duration::from_secs(3);
/// How long a server that lags is asked again for what is stored.
const COPY_WITHIN: Duration = Duration::from_secs(2);
/// The pause before a server that lags is asked again.
const COPY_PAUSE: Duration = Duration::from_millis(5);

/// A journal in two streams of NATS JetStream.
///
/// Clones are the same journal. [`Nats::close`] ends its connection; so does dropping the last clone.
#[derive(Clone, Debug)]
pub struct Nats {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    streams: Streams,
    space: SpaceId,
    options: DatabaseOptions,
    run: Run,
    remembered: Mutex<Remembered>,
    /// The next number for a message of the log.
    nonces: AtomicU64,
    archiving: Archiving,
    /// On how many servers the streams are.
    replicas: u32,
    /// Whether each entry counts, whatever it rests on: see `Mistake::PredecessorIgnored`.
    everything: bool,
}

impl Nats {
    /// Opens the journal of a space, which is made where nothing is stored of it: on three servers in a cluster, else on
    /// one.
    ///
    /// # Errors
    ///
    /// Each changes nothing: [`JournalError::Unfit`] where the server is older than 2.12, runs without JetStream, or has a stream
    /// of that name with settings that lose messages; [`JournalError::OtherSpace`]; [`JournalError::Gone`] where a space is wanted and
    /// nothing is there; [`JournalError::TooNew`]; those of the store being out of reach.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but the space may have been made.
    pub async fn open(store: NatsOptions, options: DatabaseOptions) -> Result<Self, JournalError> {
        opening::open(store, options).await
    }

    /// Returns the identity of the space.
    pub fn space(&self) -> SpaceId {
        self.inner.space
    }

    /// Returns what an operator should know of the server as it was when the journal was opened, and of what is promised.
    pub fn warnings(&self, durability: Durability) -> Vec<Warning> {
        opening::warnings(self.inner.streams.table.nats(), durability, self.inner.replicas)
    }

    /// Says in one sentence what an accepted claim has survived. [`Durability::Fsync`] is for whoever has proven that each
    /// server of the stream syncs each write.
    pub fn promise(&self, durability: Durability) -> String {
        opening::promise(durability, self.inner.replicas)
    }

    /// Returns the names of the servers that have the log or the table.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn servers(&self) -> Result<Vec<String>, JournalError> {
        let Streams { table, log, .. } = &self.inner.streams;
        let mut servers = BTreeSet::new();
        for stream in [table, &log.stream] {
            let info = stream.info().await;
            servers.extend(info.map_err(|failure| looked(self.inner.space, failure))?.servers);
        }
        Ok(servers.into_iter().collect())
    }

    /// Removes the journal and all that belongs to it, which nobody may be using: a server that runs on it finds its store
    /// emptied. The message of the leader's lock is in another stream, and goes by itself.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach; [`JournalError::Unknown`] when the answer was lost.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe, but a part of it may have been removed; the next call removes the rest.
    pub async fn remove(&self) -> Result<(), JournalError> {
        let Streams { table, log, .. } = &self.inner.streams;
        log.stream.remove().await.map_err(refused)?;
        table.remove().await.map_err(refused)
    }

    /// Closes the connection. Calls from now on answer unavailable.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub async fn close(&self) {
        self.inner.streams.table.nats().close().await;
    }

    pub(crate) fn ended_deliveries(&self) -> EndedDeliveries {
        self.inner.streams.log.tail.ended()
    }

    pub(crate) fn incarnations(&self) -> watch::Receiver<u64> {
        self.inner.run.times()
    }

    pub(crate) fn keep_for(&self) -> Duration {
        self.inner.options.keep_for
    }

    pub(crate) fn archiving(&self) -> &Archiving {
        &self.inner.archiving
    }

    fn clock(&self) -> Option<Timestamp> {
        self.inner.options.clock()
    }
}

/// Says what became of a call that may have changed something.
fn trouble(space: SpaceId, failure: StoreError) -> JournalError {
    if let StoreError::NoDatabase { .. } = failure {
        return JournalError::Gone(space);
    }
    if let StoreError::Denied { detail, .. } = &failure {
        return denied(detail);
    }
    refused(failure)
}

/// Says what became of a call that only reads.
fn looked(space: SpaceId, failure: StoreError) -> JournalError {
    unchanged(trouble(space, failure))
}

fn denied(detail: &str) -> JournalError {
    JournalError::Unfit {
        why: detail.to_owned(),
        fix: "check user and password in its URL, and that its account may use JetStream with the rights listed in \
              docs/reference/in-nats.md"
            .to_owned(),
    }
}
