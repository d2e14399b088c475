//! The requests of many commands that a server answers at one time.

use crate::answer::Code;
use crate::answer::problem::Problem;
use std::sync::Arc;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Requests of many commands that one server answers at one time: each keeps its unanswered lines in memory.
pub const BULK_REQUESTS: usize = 32;

/// The requests of many commands that are under way.
#[derive(Debug)]
pub struct BulkRequests(Arc<Semaphore>);

impl Default for BulkRequests {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(BULK_REQUESTS)))
    }
}

impl BulkRequests {
    pub(crate) fn take(&self) -> Result<OwnedSemaphorePermit, Problem> {
        Arc::clone(&self.0).try_acquire_owned().map_err(|_| {
            let detail = format!(
                "this server answers {BULK_REQUESTS} requests of many commands, as many as it may at one time; \
                 nothing changed"
            );
            Problem::new(Code::Busy, detail)
        })
    }
}
