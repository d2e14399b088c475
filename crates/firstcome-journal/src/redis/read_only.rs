//! Read-only access to a journal in Redis, while nodes write it.

use super::follow::range;
use super::keys::Keys;
use super::scripts::{number, small};
use super::trouble::{looked, unexpected};
use super::value;
use super::{head, stored};
use crate::archive;
use crate::entry::{EntryRun, Head, Sealer};
use crate::error::JournalError;
use crate::snapshots::manifest::{Manifest, names};
use crate::transaction::cell::{self, Kind};
use firstcome_core::names::PieceName;
use firstcome_core::state::Skip;
use firstcome_core::{Timestamp, newest_level};
use firstcome_store::{Command, RedisOptions, RedisReply, Wire};
use std::path::PathBuf;
use tokio::runtime::{Builder, Runtime};

/// A journal in Redis and folders of what was trimmed from it, for reading. It changes nothing there.
///
/// All of it blocks, so that it is not for asynchronous code.
#[derive(Debug)]
pub struct ReadOnly {
    /// What the connection's tasks run on, also while nobody asks.
    runtime: Runtime,
    wire: Wire,
    keys: Keys,
    sealer: Sealer,
    archives: Vec<PathBuf>,
    name: String,
}

impl ReadOnly {
    /// Opens the journal of a space, with the archives of the nodes that trimmed it.
    ///
    /// # Errors
    ///
    /// [`JournalError::NoSpace`], [`JournalError::TooNew`]; [`JournalError::Unfit`] when a key is something else's; those of the
    /// store being out of reach.
    pub fn open(
        store: RedisOptions,
        space_name: &str,
        archives: Vec<PathBuf>,
    ) -> Result<Self, JournalError> {
        let cannot = |error: std::io::Error| JournalError::Unavailable(error.to_string());
        let runtime =
            Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(cannot)?;
        let (keys, name) = (Keys::of(space_name), space_name.to_owned());
        let wire = runtime.block_on(Wire::connect(keys.at_owner(store))).map_err(looked)?;
        let head = runtime.block_on(ask_head(&wire, &keys))?;
        let head = head.ok_or_else(|| JournalError::NoSpace { name: name.clone() })?;
        let sealer = Sealer { space: head.space };
        Ok(Self { runtime, wire, keys, sealer, archives, name })
    }

    /// Returns where the journal stands now.
    ///
    /// # Errors
    ///
    /// [`JournalError::NoSpace`] and [`JournalError::OtherSpace`] when the store was emptied or replaced meanwhile; those of the
    /// store being out of reach.
    pub fn head(&self) -> Result<Head, JournalError> {
        let head = self.runtime.block_on(ask_head(&self.wire, &self.keys))?;
        let head = head.ok_or_else(|| JournalError::NoSpace { name: self.name.clone() })?;
        if head.space != self.sealer.space {
            return Err(JournalError::OtherSpace { found: head.space, wanted: self.sealer.space });
        }
        Ok(head)
    }

    /// Returns the first position there is, in the archives or in the store.
    ///
    /// # Errors
    ///
    /// Those of the store and of the folders.
    pub fn first(&self) -> Result<u64, JournalError> {
        let mut first = self.head()?.first;
        for folder in &self.archives {
            if let Some(part) = archive::parts(folder)?.first() {
                first = first.min(part.first);
            }
        }
        Ok(first)
    }

    /// Returns the manifest of the newest snapshot.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub fn newest_snapshot(&self) -> Result<Option<Vec<u8>>, JournalError> {
        Ok(self.manifests()?.into_iter().next().map(|newest| newest.bytes))
    }

    /// Returns a piece of a snapshot.
    ///
    /// # Errors
    ///
    /// [`JournalError::Broken`] when its bytes are not what was written; those of the store being out of reach.
    pub fn piece(&self, name: PieceName) -> Result<Option<Vec<u8>>, JournalError> {
        stored::piece(name, self.ask(&stored::ask_piece(&self.keys, name))?)
    }

    /// Returns the names of the pieces that the kept snapshots consist of.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach.
    pub fn pieces(&self) -> Result<Vec<PieceName>, JournalError> {
        Ok(names(&self.manifests()?).into_iter().collect())
    }

    /// Returns the skipped entries that the store names, by position.
    ///
    /// # Errors
    ///
    /// [`JournalError::Damaged`] when a record is torn or altered; those of the store being out of reach.
    pub fn skips(&self) -> Result<Vec<Skip>, JournalError> {
        let found = self.ask(&stored::ask_skips(&self.keys))?;
        cell::skips(&stored::cells(Kind::Skip, &found)?)
    }

    fn manifests(&self) -> Result<Vec<Manifest>, JournalError> {
        stored::manifests(&self.ask(&stored::ask_manifests(&self.keys))?)
    }

    fn ask(&self, command: &Command) -> Result<RedisReply, JournalError> {
        self.runtime.block_on(self.wire.send(command)).map_err(looked)
    }

    pub(crate) fn sealer(&self) -> Sealer {
        self.sealer
    }

    pub(crate) fn archives(&self) -> &[PathBuf] {
        &self.archives
    }

    /// Returns the next entries out of the stream, and why there are no more where one is not good.
    pub(crate) fn stored(&self, next: u64) -> Result<EntryRun, JournalError> {
        let reply = self.ask(&range(&self.keys.journal, next - 1))?;
        let rows = reply.list().map_err(|_| unexpected(&reply, "entries"))?;
        let value::StreamEntries { good, bad } = value::StreamEntries::of(rows);
        // Not there because it was trimmed is for the reader to see.
        if good.first().is_some_and(|(entry, _)| entry.position != next) {
            return Ok(EntryRun::default());
        }
        Ok(EntryRun { good: good.into(), bad })
    }

    pub(crate) fn last_position(&self) -> Result<u64, JournalError> {
        self.head().map(|head| head.position)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        self.runtime.block_on(self.wire.close());
    }
}

async fn ask_head(wire: &Wire, keys: &Keys) -> Result<Option<Head>, JournalError> {
    let fields = wire.send(&head::fields(keys)).await.map_err(looked)?;
    let skipped = wire.send(&stored::ask_skip_count(keys)).await.map_err(looked)?;
    let time = wire.send(&Command::new("TIME")).await.map_err(looked)?;
    let [seconds, micros] = time.list().map_err(looked)? else {
        return Err(unexpected(&time, "a time"));
    };
    let now = i64::try_from(number(seconds)? * 1_000_000 + number(micros)?).unwrap_or(i64::MAX);
    // A newer build may have written the rest of it otherwise.
    if let Some(level @ RedisReply::Bytes(_)) = fields.list().map_err(looked)?.get(1)
        && small(level)? > newest_level()
    {
        return Err(JournalError::TooNew(small(level)?));
    }
    head::read(&fields, &skipped, Timestamp::from_micros(now))
}
