//! The state into the store, so that the next start is short and the journal can be trimmed.

use super::long_log::LongLog;
use crate::event::log;
use crate::metrics::Metrics;
use crate::{Replica, stopped_within};
use firstcome_core::State;
use firstcome_core::snapshot::Piece;
use firstcome_journal::{Journal, JournalError};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// How often it is looked whether a snapshot is due.
const LOOK_EVERY: Duration = Duration::from_secs(1);

pub(super) struct Snapshots {
    pub(super) replica: Arc<Replica>,
    pub(super) journal: Journal,
    pub(super) bytes: u64,
    pub(super) every: Duration,
    pub(super) metrics: Arc<Metrics>,
}

impl Snapshots {
    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) {
        let (mut position, mut bytes, mut begun) = (0, 0, Instant::now());
        let mut long_log = LongLog::default();
        loop {
            if stopped_within(&mut stop, LOOK_EVERY).await {
                return;
            }
            if let Some(log) = self.journal.write_ahead_log() {
                long_log.look(&log);
            }
            let now = self.replica.look(State::position);
            let grown = self.replica.applied_bytes() - bytes;
            let due = grown >= self.bytes || begun.elapsed() >= self.every;
            if now == position || !due {
                continue;
            }
            bytes += grown;
            begun = Instant::now();
            match self.snapshot(&mut stop).await {
                Ok(Some(covered)) => {
                    position = covered;
                    self.metrics.snapshots.inc();
                    log!(SnapshotWritten, position, "a snapshot is installed");
                }
                Ok(None) => return,
                // The journal is still whole: the next one tries again.
                Err(why) => {
                    self.metrics.journal_failures.inc();
                    log!(
                        SnapshotFailed,
                        "no snapshot could be written; the journal keeps what it covers: {why}"
                    );
                }
            }
        }
    }

    /// Writes one snapshot and trims; gives the position it covers, or nothing if told to stop.
    async fn snapshot(
        &self,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Option<u64>, JournalError> {
        match self.write(false, stop).await {
            // The store lost what it once had: bring everything again.
            Err(JournalError::PieceMissing(_)) => self.write(true, stop).await,
            other => other,
        }
    }

    async fn write(
        &self,
        whole: bool,
        stop: &mut watch::Receiver<bool>,
    ) -> Result<Option<u64>, JournalError> {
        let term = self.journal.mint_term().await?;
        let frozen = self.replica.look_whole(|state| (state.freeze(whole), state.stamp()));
        let Some((mut frozen, stamp)) = frozen else {
            return Err(JournalError::Unavailable("the state is half changed".to_owned()));
        };
        let mut written = Vec::new();
        while let Some(mut piece) = frozen.next_piece() {
            let Some(bytes) = piece.bytes.take() else { continue };
            let begun = Instant::now();
            self.journal.put_piece(piece.name, bytes).await?;
            written.push(piece);
            // As long a pause as the writing took: appends go between.
            if stopped_within(stop, begun.elapsed()).await {
                return Ok(None);
            }
        }
        let position = frozen.position();
        let manifest = frozen.finish();
        let pieces = manifest.pieces.clone();
        self.journal.install(position, stamp.name(), manifest.encode(), pieces, term).await?;
        // Only what a manifest names is kept: not before now may a later snapshot rest on it.
        written.iter().for_each(Piece::stored);
        self.journal.trim(term).await?;
        Ok(Some(position))
    }
}
