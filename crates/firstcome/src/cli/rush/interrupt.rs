//! Ctrl-C in a rush: the first ends the load and lets it be checked and printed, the second ends everything.

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::complaint::{Complaint, Exit};
use crate::cli::terminal::out;

/// Hears Ctrl-C from the moment it exists.
pub(super) struct Interrupt {
    signal: Signal,
    heard: CancellationToken,
}

impl Interrupt {
    pub(super) fn listen() -> Result<Self, Complaint> {
        let signal = signal(SignalKind::interrupt())
            .map_err(|error| Complaint::own(format!("cannot hear signals: {error}")))?;
        Ok(Self { signal, heard: CancellationToken::new() })
    }

    /// Is cancelled from the first Ctrl-C on.
    pub(super) fn heard(&self) -> CancellationToken {
        self.heard.clone()
    }

    /// Waits for a load test; `None` where a second Ctrl-C ended it. `stop` is called at the first.
    pub(super) async fn during<T>(
        &mut self,
        load: impl Future<Output = T>,
        stop: impl Fn(),
    ) -> Option<T> {
        let mut load = std::pin::pin!(load);
        loop {
            tokio::select! {
                biased;
                ended = &mut load => return Some(ended),
                _ = self.signal.recv() => {
                    if self.heard.is_cancelled() {
                        out::talk("stopped; nothing was checked");
                        return None;
                    }
                    self.heard.cancel();
                    out::talk("stopping: open requests are finished and checked; Ctrl-C again ends at once");
                    stop();
                }
            }
        }
    }

    /// The exit code after a report: a broken promise counts for more than who ended it.
    pub(super) fn exit(&self, kept: bool) -> Exit {
        match (kept, self.heard.is_cancelled()) {
            (false, _) => Exit::Refused,
            (true, true) => Exit::Interrupted,
            (true, false) => Exit::Yes,
        }
    }
}
