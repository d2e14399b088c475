//! A store that is emptied, and nodes that start on it, knowing of no space, beside those that run.

use super::draw::{between, ms, random_moment};
use super::{Fault, Plan, What};
use crate::history::Durability;
use fastrand::Rng;
use firstcome_node::OnEmptied;
use std::time::Duration;

/// One of so many worlds has them whose store may be emptied.
const NEWCOMERS: u32 = 5;
/// How long before the store is emptied nobody stops reaching it: longer than any fault that keeps a node from it.
const REACHED_BEFORE: Duration = Duration::from_secs(15);
/// How long around that moment no other node ends or starts.
const ALONE: Duration = Duration::from_secs(10);

impl Plan {
    /// In half of all worlds nodes put the space back by themselves. Those that run reach the store, so that they mark it: a node that starts makes no space then, although it may.
    pub(super) fn draw_newcomers(&mut self, random: &mut Rng) {
        if random.bool() {
            self.on_emptied = OnEmptied::Reseed;
        }
        let may_be_emptied = self.durability == Durability::Memory && self.nodes > 1;
        if !may_be_emptied || random.u32(0..NEWCOMERS) > 0 {
            return;
        }
        (self.remembers, self.noise, self.late) = (false, false, false);
        let at = random_moment(random, ms(3_000), self.ends);
        self.steps.retain(|step| match step.what {
            What::Fault(fault) => is_apart(fault, step.at, at),
            What::Ask(_) => true,
        });
        self.add_fault(at, Fault::Emptied);
        self.claims_around(random, at, 500, 9_000);
        let runs_on = random.usize(..self.nodes);
        for slot in (0..self.nodes).filter(|slot| *slot != runs_on) {
            let stays = slot > 0 && random.bool();
            if stays && self.nodes > 2 {
                continue;
            }
            let ends = (at + between(random, 0, 3_000)).saturating_sub(ms(1_000));
            // By then whoever runs is connected again, and has noticed; or it does while this one looks.
            let starts = at + between(random, 2_500, 8_000);
            self.add_fault(ends, Fault::Crash { slot, down: starts - ends });
        }
    }
}

/// Says whether a fault keeps nobody from marking a store that is emptied at a moment, and empties none itself.
fn is_apart(fault: Fault, at: Duration, emptied: Duration) -> bool {
    match fault {
        Fault::Promote { .. } | Fault::Restart { .. } | Fault::OldFile { .. } | Fault::Emptied => {
            false
        }
        Fault::Pause { .. } | Fault::Cut { .. } | Fault::Slow { .. } | Fault::Full { .. } => {
            at + REACHED_BEFORE < emptied
        }
        Fault::Crash { .. } | Fault::Stop { .. } => at.abs_diff(emptied) > ALONE,
        Fault::LockAway { .. }
        | Fault::LockRefuses { .. }
        | Fault::Lag { .. }
        | Fault::Clock { .. }
        | Fault::NoConfirms { .. }
        | Fault::LedgerAway { .. }
        | Fault::LostCommit
        | Fault::StuckTransaction { .. }
        | Fault::OldLedger { .. } => true,
    }
}
