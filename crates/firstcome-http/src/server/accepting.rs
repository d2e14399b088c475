//! Accepting connections, also where the operating system does not let it for now.

use crate::metrics::Metrics;
use firstcome_node::log;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep_until};

/// The first pause after the operating system refused to accept, for want of files for example. It doubles with each
/// refusal in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(50);

/// The longest pause. Whoever connects meanwhile waits in the queue of the kernel.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How often the log says that nobody can be accepted.
const SAY_EVERY: Duration = Duration::from_secs(60);

/// Accepts connections, with a pause after each refusal of the operating system.
#[derive(Debug)]
pub(crate) struct Accepting {
    metrics: Arc<Metrics>,
    pause: Duration,
    not_before: Option<Instant>,
    said: Option<Instant>,
}

impl Accepting {
    pub(crate) fn new(metrics: Arc<Metrics>) -> Self {
        Self { metrics, pause: FIRST_PAUSE, not_before: None, said: None }
    }

    /// Returns the next connection.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: a connection is accepted or not, and a pause that has begun goes on.
    pub(crate) async fn next(&mut self, listener: &TcpListener) -> (TcpStream, IpAddr) {
        loop {
            if let Some(end) = self.not_before {
                sleep_until(end).await;
                self.not_before = None;
            }
            match listener.accept().await {
                Ok((stream, peer)) => {
                    self.pause = FIRST_PAUSE;
                    return (stream, peer.ip());
                }
                Err(why) if is_about_one_connection(&why) => {}
                Err(why) => self.refused(&why),
            }
        }
    }

    fn refused(&mut self, why: &io::Error) {
        self.metrics.accept_failures.inc();
        let now = Instant::now();
        if self.said.is_none_or(|said| now - said >= SAY_EVERY) {
            self.said = Some(now);
            log!(AcceptFailed, "cannot accept connections for now, they wait: {why}");
        }
        self.not_before = Some(now + self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}

fn is_about_one_connection(why: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        why.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::Interrupted
    )
}
