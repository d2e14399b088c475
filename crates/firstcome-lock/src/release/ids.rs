//! Release ids that nobody will send again, removed many at a time.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use firstcome_store::client::BackgroundTask;

use crate::backend::Backend;

/// How long used release ids are gathered before they are removed together, and how many at a time.
const GATHER: Duration = Duration::from_millis(20);
const BATCH: usize = 100;

/// Release ids that are used up and still in the store.
#[derive(Debug, Clone, Default)]
pub(crate) struct UsedReleaseIds(Arc<Mutex<Vec<String>>>);

impl UsedReleaseIds {
    /// Removes a release id some time soon; it would end by itself anyway.
    pub(crate) fn forget(
        &self,
        release_id: String,
        background: &BackgroundTask,
        backend: &Arc<Backend>,
    ) {
        let mut used = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        used.push(release_id);
        // Whoever puts the first one in begins the job that takes all of them out.
        if used.len() == 1 {
            background.run(self.clone().remove(Arc::clone(backend)));
        }
    }

    async fn remove(self, backend: Arc<Backend>) {
        tokio::time::sleep(GATHER).await;
        let used = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for batch in used.chunks(BATCH) {
            // A release id that stays ends by itself.
            drop(backend.forget(batch.to_vec()).await);
        }
    }
}
