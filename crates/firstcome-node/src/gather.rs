//! How long a busy appender waits for more commands before it writes a batch.
//!
//! Each commit costs about the same, however many commands share it, and a file is written so quickly that a flood over
//! many connections comes in pieces of a few commands. A pause of a fraction of a millisecond makes them fewer and larger.
//! Where the batches are small, no pause: other threads that could run now, those of the connections above all, run first.

use std::thread;
use std::time::Duration;

/// The pause before a batch.
const PAUSE: Duration = Duration::from_micros(250);
/// Commands in the batch before, from which on there is a pause. Fewer come from few callers, who would only wait longer: with
/// 64 connections that wait for their answers a pause saved processor time and cost claims per second.
const BUSY: usize = 48;
/// Commands in the batch before, below which other threads come first. An idle machine has none, so nobody waits.
const FEW: usize = 16;
/// Commands that wait, from which on there is no pause: the share of a commit that each of them bears is small.
const ENOUGH: usize = 256;

/// Pauses between the batches of an appender that has a thread of its own.
#[derive(Debug, Default)]
pub(crate) struct Gathering {
    /// How many commands the batch before had.
    before: usize,
}

impl Gathering {
    /// Lets more commands arrive: a moment, where a batch is due soon after a large one. It blocks the thread, because a
    /// runtime's timer counts in milliseconds.
    pub(crate) fn pause(&self, waiting: usize) {
        if self.is_busy(waiting) {
            thread::sleep(PAUSE);
        } else if self.before < FEW {
            thread::yield_now();
        }
    }

    /// Notes how many commands a batch had.
    pub(crate) fn took(&mut self, commands: usize) {
        self.before = commands;
    }

    fn is_busy(&self, waiting: usize) -> bool {
        self.before >= BUSY && waiting < ENOUGH
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_a_pause_in_a_flood_only_and_not_where_enough_wait() {
        let mut gathering = Gathering::default();
        assert!(!gathering.is_busy(1), "the first command does not wait");
        gathering.took(1);
        assert!(!gathering.is_busy(BUSY), "nor do those of one caller after the other");
        gathering.took(BUSY);
        assert!(gathering.is_busy(1));
        assert!(!gathering.is_busy(ENOUGH));
        gathering.took(0);
        assert!(!gathering.is_busy(1));
    }
}
