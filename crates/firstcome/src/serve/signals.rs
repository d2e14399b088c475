//! Signals that stop a server: it ends at once while it starts, and in order once its address is announced.

use firstcome_node::log;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinHandle;

/// The exit codes of a program that a signal ended, as shells give them.
const TERMINATED: i32 = 143;
const INTERRUPTED: i32 = 130;

/// Ends the process at a signal, until this is dropped.
///
/// Without it the kernel would, but not the first process of a container.
pub(super) struct EndsAtSignal(JoinHandle<()>);

impl Drop for EndsAtSignal {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl EndsAtSignal {
    pub(super) fn start() -> std::io::Result<Self> {
        let mut signals = StopSignals::listen()?;
        Ok(Self(tokio::spawn(async move {
            let (signal, code) = match signals.stop().await {
                true => ("SIGTERM", TERMINATED),
                false => ("SIGINT", INTERRUPTED),
            };
            eprintln!("{signal} while starting: nobody was served");
            std::process::exit(code);
        })))
    }
}

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
