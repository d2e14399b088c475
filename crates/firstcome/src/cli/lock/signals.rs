//! Signals to this process, which are passed on to its command.

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::broadcast;

use super::super::complaint::Complaint;

/// How many signals may wait to be passed on; more of them in one instant are as good as the last ones.
const WAITING: usize = 16;

/// What is passed on.
const PASSED_ON: [Signal; 6] =
    [Signal::TERM, Signal::INT, Signal::HUP, Signal::QUIT, Signal::USR1, Signal::USR2];

/// The signals that this process receives; once this is made, none of them ends the process by itself.
pub(super) struct Signals {
    listeners: Vec<(Signal, tokio::signal::unix::Signal)>,
    to_command: broadcast::Sender<Signal>,
}

impl Signals {
    pub(super) fn listen() -> Result<Self, Complaint> {
        let listen = |kind: Signal| Ok((kind, signal(SignalKind::from_raw(kind.as_raw()))?));
        let listeners: std::io::Result<_> = PASSED_ON.into_iter().map(listen).collect();
        let failed = |error| Complaint::own(format!("cannot listen for signals: {error}"));
        Ok(Self {
            listeners: listeners.map_err(failed)?,
            to_command: broadcast::Sender::new(WAITING),
        })
    }

    /// Returns the channel of signals for the command.
    pub(super) fn to_command(&self) -> broadcast::Sender<Signal> {
        self.to_command.clone()
    }

    /// Waits for the next one.
    pub(super) async fn next(&mut self) -> Signal {
        std::future::poll_fn(|context| {
            for (kind, listener) in &mut self.listeners {
                if listener.poll_recv(context).is_ready() {
                    return std::task::Poll::Ready(*kind);
                }
            }
            std::task::Poll::Pending
        })
        .await
    }

    /// Waits for the next one that asks for an end.
    pub(super) async fn end(&mut self) -> Signal {
        loop {
            let received = self.next().await;
            if asks_for_an_end(received) {
                return received;
            }
        }
    }

    /// Passes every signal on to the command, for as long as it is polled.
    pub(super) async fn pass_on(&mut self) -> std::convert::Infallible {
        loop {
            let received = self.next().await;
            // Fails only where the command has just ended.
            drop(self.to_command.send(received));
        }
    }
}

pub(super) fn asks_for_an_end(received: Signal) -> bool {
    received != Signal::USR1 && received != Signal::USR2
}
