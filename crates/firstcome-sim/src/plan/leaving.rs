//! Draws nodes that are told to stop while commands wait at them for the store.

use super::draw::{between, ms};
use super::{Ask, Codes, Cut, Fault, Plan, Step, Want, What};
use fastrand::Rng;
use std::time::Duration;

impl Plan {
    /// In a quarter of the worlds with generated codes the node that makes their campaign does not reach the store for a
    /// while. Meanwhile it is asked for the codes, which it does not know yet, and is told to stop.
    pub(super) fn draw_leaving(&mut self, random: &mut Rng) {
        if random.u32(0..4) > 0 {
            return;
        }
        let Some((campaign, pool)) = self.generated() else { return };
        let Some((made, slot)) = self.making(campaign) else { return };
        let (cut, direction) = (made.saturating_sub(ms(20)), Cut::Both);
        let time = between(random, 1_500, 4_000);
        let fault = |at, fault| Step { at, what: What::Fault(fault) };
        self.steps.push(fault(cut, Fault::Cut { slot, time, direction }));
        for _ in 0..random.u32(1..6) {
            // After a second without the store it does not say from memory any more that there is no such campaign.
            let at = made + between(random, 1_050, 1_400);
            let subject = random.u32(..8);
            self.ask(random, at, Want::Claim { campaign, pool: Some(pool), subject });
            self.at(slot);
        }
        let stops = made + between(random, 1_400, 4_000);
        self.steps.push(fault(stops, Fault::Stop { slot, down: between(random, 1, 3_000) }));
    }

    /// Returns the first pool of generated codes.
    fn generated(&self) -> Option<(usize, usize)> {
        let is_generated =
            |codes: &Option<Codes>| codes.as_ref().is_some_and(|codes| !codes.imported);
        let mut campaigns = self.campaigns.iter().enumerate();
        campaigns.find_map(|(number, campaign)| {
            Some((number, campaign.codes.iter().position(is_generated)?))
        })
    }

    /// Returns when a campaign is made, and by which node.
    fn making(&self, number: usize) -> Option<(Duration, usize)> {
        self.steps.iter().find_map(|step| {
            let What::Ask(Ask { slot, want, .. }) = &step.what else { return None };
            let Want::Put { campaign, capacity: None } = want else { return None };
            (*campaign == number).then_some((step.at, *slot))
        })
    }
}
