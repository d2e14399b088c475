//! How much memory the server has left.

use super::info::field;
use super::trouble::looked;
use crate::error::JournalError;
use firstcome_store::{Command, Wire};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// How often the server is asked at most on behalf of appends.
const EVERY: Duration = Duration::from_secs(5);
/// How long an append waits for that at most.
const BRIEFLY: Duration = Duration::from_millis(200);

/// How much memory a server uses of what it may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// Bytes in use, as far as they count.
    pub used: u64,
    /// Bytes it may use; 0 if that is not limited.
    pub most: u64,
}

impl MemoryUse {
    /// Reads what `INFO memory` says.
    pub(super) fn read(memory: &str) -> Self {
        let number = |name| field(memory, name).and_then(|text| text.parse().ok()).unwrap_or(0);
        let outside: u64 = number("mem_not_counted_for_evict");
        let used: u64 = number("used_memory");
        Self { used: used.saturating_sub(outside), most: number("maxmemory") }
    }

    /// Says whether so little is left that only snapshots may still be written: 85 % are in use.
    pub fn is_short(self) -> bool {
        self.most > 0 && u128::from(self.used) * 100 >= u128::from(self.most) * 85
    }
}

/// The memory use that was found last, and when.
#[derive(Debug, Default)]
pub(super) struct Headroom(Mutex<Option<(MemoryUse, Instant)>>);

impl Headroom {
    pub(super) async fn ask(&self, wire: &Wire) -> Result<MemoryUse, JournalError> {
        let reply = wire.send(&Command::new("INFO").arg("memory")).await;
        let found = MemoryUse::read(&reply.and_then(|reply| reply.text()).map_err(looked)?);
        self.note(found);
        Ok(found)
    }

    /// Refuses an append where so little is left that only snapshots may still be written.
    pub(super) async fn check(&self, wire: &Wire) -> Result<(), JournalError> {
        let known = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = match known {
            Some((found, at)) if at.elapsed() < EVERY => found,
            _ => {
                // Noted first, so that only one of many appends asks.
                let before = known.map(|(found, _)| found).unwrap_or_default();
                self.note(before);
                let asked = tokio::time::timeout(BRIEFLY, self.ask(wire)).await;
                // Where nobody says, what was known before counts.
                asked.ok().and_then(Result::ok).unwrap_or(before)
            }
        };
        if found.is_short() {
            let MemoryUse { used, most } = found;
            return Err(JournalError::Full(format!(
                "{used} of {most} bytes of maxmemory are in use"
            )));
        }
        Ok(())
    }

    fn note(&self, found: MemoryUse) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known = Some((found, Instant::now()));
    }
}
