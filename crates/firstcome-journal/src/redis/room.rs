//! How much memory the server has left.

use super::Redis;
use super::opening::Room;
use super::trouble::looked;
use crate::Failure;
use firstcome_store::Command;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How often the server is asked at most on behalf of appends.
const EVERY: Duration = Duration::from_secs(5);
/// How long an append waits for that at most.
const BRIEFLY: Duration = Duration::from_millis(200);

/// What was found out last, and when.
#[derive(Debug, Default)]
pub(super) struct Watch(Mutex<Option<(Room, Instant)>>);

impl Redis {
    /// Gives how much memory the server uses of what it may.
    ///
    /// # Errors
    ///
    /// Those of the store being out of reach, or of the user not being allowed to ask.
    pub async fn room(&self) -> Result<Room, Failure> {
        let reply = self.inner.rest.send(&Command::new("INFO").arg("memory")).await;
        let room = Room::read(&reply.and_then(|reply| reply.text()).map_err(looked)?);
        self.note(room);
        Ok(room)
    }

    /// Refuses an append where so little is left that only snapshots may still be written.
    pub(super) async fn check_room(&self) -> Result<(), Failure> {
        let known = *self.inner.room.0.lock().unwrap_or_else(PoisonError::into_inner);
        let room = match known {
            Some((room, at)) if at.elapsed() < EVERY => room,
            _ => {
                // Noted first, so that only one of many appends asks.
                let before = known.map(|(room, _)| room).unwrap_or_default();
                self.note(before);
                let asked = tokio::time::timeout(BRIEFLY, self.room()).await;
                // Where nobody says, what was known before counts.
                asked.ok().and_then(Result::ok).unwrap_or(before)
            }
        };
        if room.is_short() {
            let Room { used, most } = room;
            return Err(Failure::Full(format!("{used} of {most} bytes of maxmemory are in use")));
        }
        Ok(())
    }

    fn note(&self, room: Room) {
        let mut known = self.inner.room.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((room, Instant::now()));
    }
}
