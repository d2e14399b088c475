//! A store that goes over to a copy and back again, more than once and soon.
//!
//! The server that it left still takes entries from nodes that are connected to it, and may be the primary again with them. So
//! nodes leave a branch that they had only just gone over to, while they still read it, or before they have brought along
//! what it lacked.

use super::draw::{between, ms, random_moment};
use super::{Fault, Plan};
use fastrand::Rng;

impl Plan {
    pub(super) fn draw_swings(&mut self, random: &mut Rng) {
        if self.copies == 0 || random.u32(0..SWINGS) > 0 {
            return;
        }
        // Who goes over begins with a snapshot that is newer than the fork.
        if random.bool() {
            self.snapshot_every = between(random, 300, 1_500);
        }
        self.late = random.bool();
        let mut at = random_moment(random, ms(1_500), self.ends);
        // Who reads a branch needs as long for it as the store stays there.
        let by = between(random, 5, 200);
        for slot in 0..self.nodes {
            if random.bool() {
                let time = between(random, 2_000, 8_000);
                self.add_fault(at, Fault::Slow { slot, time, by });
            }
        }
        for _ in 0..random.u32(2..7) {
            let copy = random.usize(..self.copies);
            if random.bool() {
                let before = at.saturating_sub(between(random, 0, 500));
                self.add_fault(before, Fault::Lag { copy, time: between(random, 100, 1_500) });
            }
            self.claims_around(random, at, 400, 1_200);
            let longest = *random.choice([300, 1_000, 4_000].iter()).unwrap_or(&300);
            let lingers = (random.u32(0..8) > 0).then(|| between(random, 10, longest));
            self.add_fault(at, Fault::Promote { copy, lingers });
            if random.u32(0..4) == 0 {
                let (slot, time) = (random.usize(..self.nodes), between(random, 200, 4_000));
                self.add_fault(at + between(random, 0, 1_000), Fault::Pause { slot, time });
            }
            let longest = *random.choice([300, 1_000, 3_000].iter()).unwrap_or(&300);
            at += between(random, 20, longest);
        }
    }
}

/// One of so many worlds has them.
const SWINGS: u32 = 8;
