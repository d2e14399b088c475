//! Signals that stop a server: it ends at once while it starts, and in order once it serves.

use firstcome_node::log;
use std::future::pending;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// SIGTERM and SIGINT, received from the moment this exists; SIGHUP, which stops nothing.
pub(super) struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
    hangup: Signal,
}

impl StopSignals {
    pub(super) fn listen() -> std::io::Result<Self> {
        let terminate = signal(SignalKind::terminate())?;
        let (interrupt, hangup) = (signal(SignalKind::interrupt())?, signal(SignalKind::hangup())?);
        Ok(Self { terminate, interrupt, hangup })
    }

    /// Waits for the next signal that stops; says whether it was SIGTERM, which a service manager sends, and not SIGINT
    /// of a user at a terminal, without a balancer in front of the server.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe.
    pub(super) async fn stop(&mut self) -> bool {
        loop {
            tokio::select! {
                _ = self.terminate.recv() => return true,
                _ = self.interrupt.recv() => return false,
                // A terminal that was closed, or a reload: the settings are read at the start only.
                _ = self.hangup.recv() => {
                    log!(HangupSignal, "SIGHUP: nothing to do, settings are read at the start; SIGTERM stops");
                }
            }
        }
    }
}

/// Waits for a signal that stops, until the server serves: then it waits for ever.
///
/// Without it the kernel would end a server that starts, but not the first process of a container.
pub(super) async fn stopped_while_starting(mut signals: StopSignals, serves: CancellationToken) {
    tokio::select! {
        biased;
        () = serves.cancelled() => pending().await,
        _ = signals.stop() => {}
    }
}
