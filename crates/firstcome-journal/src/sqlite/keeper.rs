//! The thread of a journal: does what is asked of it but for appends, and writes the log into the file beside them.
//!
//! A commit writes to the log only. Now and then what is there must be written into the file, so that the log begins anew:
//! 16 MiB and two forced writes, 20 to 70 ms on a disk of today. So this thread does it with a connection of its own,
//! while appends go on, and only the rest that came meanwhile is written while they wait.

use super::durable::{CHECKPOINT_PAGES, Checkpointer};
use super::writer::Writer;
use crate::worker::{Owned, PAUSE};
use parking_lot::Mutex;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

/// The writer as its thread and whoever appends share it; nothing once it is closed.
pub(super) type SharedWriter = Arc<Mutex<Option<Writer>>>;

/// How long the log is, and when it was last looked into.
pub(super) struct Log {
    pages: Arc<AtomicU32>,
    /// Pages when it was last to be written into the file.
    tried: u32,
}

impl Log {
    pub(super) fn new(pages: Arc<AtomicU32>) -> Self {
        Self { pages, tried: 0 }
    }

    /// Says whether it is time to write the log into the file; once for each [`CHECKPOINT_PAGES`] that come to it.
    ///
    /// A reader may keep the log from being written whole, for as long as it reads.
    pub(super) fn is_due(&mut self) -> bool {
        let pages = self.pages.load(Ordering::Relaxed);
        if pages < self.tried {
            // It has begun anew.
            self.tried = 0;
        }
        let due = pages - self.tried >= CHECKPOINT_PAGES;
        if due {
            self.tried = pages;
        }
        due
    }
}

/// What the thread of a journal owns.
pub(super) struct Keeper {
    pub(super) writer: SharedWriter,
    pub(super) checkpointer: Checkpointer,
}

impl Keeper {
    /// Writes the log into the file; appends wait only while the rest of it is written.
    pub(super) fn checkpoint(&self) {
        self.checkpointer.checkpoint();
        if let Some(writer) = self.writer.lock().as_ref() {
            writer.file.checkpoint();
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
            writer.file.checkpoint();
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
