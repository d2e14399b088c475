//! Read-only access to a journal in a stream, while nodes write to it or not.

use super::load::load;
use super::log::Ended;
use super::opening::{connect, streams_of};
use super::subjects::Subjects;
use super::view::Streams;
use crate::database::{DatabaseError, Loaded, Needs, ReadOnly, Source};
use crate::entry::Entry;
use crate::error::JournalError;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::SpaceId;
use firstcome_store::nats::NatsOptions;
use std::path::PathBuf;
use tokio::runtime::Runtime;
use tokio::time::Instant;

/// Opens the journal of a space for reading, with the archives of the nodes that trimmed it.
///
/// It blocks, so that it is not for asynchronous code.
///
/// # Errors
///
/// [`JournalError::NoSpace`], [`JournalError::TooNew`]; [`JournalError::Unfit`] when the server is too old; those of the store being out
/// of reach.
pub fn open_read_only(
    store: NatsOptions,
    space_name: &str,
    archives: Vec<PathBuf>,
) -> Result<ReadOnly, JournalError> {
    let subjects = Subjects::of(space_name)?;
    let connect = async {
        let streams = streams_of(&connect(store).await?, subjects);
        Ok::<Box<dyn Source>, _>(Box::new(Reader { streams }))
    };
    ReadOnly::open(connect, space_name, archives)
}

/// The streams of a reader.
#[derive(Debug)]
struct Reader {
    streams: Streams,
}

impl Source for Reader {
    fn load(
        &self,
        runtime: &Runtime,
        space: SpaceId,
        needs: &Needs,
    ) -> Result<Loaded, DatabaseError> {
        let streams = &self.streams;
        let loaded = async { load(streams, streams.look().await, space, needs).await };
        Ok(runtime.block_on(loaded)?.loaded)
    }

    fn entries(&self, runtime: &Runtime, next: u64) -> Result<Vec<Entry>, JournalError> {
        let read = runtime.block_on(self.read(next - 1));
        read.map_err(|broken| match broken {
            DatabaseError::Own(failure) => failure,
            DatabaseError::Store(failure) => crate::database::refused(failure),
        })
    }

    fn close(&self, runtime: &Runtime) {
        runtime.block_on(self.streams.table.nats().close());
    }
}

impl Reader {
    async fn read(&self, after: u64) -> Result<Vec<Entry>, DatabaseError> {
        let log = &self.streams.log;
        if let Some(mut cursor) = log.known(after, None) {
            let read = log.read_once(&mut cursor, READ_ENTRIES).await?;
            if read.ended == Ended::There && !read.entries.is_empty() {
                log.remember(&cursor);
                return Ok(read.entries);
            }
        }
        let (view, _) = self.streams.look().await?;
        if !(view.base().tip.position..view.end.tip.position).contains(&after) {
            return Ok(Vec::new());
        }
        Ok(self.streams.entries(&view, after, READ_ENTRIES, Instant::now()).await?.entries)
    }
}
