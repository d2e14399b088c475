//! Connections that are kept for the next request: a few to each server.

use std::sync::Mutex;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use crate::client::wire::{Broken, Connection};

/// How long a connection that nobody uses is kept: a server closes one after 75 s by default.
const IDLE: Duration = Duration::from_secs(30);

/// The connections of one client: so many in use at most, and as many kept.
#[derive(Debug)]
pub(crate) struct Pool {
    most: usize,
    in_use: Semaphore,
    /// For each server, with the time from which on nobody used it.
    kept: Vec<Mutex<Vec<(Connection, Instant)>>>,
}

impl Pool {
    pub(crate) fn new(servers: usize, most: usize) -> Self {
        let kept = (0..servers).map(|_| Mutex::default()).collect();
        Self { most, in_use: Semaphore::new(most), kept }
    }

    /// Waits until one more connection may be in use.
    pub(crate) async fn permit(&self, deadline: Instant) -> Result<SemaphorePermit<'_>, Broken> {
        match timeout_at(deadline, self.in_use.acquire()).await {
            Ok(permit) => Ok(permit.expect("it is never closed")),
            Err(_) => {
                let why = format!("all {} connections were in use until the deadline", self.most);
                Err(Broken::NotSent(why))
            }
        }
    }

    /// Returns a kept connection to a server that looks open.
    pub(crate) fn take(&self, server: usize) -> Option<Connection> {
        let mut kept = self.kept[server].lock().expect("nothing panics under this lock");
        while let Some((connection, since)) = kept.pop() {
            if connection.is_open() && since.elapsed() < IDLE {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection for the next request.
    pub(crate) fn keep(&self, server: usize, connection: Connection) {
        let mut kept = self.kept[server].lock().expect("nothing panics under this lock");
        kept.retain(|(connection, since)| connection.is_open() && since.elapsed() < IDLE);
        if connection.is_open() && kept.len() < self.most {
            kept.push((connection, Instant::now()));
        }
    }

    /// How many connections to a server are kept and look open.
    #[cfg(test)]
    pub(crate) fn open(&self, server: usize) -> usize {
        let kept = self.kept[server].lock().expect("nothing panics under this lock");
        kept.iter().filter(|(connection, _)| connection.is_open()).count()
    }
}
