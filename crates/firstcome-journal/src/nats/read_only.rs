//! Read-only access to a journal in a stream, while nodes write to it or not.

use super::follow::next_entries;
use super::load::load;
use super::opening::connect;
use super::subjects::Subjects;
use crate::database::{Broken, Loaded, Needs, ReadOnly, Source};
use crate::entry::Entry;
use crate::failure::Failure;
use firstcome_core::limits::READ_ENTRIES;
use firstcome_core::names::SpaceId;
use firstcome_store::nats::{Options as Connect, Stream};
use std::path::PathBuf;
use tokio::runtime::Runtime;

/// Opens the journal of a space for reading, with the archives of the nodes that trimmed it.
///
/// It blocks, so that it is not for asynchronous code.
///
/// # Errors
///
/// [`Failure::NoSpace`], [`Failure::TooNew`]; [`Failure::Unfit`] when the server is too old; those of the store being out
/// of reach.
pub fn open_read_only(
    store: Connect,
    space_name: &str,
    shard: u32,
    archives: Vec<PathBuf>,
) -> Result<ReadOnly, Failure> {
    let subjects = Subjects::of(space_name, shard)?;
    let connect = async {
        let stream = Stream::new(connect(store).await?, subjects.stream());
        Ok::<Box<dyn Source>, _>(Box::new(Reader { stream, subjects }))
    };
    ReadOnly::open(connect, space_name, shard, archives)
}

/// The stream of a reader.
#[derive(Debug)]
struct Reader {
    stream: Stream,
    subjects: Subjects,
}

impl Source for Reader {
    fn load(&self, runtime: &Runtime, space: SpaceId, needs: &Needs) -> Result<Loaded, Broken> {
        let ground = runtime.block_on(load(&self.stream, &self.subjects, space, needs))?;
        Ok(ground.loaded)
    }

    fn entries(&self, runtime: &Runtime, next: u64) -> Result<Vec<Entry>, Failure> {
        let read = async {
            let Some(first) = self.stream.last(&self.subjects.at(next)).await? else {
                return Ok(Vec::new());
            };
            next_entries(&self.stream, &self.subjects, first.sequence, READ_ENTRIES).await
        };
        let read = runtime.block_on(read).map_err(|broken| match broken {
            Broken::Own(failure) => failure,
            Broken::Store(failure) => crate::database::refused(failure),
        })?;
        Ok(read.into_iter().map(|(entry, _)| entry).collect())
    }

    fn close(&self, runtime: &Runtime) {
        runtime.block_on(self.stream.nats().close());
    }
}
