//! The first position that is not trimmed.
//!
//! A stream without news may be one that was trimmed to its end, or that goes on after a seed. Who
//! follows it is told so within seconds, from what heartbeats bring anyway, and asks only where
//! there are none: an idle node would otherwise ask twice for each time it waits.

use super::keys::Keys;
use super::scripts::number;
use super::trouble::looked;
use crate::error::JournalError;
use firstcome_store::{Command, RedisReply, Wire};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How old the known position may be where the stream said that there are no news.
const KNOWN_FOR: Duration = Duration::from_secs(2);

/// The first position kept, as of when it was asked for last.
#[derive(Debug, Default)]
pub(super) struct FirstKept(Mutex<Option<(u64, Instant)>>);

impl FirstKept {
    /// Takes in what a question asked at `asked` brought.
    pub(super) fn note(&self, first: u64, asked: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((first, asked));
    }

    fn known(&self) -> Option<u64> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(_, asked)| asked.elapsed() < KNOWN_FOR).map(|(first, _)| first)
    }

    /// Fails where the entry after a position is known to be gone; asks only if nothing is known.
    pub(super) async fn check_if_known(
        &self,
        wire: &Wire,
        keys: &Keys,
        after: u64,
    ) -> Result<(), JournalError> {
        match self.known() {
            Some(first) => is_kept(after, first),
            None => self.check(wire, keys, after).await.map(drop),
        }
    }

    /// Returns the first position kept, if there is a journal; fails where the entry after a position is gone.
    pub(super) async fn check(
        &self,
        wire: &Wire,
        keys: &Keys,
        after: u64,
    ) -> Result<Option<u64>, JournalError> {
        let asked = Instant::now();
        let command = Command::new("HGET").arg(&keys.head).arg("first");
        let reply = wire.send(&command).await.map_err(looked)?;
        if reply == RedisReply::Nil {
            return Ok(None);
        }
        let first = number(&reply)?;
        self.note(first, asked);
        is_kept(after, first).map(|()| Some(first))
    }
}

fn is_kept(after: u64, first: u64) -> Result<(), JournalError> {
    let wanted = after.saturating_add(1);
    if wanted < first { Err(JournalError::Trimmed { wanted, first }) } else { Ok(()) }
}
