//! From where on entries are kept.
//!
//! A stream without news may be one that was trimmed to its end, or that goes on behind a seed. Who
//! follows it is told so within seconds, from what announcements bring anyway, and asks itself only
//! where there are none: an idle node would otherwise ask twice for each time it waits.

use super::Redis;
use super::scripts::number;
use super::trouble::looked;
use crate::Failure;
use firstcome_store::{Command, Reply};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How old what is known may be where the stream said that there are no news.
const KNOWN_FOR: Duration = Duration::from_secs(2);

/// The first position kept, as of when it was asked for last.
#[derive(Debug, Default)]
pub(super) struct Kept(Mutex<Option<(u64, Instant)>>);

impl Kept {
    /// Takes in what a question asked at `asked` brought.
    pub(super) fn heard(&self, first: u64, asked: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((first, asked));
    }

    fn known(&self) -> Option<u64> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(_, asked)| asked.elapsed() < KNOWN_FOR).map(|(first, _)| first)
    }
}

impl Redis {
    /// Fails where what lies behind a position is known to be gone; asks only if nothing is known.
    pub(super) async fn check_nothing_is_known_gone(&self, after: u64) -> Result<(), Failure> {
        match self.inner.kept.known() {
            Some(first) => is_kept(after, first),
            None => self.check_nothing_is_gone(after).await,
        }
    }

    /// Fails where what lies behind a position is gone.
    pub(super) async fn check_nothing_is_gone(&self, after: u64) -> Result<(), Failure> {
        let asked = Instant::now();
        let command = Command::new("HGET").arg(&self.inner.keys.head).arg("first");
        let reply = self.inner.rest.send(&command).await.map_err(looked)?;
        if reply == Reply::Nil {
            return Ok(());
        }
        let first = number(&reply)?;
        self.inner.kept.heard(first, asked);
        is_kept(after, first)
    }
}

fn is_kept(after: u64, first: u64) -> Result<(), Failure> {
    let wanted = after.saturating_add(1);
    if wanted < first { Err(Failure::Trimmed { wanted, first }) } else { Ok(()) }
}
