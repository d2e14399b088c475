//! Draws two operators who give their commands the same ids, each with a key of their own, and cancels that name no pool.

use super::draw::{ms, random_moment};
use super::{Ask, DESK, INSISTS, Plan, Want, What};
use fastrand::Rng;
use firstcome_core::Command;
use firstcome_core::command::{Encoded, Order};

/// The names of the two keys.
const KEYS: [&str; 2] = [DESK.who, "office"];

/// The ids of commands: each operator begins with the first.
const IDS: [&str; 12] = ["1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"];

impl Plan {
    /// Leaves the pool out of some cancels, and in half of the worlds gives two operators' commands ids.
    pub(super) fn draw_desks(&mut self, random: &mut Rng) {
        for step in &mut self.steps {
            if let What::Ask(Ask { want: Want::Cancel { names_pool, .. }, .. }) = &mut step.what {
                *names_pool = random.u32(0..3) > 0;
            }
        }
        if random.bool() {
            return;
        }
        for campaign in 0..self.campaigns.len() {
            for _ in 0..random.u32(1..6) {
                let at = random_moment(random, ms(500), self.ends);
                let capacity = Some(random.u32(1..=40));
                self.ask(random, at, Want::Put { campaign, capacity });
            }
        }
        self.steps.sort_by_key(|step| step.at);
        let mut given = [0; KEYS.len()];
        for step in &mut self.steps {
            let What::Ask(ask) = &mut step.what else { continue };
            // Who makes a campaign or its seats is not to be refused, or nobody could do anything there.
            if ask.retries < INSISTS && random.u32(0..5) > 0 {
                let key = random.usize(..KEYS.len());
                // Now and then an id comes again, with another command.
                let next = usize::from(given[key] == 0 || random.u32(0..6) > 0);
                let id = IDS[(given[key] + next).saturating_sub(1) % IDS.len()];
                if ask.order_by(Order { id: Some(id), who: KEYS[key] }) {
                    given[key] += next;
                }
            }
        }
    }
}

impl Ask {
    /// Has an operator ask under this key and id; says whether it is an operator's command.
    fn order_by(&mut self, by: Order<'static>) -> bool {
        match &mut self.want {
            Want::Put { .. } | Want::Pause(_) | Want::Resume(_) | Want::Close(_) => self.order = by,
            Want::On { command: known, .. } => {
                let mut command = known.command();
                let (Command::Seats { order, .. }
                | Command::Block { order, .. }
                | Command::Move { order, .. }) = &mut command
                else {
                    return false;
                };
                *order = by;
                let encoded = Encoded::new(&command);
                *known = encoded.expect("an id and a key fit into a body");
            }
            Want::Claim { .. }
            | Want::Cancel { .. }
            | Want::Coupon(_)
            | Want::Raise
            | Want::Nowhere(_) => {
                return false;
            }
        }
        true
    }
}
