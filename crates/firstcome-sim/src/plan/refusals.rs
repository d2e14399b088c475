//! Draws when the lock that says who leads refuses, and with which error.

use super::draw::{between, random_moment};
use super::{Fault, Plan, Step, What};
use fastrand::Rng;
use std::time::Duration;

/// Errors of a Redis: one that passes by itself, one that passes once somebody gives the right back, one that never does
/// as far as anybody knows.
const ERRORS: [&str; 3] = [
    "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk",
    "NOPERM User default has no permissions to run the 'evalsha' command",
    "ERR unknown command 'EVALSHA'",
];

impl Plan {
    /// Adds refusals of the lock, shorter and longer than its lease of three seconds, to a third of the worlds.
    pub(super) fn draw_refusals(&mut self, random: &mut Rng) {
        if random.u32(0..3) > 0 {
            return;
        }
        for _ in 0..random.u32(1..3) {
            let at = random_moment(random, Duration::ZERO, self.ends);
            let error = random.choice(ERRORS).unwrap_or(ERRORS[0]);
            let time = between(random, 200, 12_000);
            self.steps.push(Step { at, what: What::Fault(Fault::LockRefuses { error, time }) });
        }
    }
}
