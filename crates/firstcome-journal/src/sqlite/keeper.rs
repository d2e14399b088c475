//! The thread of a journal: does what is asked of it but for appends, and writes the log into the file beside them.
//!
//! A commit writes to the log only. Now and then what is there must be written into the file, so that the log begins anew.
//! A commit that did this with 16 MiB took about 30 ms. So this thread does it with a connection of its own, while
//! appends go on, and only the rest that came meanwhile is written while they wait.

use super::log::{CHECKPOINT_PAGES_OF_PIECES, Checkpointer};
use super::writer::Writer;
use crate::error::JournalError;
use crate::worker::{Lost, Owned, PAUSE};
use parking_lot::Mutex;
use std::sync::Arc;

/// The writer as its thread and whoever appends share it; nothing once it is closed.
pub(super) type SharedWriter = Arc<Mutex<Option<Writer>>>;

/// What the thread of a journal owns.
pub(super) struct Keeper {
    pub(super) writer: SharedWriter,
    pub(super) checkpointer: Checkpointer,
}

impl Keeper {
    /// Has the writer do something; appends wait meanwhile.
    pub(super) fn with<R>(
        &self,
        job: impl FnOnce(&mut Writer) -> Result<R, JournalError>,
    ) -> Result<R, JournalError> {
        let mut held = self.writer.lock();
        let closed = || JournalError::Unavailable(Lost::Closed.to_string());
        job(held.as_mut().ok_or_else(closed)?)
    }

    /// Writes the log into the file if pieces made it long: whoever stores them waits for that, and no append does.
    pub(super) fn checkpoint_after_pieces(&self) {
        let is_due = |writer: &mut Writer| writer.checkpoint.is_due(CHECKPOINT_PAGES_OF_PIECES);
        let is_due = self.writer.lock().as_mut().is_some_and(is_due);
        if is_due {
            self.checkpoint();
        }
    }

    /// Writes the log into the file; appends wait only while the rest of it is written.
    pub(super) fn checkpoint(&self) {
        self.checkpointer.checkpoint();
        let held = self.writer.lock();
        if held.is_some() {
            self.checkpointer.checkpoint();
        }
    }
}

impl Owned for Keeper {
    fn is_untidy(&self) -> bool {
        self.writer.lock().as_ref().is_some_and(|writer| writer.untidy)
    }

    fn tidy(&mut self) {
        // Appends do not come through the queue: the pause may have been none.
        let is_pause = |writer: &Writer| writer.appended.elapsed() >= PAUSE;
        if !self.writer.lock().as_ref().is_some_and(is_pause) {
            return;
        }
        self.checkpointer.checkpoint();
        if let Some(writer) = self.writer.lock().as_mut().filter(|writer| is_pause(writer)) {
            self.checkpointer.checkpoint();
            writer.untidy = false;
        }
    }

    fn end(self) {
        // Whoever closes last writes the whole log into the file and drops it.
        drop(self.checkpointer);
        if let Some(Writer { file, folder, .. }) = self.writer.lock().take() {
            file.close();
            drop(folder);
        }
    }
}
